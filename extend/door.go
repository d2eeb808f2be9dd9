package extend

import (
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
)

func init() { door.Plans = doors{} }

// doors is what other packages of this module do with plans and changes; see package door.
type doors struct{}

func (doors) Insert(p any, r *engine.Row, taken error) error {
	plan := p.(*Plan)
	return plan.refused(plan.plan.Insert(r, taken))
}

func (doors) Put(p any, r *engine.Row) error {
	plan := p.(*Plan)
	return plan.refused(plan.plan.Put(r))
}

func (doors) ChangedRow(c any) (*engine.Row, error) { return c.(changed).plain().Row() }

// changed is a *Change of any type.
type changed interface{ plain() *engine.Change }

func (c *Change[T]) plain() *engine.Change { return c.change }
