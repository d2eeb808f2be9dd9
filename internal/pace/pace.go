// Package pace limits how many rows are read and written in a second, and measures time on machines
// that sleep.
package pace

import (
	"context"
	"sync"
	"time"
)

// Limit lets so many rows through in a second. The zero value has no limit. Its methods may be
// called at the same time.
type Limit struct {
	mu   sync.Mutex
	rate int
	next time.Time // when the rows so far are paid for
}

// New returns a limit; 0 means none.
func New(rate int) *Limit { return &Limit{rate: rate} }

// Spend takes n rows, and waits until they are paid for. It is for rows that are about to be
// written, and for rows that were read.
func (l *Limit) Spend(ctx context.Context, n int) error { return pause(ctx, l.take(n)) }

// Charge takes n rows that were written, without waiting: the next Wait does.
func (l *Limit) Charge(n int) { l.take(n) }

// Wait waits until all rows are paid for.
func (l *Limit) Wait(ctx context.Context) error { return pause(ctx, l.take(0)) }

// AtMost sets the limit, unless there is one.
func (l *Limit) AtMost(rate int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate <= 0 {
		l.rate = rate
	}
}

// PageSize returns how many rows to read with a request: not more than may be read in a second; 0
// for the service's limit.
func (l *Limit) PageSize() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return min(max(l.rate, 0), 1000)
}

// Paid reports whether all rows are paid for.
func (l *Limit) Paid() bool { return l.take(0) <= 0 }

// take returns how long it takes until n more rows are paid for.
func (l *Limit) take(n int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate <= 0 {
		return 0
	}
	now := time.Now()
	if l.next.Before(now) {
		l.next = now
	}
	l.next = l.next.Add(time.Duration(n) * time.Second / time.Duration(l.rate))
	return l.next.Sub(now)
}

// pause waits, but not for less than a millisecond, which is too short for a timer: the next call
// waits for both.
func pause(ctx context.Context, d time.Duration) error {
	if d < time.Millisecond {
		return ctx.Err()
	}
	return Sleep(ctx, d)
}

// Sleep waits for d, or until ctx ends. Errors: context.Canceled or context.DeadlineExceeded if ctx
// ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Moment is a time by two clocks: the wall clock, which may be set, and the monotonic one, which
// stands still while a machine is suspended.
type Moment struct{ Wall, Monotonic time.Time }

// MomentOf returns the moment by the program's clock and by the monotonic one.
func MomentOf(now func() time.Time) Moment {
	return Moment{now().Round(0), time.Now()} // the program's clock may be set, and carry a monotonic reading that was changed as well
}

// Since returns the time from one moment to a later one, by the clock that has gone further.
func (m Moment) Since(before Moment) time.Duration {
	return max(m.Wall.Sub(before.Wall), m.Monotonic.Sub(before.Monotonic))
}
