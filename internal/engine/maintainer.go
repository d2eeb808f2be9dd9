package engine

import "context"

// Maintainer derives rows and effects from the entities of a table; see maintain.Maintainer.
type Maintainer interface {
	Name() string
	MaxRows() int
	Maintain(ctx context.Context, p *Plan, c *Change) error
	Typed() any // the maintain.Maintainer[T]
}
