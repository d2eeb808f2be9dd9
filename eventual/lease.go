package eventual

import (
	"context"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// lease is a message while it is the worker's: kept by renewing it at a third of its time, and lost when that is over.
type lease struct {
	w   *Worker
	box box
	d   delivery

	waits bool // for its partition, rather than going back

	ctx    context.Context // of the handler: over when the message is lost
	cancel context.CancelCauseFunc
	dead   *time.Timer
	stop   chan struct{}
	ended  sync.WaitGroup
}

func newLease(ctx context.Context, w *Worker, b box, d delivery) *lease {
	x := &lease{w: w, box: b, d: d, stop: make(chan struct{})}
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.dead = time.AfterFunc(time.Until(d.until), func() { x.cancel(ErrLost) })
	x.ended.Go(x.keep)
	return x
}

// keep renews the message until the lease ends. Where the queue does not answer, it tries again a little later; where it says that
// the message is somebody else's, it is.
func (x *lease) keep() {
	third := x.w.opt.Visibility / 3
	next := time.Until(x.d.until) - 2*third
	for {
		timer := time.NewTimer(max(next, 0))
		select {
		case <-x.stop:
			timer.Stop()
			return
		case <-x.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		until := time.Now().Add(x.w.opt.Visibility)
		ctx, cancel := context.WithDeadline(context.WithoutCancel(x.ctx), x.d.until)
		receipt, err := x.box.update(ctx, x.d, x.d.text, x.w.opt.Visibility)
		cancel()
		switch {
		case err == nil && x.dead.Reset(time.Until(until)):
			x.d.receipt, x.d.until, next = receipt, until, third
			x.w.count(func(s *Stats) { s.Renewed++ })
		case err == nil, gone(err):
			x.cancel(ErrLost)
			return
		default:
			x.w.count(func(s *Stats) { s.Failures++ })
			x.w.opt.Logger.Warn("a message could not be renewed", "error", wire.Redact(err))
			next = third / 8
		}
	}
}

// end ends the renewals. What is settled afterwards goes by the last receipt.
func (x *lease) end() {
	close(x.stop)
	x.ended.Wait()
	x.dead.Stop()
}
