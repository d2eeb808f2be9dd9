package extend

import (
	"context"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
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
	return (*table.Row)(r.Clone()), err
}

// OldRow is [Change.Row] for the row as it is stored before the change. It is nil if the entity is inserted, and if the caller's
// entity was upgraded from an older version, because the stored row is then not known.
func (c *Change[T]) OldRow() (*table.Row, error) {
	r, err := c.change.OldRow()
	return (*table.Row)(r.Clone()), err
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

// With returns a handle of the same table with these maintainers, besides the maintainers of t. Every write by the handle calls
// the maintainers and writes their rows in the same transaction, still 1 request. A write by key, and a write of an entity that
// was not read whole, reads the row first and writes by its ETag, 1 request more. After a conflict it reads and writes again,
// Retry.ConflictAttempts times at most.
//
// All writers of a table must use handles with the same maintainers. A handle without one of them fails with
// table.ErrUnknownMaintainer if the row has state of that maintainer. To find such state, it reads the row before a write by key
// (Upsert, methods with Any), unless table.Options.BlindWrites is set. Maintainers that add effects need an outbox; see eventual.WithOutbox.
//
// A write that fails because of a maintainer returns a *table.DerivedError. If concurrent writers kept changing a shared row, the
// error is table.ErrContended. A derived row that another program has deleted or changed is read and repaired with the entity's
// next write; see [table.Table.Repaired].
//
// Errors: *table.LimitError for maintainers that need more than 97 rows together; *table.ValueError for a maintainer that is nil
// or has the name of another maintainer.
func With[T any](t *table.Table[T], maintainers ...Maintainer[T]) (*table.Table[T], error) {
	if err := engine.CheckHandle("t", door.Table(t)); err != nil {
		return nil, fmt.Errorf("extend: With: %w", err)
	}
	change, err := attach(door.Table(t), plainOf(maintainers))
	if err != nil {
		return nil, err
	}
	return door.InMode(t, change), nil
}

// plainOf returns maintainers as the engine calls them, nil for a nil maintainer.
func plainOf[T any](maintainers []Maintainer[T]) []engine.Maintainer {
	plain := make([]engine.Maintainer, len(maintainers))
	for i, m := range maintainers {
		if !wire.IsNil(m) {
			plain[i] = maintainerOf[T]{m}
		}
	}
	return plain
}

// attach returns the change of a handle's mode by more maintainers. A nil maintainer is an error.
func attach(t *engine.Table, more []engine.Maintainer) (func(*engine.Mode), error) {
	maintainers := append(slices.Clip(t.Mode.Maintainers), more...)
	fail := func(err error) (func(*engine.Mode), error) {
		return nil, fmt.Errorf("extend: With %s: %w", t.Name, err)
	}
	rows := t.Mode.Parts
	names := map[string]bool{}
	for _, m := range maintainers {
		switch {
		case m == nil:
			return fail(&table.ValueError{Field: "maintainers", Reason: "one is nil"})
		case m.Name() == "" || names[m.Name()]:
			return fail(&table.ValueError{Field: "maintainers", Reason: fmt.Sprintf("the name %q is empty or taken", m.Name())})
		case m.MaxRows() < 0:
			return fail(&table.ValueError{Field: "maintainers", Reason: fmt.Sprintf("MaxRows of %q is negative", m.Name())})
		}
		names[m.Name()] = true
		rows += m.MaxRows()
	}
	if rows > engine.MaxDerived {
		return fail(&table.LimitError{Limit: "rows that the maintainers of an entity touch, its parts included", Got: rows, Max: engine.MaxDerived})
	}
	return func(m *engine.Mode) { m.Maintainers = maintainers }, nil
}
