package engine

import (
	"context"
	"reflect"
	"strings"
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
	Remotes     []Remote
}

// Remote is commit.Remote.
type Remote struct {
	Table     string `json:"table"`
	Partition string `json:"partition"`
}

// folded is the remote in the form in which the same places are equal: the service ignores the case of a table's name.
func (r Remote) folded() Remote { return Remote{strings.ToLower(r.Table), r.Partition} }

// SentNotification is commit.SentNotification.
type SentNotification interface {
	Show(context.Context) error
	Withdraw(context.Context) error
}

// AroundOutbox is an outbox that does something besides for the same queue.
type AroundOutbox interface {
	Outbox
	Inner() Outbox
}

// InnerOutbox returns an outbox without what is around it.
func InnerOutbox(o Outbox) Outbox {
	if around, is := o.(AroundOutbox); is {
		return around.Inner()
	}
	return o
}

// SameOutbox compares two outboxes, as far as they can be compared, without what is around them.
func SameOutbox(a, b Outbox) bool {
	a, b = InnerOutbox(a), InnerOutbox(b)
	return reflect.ValueOf(a).Comparable() && a == b
}
