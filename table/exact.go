package table

import "github.com/aztablekit/aztablekit/internal/engine"

// Exact returns a handle of the same table whose writes also store a commit record, a small row ~i|… beside the entity, in the same
// transaction. After a lost response, the commit record proves that the write was applied. If there is none, the library stores an
// abort record in its place, and the write can never commit, even if its request arrives later. The outcome is unknown only if no
// abort record could be stored: because the context or the write's time has ended, or because the service refuses the abort record.
// The error is then an [UnknownError], which can be resolved later.
//
// Requests: as without Exact; 1 or 2 more after a lost response. If an insert finds its row, 1 more: it stores an abort record,
// because a late copy of its request could succeed once the row is deleted. The same is true of other writes without an ETag.
// Commit records are kept for 24 hours; then commit.SweepAll deletes them.
func (t *Table[T]) Exact() *Table[T] {
	return &Table[T]{t.h.exact()}
}

func (h handle) exact() handle { return h.with(func(m *engine.Mode) { m.Exact = true }) }
