package engine

import (
	fifo "container/list"
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/keys"
)

// BulkOptions are table.BulkOptions.
type BulkOptions struct {
	Width               int
	Window, WindowBytes int
	Skip                func(index int, err error) bool
	Progress            func(BulkResult)
}

// BulkResult is table.BulkResult.
type BulkResult struct {
	Done     int
	Missing  int
	Skipped  int
	ResumeAt int
}

// BulkError is table.BulkError.
type BulkError struct {
	Index int
	Key   keys.Key
	Err   error
}

func (e *BulkError) Error() string { return (&BatchError{Index: e.Index, Err: e.Err}).Error() }
func (e *BulkError) Unwrap() error { return e.Err }

// Bulk applies a stream of operations; see table.Bulk.
func Bulk(ctx context.Context, ops iter.Seq2[Op, error], o BulkOptions) (BulkResult, error) {
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

// bulk is bulk work under way. Its fields belong to the goroutine that reads the stream; transactions report to it.
type bulk struct {
	ctx context.Context
	opt BulkOptions

	tables  []*Table
	groups  map[groupKey]*group
	waiting *fifo.List // of groups that have something to send and send nothing, the oldest first
	ready   []*group   // those of them whose first batch will not grow
	held    int        // operations that wait
	bytes   int        // of their bodies

	running int
	reports chan report
	over    chan struct{} // closed at the end

	ahead  map[int]bool // finished operations behind ResumeAt
	result BulkResult
	err    error // why nothing more is begun
}

// report is what has become of operations of a batch.
type report struct {
	group   *group
	done    []bulkOp
	missing int         // of them, deletes that found nothing
	refused *bulkOp     // an operation that was refused, with err
	err     error       // or why the rest of the batch was given up
	answer  chan<- bool // where it is refused: whether to go on
	end     bool        // the batch is over
	panics  any         // with this
	left    []bulkOp    // of which nothing was sent
}

func newBulk(ctx context.Context, o BulkOptions) *bulk {
	b := &bulk{ctx: ctx, opt: o, groups: map[groupKey]*group{}, waiting: fifo.New(), ahead: map[int]bool{}, reports: make(chan report), over: make(chan struct{})}
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&b.opt.Width, FanOut)
	def(&b.opt.Window, 10_000)
	def(&b.opt.WindowBytes, 32<<20)
	return b
}

// fail ends the work: what is under way is finished, and nothing more is begun.
func (b *bulk) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// room waits until another operation may be read. It returns false if the work has ended.
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
