package extend

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Maintainer derives rows and effects from the entities of a table: index rows, lists, summaries,
// copies elsewhere. [Declaration.Maintain] adds it to a table. Each write calls it for each entity
// that changes, while the transaction is planned, and it adds to that transaction. It must be safe
// for concurrent use and must not keep its arguments. It may be called several times for one
// change, if the transaction is replanned, or if the rows that several changes load are read
// together.
type Maintainer[T any] interface {
	// Name is unique among the maintainers of a table. Errors and maintainer state contain it. It
	// is called once, as is MaxRows: when the maintainer is added.
	Name() string
	// MaxRows is the most rows that Maintain writes for the change of one entity, without rows that
	// it only loads.
	MaxRows() int
	// Maintain adds to p what follows from c. An error of Maintain ends the write before anything
	// is sent, as a *table.DerivedError. To tell which of its rows exist, Maintain should use
	// c.State, and not c.Old: the entity may be older than the maintainer, or the maintainer's
	// functions newer than the rows.
	Maintain(ctx context.Context, p *Plan, c *Change[T]) error
}

// Change is the change of one entity: an insert (Old is nil), a delete (New is nil), or an update.
// Old and New are the stored entity before and after, as a reader would find it. Do not change
// them.
//
// A move to another key ([table.Table.Move], MoveTo) is two changes: a delete with
// [Change.MovedTo], and an insert with [Change.MovedFrom].
type Change[T any] struct {
	Key      keys.Key
	Old, New *T

	change *engine.Change
}

// Row returns the row as it will be stored, with the columns that T does not know, for full copies:
// put it under another RowKey of the partition by [table.Row.Copy] or [table.Row.At]. It contains
// the operation ID, but neither the incarnation nor maintainer state. It is nil if the entity is
// deleted.
func (c *Change[T]) Row() (*table.Row, error) {
	r, err := c.change.Row()
	return (*table.Row)(r.Clone()), err
}

// OldRow is [Change.Row] for the row as it is stored before the change. It is nil if the entity is
// inserted, and if the caller's entity was upgraded from an older version, because the stored row
// is then not known.
func (c *Change[T]) OldRow() (*table.Row, error) {
	r, err := c.change.OldRow()
	return (*table.Row)(r.Clone()), err
}

// Incarnation returns the entity's incarnation. An entity that was deleted and inserted again has
// another one. The first call creates the incarnation, and the write stores it with the entity. It
// is "" for an entity without an incarnation that is being deleted.
func (c *Change[T]) Incarnation() string { return c.change.Incarnation() }

// Inserted reports whether the entity is new: an insert, but not of a move.
func (c *Change[T]) Inserted() bool {
	_, moved := c.MovedFrom()
	return c.Old == nil && !moved
}

// MovedFrom returns the key that an inserted entity had before Table.Move or MoveTo, and reports
// whether the entity comes from another key. MoveTo may come from another table.
func (c *Change[T]) MovedFrom() (keys.Key, bool) { return c.counterpart(c.Old == nil) }

// MovedTo returns the key that a deleted entity gets by Table.Move or MoveTo, and reports whether
// the entity gets another key. With MoveTo, it may be in another table.
func (c *Change[T]) MovedTo() (keys.Key, bool) { return c.counterpart(c.New == nil) }

func (c *Change[T]) counterpart(this bool) (keys.Key, bool) {
	k := c.change.Counterpart()
	if k == nil || !this {
		return keys.Key{}, false
	}
	return *k, true
}

// State returns the maintainer state: the texts that the maintainer gave to SetState at the
// entity's last write, nil for none.
func (c *Change[T]) State() []string { return c.change.State() }

// SetState stores texts with the entity as maintainer state, in place of the earlier ones: the keys
// of its index rows, so that a program with another key function finds them. All maintainers
// together have 60 KiB; above that, the write fails with a *table.LimitError.
func (c *Change[T]) SetState(texts ...string) { c.change.SetState(texts...) }

// maintained is a Maintainer of any type as the engine calls it.
type maintained struct {
	typed    any // the Maintainer
	name     string
	maxRows  int
	maintain func(ctx context.Context, p *engine.Plan, c *engine.Change) error
	of       func(typed any) *maintained
}

//go:noinline
func maintainedBy[T any](m Maintainer[T]) *maintained {
	name := m.Name()
	return &maintained{
		typed: m, name: name, maxRows: m.MaxRows(),
		maintain: func(ctx context.Context, p *engine.Plan, c *engine.Change) error {
			var call struct { // one allocation
				change Change[T]
				plan   Plan
			}
			call.change.Key, call.change.change, call.plan.plan = c.Key, c, p
			call.change.Old, _ = c.Old.(*T)
			call.change.New, _ = c.New.(*T)
			return call.plan.result(name, m.Maintain(ctx, &call.plan, &call.change))
		},
		of: func(typed any) *maintained { return maintainedBy(typed.(Maintainer[T])) },
	}
}

