package table

import (
	fifo "container/list"
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/keys"
)

// BulkOptions are options of [Bulk]. The zero value is ready for use.
type BulkOptions struct {
	// Width is how many transactions are under way at a time, each in another partition. Defaults to 10, for which the SDK's
	// transport keeps connections open.
	Width int

	// Window is how many operations wait, to find those of one partition. Defaults to 10,000. The more of them, the fewer
	// transactions where partitions are mixed. It also bounds memory, as does WindowBytes, of their bodies, which defaults to
	// 32 MiB.
	Window, WindowBytes int

	// Skip is asked about each operation that is refused, by a check or by the service, with its index in the stream: true
	// drops it and goes on, false ends the work. By default the first refusal ends it. It is not called concurrently.
	Skip func(index int, err error) bool

	// Progress is called after each transaction. It is not called concurrently, and work waits for it.
	Progress func(BulkResult)
}

// BulkResult is how far bulk work has come.
type BulkResult struct {
	Done    int // operations that were carried out
	Missing int // operations that delete a row which was not there
	Skipped int // operations that were refused, and that Skip dropped

	// Unconfirmed is the index of the first operation of which it is not known that it was carried out, dropped, or had
	// nothing to do: everything before it is settled, so the same stream can be taken up there. Of those behind it, some may
	// be done. When Bulk returns no error, it is the number of all operations.
	Unconfirmed int
}

// BulkError is the end of bulk work: Err is what was wrong with the operation of this index.
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

// Bulk carries out a stream of operations, of any length, of any types, partitions and tables of one or several accounts, in
// transactions as large as they may be: 100 operations, with those of maintainers, or 4 MiB. Operations of one partition are
// carried out in their order, a transaction at a time; several partitions at once. Not the stream as a whole is all or nothing,
// but each transaction. An error in the stream ends it.
//
//	err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
//		for row := range rows {
//			if !yield(staff.UpsertOp(&row, table.ReplaceExisting), nil) {
//				return
//			}
//		}
//	}, nil)
//
// A delete of a row that is not there is no failure. An operation that is refused ends the work, unless [BulkOptions].Skip says
// otherwise; what is under way then is finished, and the rest of the refused transaction is carried out where Skip says so.
// Upserts and deletes can be repeated: after an error, the stream may be taken up at BulkResult.Unconfirmed.
//
// Requests: 1 for each transaction, ⌈N / 100⌉ for N operations on one partition without maintainers; 1 more for each operation
// that is refused or finds nothing to delete, but not more than 2 for all that find nothing in a transaction of deletes.
//
// Errors: *BulkError with the errors of [Transact] and of the single verbs in it; the stream's own. The result is right in any
// case.
func Bulk(ctx context.Context, ops iter.Seq2[Op, error], o *BulkOptions) (BulkResult, error) {
	b := newBulk(ctx, o)
	defer close(b.over)
	index := 0
	for op, err := range ops {
		if err != nil {
			b.fail(err)
		}
		if !b.room() {
			break
		}
		b.add(index, op)
		index++
	}
	b.finish()
	return b.result, b.err
}

// DeleteQuery deletes the rows of a query, by their ETags, in transactions; see [Bulk]. A row that is changed while it runs is
// read again, and deleted if the query still asks for it, Retry.Rounds times at most; then it stays, and ErrChanged is returned.
// Rows that others delete meanwhile are no failure. Unconfirmed counts rows in the order of the query.
//
// Without maintainers only keys are read. Requests: those of List and of Bulk: ⌈N / 1000⌉ and ⌈N / 100⌉ for N rows of one
// partition.
func (t *Table[T]) DeleteQuery(ctx context.Context, q Query[T], o *BulkOptions) (total BulkResult, err error) {
	ctx, end := t.span(ctx, "DeleteQuery")
	defer func() { end(err) }()
	var opt BulkOptions
	if o != nil {
		opt = *o
	}
	skip, progress := opt.Skip, opt.Progress
	if progress != nil {
		opt.Progress = func(r BulkResult) { progress(total.plus(r)) }
	}
	for round := 1; ; round++ {
		changed := 0
		opt.Skip = func(index int, err error) bool {
			if errors.Is(err, ErrChanged) && round < t.opt.Retry.Rounds {
				changed++
				return true
			}
			return skip != nil && skip(index, err)
		}
		r, err := Bulk(ctx, t.deletes(ctx, q), &opt)
		r.Skipped -= changed
		total = total.plus(r)
		if err != nil || changed == 0 {
			return total, err
		}
		total.Unconfirmed -= changed
		if err := t.opt.Retry.pause(ctx, round); err != nil {
			return total, t.opError("DeleteQuery", keys.Key{}, err)
		}
	}
}

func (r BulkResult) plus(s BulkResult) BulkResult {
	return BulkResult{r.Done + s.Done, r.Missing + s.Missing, r.Skipped + s.Skipped, r.Unconfirmed + s.Unconfirmed}
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

	ahead  map[int]bool // settled operations behind Unconfirmed
	result BulkResult
	err    error // why nothing more is begun
}

// report is what has become of operations of a batch.
type report struct {
	group   *group
	settled []bulkOp
	missing int         // of them, deletes that found nothing
	refused *bulkOp     // one of them, for err
	err     error       // or why the rest of the batch was given up
	answer  chan<- bool // where it is refused: whether to go on
	end     bool        // the batch is over
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
	item := bulkOp{index, op}
	if err := item.wrong(); err != nil {
		b.take(report{refused: &item, err: err})
		return
	}
	b.held++
	b.bytes += len(op.body)
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
