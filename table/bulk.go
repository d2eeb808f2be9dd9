package table

import (
	fifo "container/list"
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/keys"
)

// BulkOptions are options of [Bulk]. The zero value is ready for use.
type BulkOptions struct {
	// Width is how many transactions are under way at a time, each in another partition. Defaults to 10, for which the SDK's
	// transport keeps connections open.
	Width int

	// Window is how many operations wait, to find those of one partition. Defaults to 10,000. The more of them, the fewer
	// transactions where partitions are mixed. It also bounds memory, as does WindowBytes, of the rows that they write and
	// know, which defaults to 32 MiB.
	Window, WindowBytes int

	// Skip is asked about each operation that is refused, by a check or by the service, with its index in the stream and a
	// *BulkError, which also has its key: true drops it and goes on, false ends the work. By default the first refusal ends it. It
	// is called by Bulk's goroutine, as is Progress, and only while the stream is not being asked: a stream must not wait for them.
	Skip func(index int, err error) bool

	// Progress is called after each transaction.
	Progress func(BulkResult)
}

// BulkResult is how far bulk work has come.
type BulkResult struct {
	Done    int // operations that were carried out; also deletes whose rows were gone after a lost response
	Missing int // operations that delete a row which was not there, or not what DeleteQuery asks for any more
	Skipped int // operations that were refused, and that Skip dropped

	// ResumeAt is the index of the first operation of which it is not known that it was carried out, dropped, or had
	// nothing to do: everything before it is settled, so the same stream can be taken up there. Of those behind it, some may
	// be done. When Bulk returns no error, it is the number of all operations.
	ResumeAt int
}

// BulkError is the end of bulk work. Err is what was wrong with the operation of this index; where it is no fault of an
// operation, such as an ErrUnknownOutcome or a service that cannot be reached, it is that of a transaction which begins with it.
type BulkError struct {
	Index int
	Key   keys.Key
	Err   error
}

func (e *BulkError) Error() string {
	return (&BatchError{Index: e.Index, Key: e.Key, Err: e.Err}).Error()
}

// Unwrap returns Err.
func (e *BulkError) Unwrap() error { return e.Err }

// Bulk carries out a stream of operations, of any length, of any types, partitions, tables and accounts, in transactions as
// large as they may be: 100 operations, with those that maintainers add and the intent, or 4 MiB, to the byte on clients made with
// [ClientOptions]. How many rows maintainers add is seen when they are asked; not what they might. Operations of one partition are
// carried out in their order, a transaction at a time; several partitions at once. Not the stream as a whole is all or nothing,
// but each transaction.
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
// error in the stream ends it: what was read before is carried out, and the error returned.
//
// A delete of a row that is not there is no failure. An operation that is refused ends the work, unless [BulkOptions].Skip says
// otherwise: what is under way is finished, nothing more is begun. Upserts and deletes can be repeated: after an error, the
// stream may be taken up at BulkResult.ResumeAt.
//
// Requests: 1 for each transaction, ⌈N / 100⌉ for N operations on one partition where there are no maintainers and no intents, and
// ⌈2N / 100⌉ where each adds a row; and 1 for each row that must be read, as by the single verbs, several at a time. So upserts of rows
// without derived rows are 100 times cheaper on a handle with [Options].BlindWrites. For each operation that
// is refused, or finds nothing to delete, 1 more, and 1 for what a transaction that is replanned must read; where a row exists, or
// a value is taken, 1 more to see that this was not its own work, or whose it is. But not more than 3 for all of a transaction that
// find nothing to delete, and 5 for all that insert rows which exist: 2 that fail, and 1 query for what is there.
//
// Errors: *BulkError with the errors of [Transact] and of the single verbs in it; the stream's own. The result is right in any
// case.
func Bulk(ctx context.Context, ops iter.Seq2[Op, error], o *BulkOptions) (BulkResult, error) {
	b := newBulk(ctx, o)
	defer close(b.over)
	index := 0
	var broken error
	for op, err := range ops {
		if broken = err; err != nil || !b.room() {
			break
		}
		b.add(index, op)
		index++
	}
	b.finish()
	return b.result, either(b.err, broken)
}

