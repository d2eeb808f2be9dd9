package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// doneID is of the row that says that the job is done.
const doneID = 9

// night is a job that several programs begin, and one of them does, and what they know together.
type night struct {
	mu     sync.Mutex
	atWork map[context.Context]bool // the contexts of the programs at work
	done   bool                     // the row was stored
	did    int                      // programs that have done the job with a context that had not ended
	wrong  error
}

// job does the job under a lease: it enters, looks for the row, works, and stores the row with the
// guard.
func (n *night) job(p *program, took time.Duration) func(context.Context, *lease.Lease) error {
	return func(ctx context.Context, held *lease.Lease) error {
		g, err := held.In(ctx, p.registers, registerPartition())
		if err != nil {
			return err
		}
		if _, err := p.registers.Get(ctx, keyOf(doneID)); !errors.Is(err, table.ErrNotFound) {
			return err
		}
		n.begin(ctx)
		defer n.end(ctx)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(took):
		}
		n.mu.Lock()
		n.did++
		n.mu.Unlock()
		_, err = table.Transact(ctx, g.Guard(), p.registers.InsertOp(&register{Group: "S", ID: doneID, Token: held.Fence()}))
		n.mu.Lock()
		defer n.mu.Unlock()
		n.done = n.done || err == nil
		return err
	}
}

// begin notes that a program begins to work, if it may.
func (n *night) begin(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.done {
		n.wrong = errors.New("a program works although the job is done")
	}
	if n.atWork == nil {
		n.atWork = map[context.Context]bool{}
	}
	n.atWork[ctx] = true
}

func (n *night) end(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.atWork, ctx)
}

// invariant checks that one program at a time is at work.
func (n *night) invariant(*storagetest.Service) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	working := 0
	for ctx := range n.atWork {
		if ctx.Err() == nil {
			working++
		}
	}
	if working > 1 {
		return fmt.Errorf("%d programs are at work at once", working)
	}
	return n.wrong
}

// TestOnceADay: of three programs that begin a job at the same time, and again later, one does it,
// once.
func TestOnceADay(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{0, time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s, a, b := inMemory(t, nil)
			c := open(s, time.Hour, nil)
			testkit.NoError(t, c.store.Ensure(t.Context()))
			n := &night{}
			var group sync.WaitGroup
			for i, p := range []*program{a, b, c} {
				group.Go(func() {
					time.Sleep(time.Duration(i) * 700 * time.Millisecond) // its clock is behind
					if err := p.leases.Try(t.Context(), "x", n.job(p, took)); err != nil && !errors.As(err, new(*lease.HeldError)) {
						t.Errorf("Try: got error %v", err)
					}
					if err := n.invariant(s); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			testkit.NoError(t, b.leases.Try(t.Context(), "x", n.job(b, took)))
			testkit.NoError(t, n.invariant(s))
			testkit.Expect(t, fmt.Sprintf("how often a job of %v was done", took), n.did, 1)
		})
	}
}

// TestOnceSchedules: programs begin one job again and again, with crashes, faults and late
// requests. One at a time is at work, and none when the job is done. If no request fails for so
// long that a lease is lost, the job is done once.
func TestOnceSchedules(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	did := map[int]int{}
	r := crashtest.Schedules(t, func() crashtest.Workload {
		f, n := &fight{}, &night{}
		w := crashtest.Workload{Setup: f.opens(0, f.setUp), Invariant: n.invariant}
		for i := range 3 {
			w.Processes = append(w.Processes, f.opens(time.Duration(i-1)*time.Hour, func(ctx context.Context, p *crashtest.Process, a *fighter) error {
				for range 3 {
					took := time.Duration(p.Rand().IntN(40)) * time.Second
					_ = a.leases.Try(ctx, "x", n.job(a.program, took))
					time.Sleep(time.Duration(p.Rand().IntN(20)) * time.Second)
				}
				return nil
			}))
		}
		w.Drain = f.opens(0, func(ctx context.Context, _ *crashtest.Process, a *fighter) error {
			time.Sleep(time.Minute)
			err := a.leases.Try(ctx, "x", n.job(a.program, time.Minute))
			for errors.As(err, new(*lease.HeldError)) { // by a late request of a process that has crashed
				time.Sleep(20 * time.Second)
				err = a.leases.Try(ctx, "x", n.job(a.program, time.Minute))
			}
			return err
		})
		w.Check = func(s *storagetest.Service) error {
			mu.Lock()
			defer mu.Unlock()
			did[n.did]++
			for _, r := range s.Rows(registerName) {
				if r.RowKey == "0009" {
					return nil
				}
			}
			return errors.New("the job is not done")
		}
		return w
	}, testkit.Crash(crashtest.Options{Runs: (*leaseSchedules + 1) / 2}))
	r.Require(t)
	t.Log(r, "how often the job was done:", did)
}

// TestTry: what Try returns, and what it sends.
func TestTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, b := inMemory(t, nil)
		minutes := func(context.Context, *lease.Lease) error { time.Sleep(62 * time.Second); return nil }
		testkit.NoError(t, a.leases.Try(t.Context(), "x", minutes))
		testkit.Expect(t, "requests of a minute", s.Count().String(), "1 get, 1 insert, 13 merge") // 12 renewals, and the release
		err := a.leases.Try(t.Context(), "x", func(context.Context, *lease.Lease) error {
			s.Count()
			began := time.Now()
			expectHeld(t, "Try beside it", b.leases.Try(t.Context(), "x", minutes))
			testkit.Expect(t, "how long that took", time.Since(began), 0)
			testkit.Expect(t, "requests of Try beside it", s.Count().String(), "1 get")
			return nil
		})
		testkit.NoError(t, err)
		mine := errors.New("mine")
		expectIs(t, "Try", b.leases.Try(t.Context(), "x", func(context.Context, *lease.Lease) error { return mine }), mine)
		testkit.Expect(t, "released", s.Rows("leases")[0].Get("Released"), any(true))
		if err := a.leases.Try(t.Context(), "a", nil); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("without a function: got error %v; want a *ValueError", err)
		}
		if err := a.leases.Try(t.Context(), "", minutes); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("without a name: got error %v; want a *ValueError", err)
		}
	})
}

