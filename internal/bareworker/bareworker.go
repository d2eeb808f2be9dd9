// Package bareworker makes the outbox and the worker of a store, and those of tests, with movers.
package bareworker

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/table"
)

// Outbox is an outbox in a queue.
type Outbox interface {
	commit.Outbox
	Ensure(ctx context.Context) error
	NotifyPending(ctx context.Context, source table.Handle, age time.Duration, p *table.Pass) (table.Progress, error)
	Behind(ctx context.Context) (bool, error)
	Unreceived(ctx context.Context) (time.Time, error)
}

// NewOutbox returns an outbox in a queue. It sends nothing: Ensure of the outbox creates the queue.
// Errors: *table.ValueError for a queue that is nil, or has a name that the service refuses.
func NewOutbox(queue *azqueue.QueueClient, c *table.Common) (Outbox, error) {
	return door.NewOutbox[Outbox](queue, c)
}

// Worker executes the effects of the writes that a queue names. Several workers may share a queue,
// in one process or in many. It is safe for concurrent use.
type Worker interface {
	Ensure(ctx context.Context) error
	Run(ctx context.Context) error
	Drain(ctx context.Context) error
	Pause()
	Resume()
	Ready() error
	Stats() eventual.Stats
	StatsByKind() []eventual.KindStats
	Backlog(ctx context.Context) (int, error)
}

// New returns a worker of a queue, with another queue for poison messages, and with handlers. The
// worker reads and writes only the tables of its handlers. It sends nothing. Errors:
// *table.ValueError and *table.LimitError for wrong arguments and options.
func New(queue, poison *azqueue.QueueClient, handlers []host.Handler, o *eventual.WorkerOptions) (Worker, error) {
	return door.NewWorker[Worker](queue, poison, handlers, o)
}

// NewPoisonQueue returns the poison messages of a worker, by its queue and its poison queue, for
// tools that do not know the tables of the store. It sends nothing. Errors: *table.ValueError for a
// queue that is nil, is given twice, or has a name that the service refuses.
func NewPoisonQueue(queue, poison *azqueue.QueueClient, o *table.Common) (*eventual.PoisonQueue, error) {
	made, err := door.Workers.PoisonQueue(queue, poison, o)
	q, _ := made.(*eventual.PoisonQueue)
	return q, err
}

// Clean deletes what is old in a partition of a table: the rows of the worker's handlers, and the
// commit records. It returns how many records of writes before a time are left, because they are
// not old enough or their effects are still due. Requests: those of the handlers and of the sweep
// of the records (engine.Table.Sweep).
func Clean(ctx context.Context, w Worker, t table.Handle, partition string, through time.Time) (left int, err error) {
	return door.Workers.Clean(ctx, w, t, partition, through)
}
