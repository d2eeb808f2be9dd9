package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
)

// slow is a handler of letters that takes a while, unless its context ends; it tells why.
func slow(o *office, d time.Duration, ended func(cause error)) eventual.Handler {
	return eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(ctx context.Context, _ eventual.Job) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			ended(context.Cause(ctx))
			return ctx.Err()
		}
	}}
}

// causes collects why handlers were ended.
type causes struct {
	mu  sync.Mutex
	all []error
}

func (c *causes) add(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, cause)
}

// TestRenewal: while a handler runs, its message is renewed at a third of its time, and nobody else gets it.
func TestRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		var why causes
		opt := options()
		opt.Visibility = 30 * time.Second
		w := workerOf(o, slow(o, 95*time.Second, why.add), opt)
		s.Count()
		theirs := o.worker(opt)
		go func() {
			for range 90 {
				time.Sleep(time.Second)
				check(theirs.Drain(context.Background()))
			}
		}()
		check(w.Drain(context.Background()))
		if got := theirs.Stats(); got.Received > 0 {
			t.Error("somebody else gets it:", got)
		}
		if got := w.Stats(); got.Renewed != 9 || got.Done != 1 || got.Effects != 1 {
			t.Error(got)
		}
		if got := s.Count(); got != "1 get, 1 merge, 1 message-delete, 93 message-get, 9 message-update" {
			t.Error(got)
		}
	})
}

// TestLost: a message that cannot be renewed any more is lost: the handler's context ends before others can have it, and what
// they do with it is not disturbed.
func TestLost(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]storagetest.Fault{
		"down":       storagetest.Refuse(503, "ServerBusy"),
		"no answer":  storagetest.Hang(),
		"gone":       storagetest.Refuse(404, "MessageNotFound"),
		"reply lost": storagetest.LostReply(), // so its receipt is not known
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := opened(t, quick())
				_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
				check(err)
				s.SetFaults(storagetest.OfKind("message-update", fault))
				var why causes
				opt := options()
				opt.Visibility = 30 * time.Second
				ctx, cancel := context.WithCancel(context.Background())
				w := workerOf(o, slow(o, time.Hour, func(cause error) { cancel(); why.add(cause) }), opt)
				start := time.Now()
				check(w.Run(ctx))
				if took := time.Since(start); took > 30*time.Second || len(why.all) != 1 || !errors.Is(why.all[0], eventual.ErrLost) || w.Stats().Lost != 1 || w.Stats().Done != 0 {
					t.Error(took, why.all, w.Stats())
				}
				s.SetFaults(nil)
				rounds(o.worker(options()), s, 2*time.Minute)
				if len(s.Rows("sent")) != 1 || len(s.Messages("hints")) > 0 {
					t.Error("nobody else has carried it out")
				}
			})
		})
	}
}

// TestTimeout: a handler that takes too long is ended, and counted.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		var why causes
		opt := options()
		opt.HandlerTimeout, opt.Attempts = time.Minute, 2
		w := workerOf(o, slow(o, time.Hour, why.add), opt)
		start := time.Now()
		rounds(w, s, time.Hour)
		if took := time.Since(start); len(why.all) != 2 || took > 3*time.Minute || len(poisonOf(t, o)) != 1 {
			t.Error(took, why.all)
		}
	})
}

// TestStop: when its context is over, a worker takes nothing more, lets handlers end, and gives back what it has not begun with;
// one that does not end is ended, uncounted.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, patient := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o, s := opened(t, quick())
			for i := range 40 {
				_, err := o.staff.Insert(context.Background(), &clerk{fmt.Sprint("S", i), i, "Jones"})
				check(err)
			}
			var why causes
			opt := options()
			opt.Concurrency, opt.StopTimeout = 10, 20*time.Second
			d := 15 * time.Second
			if !patient {
				d = time.Hour
			}
			w := workerOf(o, slow(o, d, why.add), opt)
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(5*time.Second, cancel)
			start := time.Now()
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
			took, got := time.Since(start), w.Stats()
			left := s.Messages("hints")
			switch {
			case patient && (took != 15*time.Second || got.Done != 10 || len(left) != 30 || len(why.all) > 0):
				t.Error(took, got, len(left), why.all)
			case !patient && (took != 25*time.Second || got.Deferred != 10 || got.Retried > 0 || len(left) != 40 || len(why.all) != 10):
				t.Error(took, got, len(left), why.all)
			}
			for _, m := range left {
				if m.Visible.After(s.Now().Add(time.Second)) {
					t.Error("a message is kept by nobody:", m)
				}
			}
			rounds(o.worker(options()), s, time.Minute)
			if want := map[bool]int{true: 30, false: 40}[patient]; len(s.Rows("sent")) != want {
				t.Error(len(s.Rows("sent")))
			}
		})
	}
}

