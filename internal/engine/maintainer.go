package engine

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Maintainer derives rows and effects from the entities of a table; see table.Maintainer.
type Maintainer interface {
	Name() string
	MaxRows() int
	Maintain(ctx context.Context, p *Plan, c *Change) error
}

// Decoder decodes the content of a row as a reader would find it.
type Decoder interface {
	Value(k keys.Key, row edm.Stored) (any, error)
}
