package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestPoisonQueue: what workers have given up can be listed without being touched, dropped, and replayed, one by one.
func TestPoisonQueue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	for i := range 40 {
		_, err := o.staff.Insert(ctx, &clerk{fmt.Sprint("S", i), i, "Jones"})
		check(err)
	}
	put(o, "junk")
	never := workerOf(o, eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error { return eventual.Poison(nil) }}, options())
	check(never.Drain(ctx))
	q, err := eventual.NewPoisonQueue(o.acc.Queue("poison"), nil)
	check(err)
	for range 2 { // twice, for nothing is changed by it
		if got := poisonOf(t, o); len(got) != 41 {
			t.Fatal(len(got))
		}
	}
	for p, err := range q.List(ctx) {
		check(err)
		if p.ID != "" {
			break
		}
	}
	n, err := q.Drop(ctx, func(p eventual.PoisonMessage) bool { return p.Class == eventual.ClassUndecodable })
	if n != 1 || err != nil {
		t.Error(n, err)
	}
	s.SetFaults(storagetest.OfKind("message-put", storagetest.Refuse(503, "ServerBusy")))
	if n, err := q.Replay(ctx, o.acc.Queue("notifications"), func(eventual.PoisonMessage) bool { return true }); n != 0 || err == nil {
		t.Error(n, err)
	}
	s.SetFaults(nil)
	n, err = q.Replay(ctx, o.acc.Queue("notifications"), func(p eventual.PoisonMessage) bool { return p.Partition != "S7" })
	if n != 39 || err != nil {
		t.Error(n, err)
	}
	check(o.worker(options()).Drain(ctx))
	if left := poisonOf(t, o); len(left) != 1 || left[0].Partition != "S7" || len(s.Rows("sent")) != 39 {
		t.Error(left, len(s.Rows("sent")))
	}
}

// TestReplayOnce: of several poison messages of one text, one is replayed, for one is enough; and a replay ends beside a worker that
// gives everything up again while it runs.
func TestReplayOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		for range 3 {
			put(o, "junk")
		}
		put(o, "more junk")
		check(o.worker(options()).Drain(ctx))
		q, err := eventual.NewPoisonQueue(o.acc.Queue("poison"), nil)
		check(err)
		if n, err := q.Replay(ctx, o.acc.Queue("notifications"), nil); n != 2 || err != nil || len(s.Messages("notifications")) != 2 || len(s.Messages("poison")) != 2 {
			t.Errorf("%d are replayed, %v; %d are in the queue, and %d left", n, err, len(s.Messages("notifications")), len(s.Messages("poison")))
		}
		check(o.worker(options()).Drain(ctx))
		running, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		w := o.worker(options())
		go func() { defer close(ended); check(w.Run(running)) }()
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == "message-put" && q.Queue == "notifications" }, storagetest.Slow(time.Second)))
		start := time.Now()
		short, end := context.WithTimeout(ctx, time.Minute)
		defer end()
		n, err := q.Replay(short, o.acc.Queue("notifications"), nil)
		if took := time.Since(start); n != 2 || err != nil || took > 10*time.Second {
			t.Errorf("%d are replayed in %v, %v", n, took, err)
		}
		time.Sleep(time.Minute)
		stop()
		<-ended
		if left := len(s.Messages("poison")); left != 4 || len(s.Messages("notifications")) > 0 {
			t.Errorf("%d are poison, want 4", left)
		}
	})
}

// TestPoisonQueueConcurrently: a replay beside a worker that gives up at once ends, and one that takes long says that it has not seen all.
func TestPoisonQueueConcurrently(t *testing.T) {
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
		n, err := q.Replay(ctx, o.acc.Queue("notifications"), nil)
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
