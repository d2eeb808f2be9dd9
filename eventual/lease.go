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

	m         message // as far as it can be read
	err       error   // why it cannot
	notes     notes   // of the message, as far as they can be believed
	partition string  // of which only so many are worked on at a time, "" for none
	lone      bool    // it is to be worked on while nothing else is, for workers have died of it or of what was beside it
	sole      bool    // and so it is
	unnoted   bool    // nothing can be noted in it

	ctx    context.Context // of the handler: over when the message is lost or settled
	cancel context.CancelCauseFunc
	dead   *time.Timer
	stop   chan struct{}
	ended  sync.WaitGroup
}

func newLease(l *lane, d delivery) *lease {
	x := &lease{w: l.w, box: l.box, d: d}
	x.m, x.err = parse(d.text)
	x.notes = x.m.notes.believed(d.gets)
	if x.err == nil && x.m.Hour == "" && x.w.tables[folded(x.m.Table)] != nil {
		x.partition = folded(x.m.Table) + "/" + x.m.Partition
	}
	x.lone = x.suspicious() && !x.deadly()
	x.ctx, x.cancel = context.WithCancelCause(l.jobs)
	x.dead = time.AfterFunc(time.Until(d.until), func() { x.cancel(ErrLost) })
	x.begin()
	return x
}

// begin begins the renewals.
func (x *lease) begin() {
	x.stop = make(chan struct{})
	x.ended.Go(x.keep)
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
		switch err := x.renew(x.d.text); {
		case err == nil:
			next = third
			x.w.count(func(s *Stats) { s.Renewed++ })
		case gone(err):
			x.cancel(ErrLost)
			return
		default:
			x.w.count(func(s *Stats) { s.QueueFailures++ })
			x.w.opt.Logger.Warn("a message could not be renewed", "error", wire.Redact(err))
			next = third / 8
		}
	}
}

// renew makes the message the worker's for its whole time from now, with a text. It is called by one at a time.
func (x *lease) renew(text string) error {
	until := time.Now().Add(x.w.opt.Visibility)
	ctx, cancel := context.WithDeadline(context.WithoutCancel(x.ctx), x.d.until)
	defer cancel()
	receipt, err := x.box.update(ctx, x.d, text, x.w.opt.Visibility)
	if err == nil {
		x.d.receipt, x.d.text, x.d.until = receipt, text, until
		if !x.dead.Reset(time.Until(until)) {
			x.cancel(ErrLost) // it was over while the queue answered
		}
	}
	return err
}

// hold stops the renewals until begin: whatever changes the message needs the last receipt.
func (x *lease) hold() {
	close(x.stop)
	x.ended.Wait()
}

// end ends the renewals. What is settled afterwards goes by the last receipt.
func (x *lease) end() {
	x.hold()
	x.dead.Stop()
}
