package eventual_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestCleanUp: what the writes of an hour have left in a partition goes a day later, by one message for each partition and hour,
// and what is live or young stays.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		swept := map[string]time.Time{}
		h := o.handler()
		h.Sweep = func(_ context.Context, partition keys.Enc, before time.Time) error {
			swept[partition.String()] = before
			return nil
		}
		opt := options()
		opt.CleanUp = o.acc.Queue("cleanups")
		write := func(n int) {
			for i := range n {
				_, err := o.staff.Upsert(ctx, &clerk{fmt.Sprint("S", i%2), 1, fmt.Sprint(time.Now(), i)}, table.ReplaceExisting)
				check(err)
			}
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour))) // the beginning of an hour
		write(10)
		w, other := workerOf(o, h, opt), workerOf(o, h, opt)
		s.Count()
		check(w.Drain(ctx))
		write(10)
		check(other.Drain(ctx))
		if got := len(s.Messages("cleanups")); got != 2 {
			t.Errorf("%d clean-ups for two partitions in an hour", got)
		}
		time.Sleep(5 * time.Minute)
		_, err := o.staff.Insert(ctx, &clerk{"S0", 2, "Live"}) // nobody carries it out
		check(err)
		stuck := s.Messages("notifications")
		_, err = o.acc.Queue("notifications").ClearMessages(ctx, nil)
		check(err)
		time.Sleep(20 * time.Hour)
		write(2)
		check(w.Drain(ctx))
		before := intentsOf(s)
		time.Sleep(6*time.Hour + 54*time.Minute)
		check(w.Drain(ctx))
		if got := intentsOf(s); got != before || w.Stats().CleanUps != 0 {
			t.Error("cleaned up too early:", got, before)
		}
		time.Sleep(5 * time.Minute)
		check(w.Drain(ctx))
		if got := w.Stats(); got.CleanUps != 2 || len(swept) != 2 {
			t.Error(got, swept)
		}
		// One that is live, two that are young with the notes of their hour.
		if got := intentsOf(s); got != "done done note note pending" {
			t.Error(got)
		}
		if at := swept["S0"]; s.Now().Sub(at) < 25*time.Hour {
			t.Error(at)
		}
		put(o, stuck[0].Text)
		check(w.Drain(ctx))
		if got := intentsOf(s); strings.Contains(got, "pending") {
			t.Error(got) // old as it is, what was committed is carried out
		}
	})
}

// TestCleanUpLost: a clean-up that could not be sent is sent by the next worker; one that the queue has lost is done by that of the
// next hour.
func TestCleanUpLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		opt := options()
		opt.CleanUp = o.acc.Queue("cleanups")
		write := func() {
			_, err := o.staff.Upsert(ctx, &clerk{"S", 1, fmt.Sprint(time.Now())}, table.ReplaceExisting)
			check(err)
		}
		write()
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == "message-put" && q.Queue == "cleanups" }, storagetest.LostRequest()))
		check(o.worker(opt).Drain(ctx))
		s.SetFaults(nil)
		if len(s.Messages("cleanups")) > 0 {
			t.Fatal("it was not lost")
		}
		time.Sleep(time.Second)
		write()
		check(o.worker(opt).Drain(ctx)) // who comes next in the same hour finds that nobody has sent it
		if len(s.Messages("cleanups")) != 1 {
			t.Error("nobody sends it again")
		}
		_, err := o.acc.Queue("cleanups").ClearMessages(ctx, nil) // and somebody clears the queue
		check(err)
		time.Sleep(time.Hour)
		write()
		check(o.worker(opt).Drain(ctx))
		time.Sleep(28 * time.Hour)
		w := o.worker(opt)
		check(w.Drain(ctx))
		if got := intentsOf(s); got != "" || w.Stats().CleanUps != 1 {
			t.Error(got, w.Stats())
		}
	})
}

// TestCleanUpForged: a clean-up goes by the age of things, and only where a handler is registered.
func TestCleanUpForged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	check(err)
	opt := options()
	opt.CleanUp = o.acc.Queue("cleanups")
	w := o.worker(opt)
	check(w.Drain(ctx))
	_, err = o.acc.Queue("cleanups").ClearMessages(ctx, nil)
	check(err)
	for _, text := range []string{
		`{"v":1,"table":"staff","partition":"S","hour":"2999-01-01T00:00:00Z"}`, `{"v":1,"table":"sent","partition":"S","hour":"2026-01-01T00:00:00Z"}`, `nonsense`,
	} {
		_, err := o.acc.Queue("cleanups").EnqueueMessage(ctx, text, nil)
		check(err)
	}
	before := len(s.Rows("staff"))
	check(w.Drain(ctx))
	if got := w.Stats(); len(s.Rows("staff")) != before || got.CleanUps != 1 || got.Deferred != 1 || got.Poisoned != 1 {
		t.Error(got, s.Rows("staff"))
	}
}

// TestSweepPanics: a handler's sweep that panics is a failed clean-up.
func TestSweepPanics(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.acc.Queue("cleanups").EnqueueMessage(ctx, `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`, nil)
	check(err)
	h := o.handler()
	h.Sweep = func(context.Context, keys.Enc, time.Time) error { panic("oh") }
	opt := options()
	opt.CleanUp = o.acc.Queue("cleanups")
	w := workerOf(o, h, opt)
	check(w.Drain(ctx))
	if w.Stats().Retried != 1 || len(s.Messages("cleanups")) != 1 {
		t.Error(w.Stats())
	}
}
