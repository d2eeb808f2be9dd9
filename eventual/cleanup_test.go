package eventual_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestCleanUp: the commit records of an hour in a partition are deleted a day later, by one message for each partition and hour.
// Pending and younger commit records stay.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := newOffice(t, noPauses())
		swept := map[string]time.Time{}
		h := o.handler()
		h.Sweep = func(_ context.Context, partition keys.PartitionKey, before time.Time) error {
			swept[partition.String()] = before
			return nil
		}
		opt := fastPolling()
		opt.CleanUp = o.acc.Queue("cleanups")
		write := func(n int) {
			for i := range n {
				_, err := o.staff.Upsert(ctx, &clerk{fmt.Sprint("S", i%2), 1, fmt.Sprint(time.Now(), i)}, table.ReplaceExisting)
				noError(t, err)
			}
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour))) // the beginning of an hour
		write(10)
		w, other := o.worker(t, opt, h), o.worker(t, opt, h)
		s.Count()
		drain(t, w)
		write(10)
		drain(t, other)
		testkit.Expect(t, "clean-up messages for two partitions in an hour", len(s.Messages("cleanups")), 2)
		time.Sleep(5 * time.Minute)
		o.insert(t, clerk{"S0", 2, "Smith"})
		pending := s.Messages("notifications")
		o.clear(t, "notifications")
		time.Sleep(20 * time.Hour)
		write(2)
		drain(t, w)
		before := recordStates(s)
		time.Sleep(6*time.Hour + 54*time.Minute)
		drain(t, w)
		testkit.Expect(t, "states before the clean-up", recordStates(s), before)
		testkit.Expect(t, "clean-ups", w.Stats().CleanUps, 0)
		time.Sleep(5 * time.Minute)
		drain(t, w)
		testkit.Expect(t, "clean-ups", w.Stats().CleanUps, 2)
		testkit.Expect(t, "partitions that the handler swept", len(swept), 2)
		// A pending commit record, and two younger records with the notes of their hour.
		testkit.Expect(t, "states after the clean-up", recordStates(s), "done done note note pending")
		atLeast(t, "age of the rows to sweep", s.Now().Sub(swept["S0"]), 25*time.Hour)
		o.put(t, "notifications", pending[0].Text)
		drain(t, w)
		if got := recordStates(s); strings.Contains(got, "pending") { // a committed write is executed, however old
			t.Errorf("states after the notification: got %q, want none pending", got)
		}
	})
}

// TestCleanUpLost: a clean-up message that could not be sent is sent by the next worker. A clean-up message that the queue has lost
// is replaced by the message of the next hour.
func TestCleanUpLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := newOffice(t, noPauses())
		opt := fastPolling()
		opt.CleanUp = o.acc.Queue("cleanups")
		write := func() {
			_, err := o.staff.Upsert(ctx, &clerk{"S", 1, fmt.Sprint(time.Now())}, table.ReplaceExisting)
			noError(t, err)
		}
		write()
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == requests.MessagePut && q.Queue == "cleanups" }, storagetest.LostRequest()))
		var log strings.Builder
		logged := opt
		logged.Logger = slog.New(slog.NewTextHandler(&log, nil))
		drain(t, o.worker(t, logged))
		s.SetFaults(nil)
		testkit.Expect(t, "warnings", strings.Count(log.String(), `level=WARN msg="clean-up not scheduled" table=staff partition=S`), 1)
		testkit.Expect(t, "clean-up messages after a lost request", len(s.Messages("cleanups")), 0)
		time.Sleep(time.Second)
		write()
		drain(t, o.worker(t, opt)) // in the same hour
		testkit.Expect(t, "clean-up messages after the next worker", len(s.Messages("cleanups")), 1)
		o.clear(t, "cleanups")
		time.Sleep(time.Hour)
		write()
		drain(t, o.worker(t, opt))
		time.Sleep(28 * time.Hour)
		w := o.worker(t, opt)
		drain(t, w)
		testkit.Expect(t, "states", recordStates(s), "")
		testkit.Expect(t, "clean-ups", w.Stats().CleanUps, 1)
	})
}

// TestCleanUpForged: the age of commit records decides about their clean-up, and not the message; and tables without a handler are
// not changed.
func TestCleanUpForged(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	opt := fastPolling()
	opt.CleanUp = o.acc.Queue("cleanups")
	w := o.worker(t, opt)
	drain(t, w)
	o.clear(t, "cleanups")
	for _, text := range []string{
		`{"v":1,"table":"staff","partition":"S","hour":"2999-01-01T00:00:00Z"}`, `{"v":1,"table":"sent","partition":"S","hour":"2026-01-01T00:00:00Z"}`, `nonsense`,
	} {
		o.put(t, "cleanups", text)
	}
	before := len(s.Rows("staff"))
	drain(t, w)
	testkit.Expect(t, "rows", len(s.Rows("staff")), before)
	testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 4, Completed: 2, Effects: 1, CleanUps: 1, Deferred: 1, Poisoned: 1})
}

// TestSweepPanics: a clean-up fails if the Sweep function of a handler panics.
func TestSweepPanics(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.put(t, "cleanups", `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`)
	h := o.handler()
	h.Sweep = func(context.Context, keys.PartitionKey, time.Time) error { panic("oh") }
	opt := fastPolling()
	opt.CleanUp = o.acc.Queue("cleanups")
	w := o.worker(t, opt, h)
	drain(t, w)
	testkit.Expect(t, "messages retried", w.Stats().Retried, 1)
	testkit.Expect(t, "clean-up messages", len(s.Messages("cleanups")), 1)
}
