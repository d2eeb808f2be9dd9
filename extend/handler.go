package extend

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Handler executes the effects of one kind, of the writes of one table. The result of Handle decides: nil completes the effect;
// eventual.Poison moves the message to the poison queue; eventual.RetryAfter defers the message until that time; any other error returns the
// message to the queue for another attempt, up to eventual.WorkerOptions.Attempts, and then makes the message poison. After an error for a
// row of a newer version (*table.VersionError), the message waits for a worker of another release, as messages of unknown kinds do.
//
// An error of storage that is down, cannot be reached or denies access does not count as an attempt: the effect is repeated
// until storage works. These errors are table.ErrUnreachable, ErrTableNotFound, ErrUnknownOutcome, ErrGivenUp and ErrOutbox, and an
// *azcore.ResponseError of 401, 403, 408, 429 or 5xx. A handler of another service does the same by an error that wraps
// table.ErrUnreachable. The end of a context that the handler has made itself is an attempt like any other error.
//
// An effect is executed at least once. It is executed again if a worker crashed before it completed the effect, at the same time as
// a slow worker, in any order with other effects, and again whenever another effect of the same write failed or was deferred,
// because the effects of a write are completed together. So a handler should read the current state and make the other system
// follow it, or use the job's OperationID and Effect as an idempotency key: they are the same at every attempt. The handler's
// context ends when the worker loses the message.
type Handler struct {
	Kind   string
	Table  table.AnyTable // the table whose writes have the effects: a *table.Table of any type, with its maintainers
	Handle func(ctx context.Context, j Job) error

	// Version is the newest version of the payload that Handle supports; effects of later versions wait for another worker.
	// Defaults to 1.
	Version int

	// Remotes are the names of other tables in which writes of Table change rows, such as the other table of table.Table.MoveTo.
	// If a write to 8 other partitions or fewer never commits, the worker makes sure that a late request of the write changes
	// nothing in these tables. The worker adds the tables of the maintainers of Table ([RemoteWriter]), such as the tables
	// of an index with index.NewUnique. Tables with handlers of their own need not be named.
	Remotes []string

	// Sweep deletes the handler's own rows in a partition that are older than a time, in the partition's clean-up. The commit
	// records from before that time are deleted afterwards, with the effects that they contained. May be nil.
	Sweep func(ctx context.Context, partition keys.PartitionKey, before time.Time) error
}

// Job is an effect to execute.
type Job struct {
	Table       string
	Partition   keys.PartitionKey
	OperationID string // of the write; [Record.Time] returns the write's time
	Effect      Effect

	// Attempt is the number of times that a worker has begun to execute the message, including this time.
	Attempt int

	// CommitRecord is the write's commit record, and Index the position of the effect in it, for handlers that complete the effect
	// by a write of their own; see [Completing]. If that write fails with table.ErrChanged, the handler should return
	// that error; it is called again for the effects that the commit record contains then.
	CommitRecord *Record
	Index        int
}
