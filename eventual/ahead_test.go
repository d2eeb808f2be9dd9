package eventual_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// latency is the time of each request in the tests of waits.
const latency = 5 * time.Millisecond

func slowService(storagetest.Request) storagetest.Fault { return storagetest.Slow(latency) }

// TestThroughput: a worker takes little longer than the requests of its executions: to read a commit record, to send the letter, and
// to mark the commit record as done. Meanwhile it receives the next messages and deletes the previous ones.
func TestThroughput(t *testing.T) {
	t.Parallel()
	const n = 500
	for name, c := range testkit.SomeNamed(map[string]struct {
		partitions, perPartition, handlers int
	}{
		"partitions":            {partitions: n, handlers: 16},
		"busy partition, half":  {partitions: 1, handlers: 8},
		"busy partition, whole": {partitions: 1, perPartition: 16, handlers: 16},
		"busy partition, one":   {partitions: 1, perPartition: 1, handlers: 1},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := newOffice(t, noPauses())
				o.hire(t, 0, n, c.partitions)
				s.Count()
				s.SetFaults(slowService)
				w := o.worker(t, eventual.WorkerOptions{Common: noPauses(), PerPartition: c.perPartition})
				took := runUntil(t, w, time.Hour, isEmpty(s))
				ideal := time.Duration(n) * 3 * latency / time.Duration(c.handlers)
				atMost(t, "time", took, ideal*11/10)
				if c.handlers == 16 {
					atMost(t, "time of 500 messages", took, time.Second/2)
				}
				testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: n, Completed: n, Effects: n})
				counted := s.Count()
				atMost(t, "requests for messages", counted[kinds.MessageGet], n/25)
				delete(counted, kinds.MessageGet)
				testkit.Expect(t, "other requests", counted.String(), fmt.Sprintf("%d get, %[1]d insert-or-replace, %[1]d merge, %[1]d message-delete", n))
			})
		})
	}
}

// TestMostWaiting: a worker contains at most 4 messages for each handler, besides those that it executes, and a worker of one
// handler contains one message, even while messages cannot be deleted fast.
func TestMostWaiting(t *testing.T) {
	t.Parallel()
	for concurrency, most := range map[int]int{1: 1, 2: 10, 16: 80} {
		synctest.Test(t, func(t *testing.T) {
			o, s := newOffice(t, noPauses())
			o.hire(t, 0, 300, 300)
			s.SetFaults(func(q storagetest.Request) storagetest.Fault {
				if q.Kind == kinds.MessageDelete {
					return storagetest.Slow(100 * time.Millisecond)
				}
				return storagetest.Slow(latency)
			})
			var w bareworker.Worker
			var running, mostRunning, mostReceived atomic.Int64
			w = o.worker(t, eventual.WorkerOptions{Common: noPauses(), Concurrency: concurrency}, o.handle(func(context.Context, eventual.Job) error {
				mostRunning.Store(max(mostRunning.Load(), running.Add(1)))
				defer running.Add(-1)
				stats := w.Stats()
				mostReceived.Store(max(mostReceived.Load(), int64(stats.Received-stats.Completed)))
				time.Sleep(latency)
				return nil
			}))
			runUntil(t, w, time.Hour, isEmpty(s))
			what := fmt.Sprintf("Concurrency %d: ", concurrency)
			testkit.Expect(t, what+"running handlers", mostRunning.Load(), int64(concurrency))
			testkit.Expect(t, what+"messages received and not done", mostReceived.Load(), int64(most))
			testkit.Expect(t, what+"messages done", w.Stats().Completed, 300)
		})
	}
}

