package engine

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"
)

// mostOutage is how long a request of work on a whole table is repeated while the service cannot be
// reached, or is busy.
const mostOutage = 10 * time.Minute

// enduring is in the context of work on a whole table. Such work outlasts an outage of minutes once
// a request of it was answered, or for a write once another write was. Before that, an outage is
// more often a wrong address.
type enduring struct{ began atomic.Bool }

type enduringKey struct{}

// Enduring returns the context of work on a whole table.
func Enduring(ctx context.Context) context.Context {
	if ctx.Value(enduringKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, enduringKey{}, new(enduring))
}

// Impatient returns the context of work whose caller repeats it, such as a worker's: Enduring does
// nothing there.
func Impatient(ctx context.Context) context.Context {
	return context.WithValue(ctx, enduringKey{}, (*enduring)(nil))
}

// enduringOf returns what a context has of work on a whole table, nil if it is of other work.
func enduringOf(ctx context.Context) *enduring {
	e, _ := ctx.Value(enduringKey{}).(*enduring)
	return e
}

// began notes that a request of work on a whole table was answered.
func began(ctx context.Context) {
	if e := enduringOf(ctx); e != nil {
		e.began.Store(true)
	}
}

// endures reports whether requests of a context are repeated for minutes now.
func endures(ctx context.Context) bool {
	e := enduringOf(ctx)
	return e != nil && e.began.Load()
}

// Endure calls f, which sends a request, and calls it again during an outage if the context is of
// work on a whole table.
func (r Retry) Endure(ctx context.Context, log Log, f func() error) error {
	err := f()
	if !Outage(err) {
		began(ctx)
		return err
	}
	if !endures(ctx) {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, mostOutage)
	defer cancel()
	tries := attempts{retry: r, log: log}
	for Outage(err) && tries.wait(bounded, err) {
		err = f()
	}
	return err
}

// Timeout returns how long work goes on that is begun in a context, for how long it usually
// does.
func Timeout(ctx context.Context, usual time.Duration) time.Duration {
	if usual > 0 && endures(ctx) {
		return max(usual, mostOutage)
	}
	return usual
}

// patient returns a handle for a write that is begun in a context. The notification of a write that
// goes on for minutes is hidden as long as ever: if a worker sees it earlier, and ends the write,
// the write begins again.
func (t *Table) patient(ctx context.Context) *Table {
	if !endures(ctx) {
		return t
	}
	c := *t
	c.hides = 2 * t.Options.WriteTimeout
	c.Options.WriteTimeout = Timeout(ctx, t.Options.WriteTimeout)
	return &c
}

// hidden returns how long the notification of a write is hidden.
func (t *Table) hidden() time.Duration { return cmp.Or(t.hides, 2*t.Options.WriteTimeout) }
