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
// sent: meanwhile, a worker may have received the first notification, and its abort record may have been swept.
func (w *write) notifyAgain(ctx context.Context) {
	first := w.notification
	if first == nil || !w.stale() {
		return
	}
	if !w.currentPlan.effects || w.notify(ctx) != nil {
		w.notification = first
	}
}

// show makes the notification visible to the workers. The write is committed, so it does not fail any more: at worst they see it
// later.
func (w *write) show(ctx context.Context) {
	if w.notification == nil {
		return
	}
	ctx, cancel := Bound(ctx, w.table.Options.Retry.AttemptTimeout)
	defer cancel()
	_ = w.notification.Show(ctx)
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
