package maintain

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Maintainer derives rows and effects from the entities of a table: index rows, lists, summaries, copies elsewhere. [With] attaches
// it. Each write calls it for each entity that changes, while the transaction is planned, and it adds to that transaction.
// It must be safe for concurrent use and must not keep its arguments. It may be called several times for one change, if the
// transaction is replanned, or if the rows that several changes load are read together.
type Maintainer[T any] interface {
	// Name is unique among the maintainers of a table. Errors and maintainer state contain it.
	Name() string
	// MaxRows is the most rows that Maintain writes for the change of one entity, without rows that it only loads.
	MaxRows() int
	// Maintain adds to p what follows from c. An error of Maintain ends the write before anything is sent, as a
	// *table.DerivedError. To tell which of its rows exist, Maintain should use c.State, and not c.Old: the entity may be older
	// than the maintainer, or the maintainer's functions newer than the rows.
	Maintain(ctx context.Context, p *Plan, c *Change[T]) error
}

// RemoteWriter is implemented by a Maintainer that changes rows of other tables by [Plan.Remote]. A worker of package eventual
// that has a handler of such a table then makes sure that a late request of a write that never commits changes nothing in the
// other tables.
type RemoteWriter interface {
	// RemoteTables returns the names of the other tables.
	RemoteTables() []string
}

// Change is the change of one entity: an insert (Old is nil), a delete (New is nil), or an update. Old and New are the stored
// entity before and after, as a reader would find it. Do not change them.
//
// A move to another key ([table.Table.Move], MoveTo, Rekey) is two changes: a delete with [Change.MovedTo], and an insert with
// [Change.MovedFrom].
type Change[T any] struct {
	Key      keys.Key
	Old, New *T

	change *engine.Change
}

// Row returns the row as it will be stored, with the columns that T does not know, for full copies: put it under another RowKey of
// the partition by [table.Row.Copy] or [table.Row.At]. It contains the operation ID, but neither the incarnation nor maintainer
// state. It is nil if the entity is deleted.
func (c *Change[T]) Row() (*table.Row, error) {
	r, err := c.change.Row()
	return table.RowOf(r), err
}

// OldRow is [Change.Row] for the row as it is stored before the change. It is nil if the entity is inserted, and if the caller's
// entity was upgraded from an older version, because the stored row is then not known.
func (c *Change[T]) OldRow() (*table.Row, error) {
	r, err := c.change.OldRow()
	return table.RowOf(r), err
}

// StateMissing reports whether the entity exists and its row has no readable maintainer state (_ix): another program has replaced
// the row, or the row was written without maintainers. The entity may then have derived rows that follow neither from State nor
// from Old.
func (c *Change[T]) StateMissing() bool { return c.change.StateMissing() }

// Incarnation returns the entity's incarnation. An entity that was deleted and inserted again has another one. The first call
// creates the incarnation, and the write stores it with the entity. It is "" for an entity without an incarnation that is being
// deleted.
func (c *Change[T]) Incarnation() string { return c.change.Incarnation() }

// MovedFrom returns the key that an inserted entity had before Table.Move, MoveTo or Rekey, and reports whether the entity comes from
// another key. MoveTo may come from another table.
func (c *Change[T]) MovedFrom() (keys.Key, bool) { return c.counterpart(c.Old == nil) }

// MovedTo returns the key that a deleted entity gets by Table.Move, MoveTo or Rekey, and reports whether the entity gets another key.
// With MoveTo, it may be in another table.
func (c *Change[T]) MovedTo() (keys.Key, bool) { return c.counterpart(c.New == nil) }

func (c *Change[T]) counterpart(this bool) (keys.Key, bool) {
	k := c.change.Counterpart()
	if k == nil || !this {
		return keys.Key{}, false
	}
	return *k, true
}

// State returns the maintainer state: the texts that the maintainer gave to SetState at the entity's last write, nil for none.
func (c *Change[T]) State() []string { return c.change.State() }

// SetState stores texts with the entity as maintainer state, in place of the earlier ones: the keys of its index rows, so that a
// program with another key function finds them. All maintainers together have 60 KiB; above that, the write fails with a
// *table.LimitError.
func (c *Change[T]) SetState(texts ...string) { c.change.SetState(texts...) }

// maintainerOf is a Maintainer as the engine calls it.
type maintainerOf[T any] struct{ Maintainer[T] }

// Typed returns the maintainer.
func (m maintainerOf[T]) Typed() any { return m.Maintainer }

// Maintain calls the maintainer.
func (m maintainerOf[T]) Maintain(ctx context.Context, p *engine.Plan, c *engine.Change) error {
	var call struct { // one allocation
		change Change[T]
		plan   Plan
	}
	call.change.Key, call.change.change, call.plan.plan = c.Key, c, p
	call.change.Old, _ = c.Old.(*T)
	call.change.New, _ = c.New.(*T)
	return call.plan.result(m.Name(), m.Maintainer.Maintain(ctx, &call.plan, &call.change))
}
