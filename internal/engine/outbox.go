package engine

import (
	"context"
	"reflect"
	"time"
)

// Outbox is commit.Outbox.
type Outbox interface {
	Notify(ctx context.Context, n Notification) (SentNotification, error)
}

// Notification is commit.Notification.
type Notification struct {
	Table       string
	Partition   string
	OperationID string
	Hidden      time.Duration
}

// SentNotification is commit.SentNotification.
type SentNotification interface {
	Show(context.Context) error
	Withdraw(context.Context) error
}

// SameOutbox compares two outboxes, as far as they can be compared.
func SameOutbox(a, b Outbox) bool { return reflect.ValueOf(a).Comparable() && a == b }
