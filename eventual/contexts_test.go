package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
)

// contexts is a logger that counts the contexts of messages which have not ended.
type contexts struct {
	slog.Handler
	live, all atomic.Int64
}

func (c *contexts) Enabled(context.Context, slog.Level) bool { return true }

func (c *contexts) Handle(ctx context.Context, _ slog.Record) error {
	if ctx.Done() != nil {
		c.all.Add(1)
		c.live.Add(1)
		context.AfterFunc(ctx, func() { c.live.Add(-1) })
	}
	return nil
}

// TestContextsEnd: the context of a message ends when the message is settled, however that is, or a worker would keep something of
// each message for as long as it runs.
func TestContextsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		ctx := context.Background()
		o, s := opened(t, quick())
		for i := range n {
			put(o, []string{
				fmt.Sprintf(`{"v":1,"table":"staff","partition":"S%d","op":%q}`, i%20, opAt(time.Now())),                            // done: there is no such write
				fmt.Sprintf(`{"v":1,"table":"staff","partition":"S%d","op":%q}`, i%20, opAt(time.Now().Add(-30*time.Hour))), "junk", // poison
				`{"v":2}`, // given back
			}[i%4])
		}
		_, err := o.staff.Insert(ctx, &clerk{"T", 1, "Jones"})
		check(err)
		var calls atomic.Int64
		var count contexts
		opt := eventual.WorkerOptions{Common: quick(), Logger: slog.New(&count), Attempts: 3, HandlerTimeout: -1}
		inside := eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(ctx context.Context, _ eventual.Job) error {
			count.live.Add(1)
			context.AfterFunc(ctx, func() { count.live.Add(-1) })
			calls.Add(1)
			return errors.New("no")
		}}
		running(t, workerOf(o, inside, opt), time.Hour, func() bool {
			if len(s.Messages("notifications")) != n/4 || calls.Load() < 3 {
				return false
			}
			synctest.Wait()
			if got := count.live.Load(); got != 0 || count.all.Load() < n {
				t.Errorf("the contexts of %d of %d messages have not ended", got, count.all.Load())
			}
			return true
		})
		// One that is lost.
		_, err = o.staff.Insert(ctx, &clerk{"T", 2, "Jones"})
		check(err)
		s.SetFaults(storagetest.OfKind("message-update", storagetest.Refuse(404, "MessageNotFound")))
		lost := workerOf(o, slow(o, time.Hour, func(error) {}), opt)
		running(t, lost, time.Hour, func() bool { return lost.Stats().Lost > 0 })
		if got := count.live.Load(); got != 0 {
			t.Errorf("the contexts of %d messages have not ended", got)
		}
	})
}
