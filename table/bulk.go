package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Bulk applies a stream of operations, of any length, of any types, partitions, tables and
// accounts, in transactions that are as large as possible: 100 rows, derived rows and the commit
// record included, or 4 MiB (exact to the byte for clients made with [ClientOptions]). Operations
// of one partition are applied in their order, a transaction at a time; several partitions are
// written at the same time. Each transaction is all or nothing, and the stream as a whole is not.
//
//	done, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
//		for row := range rows {
//			if !yield(staff.UpsertOp(&row, table.ReplaceExisting), nil) {
//				return
//			}
//		}
//	}, nil)
//
// Operations wait until the operations of their partition fill a transaction, until 10,000
// operations or 32 MiB of rows wait, or until the stream ends; so a stream that mixes many
// partitions makes smaller transactions. An error in the stream ends it: the operations before it
// are applied, and the error is returned. For several operations that belong together, use
// [Transact].
//
// Bulk uses Concurrency (10 by default), Rate, Skip, Token and Progress of the pass, which may be
// nil. Concurrency is how many transactions are in progress at a time, each in another partition;
// as many notifications of an outbox are shown besides. Rate counts derived rows and commit
// records, too; once the service has answered that it is busy (503), Bulk keeps to the 20,000 rows
// a second that the service promises to take of an account, and to the 2,000 of a partition. Skip
// decides about each operation that a check or the service has refused: its error is a *BatchError
// with the Index of the operation. Without it, a refused operation ends the work: transactions in
// progress end, and no further ones begin. The goroutine of Bulk calls Skip and Progress, the
// latter after each transaction, between the operations of the stream: a stream must not wait for
// them.
//
// Progress.Rows are the operations that are done, and Changed those that were applied, with deletes
// whose rows were gone after a lost response. Counts["missing"] are deletes of rows that did not
// exist, which is no error. Token is the number of the first operation that is not done, "" at the
// end. All operations before it are done, and later ones may be. Upserts and deletes can be
// repeated: after an error, call Bulk again with the same stream and the Token, and Bulk leaves out
// the operations before it.
//
// Requests:
//
//   - 1 for each transaction: ⌈N / 100⌉ for N operations on one partition without maintainers and
//     commit records, and ⌈2N / 100⌉ if each adds a row.
//   - At most 1 for each row that must be read, 10 at a time. More than 10 rows that lie close
//     together are read by 1 query. While a transaction travels, the rows of the next one are read;
//     after an error, they were read in vain. With [Options].BlindWrites, upserts of rows without
//     derived rows read nothing, and take a hundredth of the requests.
//   - 1 more for each operation that is refused or finds nothing to delete, and 1 for each row that
//     a replanned transaction must read. If a row exists, or a value is taken, 1 more to find out
//     whether this operation stored it, or which entity has it.
//   - But at most 3 for all operations of a transaction that find nothing to delete, and 5 for all
//     that insert rows which exist: 2 refused transactions, a read after each, and 1 query for the
//     existing rows.
//
// A transaction that the service refuses because it is busy is sent again as [Pass] says. The other
// partitions go on, at the rates above.
//
// Errors:
//   - *BatchError around the error that the operation's own method would return, such as ErrExists
//     or ErrChanged, or around ErrUnknownOutcome or another error of a write (see package table)
//   - *ValueError for a field of the pass that is wrong or not used
//   - the error of the stream
func Bulk(ctx context.Context, ops iter.Seq2[Op, error], pass *Pass) (Progress, error) {
	if pass == nil {
		pass = &Pass{}
	}
	if err := checkPass(pass, "Rate", "Concurrency", "Skip", "Token"); err != nil {
		return Progress{}, err
	}
	from, err := operationAt(pass.Token)
	if err != nil {
		return Progress{}, err
	}
	if ops == nil {
		return Progress{}, &ValueError{Field: "ops", Reason: "is nil; give a sequence of operations"}
	}
	o := pass.bulk(func(r engine.BulkResult) Progress { return bulkProgress(r, true) })
	o.From = from
	r, err := door.Bulk(engine.Enduring(ctx), ops, o)
	return bulkProgress(r, err != nil), err
}

