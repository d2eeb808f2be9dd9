package eventual_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestRenewal: while a handler runs, its message is renewed at a third of the visibility, and is not delivered to another worker.
func TestRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		var causes causeList
		opt := fastPolling()
		opt.Visibility = 30 * time.Second
		w := o.worker(t, opt, slowHandler(o, 95*time.Second, causes.add))
		s.Count()
		other := o.worker(t, opt)
		go func() {
			time.Sleep(time.Second)
			drainRepeatedly(t, other, 90)
		}()
		drain(t, w)
		testkit.Expect(t, "messages that the other worker received", other.Stats().Received, 0)
		testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 1, Completed: 1, Effects: 1, Renewed: 9})
		testkit.Expect(t, "requests", s.Count().String(), "1 get, 1 merge, 1 message-delete, 93 message-get, 9 message-update")
	})
}

// TestLost: if a message cannot be renewed, the handler's context ends before another worker can receive the message, and the other
// worker executes it.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]storagetest.Fault{
		"queue is down":      storagetest.Refuse(503, "ServerBusy"),
		"no response":        storagetest.Hang(),
		"message is deleted": storagetest.Refuse(404, "MessageNotFound"),
		"response is lost":   storagetest.LostResponse(), // and with the response the new receipt
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := newOffice(t, noPauses())
				o.insert(t, clerk{"S", 1, "Jones"})
				s.SetFaults(storagetest.OfKind(kinds.MessageUpdate, fault))
				var causes causeList
				opt := fastPolling()
				opt.Visibility = 30 * time.Second
				var log strings.Builder
				opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
				ctx, cancel := context.WithCancel(context.Background())
				w := o.worker(t, opt, slowHandler(o, time.Hour, func(cause error) { cancel(); causes.add(cause) }))
				began := time.Now()
				noError(t, w.Run(ctx))
				atMost(t, "time", time.Since(began), 30*time.Second)
				testkit.Expect(t, "causes", fmt.Sprint(causes.all), "[eventual: the message is no longer the worker's]")
				testkit.Expect(t, "messages lost", w.Stats().Lost, 1)
				testkit.Expect(t, "warnings about lost messages", strings.Count(log.String(), `level=WARN msg="message lost"`), 1)
				testkit.Expect(t, "messages done", w.Stats().Completed, 0)
				s.SetFaults(nil)
				runUntilEmpty(t, o.worker(t, fastPolling()), s, 2*time.Minute)
				testkit.Expect(t, "letters", len(s.Rows("sent")), 1)
				testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
			})
		})
	}
}

// TestSlowReceive: the visibility of a message counts from before the request, as in the queue. After a slow response, the message
// is renewed at once, and is not delivered to another worker.
func TestSlowReceive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		c := noPauses()
		c.Retry.AttemptTimeout = time.Minute
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == kinds.MessageGet && anyVisible(s) }, storagetest.Slow(25*time.Second)))
		opt := fastPolling()
		opt.Common, opt.Visibility = c, 30*time.Second
		w := o.worker(t, opt, slowHandler(o, 20*time.Second, func(cause error) { t.Errorf("the handler's context ended: got %v, want no end", cause) }))
		other := o.worker(t, opt)
		var polling sync.WaitGroup
		defer polling.Wait()
		polling.Go(func() {
			time.Sleep(time.Second)
			drainRepeatedly(t, other, 50)
			testkit.Expect(t, "messages that the other worker received", other.Stats().Received, 0)
		})
		drain(t, w)
		testkit.Expect(t, "messages done", w.Stats().Completed, 1)
		testkit.Expect(t, "messages lost", w.Stats().Lost, 0)
		atLeast(t, "renewals", w.Stats().Renewed, 2)
	})
}
