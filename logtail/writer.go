package logtail

import (
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// writer dates and numbers the records of a Log, so that the keys of a writer differ, and each record is newer than the one before,
// also if the clock steps back a little. If the clock steps back by more than overlap, another writer begins, whose records have the
// new time.
type writer struct {
	now     func() time.Time
	newID   func() string
	overlap time.Duration

	mu       sync.Mutex
	id       string
	last     time.Time // of the newest record
	sequence int64     // of the next record
}

// next returns the position of the first of n records. The others follow, a tick later each. The error is a *keys.KeyError for a time
// that no key can contain.
func (w *writer) next(n int) (position, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.now().UTC().Truncate(tick)
	if _, err := keys.Ticks(at.Add(time.Duration(n) * tick)); err != nil {
		return position{}, err
	}
	switch behind := w.last.Sub(at); {
	case w.id == "" || behind > w.overlap:
		w.id, w.sequence = w.newID(), 0
	case behind >= 0:
		at = w.last.Add(tick)
	}
	p := position{at, w.id, w.sequence}
	w.last = at.Add(time.Duration(n-1) * tick)
	w.sequence += int64(n)
	return p, nil
}

// after returns the position i records later.
func (p position) after(i int) position {
	return position{p.time.Add(time.Duration(i) * tick), p.writer, p.sequence + int64(i)}
}
