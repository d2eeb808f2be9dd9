package eventual

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Outbox is a [table.Outbox] in a queue: its notifications outlive the writer, and a [Worker] receives them. It is safe for concurrent
// use.
type Outbox struct {
	box box
	opt table.Common
}

// OutboxOptions are the options of an outbox. The zero value is ready for use.
type OutboxOptions struct {
	table.Common
}

// NewOutbox returns an outbox in a queue. It sends nothing: [Outbox.Ensure] creates the queue. Errors: *table.ValueError for a queue that
// is nil.
func NewOutbox(queue Queue, o *OutboxOptions) (*Outbox, error) {
	if o == nil {
		o = &OutboxOptions{}
	}
	if wire.IsNil(queue) {
		return nil, fmt.Errorf("eventual: NewOutbox: %w", &table.ValueError{Field: "queue", Reason: "is nil"})
	}
	opt := o.Common.WithDefaults()
	return &Outbox{box{queue, opt.Retry.AttemptTimeout}, opt}, nil
}

var _ table.Outbox = (*Outbox)(nil)

// Ensure creates the queue unless it exists. 1 request; idempotent.
func (o *Outbox) Ensure(ctx context.Context) error {
	if err := o.box.ensure(ctx); err != nil {
		return fmt.Errorf("eventual: Ensure: %w", err)
	}
	return nil
}

// Hint stores a notification that names a write, hidden until the write must be over, so that no effect is lost if the writer crashes. A
// notification too many does no harm: a worker finds nothing to do. Errors: *table.LimitError for more than the 7 days that a queue can hide
// a message; those of the queue. 1 request; up to Retry.Attempts if the queue does not answer.
func (o *Outbox) Notify(ctx context.Context, a table.Notification) (table.SentNotification, error) {
	if a.Hidden > maxHidden {
		return nil, &table.LimitError{Field: "Notification.Hidden", Limit: "seconds", Got: int(a.Hidden / time.Second), Max: int(maxHidden / time.Second)}
	}
	text := message{Version: version, Table: a.Table, Partition: a.Partition, Op: a.OperationID}.text()
	var d delivery
	err := o.opt.Retry.Repeat(ctx, func() (again bool, err error) {
		d, err = o.box.put(ctx, text, a.Hidden)
		return err != nil && transient(err), err
	})
	if err != nil {
		return nil, err
	}
	return &hint{o, d}, nil
}

// hint is a message that was put.
type hint struct {
	o *Outbox
	d delivery
}

// Show makes the message visible. 1 request.
func (h *hint) Show(ctx context.Context) error {
	_, err := h.o.box.update(ctx, h.d, h.d.text, 0)
	return err
}

// Withdraw deletes the message. 1 request; idempotent.
func (h *hint) Withdraw(ctx context.Context) error {
	if err := h.o.box.delete(ctx, h.d); err != nil && !gone(err) {
		return err
	}
	return nil
}

// transient tells whether the next try may end otherwise.
func transient(err error) bool {
	var re *azcore.ResponseError
	return !errors.As(err, &re) || re.StatusCode == http.StatusRequestTimeout || re.StatusCode == http.StatusTooManyRequests || re.StatusCode >= 500
}
