package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// emptyAfter is the bound after which a queue is empty when all failures have ended, with default options (see docs/queues.md), and
// 10 s for the pause between two requests and for the handlers.
const emptyAfter = 5*time.Minute + 10*time.Second

var chaosSeeds = testkit.Count("chaosseeds", 2, "orders of the failures of TestQueueEmpties")

// TestQueueEmpties: for half an hour, or a minute of few cases, writers and workers have all kinds of failures, and workers crash. Afterwards the queue is
// empty after its bound, and each committed write has its letter.
func TestQueueEmpties(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	seeds := *chaosSeeds
	if testing.Short() {
		seeds = 1
	}
	left := make([]int, seeds)
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { left[seed] = chaos(t, uint64(seed)) })
			})
		}
	})
	if slices.Max(left) == 0 {
		t.Error("messages left after the failures: got 0 for each seed, want some: there were no failures")
	}
}

// chaos returns the number of messages that were left when the failures ended.
func chaos(t *testing.T, seed uint64) (left int) {
	ctx := context.Background()
	o, s := newOffice(t, noPauses())
	o.hireInto(t, "S", 6)
	rng, down := rand.New(rand.NewPCG(seed, 1)), time.Time{}
	faults := []storagetest.Fault{
		storagetest.NotSent(), storagetest.LostRequest(), storagetest.LostResponse(), storagetest.Late(5), storagetest.Twice(), storagetest.LateDuplicate(3), storagetest.Cut(5), storagetest.Truncate(5),
		storagetest.Hang(), storagetest.ExecuteThenHang(), storagetest.Slow(20 * time.Second), storagetest.Refuse(503, "ServerBusy"), storagetest.ExecuteThenRefuse(500, "InternalError"), storagetest.Refuse(403, "AuthorizationFailure"),
	}
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		switch now := s.Now(); {
		case now.Before(down):
			return storagetest.Refuse(503, "ServerBusy")
		case rng.IntN(400) == 0:
			down = now.Add(time.Duration(rng.IntN(180)) * time.Second)
		case rng.IntN(4) == 0:
			return faults[rng.IntN(len(faults))]
		}
		return storagetest.Slow(time.Duration(rng.IntN(100)) * time.Millisecond)
	})
	var all sync.WaitGroup
	minutes := 30
	if testkit.Few() {
		minutes = 1
	}
	end := time.Now().Add(time.Duration(minutes) * time.Minute)
	for n := range 3 {
		all.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				_, _ = o.staff.Update(ctx, at("S", (n+i)%6), func(c *clerk) error { c.Last = fmt.Sprint(n, " ", i); return nil })
				time.Sleep(time.Second)
			}
		})
		all.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				p, ctx := newProcess(s)
				other := officeOn(t, s, p, noPauses())
				w := other.worker(t, eventual.WorkerOptions{Common: noPauses(), Attempts: 50, StopTimeout: time.Second})
				timer := time.AfterFunc(time.Duration(20+(7*n+13*i)%60)*time.Second, p.crash)
				if err := w.Run(ctx); err != nil {
					t.Errorf("got the error %v, want none", err)
				}
				timer.Stop()
			}
		})
	}
	all.Wait()
	s.SetFaults(nil)
	s.Deliver()
	left = len(s.Messages("notifications"))
	took := runUntil(t, o.worker(t, eventual.WorkerOptions{Common: noPauses()}), emptyAfter, isEmpty(s))
	t.Logf("%d messages were left, and done %v later", left, took)
	noError(t, errors.Join(allExecuted(s), onlyCommitted(s)))
	return left
}

// TestQueueEmptiesAfterOutage: the bound holds after a long outage, during which each failed read of a commit record returns the
// message to the queue for longer, up to MaxWait.
func TestQueueEmptiesAfterOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		for i := range 6 {
			o.put(t, "notifications", fmt.Sprintf(`{"v":1,"table":"staff","partition":"S%d","op":%q}`, i, operationIDAt(time.Now())))
		}
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == "staff" }, storagetest.NotSent()))
		w := o.worker(t, eventual.WorkerOptions{Common: noPauses()})
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Hour)
		defer stop()
		noError(t, w.Run(ctx))
		s.SetFaults(nil)
		testkit.Expect(t, "messages left during the outage", len(s.Messages("notifications")), 6)
		took := runUntil(t, w, emptyAfter, isEmpty(s))
		noError(t, allExecuted(s))
		atLeast(t, "time", took, time.Minute)
		testkit.Expect(t, "states of commit records", recordStates(s), "aborted aborted aborted aborted aborted aborted")
	})
}
