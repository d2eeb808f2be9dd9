package index

import (
	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/table"
)

// Definition is an [Index], [Lists], [Details] or [Summary] of any kind of key, for [Attach] and for package index/verify.
type Definition[T any] interface {
	Name() string
	maintainer(*table.Table[T]) (maintainer[T], error)
}

// maintainer writes the rows of a definition.
type maintainer[T any] interface {
	derived.Maintainer[T]
	// targetProperties returns the properties that the definition writes into entities of other types.
	targetProperties() []string
}

// untyped returns fields without their type, for engine.Schema.
func untyped[T any](fields []table.AnyField[T]) []any {
	all := make([]any, len(fields))
	for i, f := range fields {
		all[i] = f
	}
	return all
}
