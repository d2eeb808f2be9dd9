package storagetest

import (
	"slices"
	"strings"
	"time"
)

// tick is the least time between two versions of a row.
const tick = time.Millisecond

// tableData is a table: partitions in order, each with its rows in order.
type tableData struct {
	name       string // as it was created; addresses may spell it otherwise
	partitions []*partition
	dropped    time.Time // the youngest Timestamp of a deleted row
}

type partition struct {
	pk   string
	rows []*entity
}

func (t *tableData) partition(pk string) (int, bool) {
	return slices.BinarySearchFunc(t.partitions, pk, func(p *partition, pk string) int { return compareText(p.pk, pk) })
}

func (p *partition) row(rk string) (int, bool) {
	return slices.BinarySearchFunc(p.rows, rk, func(e *entity, rk string) int { return compareText(e.rk, rk) })
}

func (t *tableData) get(pk, rk string) *entity {
	i, ok := t.partition(pk)
	if !ok {
		return nil
	}
	p := t.partitions[i]
	if i, ok = p.row(rk); !ok {
		return nil
	}
	return p.rows[i]
}

// set stores a row under its key, or with nil removes it.
func (t *tableData) set(pk, rk string, e *entity) {
	i, ok := t.partition(pk)
	if !ok {
		if e == nil {
			return
		}
		t.partitions = slices.Insert(t.partitions, i, &partition{pk: pk})
	}
	p := t.partitions[i]
	j, ok := p.row(rk)
	switch {
	case ok && e != nil:
		p.rows[j] = e
	case ok:
		p.rows = slices.Delete(p.rows, j, j+1)
	case e != nil:
		p.rows = slices.Insert(p.rows, j, e)
	}
	if len(p.rows) == 0 {
		t.partitions = slices.Delete(t.partitions, i, i+1)
	}
}

// stamp is the Timestamp of a write over old, which may be nil. A row that is created again is younger than any that was
// deleted, or an ETag from before would fit it.
func (t *tableData) stamp(now time.Time, old *entity) time.Time {
	last := t.dropped
	if old != nil {
		last = old.stamp
	}
	if least := last.Add(tick); now.Before(least) {
		now = least
	}
	return now.UTC().Truncate(100 * time.Nanosecond)
}

// state is what the service holds, and how to take back what a transaction has begun.
type state struct {
	tables  map[string]*tableData // by name in lower case
	deleted map[string]deletion   // by name in lower case
	undo    []undo

	queues             map[string]*queueData
	deletedQueues      map[string]time.Time
	messages, receipts uint64 // that were made
}

// deletion is what is known of a table that is gone.
type deletion struct{ at, youngest time.Time }

// youngest is the youngest Timestamp that the table has given away.
func (t *tableData) youngest() time.Time {
	last := t.dropped
	for _, p := range t.partitions {
		for _, e := range p.rows {
			if e.stamp.After(last) {
				last = e.stamp
			}
		}
	}
	return last
}

type undo struct {
	table   *tableData
	pk, rk  string
	was     *entity
	dropped time.Time
}

func (s *state) table(name string) *tableData { return s.tables[strings.ToLower(name)] }

// put stores a row, or with nil removes it.
func (s *state) put(t *tableData, pk, rk string, e *entity) {
	was := t.get(pk, rk)
	s.undo = append(s.undo, undo{t, pk, rk, was, t.dropped})
	if e == nil && was != nil && was.stamp.After(t.dropped) {
		t.dropped = was.stamp
	}
	t.set(pk, rk, e)
}

// commit makes what was put final.
func (s *state) commit() { s.undo = s.undo[:0] }

// rollback takes it back.
func (s *state) rollback() {
	for _, u := range slices.Backward(s.undo) {
		u.table.set(u.pk, u.rk, u.was)
		u.table.dropped = u.dropped
	}
	s.commit()
}
