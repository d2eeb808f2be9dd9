package table

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/aztablekit/aztablekit/internal/engine"
)

// Outbox notifies workers of writes that have effects. Package eventual has one that is a queue. It must be safe for concurrent use.
type Outbox interface {
	// Notify stores a notification, before the write is sent, so that it is not lost if the writer crashes. Workers find it when
	// Notification.Hidden has passed. If Notify fails, the write fails before anything is written.
	Notify(ctx context.Context, a Notification) (SentNotification, error)
}

// Notification names a write that has effects. It contains no effects: a worker reads them from the commit record, by Resolve of package
// commit. If there is no commit record, Resolve makes sure that the write never commits.
type Notification struct {
	Table       string
	Partition   string
	OperationID string
	Hidden      time.Duration // workers must not see it for that long, unless Show is called
}

// SentNotification is a notification that an outbox has stored.
type SentNotification interface {
	// Show makes the notification visible to workers: the write is committed. If Show fails, they see it when Notification.Hidden has
	// passed.
	Show(context.Context) error
	// Withdraw deletes the notification: the write was refused. If Withdraw fails, a worker finds nothing to do.
	Withdraw(context.Context) error
}

// Effect is work that is due outside the partition once a write is committed.
type Effect struct {
	Kind    string // of handler
	Version int    // of the payload's form
	RowKey  string // of the entity whose change it follows from
	Payload []byte
}

// String returns the kind, the version, the RowKey and the length of the payload, for programs that print an effect. The payload itself may
// be private.
func (e Effect) String() string {
	return fmt.Sprintf("%s version %d of %s, %d bytes", e.Kind, e.Version, e.RowKey, len(e.Payload))
}

// LogValue returns the attributes that String prints, for slog.
func (e Effect) LogValue() slog.Value {
	return slog.GroupValue(slog.String("kind", e.Kind), slog.Int("version", e.Version), slog.String("row", e.RowKey), slog.Int("bytes", len(e.Payload)))
}

// outboxOf is an Outbox as the engine calls it.
type outboxOf struct{ Outbox }

// Notify stores a notification.
func (o outboxOf) Notify(ctx context.Context, n engine.Notification) (engine.SentNotification, error) {
	sent, err := o.Outbox.Notify(ctx, Notification(n))
	if err != nil || sent == nil {
		return nil, err
	}
	return sent, nil
}