// TestTryLost: Try does not return nil for what two programs have done at the same time, also if
// the first one has not noticed that its lease was over.
func TestTryLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, b := inMemory(t, nil)
		var cutOff atomic.Bool
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if cutOff.Load() && q.Kind == requests.Merge {
				return storagetest.NotSent()
			}
			return storagetest.Fault{}
		})
		asleep := open(s, 0, nil)
		testkit.NoError(t, asleep.store.Ensure(t.Context()))
		err := asleep.leases.Try(t.Context(), "x", func(ctx context.Context, held *lease.Lease) error {
			held.Believe()
			cutOff.Store(true)
			time.Sleep(18 * time.Second)
			b.enter(t)
			cutOff.Store(false)
			return ctx.Err()
		})
		expectIs(t, "Try of a machine that was asleep", err, lease.ErrLost)
	})
}

// TestRelease: Release returns nil if no other program had the lease, and ErrLost otherwise, also when
// it is called again.
func TestRelease(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		then func(t *testing.T, held *lease.Lease, s *storagetest.Service, b *program)
		want error
	}{
		{"at once", func(*testing.T, *lease.Lease, *storagetest.Service, *program) {}, nil},
		{"when it is over", func(*testing.T, *lease.Lease, *storagetest.Service, *program) { time.Sleep(time.Hour) }, nil},
		{"when another program has it", func(t *testing.T, _ *lease.Lease, _ *storagetest.Service, b *program) {
			time.Sleep(18 * time.Second)
			b.enter(t)
		}, lease.ErrLost},
		{"when another program had it", func(t *testing.T, _ *lease.Lease, _ *storagetest.Service, b *program) {
			time.Sleep(18 * time.Second)
			other, _ := b.enter(t)
			testkit.NoError(t, other.Release(t.Context()))
		}, lease.ErrLost},
		{"when a renewal has found out", func(t *testing.T, held *lease.Lease, _ *storagetest.Service, b *program) {
			time.Sleep(18 * time.Second)
			b.enter(t)
			held.Believe()
			expectIs(t, "a renewal", held.Renew(t.Context()), lease.ErrLost)
		}, lease.ErrLost},
		{"when its row is gone", func(t *testing.T, _ *lease.Lease, s *storagetest.Service, _ *program) {
			_, err := s.Tables().NewClient("leases").DeleteEntity(t.Context(), "x", "lease", nil)
			testkit.NoError(t, err)
		}, lease.ErrLost},
	} {
		for _, lost := range []bool{false, true} { // the response of the release
			synctest.Test(t, func(t *testing.T) {
				s, a, b := inMemory(t, nil)
				held, _ := a.enter(t)
				c.then(t, held, s, b)
				if lost {
					s.SetFaults(storagetest.OfKind(requests.Merge, storagetest.Once(storagetest.LostResponse())))
				}
				for range 2 {
					err := held.Release(t.Context())
					if lost && c.want != nil && errors.Is(err, table.ErrUnknownOutcome) {
						continue
					}
					expectIs(t, c.what, err, c.want)
				}
			})
		}
	}
}