// untyped is a maintainer of the library that is compiled once for all types: Old and New of a
// change are pointers to the type of the table, nil for none.
type untyped interface {
	Name() string
	MaxRows() int
	Maintain(ctx context.Context, p *Plan, c *engine.Change) error
}

func maintainedUntyped(m untyped) *maintained {
	name := m.Name()
	return &maintained{
		typed: m, name: name, maxRows: m.MaxRows(),
		maintain: func(ctx context.Context, p *engine.Plan, c *engine.Change) error {
			plan := &Plan{plan: p}
			return plan.result(name, m.Maintain(ctx, plan, c))
		},
		of: func(typed any) *maintained { return maintainedUntyped(typed.(untyped)) },
	}
}

func (m *maintained) Name() string { return m.name }

func (m *maintained) MaxRows() int { return m.maxRows }

// Typed returns the maintainer.
func (m *maintained) Typed() any { return m.typed }

// Of returns another maintainer of the same type as the engine calls it.
func (m *maintained) Of(typed any) engine.Maintainer { return m.of(typed) }

// Maintain calls the maintainer.
func (m *maintained) Maintain(ctx context.Context, p *engine.Plan, c *engine.Change) error {
	return m.maintain(ctx, p, c)
}

var errNilMaintainer = &table.ValueError{Field: "m", Reason: "is nil"}

// added returns the change of a handle's mode by one more maintainer.
func added(t *engine.Table, m engine.Maintainer) (func(*engine.Mode), error) {
	taken := func(other engine.Maintainer) bool { return other.Name() == m.Name() }
	switch {
	case m.Name() == "" || slices.ContainsFunc(t.Mode.Maintainers, taken):
		return nil, &table.ValueError{Field: "m", Reason: fmt.Sprintf("the name %q is empty or taken", m.Name())}
	case m.MaxRows() < 0:
		return nil, &table.ValueError{Field: "m", Reason: fmt.Sprintf("MaxRows of %q is negative", m.Name())}
	}
	maintainers := append(slices.Clip(t.Mode.Maintainers), m)
	rows := t.Mode.Parts
	for _, m := range maintainers {
		rows += m.MaxRows()
	}
	if rows > engine.MaxDerived {
		return nil, &table.LimitError{Limit: "rows that the maintainers of an entity touch, its parts included", Got: rows, Max: engine.MaxDerived}
	}
	return func(m *engine.Mode) { m.Maintainers = maintainers }, nil
}

// Plan is a transaction while it is planned. All maintainers of all its entities, of any types, add
// their rows to it. It has one operation for each RowKey, so that two entities that change one row
// make one operation of it.
//
// There are two sorts of derived rows. A row of one entity, such as an index row: the maintainer
// knows from its maintainer state whether the row exists, and uses Insert, Put and Remove, which
// cost no request. A shared row, such as a list or a sum, follows from several entities: Load it
// first, for 1 request, and then Put or Remove it. A shared row is written by its ETag, and after a
// conflict the whole transaction is replanned.
type Plan struct {
	plan    *engine.Plan
	parent  *Plan // of the entity's partition; nil if that is this one
	refusal error // the last error of a derived row that the plan returned
}

// refused returns an error of the plan as the maintainer sees it.
func (p *Plan) refused(err error) error {
	if _, ofRow := err.(*table.DerivedError); ofRow {
		of := p
		if p.parent != nil {
			of = p.parent
		}
		of.refusal = err
	}
	return err
}

// result returns what a maintainer has returned, as the engine takes it: an error of the plan stays
// as it is, also in other words.
func (p *Plan) result(maintainer string, err error) error {
	de, is := err.(*table.DerivedError)
	switch {
	case is && (de.Maintainer == maintainer || err == p.refusal), err != nil && p.refusal != nil && errors.Is(err, p.refusal):
		return engine.PlanError{Err: err}
	}
	return err
}

// Insert adds a row that does not exist, unless this transaction removes it. The row's ETag is
// ignored. If the row exists, the write fails with taken. If taken is nil, the row is the
// maintainer's own and is overwritten; but a copy ([table.Row.Copy]) overwrites only a copy of the
// same entity, and fails with table.ErrForeignRow otherwise.
func (p *Plan) Insert(r *table.Row, taken error) error {
	return p.refused(p.plan.Insert((*stored.Row)(r).Clone(), taken))
}

// Put replaces a row, with all its columns: a row that the entity owned before, or a loaded row,
// which may also be absent.
func (p *Plan) Put(r *table.Row) error { return p.refused(p.plan.Put((*stored.Row)(r).Clone())) }

// Remove deletes a row that the entity owned, unless another entity in the same transaction takes
// it over.
func (p *Plan) Remove(row keys.RowKey) error {
	s, err := row.Result()
	if err != nil {
		return err
	}
	return p.refused(p.plan.Remove(s))
}

