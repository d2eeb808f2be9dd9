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
	"github.com/aztablekit/aztablekit/storagetest"
)

// emptyAfter is how long a queue of messages that can be executed is not empty at most, after all trouble has ended, with default options
// (see the package's documentation), and a little for a look and the handlers.
const emptyAfter = 5*time.Minute + 10*time.Second

// TestQueueEmpties: writers and workers have every trouble for half an hour, and workers die; when it has ended, the queue is empty
// after its bound, whatever the messages have gone through, and each write that was committed has its letter.
func TestQueueEmpties(t *testing.T) {
	t.Parallel()
	seeds := 8
	if testing.Short() {
		seeds = 2
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
		t.Error("no message was left by any seed: there was no trouble")
	}
}

// chaos returns how many messages were left when the trouble ended.
func chaos(t *testing.T, seed uint64) (left int) {
	ctx := context.Background()
	o, s := opened(t, quick())
	for i := range 6 {
		_, err := o.staff.Insert(ctx, &clerk{"S", i, "Jones"})
		check(err)
	}
	rng, down := rand.New(rand.NewPCG(seed, 1)), time.Time{}
	faults := []storagetest.Fault{
		storagetest.NotSent(), storagetest.LostRequest(), storagetest.LostReply(), storagetest.Late(5), storagetest.Twice(), storagetest.Again(3), storagetest.Cut(5), storagetest.CutClean(5),
		storagetest.Hang(), storagetest.HangAfter(), storagetest.Slow(20 * time.Second), storagetest.Refuse(503, "ServerBusy"), storagetest.RefuseAfter(500, "InternalError"), storagetest.Refuse(403, "AuthorizationFailure"),
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
	end := time.Now().Add(30 * time.Minute)
	for n := range 3 {
		all.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				_, _ = o.staff.Update(ctx, at("S", (n+i)%6), func(c *clerk) error { c.Last = fmt.Sprint(n, " ", i); return nil })
				time.Sleep(time.Second)
			}
		})
		all.Go(func() {
			for life := 0; time.Now().Before(end); life++ {
				ctx, buried := context.WithCancel(ctx)
				m := &mortal{Service: s, buried: buried}
				theirs := openOffice(s.ConnectionString(), m, quick())
				w := theirs.worker(eventual.WorkerOptions{Common: quick(), Attempts: 50, StopTimeout: time.Second})
				timer := time.AfterFunc(time.Duration(20+(7*n+13*life)%60)*time.Second, func() { m.dead.Store(true); buried() })
				check(w.Run(ctx))
				timer.Stop()
			}
		})
	}
	all.Wait()
	s.SetFaults(nil)
	s.Deliver()
	left = len(s.Messages("notifications"))
	took := running(t, o.worker(eventual.WorkerOptions{Common: quick()}), emptyAfter, func() bool { return len(s.Messages("notifications")) == 0 })
	t.Logf("%d messages were left, and gone %v later", left, took)
	if err := errors.Join(carried(s), lettersOnlyForCommitted(s)); err != nil {
		t.Error(err)
	}
	return left
}

// TestQueueEmptiesAfterOutage: what keeps a message longest is a long outage: each time that its commit record cannot be read, it goes
// back for longer, up to MaxWait; so it is with messages of writes that were never committed.
func TestQueueEmptiesAfterOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		for i := range 6 {
			put(o, fmt.Sprintf(`{"v":1,"table":"staff","partition":"S%d","op":%q}`, i, opAt(time.Now())))
		}
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == "staff" }, storagetest.NotSent()))
		w := o.worker(eventual.WorkerOptions{Common: quick()})
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Hour)
		defer stop()
		check(w.Run(ctx))
		s.SetFaults(nil)
		if left := len(s.Messages("notifications")); left != 6 {
			t.Fatalf("%d messages are left during the outage, want 6", left)
		}
		took := running(t, w, emptyAfter, func() bool { return len(s.Messages("notifications")) == 0 })
		if err := carried(s); err != nil || took < time.Minute || intentsOf(s) != "aborted aborted aborted aborted aborted aborted" {
			t.Errorf("after %v: %v, %s", took, err, intentsOf(s))
		}
	})
}
