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
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestBusyPartition: messages of one partition wait in hand, and not in the queue: they take what their requests take, and no more
// requests than one after another would.
func TestBusyPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		o, s := opened(t, quick())
		for i := range n {
			_, err := o.staff.Insert(context.Background(), &clerk{"S", i, "Jones"})
			check(err)
		}
		s.Count()
		w := workerOf(o, eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			time.Sleep(time.Millisecond) // in which the next messages are received
			return o.send(ctx, j, l)
		}), eventual.WorkerOptions{Common: quick()})
		took := running(t, w, time.Minute, func() bool { return len(s.Messages("notifications")) == 0 })
		if got := w.Stats(); took > time.Second || got != (eventual.Stats{Received: n, Done: n, Effects: n}) {
			t.Errorf("after %v: %+v", took, got)
		}
		// Each has its commit record read and closed, its letter sent, and its message deleted. Several messages come with a request if
		// several hands are free when it is sent, which is for the scheduler to say.
		counted := s.Count()
		var got, gets int
		if _, err := fmt.Sscanf(counted, "%d get, %d insert-or-replace, %d merge, %d message-delete, %d message-get", &got, &got, &got, &got, &gets); err != nil || gets > n {
			t.Errorf("got %s (%v), want at most %d message-get", counted, err, n)
		}
		if want := fmt.Sprintf("%d get, %[1]d insert-or-replace, %[1]d merge, %[1]d message-delete, %d message-get", n, gets); counted != want {
			t.Errorf("got %s, want %s", counted, want)
		}
	})
}

// TestBusyPartitionDrained is the same for Drain.
func TestBusyPartitionDrained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		for i := range 200 {
			_, err := o.staff.Insert(context.Background(), &clerk{"S", i, "Jones"})
			check(err)
		}
		h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			time.Sleep(10 * time.Second)
			return o.send(ctx, j, l)
		})
		w := workerOf(o, h, eventual.WorkerOptions{Common: quick()})
		start := time.Now()
		check(w.Drain(context.Background()))
		if got, took := w.Stats(), time.Since(start); took != 250*time.Second || got.Done != 200 || got.Deferred > 0 || len(s.Messages("notifications")) > 0 {
			t.Errorf("after %v: %+v", took, got)
		}
	})
}

// TestBusyPartitionOvertaken: the messages of a busy partition do not keep others waiting that come behind them, whether their handlers
// are slow or fast.
func TestBusyPartitionOvertaken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n          int
		each, most time.Duration
		returned   float64 // deliveries of a message, on the average
	}{
		"for ever": {n: 1000, each: 24 * time.Hour, most: 2 * time.Second, returned: 2},
		"slow":     {n: 300, each: 10 * time.Second, most: 2 * time.Second, returned: 12},
		"fast":     {n: 2400, each: 200 * time.Millisecond, most: 40 * time.Second, returned: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				o, s := opened(t, quick())
				for i := range c.n {
					_, err := o.staff.Insert(ctx, &clerk{"big", i, "Jones"})
					check(err)
				}
				_, err := o.staff.Insert(ctx, &clerk{"small", 1, "Jones"})
				check(err)
				var done atomic.Bool
				h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, _ letter) error {
					if j.Partition.String() == "small" {
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
				opt := eventual.WorkerOptions{Common: quick(), HandlerTimeout: -1, StopTimeout: time.Second}
				w := workerOf(o, h, opt)
				took := running(t, w, time.Hour, done.Load)
				if took > c.most {
					t.Errorf("it was kept waiting for %v", took)
				}
				got := w.Stats()
				if float64(got.Received) > c.returned*float64(c.n) || got.Retried > 0 {
					t.Errorf("%+v", got)
				}
				rounds(o.worker(options()), s, time.Hour)
				if left := len(s.Messages("notifications")); left > 0 {
					t.Errorf("%d messages are left", left)
				}
			})
		})
	}
}

// TestWaitingMessageRenewed: a message that waits in hand for its partition is renewed like one that is worked on, counts as delivered once,
// and nobody else gets it.
func TestWaitingMessageRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		for i := range 4 {
			_, err := o.staff.Insert(ctx, &clerk{"S", i, "Jones"})
			check(err)
		}
		s.Count()
		var attempts []int
		h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			attempts = append(attempts, j.Attempt)
			time.Sleep(24 * time.Second)
			return o.send(ctx, j, l)
		})
		opt := eventual.WorkerOptions{Common: quick(), Concurrency: 4, PerPartition: 1, Visibility: 30 * time.Second, Attempts: 1}
		w, theirs := workerOf(o, h, opt), o.worker(opt)
		var looking sync.WaitGroup
		defer looking.Wait()
		looking.Go(func() {
			time.Sleep(time.Millisecond)
			for range 100 {
				check(theirs.Drain(ctx))
				time.Sleep(time.Second)
			}
		})
		took := running(t, w, time.Hour, func() bool { return len(s.Messages("notifications")) == 0 })
		// They end after 24, 48, 72 and 96 s, and are renewed every 10 s until then.
		if got := w.Stats(); took > 101*time.Second || got.Done != 4 || got.Received != 4 || got.Deferred > 0 || got.Renewed != 2+4+7+9 || theirs.Stats().Received > 0 {
			t.Errorf("after %v: %+v, and elsewhere %+v", took, got, theirs.Stats())
		}
		if fmt.Sprint(attempts) != "[1 1 1 1]" {
			t.Error(attempts)
		}
	})
}