// Load reads a shared row of the partition, and returns it with the changes that this transaction
// has planned so far; nil if there is none. It may be an entity of another type, which keeps its
// incarnation; an entity with derived rows of its own cannot be written here
// (table.ErrNotDeclared), and a row with parts, of which Load reads the head, keeps them. If the
// row cannot be read, the write fails. A row that is loaded and not written is not protected
// against concurrent writers. 1 request for each row of a transaction. Bulk work keeps rows that it
// has loaded and written for its next transactions of the partition: such a row takes a request
// only if it was not written this time, or has changed.
func (p *Plan) Load(ctx context.Context, row keys.RowKey) (*table.Row, error) {
	return p.read(ctx, row, p.plan.Load)
}

// Entity returns the row of an entity of the partition, of any type, with the changes that this
// transaction has planned so far; nil if there is none. It is for reading only. An entity with
// parts that is not in the transaction fails with table.ErrNotDeclared. At most 1 request.
func (p *Plan) Entity(ctx context.Context, row keys.RowKey) (*table.Row, error) {
	return p.read(ctx, row, p.plan.Entity)
}

func (p *Plan) read(ctx context.Context, row keys.RowKey, f func(context.Context, string) (*stored.Row, error)) (*table.Row, error) {
	s, err := row.Result()
	if err != nil {
		return nil, err
	}
	r, err := f(ctx, s)
	return (*table.Row)(r.Clone()), p.refused(err)
}

// Scan yields the rows of a range of the partition, with the changes that this transaction has
// planned so far and without the row of the changing entity, in no order. Use Scan to recompute a
// shared row, such as a minimum after its entity was deleted. Concurrent writers may change the
// scanned rows before the transaction commits. To exclude that, Load and Put one row that every
// writer of this range also writes. An error ends the write. Errors: table.ErrRanged if the
// client's signature is for a range of rows, because the scan would leave out other rows. 1 request
// for each 1,000 rows.
func (p *Plan) Scan(ctx context.Context, rows keys.RowRange) iter.Seq2[*table.Row, error] {
	return func(yield func(*table.Row, error) bool) {
		if err := p.plan.Scan(ctx, rows, func(r *stored.Row) bool { return yield((*table.Row)(r.Clone()), nil) }); err != nil {
			yield(nil, p.refused(err))
		}
	}
}

// Effect adds work that is due outside the partition once the transaction is committed. The
// outbox's workers execute it at least once, by the handler of this kind. version is the version of
// the payload's form. All effects of a transaction together have 256 KiB as they are stored, which
// is about 190 KiB of payload. Without an outbox, the write fails with a *table.ValueError.
func (p *Plan) Effect(kind string, version int, payload []byte) {
	p.plan.Effect(kind, version, payload)
}

// AfterCommit plans a call of f for the time when the transaction is known to be committed, before
// the method that writes returns. Meanwhile, the outbox may show the notification of the write. It
// is for work whose loss does no harm, such as the deletion of blobs that the entity does not refer
// to any more, and f reports its own errors: f is not called after a crash, nor after a write whose
// outcome stayed unknown, nor if an earlier plan of the write may have been committed. Work that
// must be done is a [Plan.Effect]. A later call with the same name replaces f; a nil f removes it.
func (p *Plan) AfterCommit(name string, f func(context.Context)) { p.plan.AfterCommit(name, f) }

// Expired reports whether the entity is deleted because its end has passed; see package expire.
func (c *Change[T]) Expired() bool { return c.change.Expired() }

func init() { door.Plans = doors{} }

// doors is what other packages of this module do with plans and changes; see package door.
type doors struct{}

func (doors) Insert(p any, r *stored.Row, taken error) error {
	plan := p.(*Plan)
	return plan.refused(plan.plan.Insert(r, taken))
}

func (doors) Put(p any, r *stored.Row) error {
	plan := p.(*Plan)
	return plan.refused(plan.plan.Put(r))
}

func (doors) Maintain(t *engine.Table, m any) (func(*engine.Mode), error) {
	return added(t, maintainedUntyped(m.(untyped)))
}

func (doors) Plan(p any) *engine.Plan { return p.(*Plan).plan }

func (doors) Retake(p any, r *stored.Row) (bool, error) {
	plan := p.(*Plan)
	ok, err := plan.plan.Retake(r)
	return ok, plan.refused(err)
}

func (doors) Participant(p any, t *engine.Table, partition string) (any, error) {
	parent := p.(*Plan)
	participant, err := parent.plan.Participant(t, partition)
	if err != nil {
		return nil, parent.refused(err)
	}
	if participant == parent.plan {
		return parent, nil
	}
	if parent.parent != nil {
		parent = parent.parent
	}
	if participant == parent.plan {
		return parent, nil
	}
	return &Plan{plan: participant, parent: parent}, nil
}
