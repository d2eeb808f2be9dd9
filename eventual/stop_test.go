package eventual_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestStop: when its context ends, a worker receives nothing more, waits for handlers for StopTimeout, and returns the other
// messages to the queue. The stop counts no attempt.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                           string
		handler, took                  time.Duration
		done, deferred, left, canceled int
	}{
		{"handlers end in time", 15 * time.Second, 15 * time.Second, 10, 0, 30, 0},
		{"handlers do not end", time.Hour, 25 * time.Second, 0, 10, 40, 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			o, s := newOffice(t, noPauses())
			o.hire(t, 0, 40, 40)
			var causes causeList
			opt := fastPolling()
			opt.Concurrency, opt.StopTimeout = 10, 20*time.Second
			var log strings.Builder
			opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
			w := o.worker(t, opt, slowHandler(o, c.handler, causes.add))
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(5*time.Second, cancel)
			began := time.Now()
			noError(t, w.Run(ctx))
			left := s.Messages("notifications")
			testkit.Expect(t, c.name+": time", time.Since(began), c.took)
			testkit.Expect(t, c.name+": warnings about messages that went back", strings.Count(log.String(), "message returned to the queue"), 0)
			testkit.Expect(t, c.name+": messages done", w.Stats().Completed, c.done)
			testkit.Expect(t, c.name+": messages deferred", w.Stats().Deferred, c.deferred)
			testkit.Expect(t, c.name+": messages retried", w.Stats().Retried, 0)
			testkit.Expect(t, c.name+": messages left", len(left), c.left)
			testkit.Expect(t, c.name+": handlers' contexts that ended", len(causes.all), c.canceled)
			for _, m := range left {
				atMost(t, c.name+": time until a message is visible", m.Visible.Sub(s.Now()), time.Second)
			}
			runUntilEmpty(t, o.worker(t, fastPolling()), s, time.Minute)
			testkit.Expect(t, c.name+": letters", len(s.Rows("sent")), c.left)
		})
	}
}

// TestStopKeepsSuccess: an effect that a handler has executed while the worker stops is completed.
func TestStopKeepsSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		h := o.handle(func(ctx context.Context, _ eventual.Job) error {
			<-ctx.Done()
			return nil // executed at the last moment
		})
		opt := fastPolling()
		opt.StopTimeout, opt.Attempts = time.Second, 1
		w := o.worker(t, opt, h)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		noError(t, w.Run(ctx))
		testkit.Expect(t, "messages done", w.Stats().Completed, 1)
		testkit.Expect(t, "messages left", len(s.Messages("notifications"))+len(s.Messages("poison")), 0)
	})
}

// TestStopWithoutAttemptTimeout: a worker without Retry.AttemptTimeout stops while a queue does not respond.
func TestStopWithoutAttemptTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := noPauses()
		c.Retry.AttemptTimeout = -1
		o, s := newOffice(t, c)
		s.SetFaults(storagetest.OfKind(kinds.MessageGet, storagetest.Hang()))
		opt := fastPolling()
		opt.Common = c
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began := time.Now()
		noError(t, o.worker(t, opt).Run(ctx))
		atMost(t, "time", time.Since(began), time.Minute)
	})
}
