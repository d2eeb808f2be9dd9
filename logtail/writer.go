package logtail

import (
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// writer dates and numbers the records of a Log, so that the keys of a writer differ, and each record is newer than the one before,
// also if the clock steps back a little. If the clock steps back by more than overlap, another writer begins, whose records have
// the new time. The records of each source are numbered from 0.
type writer struct {
	now     func() time.Time
	newID   func() string
	overlap time.Duration
	unit    *Unit // of the tables; nil for one table

	mu   sync.Mutex
	id   string
	last time.Time        // of the newest record
	next map[string]int64 // for each source, the number of its next record
}

// maxSources is the most sources of a writer. Then another writer begins, so that memory has a bound.
const maxSources = 100_000

// positions returns the position of the first of n records of a source. The others follow, a tick later each, in one period. Errors:
// *keys.KeyError for a time that no key can contain; *table.ValueError for an ID that no key can contain.
func (w *writer) positions(source string, n int) (position, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.now().UTC().Truncate(tick)
	if _, err := keys.Ticks(at.Add(time.Duration(n) * tick)); err != nil {
		return position{}, err
	}
	switch behind := w.last.Sub(at); {
	case w.id == "" || behind > w.overlap || len(w.next) > maxSources:
		id := w.newID()
		if id == "" || recordLayout.Of(at, id, 0).Err() != nil {
			return position{}, &table.ValueError{Field: "Common.NewID", Reason: "returned an ID that no key can contain"}
		}
		w.id, w.next = id, map[string]int64{}
	case behind >= 0:
		at = w.last.Add(tick)
	}
	if end := at.Add(time.Duration(n-1) * tick); w.unit != nil && w.unit.start(at) != w.unit.start(end) {
		at = w.unit.start(end) // one table takes them all
	}
	p := position{at, w.id, w.next[source]}
	w.last = at.Add(time.Duration(n-1) * tick)
	w.next[source] += int64(n)
	return p, nil
}
