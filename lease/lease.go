package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/table"
)

// Lease is a lease that this process has acquired. Its methods can be called at the same time.
type Lease struct {
	leases *Leases
	name   string
	nonce  string
	fence  int64
	lasts  time.Duration
	under  *engine.Table // the leases' table, for requests that end with the belief in the lease

	turn chan struct{} // holds what may send a request about the row; etag and row belong to it
	etag azcore.ETag   // of the row; "" if it is not known
	row  rowState

	mu     sync.Mutex
	at     pace.Moment // before the request was sent that has acquired or renewed the lease last
	ended  error       // why the holder does not believe in it any more
	failed error       // of the last renewal; nil if it was applied
}

// rowState is what a holder knows of the row of its lease.
type rowState int

const (
	rowHeld  rowState = iota // it was the holder's when the holder has written or read it last
	rowFreed                 // the holder has released it
	rowTaken                 // it is another holder's, or gone
	rowDoubt                 // it is another holder's, who may have taken it before the release or behind it
)

// newLease returns a lease that is about to be acquired.
func (s *Leases) newLease(name string, fence int64) *Lease {
	l := &Lease{leases: s, name: name, nonce: s.rows.Options.NewID(), fence: fence, lasts: belief(s.timeToLive), turn: make(chan struct{}, 1), at: pace.MomentOf(s.rows.Options.Now)}
	mode := s.rows.Mode
	mode.Guard = (*holder)(l)
	l.under = s.rows.WithMode(mode)
	return l
}

// Name returns the name of the lease.
func (l *Lease) Name() string { return l.name }

// Fence returns the fence of this holder: greater than that of each holder before. Give it to
// systems outside of the store, which refuse what comes with a smaller fence than they have seen.
func (l *Lease) Fence() int64 { return l.fence }

// Until returns when the holder stops to believe in its lease unless it renews it: some time before
// another holder can have it. It goes by the wall clock or by the monotonic clock, whichever has
// gone further.
func (l *Lease) Until() time.Time {
	return l.leases.rows.Options.Now().Add(l.left())
}

// Err returns nil while the holder may believe that it has the lease, and [ErrLost] from then on.
// It sends nothing.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil && l.leftLocked() <= 0 {
		l.ended = l.lost("it was not renewed in time")
		if l.failed != nil {
			l.ended = fmt.Errorf("%w; the last renewal failed: %w", l.ended, l.failed)
		}
	}
	return l.ended
}

// left returns for how long the holder may believe in the lease.
func (l *Lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil {
		return 0
	}
	return l.leftLocked()
}

func (l *Lease) leftLocked() time.Duration {
	return l.lasts - pace.MomentOf(l.leases.rows.Options.Now).Since(l.at)
}

// end ends the belief in the lease, and returns why it has ended first.
func (l *Lease) end(reason string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = l.lost(reason)
	}
	return l.ended
}

// begin waits for the turn to send requests about the row.
func (l *Lease) begin(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Lease) leave() { <-l.turn }

// Renew renews the lease for another time to live, which counts from before the request is sent. It
// does not refuse writes of this holder, nor do they refuse it. [Leases.Elect] renews by itself.
//
// Errors: [ErrLost] if the lease is over, was released, or is another holder's; other errors of a
// write (see package table), after which the lease may still be renewed until [Lease.Until]. 1
// request; 3 more after a lost response. Safe to repeat.
func (l *Lease) Renew(ctx context.Context) (err error) {
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.leave()
	ctx, end := l.leases.rows.Span(ctx, "Renew")
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, l.left())
	defer cancel()
	conflicts := l.leases.rows.Options.NewConflicts()
	for {
		if err := l.Err(); err != nil {
			return err
		}
		if err := l.findRow(ctx, "Renew"); err != nil {
			return cmp.Or(l.Err(), err)
		}
		if l.row != rowHeld {
			return l.end("another holder has it, or its row is gone")
		}
		at := pace.MomentOf(l.leases.rows.Options.Now)
		l.renewed(at, errNoResponse)
		etag, err := l.merge(ctx, "Renew", l.under, l.etag, edm.Column{Name: propertyNonce, Value: edm.Value{Kind: edm.String, S: l.nonce}})
		l.etag = etag
		l.renewed(at, err)
		if lost := l.Err(); err == nil || lost != nil {
			return lost
		}
		if !isOpen(err) {
			return err
		}
		again, ended := conflicts.Wait(ctx, l.leases.rows.Log("Renew", keyOf(l.name)), err)
		if !again {
			return cmp.Or(l.Err(), errors.Join(err, ended))
		}
	}
}

