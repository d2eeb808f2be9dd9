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

// running runs a worker until a condition holds, and returns how long that took.
func running(t *testing.T, w *eventual.Worker, most time.Duration, until func() bool) time.Duration {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	start := time.Now()
	go func() { defer close(ended); check(w.Run(ctx)) }()
	for synctest.Wait(); !until(); synctest.Wait() {
		if time.Since(start) > most {
			t.Errorf("not after %v: %+v", most, w.Stats())
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	took := time.Since(start)
	stop()
	<-ended
	return took
}

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
		took := running(t, w, time.Minute, func() bool { return len(s.Messages("hints")) == 0 })
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
		if got, took := w.Stats(), time.Since(start); took != 250*time.Second || got.Done != 200 || got.Deferred > 0 || len(s.Messages("hints")) > 0 {
			t.Errorf("after %v: %+v", took, got)
		}
	})
}

// TestBusyPartitionBesides: the messages of a busy partition do not keep others waiting that come behind them, whether their handlers
// are slow or fast.
func TestBusyPartitionBesides(t *testing.T) {
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
				if left := len(s.Messages("hints")); left > 0 {
					t.Errorf("%d messages are left", left)
				}
			})
		})
	}
}

// TestWaitingIsRenewed: a message that waits in hand for its partition is renewed like one that is worked on, counts as delivered once,
// and nobody else gets it.
func TestWaitingIsRenewed(t *testing.T) {
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
		took := running(t, w, time.Hour, func() bool { return len(s.Messages("hints")) == 0 })
		// They end after 24, 48, 72 and 96 s, and are renewed every 10 s until then.
		if got := w.Stats(); took > 101*time.Second || got.Done != 4 || got.Received != 4 || got.Deferred > 0 || got.Renewed != 2+4+7+9 || theirs.Stats().Received > 0 {
			t.Errorf("after %v: %+v, and elsewhere %+v", took, got, theirs.Stats())
		}
		if fmt.Sprint(attempts) != "[1 1 1 1]" {
			t.Error(attempts)
		}
	})
}

// TestWaitingIsLost: a message that waits in hand and cannot be renewed is not worked on.
func TestWaitingIsLost(t *testing.T) {
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
			took := running(t, w, time.Hour, func() bool { return len(s.Messages("hints")) == 0 })
			if want := n / 8 * each; took > want*5/4 {
				t.Errorf("%v each: got %v, want about %v: %+v", each, took, want, w.Stats())
			}
		})
	}
}

// TestWaitedThenAway: a message that has waited long for its partition, and for which storage is away once, is tried again soon.
func TestWaitedThenAway(t *testing.T) {
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
		running(t, w, time.Hour, func() bool { return len(s.Messages("hints")) == 0 })
	})
}