// DeleteQuery deletes the rows of a query, by their ETags, in transactions; see [Bulk]. A row that has changed since it was read
// is looked at again, and deleted if the query still asks for it; otherwise it stays, and counts as missing, as does one that
// others have deleted. ResumeAt counts rows in the order of the query. After an error it is begun again: a query with a
// Cursor is refused with a *ValueError, for a cursor follows what is read, and not what is deleted.
//
// Only keys are read, where there are no maintainers and the keys alone tell whose the rows are. Requests: those of List and of
// Bulk, ⌈N / 1000⌉ and ⌈N / 100⌉ for N rows of one partition; 1 query and 1 transaction more for each row that has changed.
//
// Errors: those of List and Bulk, and ErrChanged for a row that is always changed again, Retry.ConflictAttempts times. After one of List,
// ErrBudget for instance, the rows that it has given are deleted.
func (t *Table[T]) DeleteQuery(ctx context.Context, q Query[T], o *BulkOptions) (_ BulkResult, err error) {
	ctx, end := t.span(ctx, "DeleteQuery")
	defer func() { end(err) }()
	if q.Cursor != nil {
		return BulkResult{}, t.opError("DeleteQuery", keys.Key{}, &ValueError{Field: "Query.Cursor", Reason: "follows what is read, not what is deleted"})
	}
	return Bulk(ctx, t.deletes(ctx, q), o)
}

// bulk is bulk work under way. Its fields belong to the goroutine that reads the stream; transactions report to it.
type bulk struct {
	ctx context.Context
	opt BulkOptions

	tables  []*core
	groups  map[groupKey]*group
	waiting *fifo.List // of groups that have something to send and send nothing, the oldest first
	ready   []*group   // those of them whose first batch will not grow
	held    int        // operations that wait
	bytes   int        // of their bodies

	running int
	reports chan report
	over    chan struct{} // closed at the end

	ahead  map[int]bool // settled operations behind ResumeAt
	result BulkResult
	err    error // why nothing more is begun
}

// report is what has become of operations of a batch.
type report struct {
	group   *group
	done    []bulkOp
	missing int         // of them, deletes that found nothing
	refused *bulkOp     // one of them, for err
	err     error       // or why the rest of the batch was given up
	answer  chan<- bool // where it is refused: whether to go on
	end     bool        // the batch is over
	panics  any         // with this
	left    []bulkOp    // of which nothing was sent
}

func newBulk(ctx context.Context, o *BulkOptions) *bulk {
	b := &bulk{ctx: ctx, groups: map[groupKey]*group{}, waiting: fifo.New(), ahead: map[int]bool{}, reports: make(chan report), over: make(chan struct{})}
	if o != nil {
		b.opt = *o
	}
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&b.opt.Width, fanOut)
	def(&b.opt.Window, 10_000)
	def(&b.opt.WindowBytes, 32<<20)
	return b
}

// fail ends the work: what is under way is finished, nothing more is begun.
func (b *bulk) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// room waits until another operation may be read. It is false where the work has ended.
func (b *bulk) room() bool {
	for b.err == nil {
		if err := b.ctx.Err(); err != nil {
			b.fail(err)
			break
		}
		full := b.held >= b.opt.Window || b.bytes >= b.opt.WindowBytes
		far := len(b.ahead) >= 10*(b.opt.Window+maxOperations*b.opt.Width) // one partition lags, and what is known of the others grows
		switch {
		case !full && !far:
			return true
		case b.running < b.opt.Width && b.beginOne(true):
		default:
			b.take(<-b.reports)
		}
	}
	return false
}

// add takes an operation into its group.
func (b *bulk) add(index int, op Op) {
	item := bulkOp{index: index, op: op}
	if err := item.wrong(); err != nil {
		b.take(report{refused: &item, err: err})
		return
	}
	b.held++
	b.bytes += item.size()
	g := b.group(op)
	g.put(item)
	b.queue(g)
	for {
		select {
		case r := <-b.reports:
			b.take(r)
			continue
		default:
		}
		b.begin(false)
		return
	}
}

// finish sends all that is left, unless the work has ended, and waits for what is under way.
func (b *bulk) finish() {
	for {
		b.begin(true)
		if b.running == 0 { // and nothing waits, or nothing is begun any more
			return
		}
		b.take(<-b.reports)
	}
}