// operationAt returns the number of an operation by the token of a Progress.
func operationAt(token string) (int, error) {
	if token == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(token)
	if err != nil || n < 0 {
		return 0, &ValueError{Field: "Pass.Token", Reason: "is not that of a Progress of table.Bulk"}
	}
	return n, nil
}

// bulkProgress returns how far bulk work has come; more says that operations are left.
func bulkProgress(r engine.BulkResult, more bool) Progress {
	p := deleted(r)
	if more && r.ResumeAt > 0 {
		p.Token = strconv.Itoa(r.ResumeAt)
	}
	return p
}

// BulkDelete deletes the rows of a query, by their ETags, in transactions; see [Bulk]. A row that
// has changed since it was read is read again, and deleted if the query still finds it; otherwise
// it stays. After an error, begin again: a query with a Cursor is refused with a *ValueError,
// because a cursor follows what is read, and not what is deleted.
//
// Progress.Rows are the rows that the query has found, and Changed those that were deleted.
// Counts["missing"] are those that a concurrent writer has deleted, or that the query no longer
// finds. BulkDelete uses Rate, Concurrency (10 by default), Skip and Progress of the pass, which
// may be nil; the query has the partitions. Progress is called after each transaction, and Skip
// decides about a row that cannot be deleted.
//
// If the handle has no maintainers, and the keys alone show the type of the rows, only keys are
// read. Requests: ⌈N / 1000⌉ queries and ⌈N / 100⌉ transactions for N rows of one partition, more
// as for List and Bulk; 1 query and 1 transaction more for each row that has changed.
//
// Errors:
//   - *BatchError around ErrChanged for a row that has changed at each of Retry.ConflictAttempts
//     attempts, or around ErrUnknownOutcome or another error of a write (see package table)
//   - ErrTableScan, ErrBudget, *LimitError and *ValueError for the query, and for a field of the
//     pass that is wrong or not used
//   - *DecodeError for a row that does not fit T
//   - errors of a read
//
// After an error of the query, such as ErrBudget, the rows that it has yielded are deleted.
func BulkDelete[T any](ctx context.Context, t *Table[T], q Query[T], pass *Pass) (_ Progress, err error) {
	if err := engine.CheckHandle("t", t.engine()); err != nil {
		return Progress{}, fmt.Errorf("table: BulkDelete: %w", err)
	}
	ctx, end := t.engine().Span(engine.Enduring(ctx), bulkDelete)
	defer func() { end(err) }()
	if pass == nil {
		pass = &Pass{}
	}
	if err := checkPass(pass, "Rate", "Concurrency", "Skip"); err != nil {
		return Progress{}, t.engine().OpError(bulkDelete, keys.Key{}, err)
	}
	r, err := door.Bulk(ctx, t.h.deletes(ctx, q.engine()), pass.bulk(deleted))
	return deleted(r), err
}

// deleted returns how far bulk work has come that deletes the rows of a query.
func deleted(r engine.BulkResult) Progress {
	p := Progress{Rows: r.Applied + r.Missing + r.Skipped, Changed: r.Applied, Skipped: r.Skipped}
	if r.Missing > 0 {
		p.Counts = map[string]int{"missing": r.Missing}
	}
	return p
}

// bulk returns the options of bulk work by a pass. counted makes a Progress.
func (p *Pass) bulk(counted func(engine.BulkResult) Progress) *engine.BulkOptions {
	o := &engine.BulkOptions{Concurrency: p.Concurrency, Rate: p.Rate}
	if p.Skip != nil {
		o.Skip = func(_ int, err error) bool {
			var of *BatchError
			errors.As(err, &of)
			return p.Skip(of.Key, err)
		}
	}
	if p.Progress != nil {
		o.Progress = func(r engine.BulkResult) { p.Progress(counted(r)) }
	}
	return o
}
