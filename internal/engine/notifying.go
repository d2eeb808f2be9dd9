package engine

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// notify stores the notification of a write with effects.
func (w *write) notify(ctx context.Context) (err error) {
	n := Notification{Table: w.table.Name, Partition: w.partition(), OperationID: w.id, Hidden: 2 * w.table.Options.WriteTimeout, Remotes: placesOf(w.nextPlan.remotes)}
	if w.notification, err = w.outbox.Notify(ctx, n); err == nil && wire.IsNil(w.notification) {
		err = errors.New("it returned no SentNotification")
	}
	if err != nil {
		w.notification = nil
		return &Condition{ErrOutbox, UserCodeError{wire.Redact(err)}}
	}
	return nil
}

// notifyAgain stores another notification of a committed write that is stale by now. The machine was suspended while the write was
// sent: meanwhile, a worker may have received the first notification, and its abort record may have been swept. The commit record is pending,
// also if only an earlier plan had effects.
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
	case len(w.currentPlan.remotes)+len(w.currentPlan.after) > 0:
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
	return executes || len(w.currentPlan.remotes) > FanOut
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
