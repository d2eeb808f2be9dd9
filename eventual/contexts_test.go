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
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// contextCounter is the handler of a logger that counts the contexts of messages, in all and those that have not ended.
type contextCounter struct {
	slog.Handler
	open, all atomic.Int64
}

func (c *contextCounter) Enabled(context.Context, slog.Level) bool { return true }

func (c *contextCounter) Handle(ctx context.Context, _ slog.Record) error {
	if ctx.Done() != nil {
		c.all.Add(1)
		c.open.Add(1)
		context.AfterFunc(ctx, func() { c.open.Add(-1) })
	}
	return nil
}

// TestContextsEnd: the context of a message ends when the message is finished, in each way. Otherwise a worker would keep memory
// for each message until it stops.
func TestContextsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		o, s := newOffice(t, noPauses())
		for i := range n {
			o.put(t, "notifications", []string{
				// done: there is no such write
				fmt.Sprintf(`{"v":1,"table":"staff","partition":"S%d","op":%q}`, i%20, operationIDAt(time.Now())),
				// poison
				fmt.Sprintf(`{"v":1,"table":"staff","partition":"S%d","op":%q}`, i%20, operationIDAt(time.Now().Add(-30*time.Hour))), "junk",
				// deferred
				`{"v":2}`,
			}[i%4])
		}
		o.insert(t, clerk{"T", 1, "Jones"})
		var calls atomic.Int64
		var count contextCounter
		opt := eventual.WorkerOptions{Common: noPauses(), Attempts: 3, HandlerTimeout: -1}
		opt.Logger = slog.New(&count)
		failing := o.handle(func(ctx context.Context, _ eventual.Job) error {
			count.open.Add(1)
			context.AfterFunc(ctx, func() { count.open.Add(-1) })
			calls.Add(1)
			return errors.New("no")
		})
		runUntil(t, o.worker(t, opt, failing), time.Hour, func() bool {
			if len(s.Messages("notifications")) != n/4 || calls.Load() < 3 {
				return false
			}
			synctest.Wait()
			testkit.Expect(t, "contexts that have not ended", count.open.Load(), 0)
			atLeast(t, "contexts", count.all.Load(), n)
			return true
		})
		o.insert(t, clerk{"T", 2, "Jones"})
		s.SetFaults(storagetest.OfKind(kinds.MessageUpdate, storagetest.Refuse(404, "MessageNotFound")))
		lost := o.worker(t, opt, slowHandler(o, time.Hour, func(error) {}))
		runUntil(t, lost, time.Hour, func() bool { return lost.Stats().Lost > 0 })
		testkit.Expect(t, "contexts that have not ended after a loss", count.open.Load(), 0)
	})
}
