// Package bareworker makes the outbox and the worker of a store, and those of tests, with movers.
package bareworker

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Outbox is an outbox in a queue.
type Outbox interface {
	extend.Outbox
	Ensure(ctx context.Context) error
	NotifyPending(ctx context.Context, source table.AnyTable, o *eventual.NotifyOptions) (eventual.NotifyResult, error)
	Behind(ctx context.Context) (bool, error)
	Unreceived(ctx context.Context) (time.Time, error)
}

// NewOutbox returns an outbox in a queue. It sends nothing: Ensure of the outbox creates the queue. Errors: *table.ValueError for a queue
// that is nil, or has a name that the service refuses.
func NewOutbox(queue eventual.Queue, c *table.Common) (Outbox, error) {
	return door.NewOutbox[Outbox](queue, c)
}

// New returns a worker of a queue, with another queue for poison messages, and with handlers. The worker reads and writes only the
// tables of its handlers. It sends nothing. Errors: *table.ValueError and *table.LimitError for wrong arguments and options.
func New(queue, poison eventual.Queue, handlers []extend.Handler, o *eventual.WorkerOptions) (*eventual.Worker, error) {
	return door.NewWorker[*eventual.Worker](queue, poison, handlers, o)
}

// Clean deletes what is old in a partition of a table: the rows of the worker's handlers, and the commit records. It returns how many
// records of writes before a time are left, because they are not old enough or their effects are still due. Requests: those of the
// handlers and of extend.Records.Sweep.
func Clean(ctx context.Context, w *eventual.Worker, t table.AnyTable, partition string, through time.Time) (left int, err error) {
	return door.Workers.Clean(ctx, w, t, partition, through)
}

// CleanAll is Clean for all partitions of a table.
func CleanAll[T any](ctx context.Context, w *eventual.Worker, t *table.Table[T]) error {
	_, err := t.EachPartition(ctx, keys.PartitionRange{}, 0, func(ctx context.Context, partition keys.PartitionKey) error {
		pk, err := partition.Result()
		if err == nil {
			_, err = Clean(ctx, w, t, pk, time.Time{})
		}
		return err
	})
	return err
}

// Mover is a mover with the handler that executes its moves.
type Mover[T any] struct {
	*archive.Mover[T]
	Handler extend.Handler
}

// NewMover returns the mover of a table that is in no store. outbox notifies workers of its moves; it is the outbox of from, if from has one. It
// sends nothing. Errors: those of archive.Into.
func NewMover[T any](kind string, from *table.Table[T], to archive.Destination, outbox extend.Outbox) (*Mover[T], error) {
	m := archive.Into[T](kind, to)
	d := extend.NewDeclaration(&extend.Host{Outbox: outbox}, from)
	if err := d.Add(m); err != nil {
		return nil, err
	}
	t, parts, err := d.Declared()
	if err != nil {
		return nil, err
	}
	m.Bind(t)
	return &Mover[T]{m, parts[0].Handlers[0]}, nil
}
