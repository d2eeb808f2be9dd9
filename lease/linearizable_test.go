package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// guardedCall is a call of a holder: it enters the partition, reads the register, or writes a value that nothing else writes.
type guardedCall struct {
	what         string // enter, read, write
	fence, value int64
}

// guardedResult is its result.
type guardedResult struct {
	outcome string // done, refused, unknown
	value   int64  // that a read has found
}

// guardedState is the register, and the fence of the last holder that has entered.
type guardedState struct{ value, entered int64 }

// guardedModel says that a register is written by the last holder that has entered, and by no other.
var guardedModel = testkit.Model(guardedState{}, func(now guardedState, c guardedCall, r guardedResult) []guardedState {
	after, legal := now, false
	switch c.what {
	case "read":
		if r.outcome != "done" || r.value == now.value {
			return []guardedState{now}
		}
		return nil
	case "enter":
		after.entered, legal = c.fence, c.fence >= now.entered
	case "write":
		after.value, legal = c.value, c.fence == now.entered
	}
	switch {
	case r.outcome == "done" && legal:
		return []guardedState{after}
	case r.outcome == "done":
		return nil
	case r.outcome == "unknown" && legal:
		return []guardedState{now, after}
	}
	return []guardedState{now}
})

// guardedHistory records the calls with their results.
type guardedHistory struct {
	testkit.History[guardedCall, guardedResult]
	next atomic.Int64 // value
}

// do makes a call, and records it.
func (h *guardedHistory) do(c guardedCall, do func() (value int64, err error)) (err error) {
	h.Do(c, func() (r guardedResult, known bool) {
		r.value, err = do()
		switch {
		case err == nil:
			r.outcome = "done"
		case errors.Is(err, table.ErrUnknownOutcome), c.what == "enter": // entering may have been applied
			r.outcome = "unknown"
		default:
			r.outcome = "refused"
		}
		return r, r.outcome != "unknown"
	})
	return err
}

// holds is a process that enters, writes and reads, and that goes on to write for a while when its lease is over, as one whose clocks stand still.
func (h *guardedHistory) holds(f *fight) func(context.Context, *crashtest.Process) error {
	return f.opens(0, func(ctx context.Context, p *crashtest.Process, a *fighter) error {
		for range 2 {
			held, err := a.leases.Acquire(ctx, "x")
			if err != nil {
				time.Sleep(18 * time.Second)
				continue
			}
			fence := held.Fence()
			var g *lease.Partition
			err = h.do(guardedCall{what: "enter", fence: fence}, func() (_ int64, err error) {
				g, err = held.In(ctx, a.registers, registerPartition())
				return 0, err
			})
			if err != nil {
				continue
			}
			for range 3 {
				if p.Rand().IntN(3) == 0 {
					time.Sleep(time.Duration(p.Rand().IntN(30)) * time.Second)
				}
				held.Believe()
				v := h.next.Add(1)
				_ = h.do(guardedCall{"write", fence, v}, func() (int64, error) {
					_, err := table.Transact(ctx, g.Guard(), a.registers.UpsertOp(&register{Group: "S", ID: 1, N: v, Token: fence}, table.ReplaceExisting))
					return 0, err
				})
				_ = h.do(guardedCall{what: "read"}, func() (int64, error) {
					e, err := a.registers.Get(ctx, registerKey())
					if err != nil {
						return 0, err
					}
					return e.Value.N, nil
				})
			}
		}
		return nil
	})
}

// TestLinearizable: the histories of guarded registers are linearizable, whatever the holders believe: a register is written by the last holder that has entered its
// partition. Its writes go by the ETag, as those of a table do by default: a guard lets late copies of its own holder's requests pass, which overwrite what that holder has
// written since by Options.BlindWrites.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	r := crashtest.Schedules(t, func() crashtest.Workload {
		f, h := &fight{}, &guardedHistory{}
		w := crashtest.Workload{Setup: f.opens(0, f.setUp), Check: func(*storagetest.Service) error { return h.Check(guardedModel) }, Drain: func(context.Context, *crashtest.Process) error {
			time.Sleep(time.Minute) // reads of the catalogue beside others end later than those
			return nil
		}}
		for range 3 {
			w.Processes = append(w.Processes, h.holds(f))
		}
		return w
	}, testkit.Crash(crashtest.Options{Runs: *leaseSchedules}))
	r.Require(t)
	t.Log(r)
}
