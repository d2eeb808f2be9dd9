package eventual_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestConcurrency: a worker executes as many messages at a time as Concurrency. While the handlers are slow, it receives no more.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hire(t, 0, 30, 30)
		var running, most atomic.Int64
		opt := fastPolling()
		opt.Concurrency = 4
		var w bareworker.Worker
		w = o.worker(t, opt, bare.NewHandler("letter", o.base, func(context.Context, eventual.Job, letter) error {
			stats := w.Stats()
			atMost(t, "messages received and not executed", stats.Received-stats.Effects, 4)
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(2 * time.Second)
			return nil
		}))
		began := time.Now()
		runUntilEmpty(t, w, s, time.Hour)
		atMost(t, "time", time.Since(began), 20*time.Second)
		testkit.Expect(t, "running handlers", most.Load(), 4)
		testkit.Expect(t, "deliveries", w.Stats().Received, 30)
	})
}

// TestIdle: the pauses between requests to an empty queue double up to WorkerOptions.Idle.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		opt := fastPolling()
		opt.Idle = 16 * time.Second
		stop := start(t, o.worker(t, opt))
		time.Sleep(15*time.Second + time.Millisecond) // 1 + 2 + 4 + 8 s
		testkit.Expect(t, "requests in the first 15 s", s.Count().String(), "5 message-get")
		time.Sleep(160 * time.Second)
		testkit.Expect(t, "requests in the next 160 s", s.Count().String(), "10 message-get")
		stop()
	})
}

// TestPause: a paused worker receives nothing until Resume.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		w := o.worker(t, fastPolling())
		w.Pause()
		stop := start(t, w)
		o.insert(t, clerk{"S", 1, "Jones"})
		s.Count()
		time.Sleep(time.Hour)
		testkit.Expect(t, "requests during the pause", s.Count().String(), "none")
		if err := w.Run(context.Background()); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("second Run: got %v, want a *table.ValueError", err)
		}
		w.Resume()
		time.Sleep(time.Second)
		testkit.Expect(t, "messages done after Resume", w.Stats().Completed, 1)
		stop()
		drain(t, w) // a stopped worker can run again
	})
}

// TestDrainEmptiesQueue: Drain executes all visible messages, even if one partition has more messages than run at a time. It
// returns an error if its context has ended.
func TestDrainEmptiesQueue(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.hireInto(t, "S", 40)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	w := o.worker(t, fastPolling())
	if err := w.Drain(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: got %v, want context.Canceled", err)
	}
	drain(t, w)
	testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
	testkit.Expect(t, "letters", len(s.Rows("sent")), 40)
}

// TestDrainReceivesAgain: Drain executes the message that a handler puts into the queue during a request that finds no message.
func TestDrainReceivesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		h := bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
			time.Sleep(time.Second) // until after the queue has found no message
			if l.ID == 1 {
				if _, err := o.staff.Insert(ctx, &clerk{"S", 2, "Cao"}); err != nil {
					return err
				}
			}
			return o.send(ctx, j, l)
		})
		s.SetFaults(storagetest.OfKind(kinds.MessageGet, storagetest.Slow(3*time.Second)))
		drain(t, o.worker(t, fastPolling(), h))
		testkit.Expect(t, "letters", len(s.Rows("sent")), 2)
		testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
	})
}
