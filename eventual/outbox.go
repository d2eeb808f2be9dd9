package eventual

import (
	"context"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// Outbox is a [commit.Outbox] in a queue: its notifications outlive the writer, and a [Worker] receives them. It is safe for
// concurrent use.
type Outbox struct {
	queue queueClient
	opt   engine.Options
}

// OutboxOptions are the options of an outbox. The zero value is ready for use.
type OutboxOptions struct {
	table.Common
}

// NewOutbox returns an outbox in a queue. It sends nothing: [Outbox.Ensure] creates the queue. Errors: *table.ValueError for a
// queue that is nil, or has a name that the service refuses.
func NewOutbox(queue Queue, o *OutboxOptions) (*Outbox, error) {
	if o == nil {
		o = &OutboxOptions{}
	}
	if err := checkQueue("queue", queue); err != nil {
		return nil, fmt.Errorf("eventual: NewOutbox: %w", err)
	}
	opt := o.Common.Engine()
	return &Outbox{queueClient{queue, opt.Retry.AttemptTimeout, "Outbox.Ensure"}, opt}, nil
}

var _ commit.Outbox = (*Outbox)(nil)

// Ensure creates the queue unless it exists. 1 request; idempotent.
func (o *Outbox) Ensure(ctx context.Context) error {
	if err := o.queue.ensure(ctx, &o.opt); err != nil {
		return fmt.Errorf("eventual: Ensure: %w", err)
	}
	return nil
}

// Notify stores a notification that names a write, hidden for n.Hidden; by then the write has ended. A redundant notification does
// no harm: a worker finds nothing to do. Errors: *table.LimitError for more than the 7 days that a queue can hide a message; those
// of the queue. 1 request; during an outage of the queue more, until WriteTimeout or the context ends.
func (o *Outbox) Notify(ctx context.Context, n commit.Notification) (commit.SentNotification, error) {
	if n.Hidden > maxVisibility {
		return nil, &table.LimitError{Field: "Notification.Hidden", Limit: "seconds", Got: int(n.Hidden / time.Second), Max: int(maxVisibility / time.Second)}
	}
	m := message{Version: messageVersion, Table: n.Table, Partition: n.Partition, Op: n.OperationID}
	for _, r := range n.Remotes {
		m.Remotes = append(m.Remotes, engine.Remote(r))
	}
	text := m.text()
	var d delivery
	log := engine.Log{Logger: o.opt.Logger, Table: n.Table, Method: "Notify", Partition: n.Partition}
	ctx, cancel := engine.Bound(ctx, o.opt.WriteTimeout)
	defer cancel()
	err := o.opt.Retry.Repeat(ctx, log, func() (again bool, err error) {
		d, err = o.queue.put(ctx, text, n.Hidden)
		return err != nil && isTransient(err), err
	})
	if err != nil {
		return nil, err
	}
	return &sentNotification{o.queue, d}, nil
}

// sentNotification is a message that an outbox has put into its queue.
type sentNotification struct {
	queue   queueClient
	message delivery
}

// Show makes the message visible. 1 request.
func (s *sentNotification) Show(ctx context.Context) error {
	_, err := s.queue.update(ctx, s.message, s.message.text, 0)
	return err
}

// Withdraw deletes the message. 1 request; idempotent.
func (s *sentNotification) Withdraw(ctx context.Context) error {
	if err := s.queue.delete(ctx, s.message); err != nil && !isMessageGone(err) {
		return err
	}
	return nil
}
