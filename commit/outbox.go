package commit

import (
	"context"
	"time"
)

// Outbox notifies workers of writes that have effects. Package eventual has an outbox that is a queue. An outbox must be safe for
// concurrent use.
type Outbox interface {
	// Notify stores a notification, before the write is sent, so that it is not lost if the writer crashes. Workers find it when
	// Notification.Hidden has passed. If Notify fails, the write fails before anything is written.
	Notify(ctx context.Context, a Notification) (SentNotification, error)
}

// Notification names a write that has effects. It contains no effects: a worker reads them from the commit record, by
// [Records.Resolve]. If there is no commit record, Resolve makes sure that the write never commits.
type Notification struct {
	Table       string
	Partition   string
	OperationID string
	Hidden      time.Duration // workers must not see it for that long, unless Show is called

	// Remotes are the other partitions of a write over several, such as table.Table.Move: a worker finishes there what the write
	// has prepared, or rolls it back.
	Remotes []Remote
}

// Remote is a partition of a table, of the same service as the commit record.
type Remote struct{ Table, Partition string }

// SentNotification is a notification that an outbox has stored.
type SentNotification interface {
	// Show makes the notification visible to workers: the write is committed. If Show fails, they see it when Notification.Hidden
	// has passed. Show may run in another goroutine than Notify, beside later calls of Notify, but never after the end of the method
	// that writes.
	Show(context.Context) error
	// Withdraw deletes the notification: the write was refused. If Withdraw fails, a worker finds nothing to do.
	Withdraw(context.Context) error
}
