package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
)

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

// TestDrainEmptiesQueue: Drain returns nil only when there is nothing to be seen: not where its context is over, and not where the messages
// of one partition are too many to be worked on at once.
func TestDrainEmptiesQueue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	for i := range 40 {
		_, err := o.staff.Insert(ctx, &clerk{"S", i, "Jones"})
		check(err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	w := o.worker(options())
	if err := w.Drain(over); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	check(w.Drain(ctx))
	if len(s.Messages("notifications")) > 0 || len(s.Rows("sent")) != 40 {
		t.Error(len(s.Messages("notifications")), len(s.Rows("sent")))
	}
}

// TestDrainReceivesAgain: what a handler puts into the queue while Drain looks there in vain is worked on, too.
func TestDrainReceivesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		h := eventual.NewHandler("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			time.Sleep(time.Second) // the queue is empty, and its answer is on its way
			if l.ID == 1 {
				_, err := o.staff.Insert(ctx, &clerk{"S", 2, "Cao"})
				check(err)
			}
			return o.send(ctx, j, l)
		})
		s.SetFaults(storagetest.OfKind("message-get", storagetest.Slow(3*time.Second)))
		check(workerOf(o, h, options()).Drain(context.Background()))
		if len(s.Rows("sent")) != 2 || len(s.Messages("notifications")) > 0 {
			t.Error(s.Rows("sent"))
		}
	})
}
