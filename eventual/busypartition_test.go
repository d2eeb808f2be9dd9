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
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestBusyPartition: messages of one partition wait in the worker and not in the queue, so Run takes no longer than their requests,
// and no more requests than for messages of many partitions.
func TestBusyPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		o, s := newOffice(t, noPauses())
		o.hireInto(t, "S", n)
		s.Count()
		w := o.worker(t, eventual.WorkerOptions{Common: noPauses()}, bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
			time.Sleep(time.Millisecond) // meanwhile the worker receives the next messages
			return o.send(ctx, j, l)
		}))
		atMost(t, "time", runUntil(t, w, time.Minute, isEmpty(s)), time.Second)
		testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: n, Completed: n, Effects: n})
		// The number of messages in a response depends on the number of free handlers at that time, so on the scheduler.
		counted := s.Count()
		atMost(t, "requests for messages", counted[kinds.MessageGet], n)
		delete(counted, kinds.MessageGet)
		testkit.Expect(t, "other requests", counted.String(), fmt.Sprintf("%d get, %[1]d insert-or-replace, %[1]d merge, %[1]d message-delete", n))
	})
}

// TestBusyPartitionDrained: Drain executes the messages of one partition without returning any to the queue.
func TestBusyPartitionDrained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hireInto(t, "S", 200)
		w := o.worker(t, eventual.WorkerOptions{Common: noPauses()}, bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
			time.Sleep(10 * time.Second)
			return o.send(ctx, j, l)
		}))
		began := time.Now()
		drain(t, w)
		testkit.Expect(t, "time", time.Since(began), 250*time.Second)
		testkit.Expect(t, "messages done", w.Stats().Completed, 200)
		testkit.Expect(t, "messages deferred", w.Stats().Deferred, 0)
		testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
	})
}

// TestBusyPartitionOvertaken: a message of another partition behind the messages of a busy partition starts soon, whether the
// handlers are slow or fast.
func TestBusyPartitionOvertaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n          int
		each, most time.Duration
		deliveries float64 // of a message, on average
	}{
		"for ever": {n: 400, each: 24 * time.Hour, most: 2 * time.Second, deliveries: 2},
		"slow":     {n: 300, each: 10 * time.Second, most: 2 * time.Second, deliveries: 12},
		"fast":     {n: 2000, each: 200 * time.Millisecond, most: 40 * time.Second, deliveries: 3},
	} {
		if testkit.Few() && name == "fast" {
			continue // the same as slow, with eight times the messages
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := newOffice(t, noPauses())
				o.hireInto(t, "big", c.n)
				o.hireInto(t, "small", 1)
				var done atomic.Bool
				h := bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, _ letter) error {
					if j.Key.Partition().String() == "small" {
						done.Store(true)
					}
					if done.Load() {
						return nil
					}
					select {
					case <-time.After(c.each):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				})
				w := o.worker(t, eventual.WorkerOptions{Common: noPauses(), HandlerTimeout: -1, StopTimeout: time.Second}, h)
				atMost(t, "time until the message of the small partition starts", runUntil(t, w, time.Hour, done.Load), c.most)
				atMost(t, "deliveries", float64(w.Stats().Received), c.deliveries*float64(c.n))
				testkit.Expect(t, "messages retried", w.Stats().Retried, 0)
				runUntilEmpty(t, o.worker(t, fastPolling()), s, time.Hour)
				testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
			})
		})
	}
}

// TestWaitingMessageRenewed: a message that waits for its partition is renewed like a running message, counts as one delivery, and
// is not delivered to another worker.
func TestWaitingMessageRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hireInto(t, "S", 4)
		var attempts []int
		h := bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
			attempts = append(attempts, j.Attempt)
			time.Sleep(24 * time.Second)
			return o.send(ctx, j, l)
		})
		opt := eventual.WorkerOptions{Common: noPauses(), Concurrency: 4, PerPartition: 1, Visibility: 30 * time.Second, Attempts: 1}
		w, other := o.worker(t, opt, h), o.worker(t, opt)
		var polling sync.WaitGroup
		defer polling.Wait()
		polling.Go(func() {
			time.Sleep(time.Millisecond)
			drainRepeatedly(t, other, 100)
		})
		took := runUntil(t, w, time.Hour, isEmpty(s))
		// The messages are done after 24, 48, 72 and 96 s, and are renewed every 10 s until then.
		atMost(t, "time", took, 101*time.Second)
		testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 4, Completed: 4, Effects: 4, Renewed: 2 + 4 + 7 + 9})
		testkit.Expect(t, "messages that the other worker received", other.Stats().Received, 0)
		testkit.Expect(t, "attempts", fmt.Sprint(attempts), "[1 1 1 1]")
	})
}

