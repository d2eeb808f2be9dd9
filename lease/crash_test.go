package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

var leaseSchedules = testkit.Count("schedules", 60, "schedules of holders of a lease who fight for it")

// fight is some programs that acquire one lease, and what they know together.
type fight struct {
	mu             sync.Mutex
	holders        []*lease.Lease
	entered        int64 // the greatest fence with which a holder has entered
	acked, unknown int64 // increments of the counter
	late           error // a write that should have been refused
	fence          int64 // of the register, as it was seen last
}

// fighter is a program of a fight. Register 1 is written blindly, so that only the guard protects it; register 2 is a counter.
type fighter struct {
	*program
	*fight
	blind *table.Table[register]
}

// opens calls a function with a program whose clock is ahead.
func (f *fight) opens(ahead time.Duration, do func(ctx context.Context, p *crashtest.Process, a *fighter) error) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		a, err := f.fighter(p, ahead)
		if err != nil {
			return err
		}
		return do(ctx, p, a)
	}
}

func (f *fight) fighter(p *crashtest.Process, ahead time.Duration) (*fighter, error) {
	acc, err := account.FromTransport(p, nil)
	if err != nil {
		return nil, err
	}
	a := &fighter{program: open(acc, ahead, &lease.Options{Owner: "one name"}), fight: f}
	a.blind, err = bare.NewTable(acc.Tables(), registerName, table.Schema[register]{Partition: group, Row: id}, &table.Options{BlindWrites: true})
	return a, err
}

func (f *fight) setUp(ctx context.Context, _ *crashtest.Process, a *fighter) error {
	if err := a.store.Ensure(ctx); err != nil {
		return err
	}
	_, err := table.Transact(ctx, a.registers.InsertOp(&register{Group: "S", ID: 1}), a.registers.InsertOp(&register{Group: "S", ID: 2}))
	return err
}

// acquire acquires the lease, as one of all holders.
func (a *fighter) acquire(ctx context.Context) (*lease.Lease, error) {
	held, err := a.leases.Acquire(ctx, "x")
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.holders = append(a.holders, held)
	}
	return held, err
}

// enterPartition enters the partition.
func (a *fighter) enterPartition(ctx context.Context, held *lease.Lease) (*lease.Partition, error) {
	g, err := held.In(ctx, a.registers, group.Of("S"))
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.entered = max(a.entered, held.Fence())
	}
	return g, err
}

// write writes the register, and then the counter.
func (a *fighter) write(ctx context.Context, held *lease.Lease, g *lease.Partition) error {
	if err := a.guarded(ctx, held, false, g.Guard(), a.blind.UpsertOp(&register{Group: "S", ID: 1, Token: held.Fence()}, table.ReplaceExisting)); err != nil {
		return err
	}
	e, err := a.registers.Get(ctx, counterKey())
	if err != nil {
		return err
	}
	e.Value.N++
	return a.guarded(ctx, held, true, g.Guard(), a.registers.ReplaceOp(e))
}

// guarded applies a guarded transaction.
func (a *fighter) guarded(ctx context.Context, held *lease.Lease, counts bool, ops ...table.Op) error {
	a.mu.Lock()
	entered := a.entered
	a.mu.Unlock()
	_, err := table.Transact(ctx, ops...)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil && held.Fence() < entered:
		a.late = fmt.Errorf("a write with fence %d was applied after a holder with fence %d had entered", held.Fence(), entered)
	case err != nil && !errors.Is(err, table.ErrUnknownOutcome) || !counts:
	case err == nil:
		a.acked++
	default:
		a.unknown++
	}
	return err
}

// invariant checks what is true at each moment.
func (f *fight) invariant(s *storagetest.Service) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.late != nil {
		return f.late
	}
	believers := 0
	for _, h := range f.holders {
		if h.Err() == nil {
			believers++
		}
	}
	if believers > 1 {
		return fmt.Errorf("%d holders believe at once", believers)
	}
	fences := map[int64]bool{}
	for _, h := range f.holders {
		if fences[h.Fence()] {
			return fmt.Errorf("two holders have the fence %d", h.Fence())
		}
		fences[h.Fence()] = true
	}
	for _, r := range s.Rows(registerName) {
		if r.RowKey != "0001" {
			continue
		}
		fence, _ := r.Get("Token").(int64)
		if fence < f.fence {
			return fmt.Errorf("the fence of the register went back from %d to %d", f.fence, fence)
		}
		f.fence = fence
	}
	return nil
}

// drain waits until each lease is over, and checks that another program can have it and write.
func (f *fight) drain(ctx context.Context, _ *crashtest.Process, a *fighter) error {
	time.Sleep(time.Minute)
	held, err := a.acquire(ctx)
	for errors.As(err, new(*lease.HeldError)) { // by a late request of a process that has crashed
		time.Sleep(20 * time.Second)
		held, err = a.acquire(ctx)
	}
	if err != nil {
		return err
	}
	g, err := a.enterPartition(ctx, held)
	if err != nil {
		return err
	}
	return a.write(ctx, held, g)
}

