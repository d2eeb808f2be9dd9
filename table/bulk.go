package table

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// BulkOptions are options of [Bulk]. The zero value is ready for use.
type BulkOptions struct {
	// Concurrency is the most transactions in progress at a time, each in another partition. Defaults to 10, the number of connections
	// that the SDK's transport keeps open. Up to as many notifications of an outbox are shown besides.
	Concurrency int

	// Window is the most operations that wait in memory, so that the operations of one partition can be sent together. Defaults
	// to 10,000. If the stream mixes partitions, a larger window needs fewer transactions. WindowBytes is the most bytes of their
	// rows, and the most bytes of rows of lists and summaries that are kept for the next transaction of their partition. Defaults
	// to 32 MiB.
	Window, WindowBytes int

	// Rate is the most rows that are written in a second, and PartitionRate the most in one partition, derived rows and commit
	// records included. 0 means no limit until the service answers that it is busy (503), and then 20,000 and 2,000, which is what
	// it promises to take of an account and of a partition.
	Rate, PartitionRate int

	// Skip, if set, decides about each operation that a check or the service has refused. It receives the index in the stream and
	// a *BatchError, which contains the key. If it returns true, the operation is left out. If it returns false, or is not set, the
	// work ends. The goroutine of Bulk calls Skip and Progress between the operations of the stream: a stream must not wait for
	// them.
	Skip func(index int, err error) bool

	// Progress is called after each transaction.
	Progress func(BulkResult)
}

// BulkResult counts the operations so far.
type BulkResult struct {
	Applied int // operations that were applied, and deletes whose rows were gone after a lost response
	Missing int // deletes of rows that did not exist
	Skipped int // operations that were refused, and that Skip has left out

	// ResumeAt is the index of the operation with which to resume the same stream. All operations before it were applied, skipped
	// or missing. Later operations may have been applied. If Bulk returns no error, ResumeAt is the number of all operations.
	ResumeAt int
}

// Bulk applies a stream of operations, of any length, of any types, partitions, tables and accounts, in transactions that are as
// large as possible: 100 rows, derived rows and the commit record included, or 4 MiB (exact to the byte for clients made with
// [ClientOptions]). Operations of one partition are applied in their order, a transaction at a time; several partitions are
// written at the same time. Each transaction is all or nothing, and the stream as a whole is not.
//
//	result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
//		for row := range rows {
//			if !yield(staff.UpsertOp(&row, table.ReplaceExisting), nil) {
//				return
//			}
//		}
//	}, nil)
//
// A stream that mixes many partitions makes smaller transactions: raise BulkOptions.Window. For several operations that belong
// together, use [Transact].
//
// Operations wait until the operations of their partition fill a transaction, until the window is full, or until the stream ends.
// An error in the stream ends it: the operations before it are applied, and the error is returned.
//
// A delete of a row that does not exist is no error. A refused operation ends the work unless [BulkOptions].Skip leaves it out:
// transactions in progress end, and no further ones begin. Upserts and deletes can be repeated: after an error, resume the stream
// at BulkResult.ResumeAt.
//
// Requests:
//
//   - 1 for each transaction: ⌈N / 100⌉ for N operations on one partition without maintainers and commit records, and ⌈2N / 100⌉ if
//     each adds a row.
//   - At most 1 for each row that must be read, 10 at a time. More than 10 rows that lie close together are read by 1 query.
//     While a transaction travels, the rows of the next one are read; after an error, they were read in vain. With
//     [Options].BlindWrites, upserts of rows without derived rows read nothing, and take a hundredth of the requests.
//   - 1 more for each operation that is refused or finds nothing to delete, and 1 for each row that a replanned transaction must read.
//     If a row exists, or a value is taken, 1 more to find out whether this operation stored it, or which entity has it.
//   - But at most 3 for all operations of a transaction that find nothing to delete, and 5 for all that insert rows which exist: 2
//     refused transactions, a read after each, and 1 query for the existing rows.
//
// A transaction that the service refuses because it is busy is sent again until the WriteTimeout of its table. The other partitions
// go on, at the rates of [BulkOptions].
//
// Errors: *BatchError around the error that the operation's own method would return, such as ErrExists or ErrChanged, or around
// ErrUnknownOutcome or another error of a write (see package table); *ValueError for a wrong option; the error of the stream. The
// BulkResult is right in each case.
func Bulk(ctx context.Context, ops iter.Seq2[Op, error], o *BulkOptions) (BulkResult, error) {
	if err := o.check(); err != nil {
		return BulkResult{}, err
	}
	if ops == nil {
		return BulkResult{}, &ValueError{Field: "ops", Reason: "is nil; give a sequence of operations"}
	}
	r, err := engine.Bulk(ctx, func(yield func(*engine.Op, error) bool) {
		for op, err := range ops {
			if !yield(op.engine(), err) {
				return
			}
		}
	}, o.engine())
	return BulkResult(r), err
}

