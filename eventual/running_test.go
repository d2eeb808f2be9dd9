package eventual_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// countingHandler returns a handler of letters that counts its calls and returns the result for the n-th call.
func countingHandler(o *office, calls *atomic.Int64, result func(n int64) error) host.Handler {
	return o.handle(func(context.Context, eventual.Job) error { return result(calls.Add(1)) })
}

// slowHandler returns a handler of letters that takes a while. If its context ends earlier, it reports the cause.
func slowHandler(o *office, d time.Duration, ended func(cause error)) host.Handler {
	return o.handle(func(ctx context.Context, _ eventual.Job) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			ended(context.Cause(ctx))
			return ctx.Err()
		}
	})
}

// errorIf returns the first error if a condition holds, else the second error, if any.
func errorIf(condition bool, errs ...error) error {
	if condition {
		return errs[0]
	}
	if len(errs) > 1 {
		return errs[1]
	}
	return nil
}

// start runs a worker until stop is called.
func start(t testing.TB, w bareworker.Worker) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		noError(t, <-ended)
	}
}

// runUntil runs a worker until a condition holds, for a limited time, and returns how long that took.
func runUntil(t testing.TB, w bareworker.Worker, limit time.Duration, condition func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	stop := start(t, w)
	for synctest.Wait(); !condition(); synctest.Wait() {
		if time.Since(began) > limit {
			t.Errorf("the condition does not hold after %v: got %+v", limit, w.Stats())
			break
		}
		time.Sleep(max(10*time.Millisecond, time.Since(began)/200)) // the longer the time, the coarser the measurement may be
	}
	took := time.Since(began)
	stop()
	return took
}

// drain runs a worker until no message is visible. Handlers, and requests for their messages, may fail.
func drain(t testing.TB, w bareworker.Worker) {
	t.Helper()
	noError(t, testkit.WithoutFailures(w.Drain(context.Background())))
}

// drainRepeatedly drains a queue each second, for a number of times, as a concurrent worker does.
func drainRepeatedly(t testing.TB, w bareworker.Worker, times int) {
	for range times {
		if err := testkit.WithoutFailures(w.Drain(context.Background())); err != nil {
			t.Errorf("got the error %v, want none", err)
		}
		time.Sleep(time.Second)
	}
}

// runUntilEmpty runs a worker until the queue is empty, for a limited time.
func runUntilEmpty(t testing.TB, w bareworker.Worker, s *storagetest.Service, limit time.Duration) {
	t.Helper()
	for end := s.Now().Add(limit); s.Now().Before(end); {
		drain(t, w)
		left := s.Messages("notifications")
		if len(left) == 0 {
			return
		}
		first := slices.MinFunc(left, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
		time.Sleep(min(first.Visible.Sub(s.Now()), end.Sub(s.Now())))
	}
}

// isEmpty returns a condition: the queue of notifications is empty.
func isEmpty(s *storagetest.Service) func() bool {
	return func() bool { return len(s.Messages("notifications")) == 0 }
}

// causeList collects the causes of the end of handlers' contexts.
type causeList struct {
	mu  sync.Mutex
	all []error
}

func (c *causeList) add(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, cause)
}