// TestWaitingMessageLost: a message that waits in hand and cannot be renewed is not worked on.
func TestWaitingMessageLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		for i := range 2 {
			_, err := o.staff.Insert(ctx, &clerk{"S", i, "Jones"})
			check(err)
		}
		var calls atomic.Int64
		h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			calls.Add(1)
			<-ctx.Done()
			time.Sleep(time.Minute) // it does not notice at once
			return nil
		})
		opt := eventual.WorkerOptions{Common: quick(), Concurrency: 2, PerPartition: 1, Visibility: 30 * time.Second}
		s.SetFaults(storagetest.OfKind("message-update", storagetest.Refuse(503, "ServerBusy")))
		w := workerOf(o, h, opt)
		s.SetFaults(storagetest.First(storagetest.OfKind("message-update", storagetest.Refuse(503, "ServerBusy")), storagetest.When(func(q storagetest.Request) bool {
			return q.Kind == "message-get" && calls.Load() > 0
		}, storagetest.Refuse(503, "ServerBusy"))))
		running(t, w, time.Hour, func() bool { return w.Stats().Lost == 2 })
		if calls.Load() != 1 {
			t.Errorf("%d handlers ran, want 1", calls.Load())
		}
	})
}

// TestBusyPartitionSlow: also where each takes longer, messages of a partition take what their handlers take, and not their waiting.
func TestBusyPartitionSlow(t *testing.T) {
	t.Parallel()
	const n = 1000
	for _, each := range []time.Duration{100 * time.Millisecond, 260 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			o, s := opened(t, quick())
			for i := range n {
				_, err := o.staff.Insert(context.Background(), &clerk{"S", i, "Jones"})
				check(err)
			}
			h := eventual.NewHandler("letter", o.plain, func(context.Context, eventual.Job, letter) error {
				time.Sleep(each)
				return nil
			})
			w := workerOf(o, h, eventual.WorkerOptions{Common: quick()})
			took := running(t, w, time.Hour, func() bool { return len(s.Messages("notifications")) == 0 })
			if want := n / 8 * each; took > want*5/4 {
				t.Errorf("%v each: got %v, want about %v: %+v", each, took, want, w.Stats())
			}
		})
	}
}

// TestWaitThenOutage: a message that has waited long for its partition, and for which storage is away once, is tried again soon.
func TestWaitThenOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		for i := range 300 {
			_, err := o.staff.Insert(context.Background(), &clerk{"S", i, "Jones"})
			check(err)
		}
		var mu sync.Mutex
		var away time.Time
		h := eventual.NewHandler("letter", o.plain, func(_ context.Context, _ eventual.Job, l letter) error {
			mu.Lock()
			was := away
			mu.Unlock()
			if was.IsZero() { // afterwards nothing waits for the partition, or the message would stand in line again
				time.Sleep(10 * time.Second)
			}
			if l.ID != 290 {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			if away.IsZero() {
				away = time.Now()
				return table.ErrUnreachable
			}
			if got := time.Since(away); got > time.Minute {
				t.Errorf("executed again after %v, want about 1 s", got)
			}
			return nil
		})
		w := workerOf(o, h, eventual.WorkerOptions{Common: quick()})
		running(t, w, time.Hour, func() bool { return len(s.Messages("notifications")) == 0 })
	})
}

// TestBusyPartitionRequests: a partition with many more messages than may be worked on costs few requests.
func TestBusyPartitionRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		for i := range 200 {
			_, err := o.staff.Insert(context.Background(), &clerk{"S", i, "Jones"})
			check(err)
		}
		h := eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error { time.Sleep(10 * time.Second); return nil }}
		opt := options()
		opt.Idle = 4 * time.Second
		w := workerOf(o, h, opt)
		s.Count()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		check(w.Run(ctx))
		if got := w.Stats(); got.Done != 200 || got.Received > 200*12 || got.Retried > 0 || len(s.Messages("poison")) > 0 {
			t.Error(got)
		}
	})
}

// TestPerPartition: a worker never has more messages than it can work on, in all and for each partition, so that one tenant's many do
// not keep the others waiting.
func TestPerPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		for i := range 60 {
			_, err := o.staff.Insert(ctx, &clerk{"big", i, "Jones"})
			check(err)
		}
		for i := range 3 {
			_, err := o.staff.Insert(ctx, &clerk{fmt.Sprint("small", i), i, "Jones"})
			check(err)
		}
		var now, most, big, mostBig atomic.Int64
		start := time.Now()
		var last atomic.Int64 // when the last of the small ones was done
		h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			if j.Partition.String() == "big" {
				mostBig.Store(max(mostBig.Load(), big.Add(1)))
				defer big.Add(-1)
			} else {
				defer func() { last.Store(int64(time.Since(start))) }()
			}
			time.Sleep(10 * time.Second)
			return o.send(ctx, j, l)
		})
		opt := options()
		opt.Concurrency, opt.PerPartition, opt.Idle = 6, 2, time.Second
		w := workerOf(o, h, opt)
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind == "message-get" && now.Load() > 6 {
				t.Error("more are taken than can be worked on")
			}
			return storagetest.Fault{}
		})
		ctx, stop := context.WithCancel(ctx)
		var running sync.WaitGroup
		running.Go(func() { check(w.Run(ctx)) })
		for len(s.Rows("sent")) < 63 && time.Since(start) < time.Hour {
			time.Sleep(time.Second)
		}
		stop()
		running.Wait()
		if most.Load() > 6 || mostBig.Load() != 2 || len(s.Rows("sent")) != 63 {
			t.Error(most.Load(), mostBig.Load(), len(s.Rows("sent")))
		}
		if took := time.Duration(last.Load()); took > time.Minute {
			t.Error("the small ones have waited for", took)
		}
		if got := w.Stats(); got.Retried > 0 || len(poisonOf(t, o)) > 0 {
			t.Error(got)
		}
	})
}