// TestPause: a worker that pauses takes nothing, and goes on when it is told to.
func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		o, s := opened(t, quick())
		w := o.worker(options())
		w.Pause()
		ended := make(chan struct{})
		go func() { defer close(ended); check(w.Run(ctx)) }()
		_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
		check(err)
		s.Count()
		time.Sleep(time.Hour)
		if got := s.Count(); got != "none" || w.Stats().Received != 0 {
			t.Error(got)
		}
		if err := w.Run(ctx); !errors.Is(err, eventual.ErrRunning) {
			t.Error(err)
		}
		w.Resume()
		time.Sleep(time.Second)
		if w.Stats().Done != 1 {
			t.Error(w.Stats())
		}
		cancel()
		<-ended
		check(w.Drain(context.Background())) // it can run again
	})
}

// TestBounds: a worker never has more messages than it can work on, in all and for each partition, so that one tenant's many do
// not keep the others waiting.
func TestBounds(t *testing.T) {
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

// TestConcurrency: a worker takes no more than it can work on, and as many as that.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		for i := range 30 {
			_, err := o.staff.Insert(context.Background(), &clerk{fmt.Sprint("S", i), i, "Jones"})
			check(err)
		}
		var now, most atomic.Int64
		opt := options()
		opt.Concurrency = 4
		var w *eventual.Worker
		w = workerOf(o, eventual.NewHandler("letter", o.plain, func(context.Context, eventual.Job, letter) error {
			if got := w.Stats(); got.Received-got.Done > 4 {
				t.Errorf("%+v: more are in hand than can be worked on", got)
			}
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return nil
		}), opt)
		start := time.Now()
		rounds(w, s, time.Hour)
		if took := time.Since(start); most.Load() != 4 || took > 10*time.Second || w.Stats().Received != 30 {
			t.Error(most.Load(), took, w.Stats())
		}
	})
}

// TestIdle: a worker looks into an empty queue less and less often, and into one with messages at once.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		o, s := opened(t, quick())
		opt := options()
		opt.Idle = 16 * time.Second
		w := o.worker(opt)
		ended := make(chan struct{})
		go func() { defer close(ended); check(w.Run(ctx)) }()
		time.Sleep(15*time.Second + time.Millisecond) // 1 + 2 + 4 + 8
		if got := s.Count(); got != "5 message-get" {
			t.Error(got)
		}
		time.Sleep(160 * time.Second)
		if got := s.Count(); got != "10 message-get" {
			t.Error(got)
		}
		cancel()
		<-ended
	})
}

// TestSlowGet: the time of a message counts from before the queue was asked, for that is when the queue began to count: where its answer
// takes long, the message is renewed at once, and nobody else gets it meanwhile.
func TestSlowGet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		c := quick()
		c.Retry.AttemptTimeout = time.Minute
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == "message-get" && visible(s) }, storagetest.Slow(25*time.Second)))
		opt := options()
		opt.Common, opt.Visibility = c, 30*time.Second
		w := workerOf(o, slow(o, 20*time.Second, func(cause error) { t.Error(cause) }), opt)
		var looking sync.WaitGroup
		defer looking.Wait()
		looking.Go(func() {
			theirs := o.worker(opt)
			time.Sleep(time.Second)
			for range 50 {
				check(theirs.Drain(context.Background()))
				time.Sleep(time.Second)
			}
			if got := theirs.Stats(); got.Received > 0 {
				t.Errorf("somebody else gets it: %+v", got)
			}
		})
		check(w.Drain(context.Background()))
		if got := w.Stats(); got.Done != 1 || got.Lost > 0 || got.Renewed < 2 {
			t.Errorf("%+v", got)
		}
	})
}

// visible reports whether a message is to be seen.
func visible(s *storagetest.Service) bool {
	for _, m := range s.Messages("hints") {
		if !m.Visible.After(s.Now()) {
			return true
		}
	}
	return false
}
