package bulk

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options are options of [Run] and [Delete]. The zero value is ready for use.
type Options struct {
	// Width is how many transactions travel at a time, each in another partition. Defaults to 10, for which the SDK's
	// transport keeps connections open.
	Width int

	// Window is how many operations wait, to find those of one partition. Defaults to 10,000. A larger window needs fewer
	// transactions if partitions are mixed. It also bounds memory, as does WindowBytes, of the rows that they write and
	// know, which defaults to 32 MiB.
	Window, WindowBytes int

	// Skip is asked about each refused operation, whether a check or the service refused it, with its index in the stream and an
	// *Error, which also contains its key: true drops the operation and goes on, false ends the work. By default the first refusal
	// ends the work. Run's goroutine calls Skip and Progress, and only while the stream is not being asked: a stream must not wait
	// for them.
	Skip func(index int, err error) bool

	// Progress is called after each transaction.
	Progress func(Result)
}

// Result is how far bulk work has come.
type Result struct {
	Done    int // operations that were applied; also deletes whose rows were gone after a lost response
	Missing int // deletes of rows that did not exist, or that the query of Delete no longer finds
	Skipped int // operations that were refused, and that Skip dropped

	// ResumeAt is the index at which to resume the same stream. All operations before it were applied or skipped, or had nothing to
	// do; later ones may have been applied. If Run returns no error, ResumeAt is the number of all operations.
	ResumeAt int
}

// Error is the error that ended bulk work. Err is what is wrong with the operation of this index. If no single operation is at
// fault, as with a table.ErrUnknownOutcome or a service that cannot be reached, Err is the error of a transaction that begins with
// it.
type Error struct {
	Index int
	Key   keys.Key
	Err   error
}

func (e *Error) Error() string {
	return (&table.BatchError{Index: e.Index, Key: e.Key, Err: e.Err}).Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// MarshalJSON returns the text of the error.
func (e *Error) MarshalJSON() ([]byte, error) { return json.Marshal(e.Error()) }

// Run applies a stream of operations, of any length, of any types, partitions, tables and accounts, in transactions as large as
// they may be: 100 operations, with those that maintainers add and the commit record, or 4 MiB, to the byte on clients made with
// [table.ClientOptions]. Maintainers are asked for their rows while a transaction is planned. Operations of one partition are
// applied in their order, a transaction at a time; several partitions at once. Each transaction is all or nothing, and the stream
// as a whole is not.
//
//	result, err := bulk.Run(ctx, func(yield func(table.Op, error) bool) {
//		for row := range rows {
//			if !yield(staff.UpsertOp(&row, table.ReplaceExisting), nil) {
//				return
//			}
//		}
//	}, nil)
//
// Operations wait until those of their partition fill a transaction, until the window is full, or until the stream ends. An
// error in the stream ends it: the operations before it are applied, and the error is returned.
//
// A delete of a row that does not exist is no failure. A refused operation ends the work, unless [Options].Skip says
// otherwise: transactions that travel are finished, and no others begin. Upserts and deletes can be repeated: after an error, the
// stream may be resumed at Result.ResumeAt.
//
// Requests: 1 for each transaction, ⌈N / 100⌉ for N operations on one partition without maintainers and commit records, and ⌈2N /
// 100⌉ if each adds a row; and 1 for each row that must be read, as by the single methods, several at a time. So upserts of rows
// without derived rows are 100 times cheaper on a handle with BlindWrites ([table.Options]). 1 more for each operation that is
// refused, or finds nothing to delete, and 1 for each row that a replanned transaction must read; if a row exists, or a value is
// taken, 1 more to find out whether this operation stored it, or whose it is. But not more than 3 for all operations of a
// transaction that find nothing to delete, and 5 for all that insert rows which exist: 2 refused transactions, a read after each,
// and 1 query for the existing rows.
//
// Errors: *Error with the errors of [table.Transact] and of the single methods in it; the stream's own. The result is right in any
// case.
func Run(ctx context.Context, ops iter.Seq2[table.Op, error], o *Options) (Result, error) {
	r, err := engine.Bulk(ctx, func(yield func(engine.Op, error) bool) {
		for op, err := range ops {
			if !yield(*op.Engine(), err) {
				return
			}
		}
	}, o.engine())
	return Result(r), errorOf(err)
}

// Delete deletes the rows of a query, by their ETags, in transactions; see [Run] and [table.Table.DeleteOps]. A row that has
// changed since it was read is read again, and deleted if the query still finds it; otherwise it stays, and counts as missing, as
// does a row that a concurrent writer has deleted. ResumeAt counts rows in the order of the query. After an error, begin again: a
// query with a Cursor is refused with a *table.ValueError, because a cursor follows what is read, and not what is deleted.
//
// If the handle has no maintainers, and the keys alone tell whose the rows are, only keys are read. Requests: those of List and of
// Run, ⌈N / 1000⌉ and ⌈N / 100⌉ for N rows of one partition; 1 query and 1 transaction more for each row that has changed.
//
// Errors: those of List and Run, and table.ErrChanged for a row that has changed at each of Retry.ConflictAttempts attempts. After
// an error of List, such as table.ErrBudget, the rows that it has yielded are deleted.
func Delete[T any](ctx context.Context, t *table.Table[T], q table.Query[T], o *Options) (_ Result, err error) {
	ctx, end := t.Engine().Span(ctx, "BulkDelete")
	defer func() { end(err) }()
	return Run(ctx, t.DeleteOps(ctx, q), o)
}

// engine returns the options as the engine takes them.
func (o *Options) engine() engine.BulkOptions {
	if o == nil {
		return engine.BulkOptions{}
	}
	plain := engine.BulkOptions{Width: o.Width, Window: o.Window, WindowBytes: o.WindowBytes}
	if o.Skip != nil {
		plain.Skip = func(index int, err error) bool { return o.Skip(index, errorOf(err)) }
	}
	if o.Progress != nil {
		plain.Progress = func(r engine.BulkResult) { o.Progress(Result(r)) }
	}
	return plain
}

// errorOf turns the errors of the engine into those of this package and of package table.
func errorOf(err error) error {
	if e, is := err.(*engine.BulkError); is {
		return &Error{e.Index, e.Key, table.ErrorOf(e.Err)}
	}
	return table.ErrorOf(err)
}
