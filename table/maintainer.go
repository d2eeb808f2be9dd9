package table

import (
	"context"
	"fmt"
	"reflect"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Maintainer derives rows and effects from the entities of a table: index rows, lists, summaries, copies elsewhere. [Table.With]
// attaches it. Each write calls it for each entity that changes, while the transaction is planned, and it adds to that transaction.
// It must be safe for concurrent use and must not keep its arguments. It may be called several times for one change, if the
// transaction is replanned.
type Maintainer[T any] interface {
	// Name is unique among the maintainers of a table. Errors and maintainer state contain it.
	Name() string
	// MaxRows is the most rows that Maintain writes for the change of one entity, without rows that it only loads.
	MaxRows() int
	// Maintain adds to p what follows from c. An error of Maintain ends the write before anything is sent, as a *DerivedError. To tell which
	// of its rows exist, Maintain should use c.State, and not c.Old: the entity may be older than the maintainer, or the
	// maintainer's functions newer than the rows.
	Maintain(ctx context.Context, p *Plan, c *Change[T]) error
}

// Change is the change of one entity: an insert (Old is nil), a delete (New is nil), or an update. Old and New are the stored entity
// before and after, as a reader would find it. Do not change them.
type Change[T any] struct {
	Key      keys.Key
	Old, New *T

	was   []byte // the row as it is stored
	row   []byte // as it will be stored
	state *entityState
	by    string // whose turn it is
}

// Row returns the row as it will be stored, with the columns that T does not know, for full copies: put it under another RowKey of
// the partition by [Row.Copy] or [Row.At]. It contains the operation ID, but neither the incarnation nor maintainer state. It is nil
// if the entity is deleted.
func (c *Change[T]) Row() (*Row, error) {
	return c.rowOf(c.row)
}

// OldRow is [Change.Row] for the row as it is stored before the change. It is nil if the entity is inserted, and may be nil if the stored
// row is of an older version than the schema.
func (c *Change[T]) OldRow() (*Row, error) { return c.rowOf(c.was) }

func (c *Change[T]) rowOf(raw []byte) (*Row, error) {
	if raw == nil {
		return nil, nil
	}
	columns, err := columnsOf(raw)
	if err != nil {
		return nil, err
	}
	return (&Row{Key: c.Key, columns: columns}).WithoutSystemProperties(), nil
}

// Forgotten reports whether the entity exists and its row has no readable maintainer state (_ix): another program has replaced the row, or
// the row was written without maintainers. The entity may then have derived rows that follow neither from Remembered nor from Old.
func (c *Change[T]) StateMissing() bool {
	return !c.state.fresh && (!c.state.stored || c.state.corrupt)
}

// Life returns the entity's incarnation. An entity that was deleted and inserted again has another one. The first call creates the
// incarnation, and the write stores it with the entity. It is "" for an entity without an incarnation that is being deleted.
func (c *Change[T]) Incarnation() string {
	if c.state.incarnation == "" && c.New != nil {
		c.state.incarnation, c.state.changed = c.state.newID(), true
	}
	return c.state.incarnation
}

// Remembered returns the maintainer state: the texts that the maintainer gave to Remember at the entity's last write, nil for none.
func (c *Change[T]) State() []string { return c.state.was[c.by] }

// Remember stores texts with the entity as maintainer state, in place of the earlier ones: the keys of its index rows, so that a
// program with another key function finds them. All maintainers together have 60 KiB; above that, the write fails with a *LimitError.
func (c *Change[T]) SetState(texts ...string) { c.state.is[c.by] = texts }

// DerivedError is the error of a write that failed because of a maintainer, with the derived row if there is one. Err is the maintainer's
// own error, such as the one for a value that is taken, or one of the package's conditions.
type DerivedError struct {
	Maintainer string
	Key        keys.Key // of the derived row, or zero
	Owner      keys.Key // the entity that has the row, if the row is taken and contains its owner
	Err        error
}

func (e *DerivedError) Error() string {
	s := "maintainer " + e.Maintainer
	if e.Key != (keys.Key{}) {
		s += ", row " + e.Key.String()
	}
	if e.Owner != (keys.Key{}) {
		s += ", held by " + e.Owner.String()
	}
	return s + ": " + brief(e.Err)
}

// Unwrap returns Err.
func (e *DerivedError) Unwrap() error { return e.Err }

// maxDerived is how many rows all maintainers of an entity may touch: the entity's own row, under two keys where it is rekeyed, and
// the intent take the others of a transaction.
const maxDerived = maxOperations - 3

// With returns a handle of the same table with these maintainers, besides those that t has. Every write by the handle calls the
// maintainers and writes their rows in its own transaction, still 1 request. A write by key, and a write of an entity that was not
// read whole, reads the row first and writes by its ETag, 1 request more. After a conflict it reads and writes again, Retry.ConflictAttempts
// times at most.
//
// outbox is for effects. If it is nil, the outbox of t stays. A table has one outbox. Handles without maintainers do not see the derived
// rows of other handles: use one handle for all writes.
//
// A write that fails because of a maintainer returns a *DerivedError. If concurrent writers kept changing a shared row, the error is
// ErrContended. A derived row that another program has deleted or changed is read and repaired with the entity's next write; see
// [Table.Repaired].
//
// Errors: *LimitError for maintainers that need more than 97 rows together; *ValueError for a maintainer that is nil or has the name of
// another one, for a second outbox, and for an outbox if Common.WriteTimeout is no bound.
func (t *Table[T]) With(outbox Outbox, maintainers ...Maintainer[T]) (*Table[T], error) {
	fail := func(err error) (*Table[T], error) { return nil, fmt.Errorf("table: With %s: %w", t.name, err) }
	c := *t
	c.maintainers = append(c.maintainers[:len(c.maintainers):len(c.maintainers)], maintainers...)
	if wire.Absent(outbox) {
		outbox = nil
	}
	switch {
	case outbox == nil:
	case !reflect.ValueOf(outbox).Comparable():
		return fail(&ValueError{Field: "outbox", Reason: "cannot be compared with others; use a pointer"})
	case t.outbox != nil && !sameValue(t.outbox, outbox):
		return fail(&ValueError{Field: "outbox", Reason: "the table has another one"})
	case t.opt.WriteTimeout < 0:
		return fail(&ValueError{Field: "Common.WriteTimeout", Reason: "must be a bound, for what an outbox announces is due by then"})
	default:
		c.outbox = outbox
	}
	rows := 0
	names := map[string]bool{}
	for _, m := range c.maintainers {
		switch {
		case wire.Absent(m):
			return fail(&ValueError{Field: "maintainers", Reason: "one is nil"})
		case m.Name() == "" || names[m.Name()]:
			return fail(&ValueError{Field: "maintainers", Reason: fmt.Sprintf("the name %q is empty or taken", m.Name())})
		case m.MaxRows() < 0:
			return fail(&ValueError{Field: "maintainers", Reason: fmt.Sprintf("MaxRows of %q is negative", m.Name())})
		}
		names[m.Name()] = true
		rows += m.MaxRows()
	}
	if rows > maxDerived {
		return fail(&LimitError{Limit: "rows that the maintainers of an entity touch", Got: rows, Max: maxDerived})
	}
	return &c, nil
}

// Exact returns a handle of the same table whose writes also store a commit record, a small row ~i|… beside the entity, in the same
// transaction. After a lost response, the commit record proves that the write was applied. If there is none, the library stores an
// abort record in its place, and the write can never commit, wherever its request may still be. So the outcome is unknown only if the
// context or the write's time ends, or if the service refuses the abort record. The error is then an [UnknownError], which can be
// resolved later.
//
// Requests: as without Exact; 1 or 2 more after a lost response; and 1 more for a refusal that could become wrong: of an insert whose row
// exists now and may be deleted later. Commit records are kept for 24 hours; then [Table.SweepCommitRecords] deletes them.
func (t *Table[T]) Exact() *Table[T] {
	c := *t
	c.exact = true
	return &c
}

// Repaired returns how many derived rows were found missing or changed, and were repaired with a write of their entity, by this handle
// and by handles that With and Exact made of it or that it was made of.
func (t *Table[T]) Repaired() int { return int(t.shared.repaired.Load()) }
