package index_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
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
var claimModel = testkit.Model([2]string{"a", "b"}, func(now [2]string, a claimCall, r claimResult) [][2]string {
	owner := 1 + slices.Index(now[:], a.mail)
	if a.mail == "" {
		owner = 0
	}
	if a.id == 0 {
		if r.outcome == "unknown" || r.owner == owner {
			return [][2]string{now}
		}
		return nil
	}
	free, after := owner == 0 || owner == a.id, now
	after[a.id-1] = a.mail
	switch {
	case r.outcome == "refused", r.outcome == "taken" && !free:
		return [][2]string{now}
	case r.outcome == "done" && free:
		return [][2]string{after}
	case r.outcome == "unknown" && free:
		return [][2]string{now, after}
	case r.outcome == "unknown":
		return [][2]string{now}
	}
	return nil
})

// claim makes a call and records its result.
func claim(
	ctx context.Context, h *testkit.History[claimCall, claimResult], m *movers, by *index.Unique[worker, string], a claimCall,
) {
	h.Do(a, func() (r claimResult, known bool) {
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
		switch {
		case err == nil:
			r.outcome = "done"
		case errors.Is(err, table.ErrTaken):
			r.outcome = "taken"
		case errors.Is(err, table.ErrGivenUp), errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrContended):
			r.outcome = "refused"
		default:
			r.outcome = "unknown"
		}
		return r, r.outcome != "unknown"
	})
}

// TestClaimLinearizable: programs give addresses that are unique in all departments to two workers, and log in by them. The results
// are linearizable: an address has one owner at each instant, a refusal is that of an owner, and a log-in finds the owner.
func TestClaimLinearizable(t *testing.T) {
	t.Parallel()
	mails := []string{"a", "b", "c", ""}
	build := func() crashtest.Workload {
		h := &testkit.History[claimCall, claimResult]{}
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
					claim(ctx, h, m, by, claimCall{id, mail})
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
				claim(ctx, h, m, by, claimCall{0, mail})
			}
			return nil
		}
		w.Invariant = claimsRight
		w.Check = func(s *storagetest.Service) error { return cmp.Or(h.Check(claimModel), nothingPrepared(s)) }
		return w
	}
	r := crashtest.Schedules(t, build, crashOptions(t, crashtest.Options{FaultRate: 0.1}))
	r.Require(t)
	t.Log(r)
}