// BulkDelete deletes the rows of a query, by their ETags, in transactions; see [Bulk]. A row that has
// changed since it was read is read again, and deleted if the query still finds it; otherwise it
// stays. After an error, begin again: a query with a Cursor is refused with a *ValueError, because a
// cursor follows what is read, and not what is deleted.
//
// Progress.Rows are the rows that the query has found, and Changed those that were deleted.
// Counts["missing"] are those that a concurrent writer has deleted, or that the query no longer finds.
// BulkDelete uses Rate, Concurrency (10 by default), Skip and Progress of the pass, which may be nil;
// the query has the partitions. Progress is called after each transaction, and Skip decides about a
// row that cannot be deleted.
//
// If the handle has no maintainers, and the keys alone show the type of the rows, only keys are read.
// Requests: ⌈N / 1000⌉ queries and ⌈N / 100⌉ transactions for N rows of one partition, more as for List
// and Bulk; 1 query and 1 transaction more for each row that has changed.
//
// Errors: *BatchError around ErrChanged for a row that has changed at each of Retry.ConflictAttempts
// attempts, or around ErrUnknownOutcome or another error of a write (see package table); ErrTableScan,
// ErrBudget, *LimitError and *ValueError for the query, and for a field of the pass that is wrong or not
// used; *DecodeError for a row that does not fit T; errors of a read. After an error of the query, such
// as ErrBudget, the rows that it has yielded are deleted.
func BulkDelete[T any](ctx context.Context, t *Table[T], q Query[T], pass *Pass) (_ Progress, err error) {
	if err := engine.CheckHandle("t", t.engine()); err != nil {
		return Progress{}, fmt.Errorf("table: BulkDelete: %w", err)
	}
	ctx, end := t.engine().Span(ctx, bulkDelete)
	defer func() { end(err) }()
	if pass == nil {
		pass = &Pass{}
	}
	if err := checkPass(pass, "Rate", "Concurrency", "Skip"); err != nil {
		return Progress{}, t.engine().OpError(bulkDelete, keys.Key{}, err)
	}
	o := &BulkOptions{Concurrency: pass.Concurrency, Rate: pass.Rate}
	if pass.Skip != nil {
		o.Skip = func(_ int, err error) bool {
			var of *BatchError
			errors.As(err, &of)
			return pass.Skip(of.Key, err)
		}
	}
	if pass.Progress != nil {
		o.Progress = func(r BulkResult) { pass.Progress(deleted(r)) }
	}
	r, err := Bulk(ctx, t.h.deletes(ctx, q.engine()), o)
	return deleted(r), err
}

// deleted returns how far bulk work has come that deletes the rows of a query.
func deleted(r BulkResult) Progress {
	p := Progress{Rows: r.Applied + r.Missing + r.Skipped, Changed: r.Applied, Skipped: r.Skipped}
	if r.Missing > 0 {
		p.Counts = map[string]int{"missing": r.Missing}
	}
	return p
}

// check fails for options that are wrong.
func (o *BulkOptions) check() error {
	switch {
	case o == nil:
		return nil
	case o.Rate < 0:
		return &ValueError{Field: "BulkOptions.Rate", Reason: "is negative; 0 means no limit until the service is busy"}
	case o.PartitionRate < 0:
		return &ValueError{Field: "BulkOptions.PartitionRate", Reason: "is negative; 0 means no limit until the service is busy"}
	}
	return nil
}

// engine returns the options as the engine takes them.
func (o *BulkOptions) engine() engine.BulkOptions {
	if o == nil {
		return engine.BulkOptions{}
	}
	options := engine.BulkOptions{Concurrency: o.Concurrency, Window: o.Window, WindowBytes: o.WindowBytes, Rate: o.Rate, PartitionRate: o.PartitionRate, Skip: o.Skip}
	if o.Progress != nil {
		options.Progress = func(r engine.BulkResult) { o.Progress(BulkResult(r)) }
	}
	return options
}
