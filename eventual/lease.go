package eventual

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// ErrLost: the visibility of a message ended and could not be renewed, so another worker may receive the message. ErrLost is the
// cause of the end of the handler's context.
var ErrLost = errors.New("eventual: the message is no longer the worker's")

// lease keeps a received message hidden from other workers. It renews the visibility at a third of its time, until the lease ends
// or is lost.
type lease struct {
	receivedMessage
	env   *environment
	queue queueClient

	release func(*lease) bool // returns a waiting message to the queue instead of a renewal, or reports false

	partition      string // counts to WorkerOptions.PerPartition; "" does not count
	needsIsolation bool   // must be executed while no other message is: see isolate
	isolated       bool   // is executed in isolation

	ctx         context.Context // of the handler; ends when the message is lost or finished
	traced      context.Context // ctx with the span of the message; only the goroutine that executes and finishes the message uses it
	cancel      context.CancelCauseFunc
	expiry      *time.Timer
	stopRenewal chan struct{}
	renewal     sync.WaitGroup
}

// newLease starts to renew a message. The handler's context is derived from ctx.
func newLease(ctx context.Context, env *environment, queue queueClient, release func(*lease) bool, d delivery) *lease {
	x := &lease{receivedMessage: newReceivedMessage(d, env.opt.Attempts), env: env, queue: queue, release: release}
	x.partition = env.handlers.partitionName(&x.receivedMessage)
	x.needsIsolation = x.mayBeDeadly() && !x.isDeadly()
	x.ctx, x.cancel = context.WithCancelCause(ctx)
	x.traced = x.ctx
	x.expiry = time.AfterFunc(time.Until(d.visible), func() { x.cancel(ErrLost) })
	x.resumeRenewal()
	return x
}

// resumeRenewal starts the renewals, at first and after pauseRenewal.
func (x *lease) resumeRenewal() {
	x.stopRenewal = make(chan struct{})
	x.renewal.Go(x.keepRenewing)
}

// pauseRenewal stops the renewals until resumeRenewal. Each request for the message needs the receipt of the last renewal.
func (x *lease) pauseRenewal() {
	close(x.stopRenewal)
	x.renewal.Wait()
}

// keepRenewing renews the message until the renewals stop, the message is lost, or it is released. It repeats a failed request
// soon.
func (x *lease) keepRenewing() {
	third := x.env.untilRenewal()
	next := time.Until(x.visible) - 2*third
	for {
		timer := time.NewTimer(max(next, 0))
		select {
		case <-x.stopRenewal:
			timer.Stop()
			return
		case <-x.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if x.release(x) {
			return
		}
		switch err := x.renew(x.text); {
		case err == nil:
			next = third
			x.env.stats.add(func(s *Stats) { s.Renewed++ })
		case isMessageGone(err):
			x.cancel(ErrLost)
			return
		default:
			x.env.stats.add(func(s *Stats) { s.QueueFailures++ })
			x.env.opt.Logger.Warn("message not renewed", "error", wire.Redact(err))
			next = third / 8
		}
	}
}

// renew hides the message for WorkerOptions.Visibility from now, and stores a text. Calls must not overlap.
func (x *lease) renew(text string) error {
	visible := time.Now().Add(x.env.opt.Visibility)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(x.ctx), x.visible)
	defer cancel()
	receipt, err := x.queue.update(ctx, x.delivery, text, x.env.opt.Visibility)
	if err == nil {
		x.receipt, x.text, x.visible = receipt, text, visible
		if !x.expiry.Reset(time.Until(visible)) {
			x.cancel(ErrLost) // the visibility ended before the response
		}
	}
	return err
}

// end ends the renewals. The message is finished afterwards, with the last receipt.
func (x *lease) end() {
	x.pauseRenewal()
	x.expiry.Stop()
}
