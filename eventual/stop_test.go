package eventual_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
)

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
			left := s.Messages("notifications")
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
		if got := w.Stats(); got.Done != 1 || len(s.Messages("notifications"))+len(s.Messages("poison")) > 0 {
			t.Error(got)
		}
	})
}

// TestStopWithoutAttemptTimeout: a worker without a bound for its tries can be stopped all the same.
func TestStopWithoutAttemptTimeout(t *testing.T) {
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
