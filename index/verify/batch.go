package verify

import (
	"sync"

	"github.com/aztablekit/aztablekit/table"
)

// batch collects the faults of many entities in rows that they share: repaired one by one, each would write the whole row.
type batch[T any] struct {
	mu        sync.Mutex
	additions []addition[T] // entities that are missing in rows
	removals  []removal
	rows      map[candidate]*table.Row // the rows of the removals, each read once for all
}

// removal is an entity that a row should not name.
type removal struct {
	candidate candidate
	row       *table.Row // as it was when the fault was confirmed
	fault     Fault
}

func newBatch[T any]() *batch[T] { return &batch[T]{rows: map[candidate]*table.Row{}} }

func (b *batch[T]) addEntity(a addition[T]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.additions = append(b.additions, a)
}

// addRemoval adds a removal. Removals of the same version of a row share one copy of it.
func (b *batch[T]) addRemoval(r removal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if row := b.rows[r.candidate]; row != nil && row.ETag == r.row.ETag {
		r.row = row
	} else {
		b.rows[r.candidate] = r.row
	}
	b.removals = append(b.removals, r)
}
