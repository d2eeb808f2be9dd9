package table

import (
	"slices"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Untyped returns the same table as rows of any type, without the maintainers of this handle, for programs that repair derived rows:
// it also writes the library's rows. named says whether rows that it writes contain the operation ID, as entities do, and derived rows
// of several entities do not.
func (t *Table[T]) Untyped(named bool) *Table[Row] {
	plain := *t.h.engine.Plain()
	plain.Options.OmitOperationID = plain.Options.OmitOperationID || !named
	s := rowShape()
	plain.Mode.Decoder = s
	return &Table[Row]{h: handle{&plain, s}}
}

// IgnoreCorruptState returns a handle for repairs, which ignores corrupt maintainer state: it takes the entity for one without derived rows,
// instead of failing with a *DecodeError.
func (t *Table[T]) IgnoreCorruptState() *Table[T] {
	return t.with(func(m *engine.Mode) { m.IgnoreCorruptState = true })
}

// WholeRow returns the row as an entity, also if the row is a copy, for writes of the copy itself.
func (t *Table[T]) WholeRow(row *Row) (*Entity[Row], error) {
	if row == nil {
		return nil, t.h.opError("WholeRow", keys.Key{}, errNil)
	}
	return &Entity[Row]{Value: *row, Key: row.Key, ETag: row.ETag, Timestamp: row.Timestamp, known: known{row: row.stored()}}, nil
}

// Maintainers returns the maintainers of the handle.
func (t *Table[T]) Maintainers() []Maintainer[T] { return slices.Clone(t.maintainers) }

// Completing returns a handle for one write that executes the n-th effect of a commit record of this table, as it was read, and
// completes the effect in the same transaction: the commit record loses that effect and gets those of the write instead, for the same
// worker to execute, without another notification. If no effect is left, the record is done. So the effect is executed just once, and
// no effect of the write is lost. The write must be in the record's partition. When it succeeds, i is the record as it is stored then.
//
// Errors: those of the write; ErrChanged also if another worker has completed an effect of the record since it was read: read it
// again; *ValueError for a record that is not pending, has no such effect, or was completed by this handle before; ErrOtherPartition.
// Requests: the write's own.
func (t *Table[T]) Completing(i *CommitRecord, n int) *Table[T] {
	c := &engine.Completion{Effect: n, Valid: i != nil}
	if i != nil {
		if r, err := i.engine(); err == nil { // else the write is in another partition
			c.Record = *r
		} else {
			c.Record = engine.Record{State: engine.RecordPending, Effects: r.Effects}
		}
		c.Applied = func(r engine.Record) { i.set(&r) }
	}
	return t.with(func(m *engine.Mode) { m.Completes = c })
}

// with returns the same handle in another mode.
func (t *Table[T]) with(change func(*engine.Mode)) *Table[T] {
	c := *t
	c.h = t.h.with(change)
	return &c
}

// rowShape is the shape of rows of any type.
func rowShape() *shape {
	s, _ := shapeOf(Schema[Row]{}) // it has no mistake
	s.plan, _ = edm.NewPlan(emptyType, nil)
	return s
}
