package engine

import (
	"cmp"
	fifo "container/list"
	"context"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/pace"
)

// Bulk applies a stream of operations; see table.Bulk.
func Bulk(ctx context.Context, ops iter.Seq2[*Op, error], o BulkOptions) (BulkResult, error) {
	b := newBulk(ctx, o)
	defer close(b.over)
	index := 0
	var broken error
	for op, err := range ops {
		broken = err
		if err == nil && index < o.From {
			index++
			continue
		}
		if err != nil || !b.room() {
			break
		}
		b.add(index, op)
		index++
	}
	b.finish()
	b.showing.end()
	return b.result, cmp.Or(b.err, broken)
}

// bulk is bulk work under way. Its fields belong to the goroutine that reads the stream;
// transactions deliver their outcomes to it.
type bulk struct {
	ctx context.Context
	opt BulkOptions

	pace    *bulkPace
	showing *showing // as many notifications as there may be transactions
	tables  []*Table
	groups  map[groupKey]*group
	waiting *fifo.List   // of groups that have something to send and send nothing, the oldest first
	ready   []*group     // those of them whose first batch will not grow
	held    int          // operations that wait
	bytes   int          // of their bodies
	spare   atomic.Int64 // bytes of shared rows that may still be kept

	running  int
	outcomes chan batchOutcome
	over     chan struct{} // closed at the end

	ahead  map[int]bool // finished operations behind ResumeAt
	result BulkResult
	err    error // why nothing more is begun
}

func newBulk(ctx context.Context, o BulkOptions) *bulk {
	limits := &bulkPace{all: pace.New(o.Rate), partition: o.PartitionRate, partitions: map[groupKey]*pace.Limit{}}
	b := &bulk{ctx: ctx, opt: o, pace: limits, groups: map[groupKey]*group{}, waiting: fifo.New(), ahead: map[int]bool{}, outcomes: make(chan batchOutcome), over: make(chan struct{})}
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&b.opt.Concurrency, FanOut)
	def(&b.opt.Window, 10_000)
	def(&b.opt.WindowBytes, 32<<20)
	b.result.ResumeAt = o.From
	b.spare.Store(int64(b.opt.WindowBytes))
	b.showing = newShowing(ctx, b.opt.Concurrency)
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
		far := len(b.ahead) >= 10*(b.opt.Window+maxOperations*b.opt.Concurrency) // one partition lags, and what is known of the others grows
		switch {
		case !full && !far:
			return true
		case b.running < b.opt.Concurrency && b.beginOne(true):
		default:
			b.take(<-b.outcomes)
		}
	}
	return false
}

