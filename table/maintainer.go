package table

import (
	"context"
	"fmt"
	"reflect"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// Maintainer keeps rows and effects that follow from the entities of a table: index rows, lists, summaries, copies elsewhere.
// [Table.With] attaches it. It is called for each change of an entity, whatever verb it comes from, while the one transaction
// that makes the change is planned, and adds to that transaction. It must be safe for concurrent use, must not keep what it is
// given, and may be called several times for one change, when a transaction has to be replanned.
type Maintainer[T any] interface {
	// Name names it in errors and in what it remembers; it is unique among the maintainers of a table.
	Name() string
	// MaxRows is the most rows that it writes for the change of one entity. Rows that it only loads do not count.
	MaxRows() int
	// Maintain adds to p what follows from c. Its error ends the write before anything is sent, as a *DerivedError. It goes by
	// what it has remembered, rather than by Old, to tell which rows of its own there are: the entity may be older than the
	// maintainer, or its key function newer than the rows.
	Maintain(ctx context.Context, p *Plan, c *Change[T]) error
}

// Change is what happens to one entity: it is inserted (Old is nil), deleted (New is nil), or changed. Old and New are what is
// stored before and after, as a reader finds it, and are not to be changed.
type Change[T any] struct {
	Key      keys.Key
	Old, New *T

	was  []byte // the row as it is stored
	row  []byte // as it will be stored
	kept *kept
	by   string // whose turn it is
}

// Row returns the row as it will be stored, with the columns that T does not know, for full copies of it: put it under
// another RowKey of the partition by [Row.Copy] or [Row.At]. It carries the operation ID, as the primary does, but neither its life nor
// what maintainers remember. It is nil where the entity is deleted.
func (c *Change[T]) Row() (*Row, error) {
	return c.rowOf(c.row)
}

// OldRow is [Change.Row] for the row as it is stored before the change. It is nil where the entity is inserted, and may be where
// the stored row is of an older version than the schema.
func (c *Change[T]) OldRow() (*Row, error) { return c.rowOf(c.was) }

func (c *Change[T]) rowOf(raw []byte) (*Row, error) {
	if raw == nil {
		return nil, nil
	}
	columns, err := columnsOf(raw)
	if err != nil {
		return nil, err
	}
	return (&Row{Key: c.Key, columns: columns}).Bare(), nil
}

// Forgotten reports whether the entity exists and its row has no maintainer state (_ix) that can be read: another program has replaced
// the row, or the row was written without maintainers. Derived rows of it may exist that neither Remembered nor Old leads to.
func (c *Change[T]) Forgotten() bool {
	return !c.kept.fresh && (!c.kept.stored || c.kept.damaged)
}

// Life tells lives of an entity apart: one that was deleted and inserted again has another. It is given when it is first asked
// for and stored with the entity from then on. Of an entity that never had one and is being deleted it is "".
func (c *Change[T]) Life() string {
	if c.kept.life == "" && c.New != nil {
		c.kept.life, c.kept.changed = c.kept.newID(), true
	}
	return c.kept.life
}

// Remembered returns what the maintainer gave to Remember when the entity was written last, nil if nothing.
func (c *Change[T]) Remembered() []string { return c.kept.was[c.by] }

// Remember keeps texts with the entity until its next change: the keys of its index rows, so that they are found again by a
// program whose key function is another. What is not remembered again is forgotten. All maintainers together have 60 KiB;
// beyond, the write ends with a *LimitError.
func (c *Change[T]) Remember(texts ...string) { c.kept.is[c.by] = texts }

// DerivedError says which maintainer a write has failed for, and at which of its rows, if it was one. Err is the maintainer's
// own error, for errors.Is and errors.As, such as the one that it gave for a value that is taken, or one of the package's
// conditions.
type DerivedError struct {
	Maintainer string
	Key        keys.Key // of the derived row, or zero
	Owner      keys.Key // the entity that has the row, where it is taken and says whose it is
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

// With returns a handle of the same table whose every write keeps what the maintainers derive, besides those that t has
// already. All verbs and transactions go through them; a write that touches derived rows is one transaction with them, 1
// request as without. Entities that a verb gets carry what their derived rows follow from; a verb that has only a key, and
// one whose entity was not read whole, reads the row first and writes by its ETag, 1 request more, and again where a concurrent writer was
// faster, Retry.Rounds times at most.
//
// outbox carries effects; it may be nil where there are none, and then that of t stays. A table has one. Handles without
// maintainers do not see the derived rows of others: use one handle for all writes.
//
// What fails for a maintainer is a *DerivedError; for a row that entities share, and that others were always faster to change, it is
// ErrContended.
//
// A derived row that is missing, or in the way, for somebody has deleted or written it by hand, is read and repaired with the
// entity's next write; see [Table.Repaired].
//
// Errors: *LimitError for maintainers that need more than 97 rows together; *ValueError for one that is nil, or has the name of
// another, for a second outbox, and for an outbox where Common.WriteTimeout is no bound.
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

// Exact returns a handle of the same table whose writes also store an intent, a small row ~i|… beside the entity, in the same
// transaction: the proof that they were done. Where a response is lost, it tells what has become of the write; where there is no
// intent, a marker is put in its place, and the write, wherever it may still be on its way, can never be done any more. So the
// outcome is unknown only when the context or the write's own time is over, or where the service refuses the marker itself, and
// [UnknownError] can then be resolved later.
//
// Requests: as without; after a lost response 1 or 2 more; and 1 more for a refusal that could pass by itself: that of a row which
// exists now and may be deleted later. Intents are kept for 24 hours, then [Table.SweepIntents] deletes them.
func (t *Table[T]) Exact() *Table[T] {
	c := *t
	c.exact = true
	return &c
}

// Repaired is how many derived rows this handle, and those that share its maintainers' beginnings by With and Exact, have found
// missing or in the way, and have repaired with a write of their entity.
func (t *Table[T]) Repaired() int { return int(t.shared.repaired.Load()) }
