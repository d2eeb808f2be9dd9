package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/table"
)

// Elect waits until it has the lease, calls f, renews the lease while f runs, and releases it when
// f has returned. It returns the error of f. To stand for election again, call it again:
//
//	for ctx.Err() == nil {
//		err := leases.Elect(ctx, "invoices", func(ctx context.Context, held *lease.Lease) error {
//			return sendInvoices(ctx, held)
//		})
//		log.Print(err)
//		time.Sleep(time.Second)
//	}
//
// When the lease is lost, the context of f ends, with [ErrLost] as its cause, at least 2 seconds
// before another holder can have the lease; with a TTL of 15 s, 2.3 s. f should then return: Elect
// waits for it, and returns the error, with another error of f beside it. A process that was
// suspended notices within a second that its lease is over; until then only [Partition.Guard]
// protects what it writes.
//
// While a holder renews the lease as Elect does, three times in each time to live, another Elect
// sends 1 request for each time to live. It goes by the age of the row at the service, and begins
// to wait again whenever the holder has renewed it. After the death of a holder, another one has
// the lease 2 seconds and a third of TTL after its end at the latest; after a release, within a
// time to live.
//
// f runs in the goroutine of the caller. No goroutine outlives Elect, also if f panics; the lease
// is then released, too. Errors: that of f; ErrLost; *table.ValueError for a nil f; those of
// [Leases.Acquire], but for *HeldError; an error of the release is not returned, but for ErrLost.
// Requests: those of Acquire, 1 for each third of TTL while f runs, and 1 to release.
func (s *Leases) Elect(ctx context.Context, name string, f func(ctx context.Context, held *Lease) error) error {
	if err := s.checkCall("Elect", name, f); err != nil {
		return err
	}
	spanned, end := s.rows.Span(ctx, "Elect") // one for all looks: a lease that is held is no failure
	held, err := s.await(spanned, name)
	end(err)
	if err != nil {
		return err
	}
	return held.run(ctx, spanned, f)
}

// Try calls f as [Leases.Elect] does, if no other program has the lease, and does not wait. It is
// for a job that several machines begin at the same time, and one of them does:
//
//	err := leases.Try(ctx, "invoices", func(ctx context.Context, held *lease.Lease) error {
//		return sendInvoices(ctx, held)
//	})
//	if errors.As(err, new(*lease.HeldError)) {
//		return nil // another machine does it
//	}
//
// A machine that comes when f has returned does the job again. If the job is done once a day, let f
// enter a partition, look there for a row that says that the job is done, and store this row with
// [Partition.Guard] at the end, as the example does.
//
// Try returns nil only if f has, and no other program has had the lease meanwhile. Errors:
// *[HeldError] at once; those of Elect. Requests: those of [Leases.Acquire], 1
// for each third of TTL while f runs, and 1 to release.
func (s *Leases) Try(ctx context.Context, name string, f func(ctx context.Context, held *Lease) error) error {
	if err := s.checkCall("Try", name, f); err != nil {
		return err
	}
	spanned, end := s.rows.Span(ctx, "Try")
	held, err := s.acquire(spanned, "Try", name, 0)
	end(err)
	if err != nil {
		return err
	}
	return held.run(ctx, spanned, f)
}

// checkCall returns what is wrong with a call of Elect or Try.
func (s *Leases) checkCall(method, name string, f func(context.Context, *Lease) error) error {
	if err := s.check(method, name); err != nil {
		return err
	}
	if f == nil {
		missing := &table.ValueError{Field: "f", Reason: "is nil; give the function that runs while the lease is held"}
		return fmt.Errorf("lease: %s: %w", method, missing)
	}
	return nil
}

// await waits until it has acquired a lease.
func (s *Leases) await(ctx context.Context, name string) (*Lease, error) {
	for {
		held, err := s.acquire(ctx, "Elect", name, 0)
		var other *HeldError
		if !errors.As(err, &other) {
			return held, err
		}
		if err := pace.Sleep(ctx, other.wait()); err != nil {
			return nil, err
		}
	}
}

// run calls f while the lease is held, and releases it. Its own requests are of the context
// spanned, which has the span of the method, so that they have no spans of methods.
func (l *Lease) run(ctx, spanned context.Context, f func(context.Context, *Lease) error) (err error) {
	running, lose := context.WithCancelCause(ctx)
	keeping, stop := context.WithCancel(context.WithoutCancel(spanned)) // f may still be at work when its context has ended
	watched, renewed := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(renewed)
		l.keep(keeping)
	}()
	go func() {
		lost := l.watch(keeping)
		if lost != nil {
			lose(lost)
		}
		watched <- lost
	}()
	defer func() {
		stop()
		lost := <-watched
		<-renewed
		lose(context.Canceled)
		if lost == nil {
			lost = l.releaseAfter(spanned)
		}
		switch {
		case lost == nil:
		case err == nil, err == lost, err == context.Canceled:
			err = lost
		default:
			err = errors.Join(lost, err)
		}
	}()
	return f(running, l)
}

// look is how often a holder looks whether its lease is over by one of the clocks.
const look = time.Second

// watch waits until the lease is lost, and returns why; or until the context ends, and returns nil.
func (l *Lease) watch(ctx context.Context) error {
	for {
		if pace.Sleep(ctx, min(look, l.left())) != nil {
			return nil
		}
		if err := l.Err(); err != nil {
			return err
		}
	}
}

// keep renews a lease until the context ends, or the lease is lost.
func (l *Lease) keep(ctx context.Context) {
	every := l.leases.timeToLive / 3
	for l.Err() == nil {
		wait := every - l.sinceRenewal()
		if wait <= 0 {
			_ = l.Renew(ctx) // else Err says so, in the end
			wait = look
		}
		if pace.Sleep(ctx, min(look, wait)) != nil { // it looks often because a clock may have gone further than the sleep
			return
		}
	}
}

// sinceRenewal returns the time since the lease was acquired or renewed.
func (l *Lease) sinceRenewal() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return pace.MomentOf(l.leases.rows.Options.Now).Since(l.at)
}

// longestRelease bounds the wait of Elect for the release.
const longestRelease = 15 * time.Second

// releaseAfter releases the lease when its function has returned, also if the context has ended: by
// then nothing is done under it any more. The error is ErrLost; if the release fails
// otherwise, the lease ends by itself.
func (l *Lease) releaseAfter(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(l.lasts, longestRelease))
	defer cancel()
	err := l.Release(ctx)
	if errors.Is(err, ErrLost) {
		return err
	}
	return nil
}
