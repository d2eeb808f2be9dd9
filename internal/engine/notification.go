package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync/atomic"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// notify stores the notification of a write with effects.
func (w *write) notify(ctx context.Context) (err error) {
	n := commit.Notification{Table: w.table.Name, Partition: w.partition(), OperationID: w.id, Hidden: 2 * w.table.Options.WriteTimeout, Remotes: placesOf(w.nextTransaction.remotes)}
	if w.notification, err = w.outbox.Notify(ctx, n); err == nil && wire.IsNil(w.notification) {
		err = errors.New("it returned no SentNotification")
	}
	if err != nil {
		w.notification = nil
		return errs.With(errs.ErrOutbox, errs.UserCodeError{Err: wire.Redact(err)})
	}
	return nil
}

// notifyAgain stores another notification of a committed write that is stale by now. The machine was suspended while the write was
// sent: meanwhile, a worker may have received the first notification, and its abort record may have been swept. The commit record is
// pending, also if only an earlier plan had effects.
func (w *write) notifyAgain(ctx context.Context) {
	first := w.notification
	if first == nil || !w.stale() {
		return
	}
	if w.notify(ctx) != nil {
		w.notification = first
	}
}

// show makes the notification visible to the workers, before finish. The write is committed, so it does not fail any more: at worst
// they see it later. Nothing depends on the notification, so it is shown beside what is left to do: beside finish and the calls after
// the commit, or in bulk work beside the transactions that follow. The caller gets the result when the notification is shown: a program
// that ends at once, or whose context does, would otherwise often leave it hidden, and nothing that the library has begun goes on.
func (w *write) show(ctx context.Context) {
	o := &w.table.Options
	switch {
	case w.notification == nil || w.showsLate():
	case w.showing != nil:
		w.showing.begin(w.notification, o)
	case len(w.currentTransaction.remotes)+len(w.currentTransaction.after) > 0:
		w.showing, w.awaitsShow = newShowing(ctx, 1), true
		w.showing.begin(w.notification, o)
	default:
		show(ctx, w.notification, o)
	}
}

// showLate shows, after finish, a notification that show has left.
func (w *write) showLate(ctx context.Context) {
	if w.notification != nil && w.showsLate() {
		show(ctx, w.notification, &w.table.Options)
	}
}

// showsLate reports whether the notification is shown after finish. If Show executes effects, they read what finish writes, and are the
// program's own functions, like the calls after the commit. And a worker that received the notification could be faster than the writer if
// the remotes are so many that not all are finished at once: the writer would not know the ETags of its entities.
func (w *write) showsLate() bool {
	_, executes := w.outbox.(AroundOutbox)
	return executes || len(w.currentTransaction.remotes) > FanOut
}

// awaitShow waits until the notification is shown, unless bulk work does.
func (w *write) awaitShow() {
	if w.awaitsShow {
		w.showing.end()
	}
}

// withdraw deletes the notification. If it cannot, a worker finds that nothing is to be done.
func (w *write) withdraw(ctx context.Context) {
	if w.notification == nil {
		return
	}
	ctx, cancel := Bound(ctx, w.table.Options.Retry.AttemptTimeout)
	defer cancel()
	_ = w.notification.Withdraw(ctx)
	w.notification = nil
}

// showing is the notifications of committed writes that are made visible beside other work.
type showing struct {
	ctx      context.Context
	slots    chan struct{} // full when as many are being shown as may be
	panicked atomic.Pointer[string]
}

// newShowing shows so many notifications at a time. They end with ctx.
func newShowing(ctx context.Context, most int) *showing {
	return &showing{ctx: ctx, slots: make(chan struct{}, most)}
}

// begin begins to show a notification, once fewer than the most are being shown.
func (s *showing) begin(n commit.SentNotification, o *Options) {
	s.slots <- struct{}{}
	go func() {
		defer func() {
			if v := recover(); v != nil {
				text := fmt.Sprintf("%v\n\n%s", v, debug.Stack())
				s.panicked.CompareAndSwap(nil, &text)
			}
			<-s.slots
		}()
		ctx, cancel := Bound(s.ctx, o.WriteTimeout)
		defer cancel()
		show(ctx, n, o)
	}()
}

// end waits until all notifications are shown. None can begin any more. What panics in an outbox panics here.
func (s *showing) end() {
	for range cap(s.slots) {
		s.slots <- struct{}{}
	}
	if text := s.panicked.Load(); text != nil {
		panic(*text)
	}
}

// show makes a notification visible.
func show(ctx context.Context, n commit.SentNotification, o *Options) {
	ctx, cancel := Bound(ctx, o.Retry.AttemptTimeout)
	defer cancel()
	_ = n.Show(ctx)
}

// AroundOutbox is an outbox that does something besides for the same queue.
type AroundOutbox interface {
	commit.Outbox
	Inner() commit.Outbox
}

// InnerOutbox returns an outbox without what is around it.
func InnerOutbox(o commit.Outbox) commit.Outbox {
	if around, is := o.(AroundOutbox); is {
		return around.Inner()
	}
	return o
}

// SameOutbox compares two outboxes, as far as they can be compared, without what is around them.
func SameOutbox(a, b commit.Outbox) bool {
	a, b = InnerOutbox(a), InnerOutbox(b)
	return reflect.ValueOf(a).Comparable() && a == b
}

// afterCommit is what is called once a write is known to be committed. It is never changed, but replaced.
type afterCommit []namedCall

type namedCall struct {
	name string
	call func(context.Context)
}
