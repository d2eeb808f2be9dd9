package materialized

import (
	"context"
	"errors"
	"reflect"

	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// prefix begins the names of the maintainers of views, so that an index may have the name of a view.
const prefix = "view."

// Definition is a [View] of entities of type T, of any derived type.
type Definition[T any] interface {
	Name() string
	check(*table.Table[T]) error
	maintainer(*table.Table[T]) attached[T]
}

// attached is a view of one handle.
type attached[T any] interface {
	reconcile.Definition
	maintain.Maintainer[T]
	verifier[T]
	inline() bool
}

// check returns what is wrong with the definition.
func (v *View[T, V]) check(from *table.Table[T]) error {
	fail := func(field, reason string) error {
		return &DefinitionError{View: v.name, Field: field, Reason: reason}
	}
	switch {
	case !validName(v.name):
		return fail("name", "must be 1 to 63 letters, digits, - and _")
	case v.to == nil:
		return fail("to", "is nil; give the handle that table.New has returned")
	case v.derive == nil:
		return fail("derive", "is nil")
	case v.parts:
		return fail("to", "stores entities with parts; a derived entity is one row")
	case v.to.Engine().Same(from.Engine()) && v.to.Engine().Mode.Schema.Rows().Overlaps(from.Engine().Mode.Schema.Rows()):
		return fail("to", "has its rows in the range of the entities' own, and would overwrite them: give the layout another name, or another table")
	case from.Engine().Mode.Outbox == nil:
		return fail("Attach", "has a handle without an outbox; pass one that maintain.WithOutbox has returned")
	}
	return nil
}

func validName(name string) bool {
	for _, c := range name {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return name != "" && len(name) <= 63
}

// verifier is a view as Verify calls it.
type verifier[T any] interface {
	// is reports whether the view was attached by this definition.
	is(Definition[T]) bool
	// compare reads all derived entities of the view.
	compare(ctx context.Context, t *table.Table[T], r *run) (comparison[T], error)
}

// comparison compares entities with the derived entities of one view.
type comparison[T any] interface {
	// entity compares an entity. It may be called for several entities at a time.
	entity(ctx context.Context, e *table.Entity[T], row *table.Row) error
	// rest reports the derived entities that no entity has.
	rest(ctx context.Context) error
	unreadable(row *table.Row, err error)
}

// isNil reports whether a definition is nil, a nil pointer, or one that no constructor has made.
func isNil(d any) bool {
	v := reflect.ValueOf(d)
	return d == nil || v.Kind() == reflect.Pointer && (v.IsNil() || v.Elem().IsZero())
}

// viewsOf returns the views that are attached to a handle.
func viewsOf[T any](t *table.Table[T]) (all []attached[T]) {
	for _, m := range t.Engine().Mode.Maintainers {
		if v, is := m.Typed().(attached[T]); is {
			all = append(all, v)
		}
	}
	return all
}

// kindOf returns the kind of the effects of all views of a table's entities.
func kindOf[T any](t *table.Table[T]) string { return "view " + t.Engine().Mode.Schema.Scope() }

// isForeign reports whether an error says that a row is no entity of the table's type.
func isForeign(err error) bool {
	var ke *keys.KeyError
	return errors.As(err, &ke) || errors.Is(err, table.ErrOtherType)
}
