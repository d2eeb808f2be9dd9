package eventual_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
)

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
		if n, err := q.Replay(ctx, o.acc.Queue("hints"), nil); n != 2 || err != nil || len(s.Messages("hints")) != 2 || len(s.Messages("poison")) != 2 {
			t.Errorf("%d are replayed, %v; %d are in the queue, and %d left", n, err, len(s.Messages("hints")), len(s.Messages("poison")))
		}
		check(o.worker(options()).Drain(ctx))
		running, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		w := o.worker(options())
		go func() { defer close(ended); check(w.Run(running)) }()
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == "message-put" && q.Queue == "hints" }, storagetest.Slow(time.Second)))
		start := time.Now()
		short, end := context.WithTimeout(ctx, time.Minute)
		defer end()
		n, err := q.Replay(short, o.acc.Queue("hints"), nil)
		if took := time.Since(start); n != 2 || err != nil || took > 10*time.Second {
			t.Errorf("%d are replayed in %v, %v", n, took, err)
		}
		time.Sleep(time.Minute)
		stop()
		<-ended
		if left := len(s.Messages("poison")); left != 4 || len(s.Messages("hints")) > 0 {
			t.Errorf("%d are poison, want 4", left)
		}
	})
}
