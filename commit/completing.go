package commit

import (
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// Completing returns a handle of t for one write that executes the n-th effect of a commit record of the table, as it was read,
// and completes the effect in the same transaction: the commit record loses that effect and gets the effects of the write
// instead, for the same worker to execute, without another notification. If no effect is left, the record is done. So the effect
// is executed just once, and no effect of the write is lost. The write must be in the record's partition. When it succeeds, r is
// the record as it is stored then.
//
// Errors of the write: table.ErrChanged also if another worker has completed an effect of the commit record since it was read:
// read it again; *table.ValueError for a commit record that is not pending, has no such effect, or was completed by this handle
// before; table.ErrOtherPartition; and the other errors of the write's method. Requests: the write's own. Completing panics if t
// is nil or a zero Table.
func Completing[T any](t *table.Table[T], r *Record, n int) *table.Table[T] {
	c := completion(r, n)
	return t.InMode(func(m *engine.Mode) { m.Completes = c })
}

func completion(r *Record, n int) *engine.Completion {
	c := &engine.Completion{Effect: n, Valid: r != nil}
	if r == nil {
		return c
	}
	plain, err := r.engine()
	if err != nil { // the write is in another partition
		plain = &engine.Record{State: engine.RecordPending, Effects: plain.Effects}
	}
	c.Record = *plain
	c.Applied = func(now engine.Record) { r.set(&now) }
	return c
}