var errNoResponse = errors.New("it had no response")

// renewed notes what has become of a renewal that was begun at a time.
func (l *Lease) renewed(at pace.Moment, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	if err == nil {
		l.at = at
	}
}

// findRow reads the row if its ETag is not known. What it finds does not lengthen the belief in the
// lease. Requests: none or 1.
func (l *Lease) findRow(ctx context.Context, method string) error {
	if l.row != rowHeld || l.etag != "" {
		return nil
	}
	r, err := l.leases.read(ctx, method, l.name)
	if err != nil {
		return err
	}
	l.etag = r.etag
	switch {
	case r.nonce != l.nonce:
		l.row = rowTaken
	case r.released:
		l.row = rowFreed
		l.leases.keepFreed(l.name, r)
	}
	return nil
}

// Release gives the lease back, so that another program need not wait for its end. From its call
// on, the holder does not believe in the lease any more: its transactions with a guard fail with
// [ErrLost].
//
// If Release returns nil, no other program has had the lease from its acquisition until then, also
// if it was over for a while.
//
// Errors:
//   - [ErrLost] if another program has it, or has had it
//   - table.ErrUnknownOutcome if the response was lost, and another program has it, which may have
//     taken it behind the release
//   - those of a read and of a write (see package table), after which the lease ends by itself
//
// Requests: 1; none if the lease was released, and 2 more after a lost response. Idempotent.
func (l *Lease) Release(ctx context.Context) (err error) {
	_ = l.end("it was released")
	if err := l.begin(ctx); err != nil {
		return err
	}
	defer l.leave()
	ctx, end := l.leases.rows.Span(ctx, "Release")
	defer func() { end(err) }()
	conflicts := l.leases.rows.Options.NewConflicts()
	var sent error // of a release that was not answered by success
	for {
		if err := l.findRow(ctx, "Release"); err != nil {
			return err
		}
		if sent != nil && l.row == rowTaken && l.etag != "" {
			l.row = l.releasedBefore(sent)
		}
		switch l.row {
		case rowFreed:
			return nil
		case rowDoubt:
			return l.leases.rows.OpError("Release", keyOf(l.name), table.ErrUnknownOutcome)
		case rowTaken:
			reason := "another holder has it or had it before the release, or its row is gone"
			return l.lost(reason)
		}
		etag, err := l.merge(ctx, "Release", l.leases.rows, l.etag, edm.Column{Name: propertyReleased, Value: edm.Value{Kind: edm.Bool, I: 1}})
		l.etag = etag
		if err == nil {
			l.row = rowFreed
			l.leases.keepFreed(l.name, &row{fence: l.fence, released: true, etag: etag})
			return nil
		}
		if !isOpen(err) {
			return err
		}
		sent = err
		again, ended := conflicts.Wait(ctx, l.leases.rows.Log("Release", keyOf(l.name)), err)
		if !again {
			return errors.Join(err, ended)
		}
	}
}

// releasedBefore returns what the row of another holder says of a release that has had an error. If
// the lease is not over yet, the other holder can only have taken it behind the release.
func (l *Lease) releasedBefore(sent error) rowState {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.leftLocked() > 0:
		return rowFreed
	case errors.Is(sent, table.ErrUnknownOutcome):
		return rowDoubt
	}
	return rowTaken
}
