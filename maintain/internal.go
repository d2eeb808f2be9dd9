package maintain

import (
	"github.com/aztablekit/aztablekit/internal/engine"
)

// EngineRow, InsertRow and PutRow are for packages of this module: their signatures name types of an internal package.

// EngineRow is Row without a copy. It is for packages of this module.
func (c *Change[T]) EngineRow() (*engine.Row, error) {
	return c.change.Row()
}

// InsertRow is Insert. It is for packages of this module.
func (p *Plan) InsertRow(r *engine.Row, taken error) error {
	return p.refused(p.plan.Insert(r, taken))
}

// PutRow is Put. It is for packages of this module.
func (p *Plan) PutRow(r *engine.Row) error { return p.refused(p.plan.Put(r)) }