// add takes an operation into its group.
func (b *bulk) add(index int, op *Op) {
	item := bulkOp{index: index, op: op}
	if err := item.wrong(); err != nil {
		b.take(batchOutcome{refused: &item, err: err})
		return
	}
	b.held++
	b.bytes += op.size()
	g := b.group(op)
	g.queue = append(g.queue, item)
	g.grow()
	b.queue(g)
	for {
		select {
		case r := <-b.outcomes:
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
		b.take(<-b.outcomes)
	}
}

// group finds or makes the group of an operation.
func (b *bulk) group(op *Op) *group {
	k := groupKey{-1, op.Key.PartitionKey()}
	for i, c := range b.tables {
		if c.Same(op.Table) {
			k.table = i
		}
	}
	if k.table < 0 {
		k.table = len(b.tables)
		b.tables = append(b.tables, op.Table)
	}
	g := b.groups[k]
	if g == nil {
		g = &group{key: k, ahead: aheadRows{room: &b.spare}}
		b.groups[k] = g
	}
	return g
}

// queue lets a group wait for its turn, if it has something to send.
func (b *bulk) queue(g *group) {
	switch {
	case g.busy:
		return
	case g.len() == 0:
		g.ahead.release()
		delete(b.groups, g.key)
		return
	case g.place == nil:
		g.place = b.waiting.PushBack(g)
	}
	if g.full && !g.ready {
		g.ready = true
		b.ready = append(b.ready, g)
	}
}

// next takes a group whose transaction is full, or, with flush, the group that waits longest. It
// returns nil if there is none.
func (b *bulk) next(flush bool) (g *group) {
	switch {
	case len(b.ready) > 0:
		g, b.ready = b.ready[0], b.ready[1:]
	case flush && b.waiting.Len() > 0:
		g = b.waiting.Front().Value.(*group)
	default:
		return nil
	}
	b.waiting.Remove(g.place)
	g.place, g.ready, g.busy = nil, false, true
	return g
}

// begin sends the full transactions, and with flush also the waiting ones, as far as the width
// allows.
func (b *bulk) begin(flush bool) {
	for b.err == nil && b.running < b.opt.Concurrency && b.beginOne(flush) {
	}
}

func (b *bulk) beginOne(flush bool) bool {
	g := b.next(flush)
	if g == nil {
		return false
	}
	batch := g.take()
	for _, i := range batch {
		b.held--
		b.bytes -= i.op.size()
	}
	b.running++
	s := &bulkSender{ctx: b.ctx, group: g, pace: b.pace, showing: b.showing, more: flush || g.len() > 0, outcomes: b.outcomes, over: b.over}
	go s.run(batch)
	return true
}

// take notes the outcome of a batch. Everything that the work counts and decides happens here, in
// the goroutine that reads the stream.
func (b *bulk) take(r batchOutcome) {
	if r.panics != nil {
		panic(r.panics)
	}
	for _, i := range r.done {
		b.finished(i)
	}
	b.result.Missing += r.missing
	b.result.Applied += len(r.done) - r.missing
	if r.refused != nil {
		err := &errs.BatchError{Index: r.refused.index, Key: readable(r.refused.op.Key), Err: r.err}
		on := b.err == nil && b.opt.Skip != nil && b.opt.Skip(r.refused.index, err)
		if on {
			b.finished(*r.refused)
			b.result.Skipped++
		} else {
			b.fail(err)
		}
		if r.answer != nil {
			r.answer <- on
		}
	} else if r.err != nil {
		b.fail(r.err)
	}
	if r.end {
		b.running--
		r.group.busy = false
		for _, i := range r.left {
			b.held++
			b.bytes += i.op.size()
		}
		if len(r.left) > 0 {
			r.group.left = append(slices.Clip(r.left), r.group.left...) // in front of all other operations
			r.group.regrow()
		}
		b.queue(r.group)
	}
	if len(r.done) > 0 && b.opt.Progress != nil {
		b.opt.Progress(b.result)
	}
}

// finished notes that nothing more is to be done about an operation.
func (b *bulk) finished(i bulkOp) {
	b.ahead[i.index] = true
	for b.ahead[b.result.ResumeAt] {
		delete(b.ahead, b.result.ResumeAt)
		b.result.ResumeAt++
	}
}

// bulkOp is an operation of a stream.
type bulkOp struct {
	index     int
	op        *Op
	conflicts int // how often the row was found changed
}

// wrong returns what is wrong with the operation before anything is sent.
func (i bulkOp) wrong() error {
	switch {
	case i.op.Table == nil:
		return errNoTable
	case i.op.Absent != nil:
		return errGuard
	}
	return i.op.Err
}

var errGuard = &errs.ValueError{Field: "Op", Reason: "guards one transaction; give it to Transact, not to Bulk, which makes several"}

// groupKey is a partition of a table.
type groupKey struct {
	table     int
	partition string
}

// group is what is to be sent to one partition, in its order.
type group struct {
	key   groupKey
	left  []bulkOp // that have come back, before the queue
	queue []bulkOp
	busy  bool
	place *fifo.Element // among those that wait to be sent
	ready bool          // it is among those whose next transaction will not grow
	ahead aheadRows     // of what is to be sent, and kept of what was sent; belongs to the sender while the group is busy

	// The next transaction: the first n of the queue. The plan may take fewer, because of the rows
	// that maintainers add.
	n     int
	rows  map[string]bool
	count int // operations, the commit record included
	bytes int
	full  bool
}

// What an operation adds to the body of a transaction besides its entity: the headers that the SDK
// writes, and the address. Its exact length is not known here. A client with the library's policies
// measures the request before it is sent, so the estimate may be low. Other clients cannot, so the
// estimate must be high enough.
const (
	leastHeaders = 300
	mostHeaders  = 900
)

func (i bulkOp) sent() int {
	names := len(i.op.Key.PartitionKey()) + len(i.op.Key.RowKey())
	if i.op.Table.shared.probed.Load() {
		return leastHeaders + names + i.op.Body.Length
	}
	return mostHeaders + 3*names + i.op.Body.Length
}

// grow moves operations from the queue into the next transaction while they fit.
func (g *group) grow() {
	for ; g.n < g.len() && !g.full; g.n++ {
		i := g.op(g.n)
		if g.n == 0 {
			g.rows, g.count, g.bytes = map[string]bool{}, 0, 0
			if m := i.op.Table.Mode; m.Exact || m.Outbox != nil && len(m.Maintainers) > 0 || m.Completes != nil {
				g.count++
			}
			if i.op.Table.Mode.Stamps() != "" {
				g.count++
			}
		}
		size, rk := i.sent(), i.op.Key.RowKey()
		if g.n > 0 && (g.bytes+size > maxTransaction || g.rows[rk] || !i.goesWith(g.op(0))) {
			g.full = true
			return
		}
		g.rows[rk] = true
		g.count++
		g.bytes += size
		g.full = g.count >= maxOperations
	}
}

func (g *group) len() int { return len(g.left) + len(g.queue) }

func (g *group) op(i int) bulkOp {
	if i < len(g.left) {
		return g.left[i]
	}
	return g.queue[i-len(g.left)]
}

// take takes the next transaction.
func (g *group) take() (batch []bulkOp) {
	n := min(g.n, len(g.left))
	batch, g.left = g.left[:n:n], g.left[n:]
	n = g.n - n
	batch, g.queue = append(batch, g.queue[:n]...), g.queue[n:]
	g.regrow()
	return batch
}

// regrow begins the next transaction again.
func (g *group) regrow() {
	g.n, g.full = 0, false
	g.grow()
}

// goesWith reports whether two operations on one partition may be in one transaction.
func (i bulkOp) goesWith(j bulkOp) bool {
	a, b := &i.op.Table.Mode, &j.op.Table.Mode
	return a.Exact == b.Exact && a.Completes == b.Completes && (a.Outbox == nil && b.Outbox == nil || SameOutbox(a.Outbox, b.Outbox))
}

// BulkOptions are options of bulk work.
type BulkOptions struct {
	From int // the operation to begin with; those before it are left out

	Concurrency         int
	Window, WindowBytes int // the most operations, and bytes of rows, that wait in memory; 10,000 and 32 MiB
	Rate, PartitionRate int // the most rows in a second, in all and in a partition; 0: no limit until the service is busy
	Skip                func(index int, err error) bool
	Progress            func(BulkResult)
}

// BulkResult counts the operations so far. Those before ResumeAt were applied, skipped or missing.
type BulkResult struct {
	Applied  int
	Missing  int
	Skipped  int
	ResumeAt int
}

// batchOutcome is the outcome of the operations of a batch.
type batchOutcome struct {
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
