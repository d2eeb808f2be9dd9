package table

import (
	"context"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// BulkOptions are options of [Bulk]. The zero value is ready for use.
type BulkOptions struct {
	// Width is how many transactions travel at a time, each in another partition. Defaults to 10, for which the SDK's
	// transport keeps connections open.
	Width int

	// Window is how many operations wait, to find those of one partition. Defaults to 10,000. A larger window needs fewer
	// transactions if partitions are mixed. It also bounds memory, as does WindowBytes, of the rows that they write and
	// know, which defaults to 32 MiB.
	Window, WindowBytes int

	// Skip is asked about each refused operation, whether a check or the service refused it, with its index in the stream and a
	// *BulkError, which also contains its key: true drops the operation and goes on, false ends the work. By default the first refusal
	// ends the work. Bulk's goroutine calls Skip and Progress, and only while the stream is not being asked: a stream must not wait for
	// them.
	Skip func(index int, err error) bool

	// Progress is called after each transaction.
	Progress func(BulkResult)
}

// BulkResult is how far bulk work has come.
type BulkResult struct {
	Done    int // operations that were applied; also deletes whose rows were gone after a lost response
	Missing int // deletes of rows that did not exist, or that the query of DeleteQuery no longer finds
	Skipped int // operations that were refused, and that Skip dropped

	// ResumeAt is the index at which to resume the same stream. All operations before it were applied or skipped, or had nothing to do;
	// later ones may have been applied. If Bulk returns no error, ResumeAt is the number of all operations.
	ResumeAt int
}

// Bulk applies a stream of operations, of any length, of any types, partitions, tables and accounts, in transactions as
// large as they may be: 100 operations, with those that maintainers add and the commit record, or 4 MiB, to the byte on clients made with
// [ClientOptions]. Maintainers are asked for their rows while a transaction is planned. Operations of one partition are
// applied in their order, a transaction at a time; several partitions at once. Each transaction is all or nothing, and the stream as a whole
// is not.
//
//	result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
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
// A delete of a row that does not exist is no failure. A refused operation ends the work, unless [BulkOptions].Skip says
// otherwise: transactions that travel are finished, and no others begin. Upserts and deletes can be repeated: after an error, the
// stream may be resumed at BulkResult.ResumeAt.
//
// Requests: 1 for each transaction, ⌈N / 100⌉ for N operations on one partition without maintainers and commit records, and
// ⌈2N / 100⌉ if each adds a row; and 1 for each row that must be read, as by the single methods, several at a time. So upserts of rows
// without derived rows are 100 times cheaper on a handle with [Options].BlindWrites. 1 more for each operation that
// is refused, or finds nothing to delete, and 1 for each row that a replanned transaction must read; if a row exists, or
// a value is taken, 1 more to find out whether this operation stored it, or whose it is. But not more than 3 for all operations of a
// transaction that find nothing to delete, and 5 for all that insert rows which exist: 2 that fail, and 1 query for the existing rows.
//
// Errors: *BulkError with the errors of [Transact] and of the single methods in it; the stream's own. The result is right in any
// case.
func Bulk(ctx context.Context, ops iter.Seq2[Op, error], o *BulkOptions) (BulkResult, error) {
	if o == nil {
		o = &BulkOptions{}
	}
	plain := engine.BulkOptions{Width: o.Width, Window: o.Window, WindowBytes: o.WindowBytes, Skip: publicSkip(o.Skip)}
	if o.Progress != nil {
		plain.Progress = func(r engine.BulkResult) { o.Progress(BulkResult(r)) }
	}
	r, err := engine.Bulk(ctx, func(yield func(engine.Op, error) bool) {
		for op, err := range ops {
			if !yield(op.op, err) {
				return
			}
		}
	}, plain)
	return BulkResult(r), public(err)
}

// DeleteQuery deletes the rows of a query, by their ETags, in transactions; see [Bulk]. A row that has changed since it was read
// is read again, and deleted if the query still finds it; otherwise it stays, and counts as missing, as does a row that a concurrent writer
// has deleted. ResumeAt counts rows in the order of the query. After an error, begin again: a query with a
// Cursor is refused with a *ValueError, because a cursor follows what is read, and not what is deleted.
//
// If the handle has no maintainers, and the keys alone tell whose the rows are, only keys are read. Requests: those of List and of
// Bulk, ⌈N / 1000⌉ and ⌈N / 100⌉ for N rows of one partition; 1 query and 1 transaction more for each row that has changed.
//
// Errors: those of List and Bulk, and ErrChanged for a row that has changed at each of Retry.ConflictAttempts attempts. After an error of
// List, such as ErrBudget, the rows that it has yielded are deleted.
func (t *Table[T]) DeleteQuery(ctx context.Context, q Query[T], o *BulkOptions) (BulkResult, error) {
	return t.h.deleteQuery(ctx, untyped(&q), o)
}

func (h handle) deleteQuery(ctx context.Context, q engine.Query, o *BulkOptions) (_ BulkResult, err error) {
	ctx, end := h.engine.Span(ctx, "DeleteQuery")
	defer func() { end(err) }()
	if q.Cursor != nil {
		return BulkResult{}, h.opError("DeleteQuery", keys.Key{}, &ValueError{Field: "Query.Cursor", Reason: "follows what is read, not what is deleted"})
	}
	return Bulk(ctx, h.deletes(ctx, q), o)
}

// deletion makes the operations that delete the rows of a query.
type deletion struct {
	h    handle
	q    engine.Query
	read func(*edm.Reader, edm.Entity) (entity, bool, error)
}

// deletes returns the operations that delete the rows of a query. Maintainers must see rows as a whole, and so must a schema that tells by
// them whether they are T's.
func (h handle) deletes(ctx context.Context, q engine.Query) iter.Seq2[Op, error] {
	d := &deletion{h, q, h.shape.read}
	if len(h.engine.Mode.Maintainers) == 0 && !h.shape.verify {
		d.q.Select = h.shape.choose(reserved.MaintainerState) // by which the operation sees that it should have maintainers
		d.read = h.shape.unread
	}
	return func(yield func(Op, error) bool) {
		err := h.list(ctx, "DeleteQuery", *h.query(d.q, true), d.read, func(e entity) bool { return yield(d.op(e), nil) })
		if err != nil {
			yield(Op{}, err)
		}
	}
}

// unread returns an entity of which only the key, the ETag and the maintainer state are known.
func (s *shape) unread(r *edm.Reader, in edm.Entity) (entity, bool, error) {
	mine, err := s.ownsAny(r, in)
	made := s.newEntity()
	e := made.parts()
	*e.key, *e.etag, e.row = keys.Stored(in.PartitionKey, in.RowKey), azcore.ETag(in.ETag), edm.Stored{JSON: in.Raw}
	return made, mine, err
}

// op returns the operation that deletes a row of the query.
func (d *deletion) op(e entity) Op {
	op := d.h.remove(e)
	k := *e.parts().key
	op.op.Again = func(ctx context.Context) (engine.Op, bool, error) {
		q := engine.Query{Partition: k.Partition(), Rows: keys.Point(k.Row()), Where: d.q.Where, Select: d.q.Select}
		var found entity
		err := d.h.list(ctx, "DeleteQuery", *d.h.query(q, true), d.read, func(e entity) bool { found = e; return false })
		if err != nil || found == nil {
			return engine.Op{}, false, err
		}
		return d.op(found).op, true, nil
	}
	return op
}