func (f *fight) check(s *storagetest.Service) error {
	heads, guards := 0, 0
	for _, r := range s.Rows(registerName) {
		switch {
		case r.RowKey == "~h|x|head":
			heads++
		case r.RowKey > "~h|" && r.RowKey < "~h}":
			guards++
		case r.RowKey == "0002":
			if n, _ := r.Get("N").(int64); n < f.acked || n > f.acked+f.unknown {
				return fmt.Errorf("the counter is %d; want %d, and up to %d more", n, f.acked, f.unknown)
			}
		}
	}
	if heads != 1 || guards != 1 {
		return fmt.Errorf("got %d heads and %d guards; want one of each", heads, guards)
	}
	return nil
}

func counterKey() keys.Key { return keyOf(2) }

// theft is a process with two programs: the second takes the lease of the first, which goes on writing.
func (f *fight) theft(renews bool) func(context.Context, *crashtest.Process) error {
	return f.opens(0, func(ctx context.Context, p *crashtest.Process, a *fighter) error {
		b, err := f.fighter(p, 0)
		if err != nil {
			return err
		}
		first, err := a.acquire(ctx)
		if err != nil {
			return err
		}
		g, err := a.enterPartition(ctx, first)
		if err != nil {
			return err
		}
		errs := []error{a.write(ctx, first, g)}
		if renews {
			time.Sleep(10 * time.Second)
			errs = append(errs, first.Renew(ctx), a.write(ctx, first, g))
		}
		time.Sleep(18 * time.Second)
		second, err := b.acquire(ctx)
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		h, err := b.enterPartition(ctx, second)
		if err == nil {
			first.Believe()
			late := a.write(ctx, first, g)
			f.mu.Lock()
			f.holders = slices.DeleteFunc(f.holders, func(l *lease.Lease) bool { return l == first })
			f.mu.Unlock()
			if !errors.Is(late, lease.ErrLost) {
				errs = append(errs, late)
			}
			errs = append(errs, b.write(ctx, second, h))
		}
		return errors.Join(append(errs, err, second.Release(ctx))...)
	})
}

// TestEveryFault: each fault at each request of a holder and of the thief of its lease.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for _, renews := range []bool{false, true} {
		t.Run(fmt.Sprint("renews ", renews), func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, func() crashtest.Workload {
				f := &fight{}
				return crashtest.Workload{Setup: f.opens(0, f.setUp), Processes: []func(context.Context, *crashtest.Process) error{f.theft(renews)}, Drain: f.opens(0, f.drain), Check: f.check, Invariant: f.invariantButLate}
			}, testkit.Crash(crashtest.Options{Sample: testkit.Sample(2)}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// invariantButLate is invariant for a fight in which a holder is made to believe in its lease.
func (f *fight) invariantButLate(s *storagetest.Service) error {
	f.mu.Lock()
	holders := f.holders
	f.holders = nil
	f.mu.Unlock()
	err := f.invariant(s)
	f.mu.Lock()
	f.holders = holders
	f.mu.Unlock()
	return err
}

// holds is a process that acquires the lease some times.
func (f *fight) holds(ahead time.Duration) func(context.Context, *crashtest.Process) error {
	return f.opens(ahead, func(ctx context.Context, p *crashtest.Process, a *fighter) error {
		for range 3 {
			held, err := a.acquire(ctx)
			var other *lease.HeldError
			switch {
			case errors.As(err, &other):
				time.Sleep(other.Left)
				continue
			case err != nil:
				continue
			}
			if g, err := a.enterPartition(ctx, held); err == nil {
				for range 2 {
					_ = a.write(ctx, held, g)
					if p.Rand().IntN(3) == 0 {
						time.Sleep(time.Duration(p.Rand().IntN(20)) * time.Second)
					}
					if p.Rand().IntN(2) == 0 {
						_ = held.Renew(ctx)
					}
				}
			}
			if p.Rand().IntN(3) > 0 {
				_ = held.Release(ctx)
			}
		}
		return nil
	})
}

// TestSchedules: programs whose clocks differ by up to days fight for a lease, with crashes and faults; and a request may be late or arrive twice.
func TestSchedules(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	clocks := [][]time.Duration{{0, 0, 0}, {-time.Hour, 0, time.Hour}, {2 * day, -2 * day, 0}}
	total := &fight{}
	var mu sync.Mutex
	for _, c := range clocks {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			r := crashtest.Schedules(t, func() crashtest.Workload {
				f := &fight{}
				w := crashtest.Workload{Setup: f.opens(0, f.setUp), Drain: f.opens(0, f.drain), Invariant: f.invariant}
				for _, ahead := range c {
					w.Processes = append(w.Processes, f.holds(ahead))
				}
				w.Check = func(s *storagetest.Service) error {
					mu.Lock()
					defer mu.Unlock()
					total.acked += f.acked
					total.unknown += f.unknown
					return f.check(s)
				}
				return w
			}, testkit.Crash(crashtest.Options{Runs: *leaseSchedules}))
			r.Require(t)
			mu.Lock()
			defer mu.Unlock()
			t.Log(r, total.acked, "increments,", total.unknown, "with an unknown outcome")
		})
	}
}