// TestAheadOfSlowHandlers: if handlers become slow, the worker returns the messages that wait for them to the queue before it would
// renew them, and another worker executes them. No attempt is counted.
func TestAheadOfSlowHandlers(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{300, 1} {
		synctest.Test(t, func(t *testing.T) {
			o, s := newOffice(t, noPauses())
			o.hire(t, 0, 300, partitions)
			s.SetFaults(slowService)
			var calls atomic.Int64
			hang := o.handle(func(ctx context.Context, _ eventual.Job) error {
				if calls.Add(1) > 100 {
					<-ctx.Done()
				}
				return ctx.Err()
			})
			slow := o.worker(t, eventual.WorkerOptions{Common: noPauses(), Visibility: 30 * time.Second, StopTimeout: time.Second, HandlerTimeout: -1}, hang)
			stop := start(t, slow)
			time.Sleep(9 * time.Second) // the messages would be renewed after 10 s
			synctest.Wait()
			before := slow.Stats()
			atLeast(t, "messages in the worker", before.Received-before.Completed, 16+16)
			if partitions > 1 { // else half of the handlers are free
				time.Sleep(6 * time.Second)
				synctest.Wait()
				testkit.Expect(t, "messages received while no handler is free", slow.Stats().Received-before.Received, 0)
			}

			var mu sync.Mutex
			attempts := map[int]int{}
			other := o.worker(t, eventual.WorkerOptions{Common: noPauses()}, o.handle(func(_ context.Context, j eventual.Job) error {
				mu.Lock()
				defer mu.Unlock()
				attempts[j.Attempt]++
				return nil
			}))
			stopOther := start(t, other)
			time.Sleep(15 * time.Second)
			synctest.Wait()
			kept := 16 // the messages that are executed
			if partitions == 1 {
				kept = 8 + 16 // besides, as many as there are handlers wait for the partition
			} else {
				testkit.Expect(t, "messages left", len(s.Messages("notifications")), kept)
			}
			after := slow.Stats()
			testkit.Expect(t, "messages in the worker later", after.Received-after.Completed-after.Deferred, kept)
			atLeast(t, "messages done by the other worker", other.Stats().Completed, 100)
			testkit.Expect(t, "messages by attempts", fmt.Sprint(attempts), fmt.Sprint(map[int]int{1: other.Stats().Completed}))
			testkit.Expect(t, "messages retried or lost", slow.Stats().Retried+slow.Stats().Lost, 0)
			stop()
			stopOther()
		})
	}
}

// TestStopReturnsWaiting: when its context ends, a worker returns the messages that wait to the queue, and they are visible at once.
// No attempt is counted.
func TestStopReturnsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hire(t, 0, 300, 300)
		s.SetFaults(slowService)
		w := o.worker(t, eventual.WorkerOptions{Common: noPauses()})
		stop := start(t, w)
		time.Sleep(100*time.Millisecond + time.Microsecond)
		received := w.Stats().Received
		stop()
		atLeast(t, "messages returned", w.Stats().Deferred, 16)
		testkit.Expect(t, "messages done or returned", w.Stats().Completed+w.Stats().Deferred, w.Stats().Received)
		atMost(t, "messages received after the stop", w.Stats().Received-received, 32)
		testkit.Expect(t, "messages left", len(s.Messages("notifications")), 300-w.Stats().Completed)
		for _, m := range s.Messages("notifications") {
			atMost(t, "time until a message is visible", m.Visible.Sub(s.Now()), 0)
		}
		var later atomic.Int64
		drain(t, o.worker(t, eventual.WorkerOptions{Common: noPauses()}, o.handle(func(_ context.Context, j eventual.Job) error {
			later.Store(max(later.Load(), int64(j.Attempt)))
			return nil
		})))
		testkit.Expect(t, "attempts of a message", later.Load(), 1)
	})
}

// TestWaitingMessagesOfCrash: messages that waited in a worker that crashes are executed by another worker, and none becomes poison.
func TestWaitingMessagesOfCrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hire(t, 0, 1000, 40)
		s.SetFaults(slowService)
		opt := eventual.WorkerOptions{Common: noPauses(), Attempts: 2, StopTimeout: time.Second}
		for i := range 4 {
			p, ctx := newProcess(s)
			w := officeOn(t, s, p, noPauses()).worker(t, opt)
			timer := time.AfterFunc(time.Duration(150+31*i)*time.Millisecond, p.crash)
			noError(t, w.Run(ctx))
			timer.Stop()
			atLeast(t, "messages in the worker", w.Stats().Received-w.Stats().Completed, 32)
			time.Sleep(time.Minute) // until the messages are visible again
		}
		runUntilEmpty(t, o.worker(t, opt), s, time.Hour)
		testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
		testkit.Expect(t, "letters", len(s.Rows("sent")), 1000)
		o.expectPoison(t)
	})
}
