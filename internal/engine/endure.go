package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// mostOutage is how long work on a whole table goes on while the service cannot be reached, or is
// busy.
const mostOutage = 10 * time.Minute

// enduring is in the context of work on a whole table. Such work outlasts an outage of minutes once
// a request of it was answered, or for a write once another request was. Before that, an outage is
// more often a wrong address. It is one outage for all reads of the work, so that loops around
// others do not take several times as long. A write has that time for itself.
type enduring struct {
	mu       sync.Mutex
	answered bool
	since    time.Time // of the outage; zero for none
}

type enduringKey struct{}

// Enduring returns the context of work on a whole table.
func Enduring(ctx context.Context) context.Context {
	if ctx.Value(enduringKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, enduringKey{}, new(enduring))
}

// Impatient returns the context of work that others repeat: of a slice of a job, which another
// worker does if this one cannot, or of a request for which several callers wait. Enduring does
// nothing there.
func Impatient(ctx context.Context) context.Context {
	return context.WithValue(ctx, enduringKey{}, (*enduring)(nil))
}

// enduringOf returns what a context has of work on a whole table, nil if it is of other work.
func enduringOf(ctx context.Context) *enduring {
	e, _ := ctx.Value(enduringKey{}).(*enduring)
	return e
}

// answered notes that a request of work on a whole table was answered.
func answered(ctx context.Context) {
	if e := enduringOf(ctx); e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.answered, e.since = true, time.Time{}
	}
}

// endures reports whether work of a context goes on for minutes now.
func endures(ctx context.Context) bool {
	e := enduringOf(ctx)
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.answered
}

// end returns when the work gives up. The outage begins now, unless it has begun.
func (e *enduring) end() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.since.IsZero() {
		e.since = time.Now()
	}
	return e.since.Add(mostOutage)
}

// isAnswer reports whether the service has answered a request, whatever its answer is.
func isAnswer(ctx context.Context, err error) bool {
	switch {
	case err == nil:
		return true
	case Outage(err), ctx.Err() != nil, errors.As(err, new(*wire.NotServiceError)):
		return false
	}
	return !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// Endure calls f, which sends a request, and calls it again during an outage if the context is of
// work on a whole table, unless the policy has a number of attempts.
func (r Retry) Endure(ctx context.Context, log Log, f func() error) error {
	err := f()
	if !Outage(err) || !r.endures(ctx) {
		if isAnswer(ctx, err) {
			answered(ctx)
		}
		return err
	}
	bounded, cancel := context.WithDeadline(ctx, enduringOf(ctx).end())
	defer cancel()
	tries := attempts{retry: r, log: log}
	for Outage(err) && tries.wait(bounded, err) {
		err = f()
	}
	if isAnswer(ctx, err) {
		answered(ctx)
	}
	return err
}

// endures reports whether requests are repeated for minutes now.
func (r Retry) endures(ctx context.Context) bool { return r.Attempts <= 0 && endures(ctx) }

// Timeout returns how long work goes on that is begun in a context, for how long it usually does; 0
// or less for no bound.
func (r Retry) Timeout(ctx context.Context, usual time.Duration) time.Duration {
	if usual > 0 && r.endures(ctx) {
		return max(usual, mostOutage)
	}
	return usual
}

// patient returns a handle for a write that is begun in a context. The options stay as they are:
// the notification has its usual time, and so have conflicts, from the first one on. If a worker
// sees the notification earlier and ends the write, the write begins again.
func (t *Table) patient(ctx context.Context) *Table {
	r := Retry(t.Options.Retry)
	if !r.endures(ctx) {
		return t
	}
	c := *t
	c.lasts = r.Timeout(ctx, t.Options.WriteTimeout)
	return &c
}

// writeTimeout returns how long a write by the handle goes on.
func (t *Table) writeTimeout() time.Duration {
	if t.lasts > 0 {
		return t.lasts
	}
	return t.Options.WriteTimeout
}
