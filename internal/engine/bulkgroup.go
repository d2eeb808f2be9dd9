package engine

import fifo "container/list"

// bulkOp is an operation of a stream.
type bulkOp struct {
	index     int
	op        *Op
	conflicts int // how often the row was found changed
}

// wrong returns what is wrong with the operation before anything is sent.
func (i bulkOp) wrong() error {
	if i.op.Table == nil {
		return errNoTable
	}
	return i.op.Err
}

// size is the number of bytes of rows that the operation holds.
func (i bulkOp) size() int { return i.op.size() }

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

	// The next transaction: the first n of the queue. The plan may take fewer, because of the rows that maintainers add.
	n     int
	rows  map[string]bool
	count int // operations, the commit record included
	bytes int
	full  bool
}

// What an operation adds to the body of a transaction besides its entity: the headers that the SDK writes, and the address. Its
// exact length is not known here. A client with the library's policies measures the request before it is sent, so the estimate may
// be low. Other clients cannot, so the estimate must be high enough.
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

// put adds an operation at the end.
func (g *group) put(i bulkOp) {
	g.queue = append(g.queue, i)
	g.grow()
}

// grow moves operations from the queue into the next transaction while they fit.
func (g *group) grow() {
	for ; g.n < g.len() && !g.full; g.n++ {
		i := g.at(g.n)
		if g.n == 0 {
			g.rows, g.count, g.bytes = map[string]bool{}, 0, 0
			if m := i.op.Table.Mode; m.Exact || m.Outbox != nil || m.Completes != nil {
				g.count = 1
			}
		}
		size, rk := i.sent(), i.op.Key.RowKey()
		if g.n > 0 && (g.bytes+size > maxTransaction || g.rows[rk] || !i.goesWith(g.at(0))) {
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

func (g *group) at(i int) bulkOp {
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
	g.n, g.full = 0, false
	g.grow()
	return batch
}

// back puts operations that were not sent before all others.
func (g *group) back(left []bulkOp) {
	g.left = append(left[:len(left):len(left)], g.left...)
	g.n, g.full = 0, false
	g.grow()
}

// goesWith reports whether two operations on one partition may be in one transaction.
func (i bulkOp) goesWith(j bulkOp) bool {
	a, b := &i.op.Table.Mode, &j.op.Table.Mode
	return a.Exact == b.Exact && a.Completes == b.Completes && (a.Outbox == nil && b.Outbox == nil || SameOutbox(a.Outbox, b.Outbox))
}
