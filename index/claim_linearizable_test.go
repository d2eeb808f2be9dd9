package index_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// claimCall is a call of a program: worker id takes an address, "" for none; or, if id is 0, a log-in with the address.
type claimCall struct {
	id   int
	mail string
}

// claimResult is the result of a claimCall.
type claimResult struct {
	outcome string // done, taken, refused, unknown
	owner   int    // that the log-in has found, 0 for none
}

// claimModel returns the addresses that the two workers may have after a call.
var claimModel = porcupine.NondeterministicModel{
	Init: func() []any { return []any{[2]string{"a", "b"}} },
	Step: func(state, in, out any) []any {
		now, a, r := state.([2]string), in.(claimCall), out.(claimResult)
		owner := 1 + slices.Index(now[:], a.mail)
		if a.mail == "" {
			owner = 0
		}
		if a.id == 0 {
			if r.outcome == "unknown" || r.owner == owner {
				return []any{now}
			}
			return nil
		}
		free, after := owner == 0 || owner == a.id, now
		after[a.id-1] = a.mail
		switch {
		case r.outcome == "refused", r.outcome == "taken" && !free:
			return []any{now}
		case r.outcome == "done" && free:
			return []any{after}
		case r.outcome == "unknown" && free:
			return []any{now, after}
		case r.outcome == "unknown":
			return []any{now}
		}
		return nil
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %+v", in, out) },
}

// claimHistory records the calls of several programs with their results, by a shared clock.
type claimHistory struct {
	mu    sync.Mutex
	clock int64
	ops   []porcupine.Operation
}

func (h *claimHistory) tick() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	return h.clock
}

// do makes a call and records its result.
func (h *claimHistory) do(ctx context.Context, m *movers, by *index.Unique[worker, string], a claimCall) {
	start := h.tick()
	var r claimResult
	var err error
	if a.id == 0 {
		var e *table.Entity[worker]
		if e, err = by.Get(ctx, m.staff, a.mail); err == nil {
			r.owner = e.Value.ID
		} else if errors.Is(err, table.ErrNotFound) {
			err = nil
		}
	} else {
		_, err = m.staff.Update(ctx, workerIn([]string{"S", "T"}[a.id-1], a.id), func(w *worker) error { w.Email = a.mail; return nil })
	}
	end := int64(math.MaxInt64)
	switch {
	case err == nil:
		r.outcome, end = "done", h.tick()
	case errors.Is(err, table.ErrTaken):
		r.outcome, end = "taken", h.tick()
	case errors.Is(err, table.ErrGivenUp), errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrContended):
		r.outcome, end = "refused", h.tick()
	default:
		r.outcome = "unknown"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{Input: a, Output: r, Call: start, Return: end})
}

// TestClaimLinearizable: programs give addresses that are unique in all departments to two workers, and log in by them. The results
// are linearizable: an address has one owner at each instant, a refusal is that of an owner, and a log-in finds the owner.
func TestClaimLinearizable(t *testing.T) {
	t.Parallel()
	mails := []string{"a", "b", "c", ""}
	model := claimModel.ToModel()
	build := func() crashtest.Workload {
		h := &claimHistory{}
		w := crashtest.Workload{Setup: setUpClaimers}
		for range 3 {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				by := newLogin()
				m, err := openMovers(p, by)
				if err != nil {
					return err
				}
				for range 4 {
					id := p.Rand().IntN(3)
					mail := mails[p.Rand().IntN(4)]
					if id == 0 && mail == "" {
						mail = "c"
					}
					h.do(ctx, m, by, claimCall{id, mail})
				}
				return nil
			})
		}
		w.Drain = func(ctx context.Context, p *crashtest.Process) error {
			if err := drainClaimers(ctx, p); err != nil {
				return err
			}
			by := newLogin()
			m, err := openMovers(p, by)
			if err != nil {
				return err
			}
			for _, mail := range mails[:3] {
				h.do(ctx, m, by, claimCall{0, mail})
			}
			return nil
		}
		w.Invariant = claimsRight
		w.Check = func(s *storagetest.Service) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			if porcupine.CheckOperations(model, h.ops) {
				return nothingPrepared(s)
			}
			var text strings.Builder
			slices.SortFunc(h.ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
			for _, o := range h.ops {
				fmt.Fprintf(&text, "\n  %d to %d: %s", o.Call, o.Return, claimModel.DescribeOperation(o.Input, o.Output))
			}
			return errors.New("the results are not linearizable:" + text.String())
		}
		return w
	}
	r := crashtest.Schedules(t, build, crashOptions(t, crashtest.Options{FaultRate: 0.1}))
	r.Require(t)
	t.Log(r)
}