// TestWaitingMessageLost: a message that waits for its partition and cannot be renewed is not executed.
func TestWaitingMessageLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hireInto(t, "S", 2)
		var calls atomic.Int64
		h := o.handle(func(ctx context.Context, _ eventual.Job) error {
			calls.Add(1)
			<-ctx.Done()
			time.Sleep(time.Minute) // the handler does not react at once
			return nil
		})
		w := o.worker(t, eventual.WorkerOptions{Common: noPauses(), Concurrency: 2, PerPartition: 1, Visibility: 30 * time.Second}, h)
		busy := storagetest.Refuse(503, "ServerBusy")
		s.SetFaults(storagetest.First(storagetest.OfKind(kinds.MessageUpdate, busy), storagetest.When(func(q storagetest.Request) bool {
			return q.Kind == kinds.MessageGet && calls.Load() > 0
		}, busy)))
		runUntil(t, w, time.Hour, func() bool { return w.Stats().Lost == 2 })
		testkit.Expect(t, "handler calls", calls.Load(), 1)
	})
}

// TestBusyPartitionSlow: the messages of one partition take little longer than their handlers, however long each takes.
func TestBusyPartitionSlow(t *testing.T) {
	t.Parallel()
	const n = 200
	for _, each := range testkit.Some([]time.Duration{100 * time.Millisecond, 260 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second}) {
		synctest.Test(t, func(t *testing.T) {
			o, s := newOffice(t, noPauses())
			o.hireInto(t, "S", n)
			w := o.worker(t, eventual.WorkerOptions{Common: noPauses()}, o.handle(func(context.Context, eventual.Job) error {
				time.Sleep(each)
				return nil
			}))
			limit := n / 8 * each * 5 / 4
			if each > time.Second { // the delays of returned messages depend on their random IDs: 421 to 521 s were measured for 375 s of handlers
				limit = n / 8 * each * 8 / 5
			}
			atMost(t, fmt.Sprintf("time at %v each", each), runUntil(t, w, time.Hour, isEmpty(s)), limit)
		})
	}
}

// TestWaitThenOutage: a message that has waited long for its partition is executed again soon after one failure of storage.
func TestWaitThenOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hireInto(t, "S", 300)
		var mu sync.Mutex
		var failed time.Time
		h := bare.NewHandler("letter", o.base, func(_ context.Context, _ eventual.Job, l letter) error {
			mu.Lock()
			slow := failed.IsZero()
			mu.Unlock()
			if slow { // later handlers are fast, so that the message does not wait for its partition again
				time.Sleep(10 * time.Second)
			}
			if l.ID != 290 {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if failed.IsZero() {
				failed = time.Now()
				return table.ErrUnreachable
			}
			atMost(t, "time until the next attempt", time.Since(failed), time.Minute)
			return nil
		})
		w := o.worker(t, eventual.WorkerOptions{Common: noPauses()}, h)
		runUntil(t, w, time.Hour, isEmpty(s))
	})
}

// TestBusyPartitionRequests: a partition with many messages and slow handlers costs few requests.
func TestBusyPartitionRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hireInto(t, "S", 200)
		opt := fastPolling()
		opt.Idle = 4 * time.Second
		w := o.worker(t, opt, o.handle(func(context.Context, eventual.Job) error { time.Sleep(10 * time.Second); return nil }))
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		noError(t, w.Run(ctx))
		testkit.Expect(t, "messages done", w.Stats().Completed, 200)
		atMost(t, "deliveries", w.Stats().Received, 200*12)
		testkit.Expect(t, "messages retried", w.Stats().Retried, 0)
		testkit.Expect(t, "poison messages", len(s.Messages("poison")), 0)
	})
}

// TestPerPartition: a worker executes no more messages at a time than Concurrency in all and PerPartition of each partition, so
// that small partitions need not wait for a big partition.
func TestPerPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.hireInto(t, "big", 60)
		for i := range 3 {
			o.insert(t, clerk{fmt.Sprint("small", i), i, "Jones"})
		}
		var running, most, runningBig, mostBig atomic.Int64
		var last atomic.Int64 // when the last message of a small partition was done
		began := time.Now()
		h := bare.NewHandler("letter", o.base, func(ctx context.Context, j eventual.Job, l letter) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			if j.Key.Partition().String() == "big" {
				mostBig.Store(max(mostBig.Load(), runningBig.Add(1)))
				defer runningBig.Add(-1)
			} else {
				defer func() { last.Store(int64(time.Since(began))) }()
			}
			time.Sleep(10 * time.Second)
			return o.send(ctx, j, l)
		})
		opt := fastPolling()
		opt.Concurrency, opt.PerPartition, opt.Idle = 6, 2, time.Second
		w := o.worker(t, opt, h)
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind == kinds.MessageGet {
				atMost(t, "running handlers", running.Load(), 6)
			}
			return storagetest.Fault{}
		})
		runUntil(t, w, time.Hour, func() bool { return len(s.Rows("sent")) == 63 })
		atMost(t, "running handlers", most.Load(), 6)
		testkit.Expect(t, "running handlers of the big partition", mostBig.Load(), 2)
		testkit.Expect(t, "letters", len(s.Rows("sent")), 63)
		atMost(t, "time until the small partitions are done", time.Duration(last.Load()), time.Minute)
		testkit.Expect(t, "messages retried", w.Stats().Retried, 0)
		o.expectPoison(t)
	})
}
