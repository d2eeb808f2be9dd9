package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestHotPartition: a partition with many more messages than may be worked on costs few requests.
func TestHotPartition(t *testing.T) {
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

// TestStopKeepsSuccess: what a handler has carried out while the worker stops is settled.
func TestStopKeepsSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		h := eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(ctx context.Context, _ eventual.Job) error {
			<-ctx.Done()
			return nil // it has just made it
		}}
		opt := options()
		opt.StopTimeout, opt.Attempts = time.Second, 1
		w := workerOf(o, h, opt)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		check(w.Run(ctx))
		if got := w.Stats(); got.Done != 1 || len(s.Messages("hints"))+len(s.Messages("poison")) > 0 {
			t.Error(got)
		}
	})
}

// TestForgedNotes: what a message says of how often it was got, and since when nobody knows it, is not trusted, and does no harm.
func TestForgedNotes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		text := s.Messages("hints")[0].Text
		_, err = o.acc.Queue("hints").ClearMessages(context.Background(), nil)
		check(err)
		put(o, strings.TrimSuffix(text, "}")+`,"UNCOUNTED":1000000000000,"uncounted":1000000000000}`)
		put(o, strings.TrimSuffix(text, "}")+`,"uncounted":-1000000000000,"since":"1970-01-01T00:00:00Z"}`)
		var calls atomic.Int64
		w := workerOf(o, failing(o, &calls, func(int64) error { return errors.New("no") }), options())
		rounds(w, s, 3*time.Hour)
		if got := len(poisonOf(t, o)); got != 2 || calls.Load() != 20 {
			t.Error(got, calls.Load())
		}
		// One of a later version that leaves no room for notes is poison after an hour, too.
		put(o, `{"v":9,"pad":"`+strings.Repeat("x", 64<<10-100)+`"}`)
		start := time.Now()
		w = o.worker(options())
		rounds(w, s, 5*time.Hour)
		if took := time.Since(start); took < time.Hour || took > 2*time.Hour || len(poisonOf(t, o)) != 3 {
			t.Error(took, len(poisonOf(t, o)))
		}
	})
}

// TestClocks: a worker whose clock is behind another's does not take what that one has just noted for old.
func TestClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		put(o, `{"v":2}`)
		time.Sleep(2 * time.Hour) // it has waited
		ahead, behind := options(), options()
		ahead.Now = func() time.Time { return time.Now().Add(time.Minute) }
		check(o.worker(ahead).Drain(context.Background()))
		time.Sleep(31 * time.Second)
		check(o.worker(behind).Drain(context.Background()))
		if len(s.Messages("hints")) != 1 || len(s.Messages("poison")) > 0 {
			t.Error("it is poison after half a minute")
		}
	})
}

// TestTablesDown: while the tables cannot be reached no message is poison, for that is no fault of theirs; then all are carried out.
func TestTablesDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		for i := range 5 {
			_, err := o.staff.Insert(context.Background(), &clerk{"S", i, "Jones"})
			check(err)
		}
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == "staff" }, storagetest.Refuse(503, "ServerBusy")))
		w := o.worker(options())
		rounds(w, s, 2*time.Hour)
		if got := w.Stats(); got.Poisoned > 0 || got.Deferred < 20 || got.Received > 1000 {
			t.Error(got)
		}
		s.SetFaults(nil)
		rounds(w, s, time.Hour)
		if len(s.Rows("sent")) != 5 {
			t.Error(s.Rows("sent"))
		}
	})
}

// TestGoexit: a handler that ends its goroutine has failed.
func TestGoexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		var calls atomic.Int64
		opt := options()
		opt.Attempts = 2
		rounds(workerOf(o, failing(o, &calls, func(int64) error { runtime.Goexit(); return nil }), opt), s, time.Hour)
		if calls.Load() != 2 || len(poisonOf(t, o)) != 1 {
			t.Error(calls.Load())
		}
	})
}

// TestSweepPanics: a handler's sweep that panics is a failed clean-up.
func TestSweepPanics(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.acc.Queue("cleanups").EnqueueMessage(ctx, `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`, nil)
	check(err)
	h := o.handler()
	h.Sweep = func(context.Context, keys.Enc, time.Time) error { panic("oh") }
	opt := options()
	opt.CleanUp = o.acc.Queue("cleanups")
	w := workerOf(o, h, opt)
	check(w.Drain(ctx))
	if w.Stats().Retried != 1 || len(s.Messages("cleanups")) != 1 {
		t.Error(w.Stats())
	}
}

// TestLostDelete: a deletion whose response is lost is done: what was settled counts as settled.
func TestLostDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	check(err)
	put(o, "junk")
	lost := map[string]bool{}
	s.SetFaults(storagetest.When(func(q storagetest.Request) bool {
		first := q.Kind == "message-delete" && !lost[q.Message]
		lost[q.Message] = lost[q.Message] || first
		return first
	}, storagetest.LostReply()))
	w := o.worker(options())
	check(w.Drain(ctx))
	if got := w.Stats(); got.Done != 1 || got.Poisoned != 1 || got.Lost > 0 {
		t.Error(got)
	}
}

// TestUnstoppable: a worker without a bound for its tries can be stopped all the same.
func TestUnstoppable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := quick()
		c.Retry.AttemptTimeout = -1
		o, s := opened(t, c)
		s.SetFaults(storagetest.OfKind("message-get", storagetest.Hang()))
		opt := options()
		opt.Common = c
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		check(o.worker(opt).Run(ctx))
		if took := time.Since(start); took > time.Minute {
			t.Error(took)
		}
	})
}

// TestPoisonBesideWorkers: a replay beside a worker that gives up at once ends, and one that takes long says that it has not seen all.
func TestPoisonBesideWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		for i := range 70 {
			put(o, fmt.Sprint("junk", i))
		}
		running, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		w := o.worker(options())
		go func() { defer close(ended); check(w.Run(running)) }()
		time.Sleep(10 * time.Second)
		q, err := eventual.NewPoisonQueue(o.acc.Queue("poison"), nil)
		check(err)
		n, err := q.Replay(ctx, o.acc.Queue("hints"), nil)
		if err != nil || n != 70 {
			t.Error(n, err)
		}
		time.Sleep(10 * time.Second)
		stop()
		<-ended
		if len(s.Messages("poison")) != 70 {
			t.Error(len(s.Messages("poison")))
		}
		seen, incomplete := 0, false
		for _, err := range q.List(ctx) {
			if incomplete = incomplete || errors.Is(err, eventual.ErrIncomplete); err == nil {
				seen++
			}
			time.Sleep(10 * time.Second)
		}
		if !incomplete || seen > 70 {
			t.Error(seen, incomplete)
		}
		if _, err := q.Replay(ctx, nil, nil); err == nil {
			t.Error("into nothing")
		}
		s.SetFaults(storagetest.OfKind("message-update", storagetest.Hang()))
		start := time.Now()
		for _, err := range q.List(ctx) {
			_ = err
		}
		if took := time.Since(start); took > time.Minute {
			t.Error("it does not end for", took)
		}
	})
}

// TestSameQueues: queues that must be two are refused where they are one, and so are two tables of one name.
func TestSameQueues(t *testing.T) {
	t.Parallel()
	o, _ := opened(t, quick())
	other, _ := opened(t, quick())
	q, p := o.acc.Queue("hints"), o.acc.Queue("poison")
	var ve *table.ValueError
	second := other.handler()
	second.Kind = "second"
	for what, c := range map[string]struct {
		poison, cleanUp *azqueue.QueueClient
		handlers        []eventual.Handler
	}{
		"poison": {q, o.acc.Queue("c"), []eventual.Handler{o.handler()}}, "clean-up": {p, q, []eventual.Handler{o.handler()}}, "both": {p, p, []eventual.Handler{o.handler()}},
		"tables": {p, o.acc.Queue("c"), []eventual.Handler{o.handler(), second}},
	} {
		if _, err := eventual.NewWorker(q, c.poison, c.handlers, &eventual.WorkerOptions{CleanUp: c.cleanUp}); !errors.As(err, &ve) {
			t.Error(what, err)
		}
	}
}

// TestDrainLooksAgain: what a handler puts into the queue while Drain looks there in vain is worked on, too.
func TestDrainLooksAgain(t *testing.T) {
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
		if len(s.Rows("sent")) != 2 || len(s.Messages("hints")) > 0 {
			t.Error(s.Rows("sent"))
		}
	})
}
