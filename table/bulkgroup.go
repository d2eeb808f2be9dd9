package table

import fifo "container/list"

// bulkOp is an operation of a stream.
type bulkOp struct {
	index     int
	op        Op
	conflicts int // in which it was found changed
}

// wrong is what is wrong with it before anything is sent.
func (i bulkOp) wrong() error {
	if i.op.core == nil {
		return errNoTable
	}
	return public(i.op.err)
}

// size is what it holds of rows.
func (i bulkOp) size() int { return len(i.op.body) + len(i.op.old) }

var errNoTable = &ValueError{Field: "Op", Reason: "was made by no method of a table"}

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

	// The next transaction: the first n of the queue, or as many of them as go into one with what their maintainers add, which is
	// known when it is planned.
	n     int
	rows  map[string]bool
	count int // operations, the intent included
	bytes int
	full  bool
}

// group finds or makes the group of an operation.
func (b *bulk) group(op Op) *group {
	k := groupKey{-1, op.key.PartitionKey()}
	for i, c := range b.tables {
		if c.same(op.core) {
			k.table = i
		}
	}
	if k.table < 0 {
		k.table = len(b.tables)
		b.tables = append(b.tables, op.core)
	}
	g := b.groups[k]
	if g == nil {
		g = &group{key: k}
		b.groups[k] = g
	}
	return g
}

// What an operation adds to the body of a transaction besides its entity: the headers that the SDK writes, and the address. How
// long the endpoint is, is not known here, nor how many bytes a character of a key takes in an address. A client that has the
// library's policies tells the exact size before anything is sent, so it is given what may be a little too much; the others
// would have to ask the service, so they are given what is surely not.
const (
	leastHeaders = 300
	mostHeaders  = 900
)

func (i bulkOp) sent() int {
	names := len(i.op.key.PartitionKey()) + len(i.op.key.RowKey())
	if i.op.core.shared.probed.Load() {
		return leastHeaders + names + escaped(i.op.body)
	}
	return mostHeaders + 3*names + escaped(i.op.body)
}

// put adds an operation behind the others, and to the next transaction as long as that takes them in their order.
func (g *group) put(i bulkOp) {
	g.queue = append(g.queue, i)
	g.grow()
}

// grow takes from the queue into the next transaction what that can take.
func (g *group) grow() {
	for ; g.n < g.len() && !g.full; g.n++ {
		i := g.at(g.n)
		if g.n == 0 {
			g.rows, g.count, g.bytes = map[string]bool{}, 0, 0
			if c := i.op.core; c.exact || c.outbox != nil || c.completes != nil {
				g.count = 1
			}
		}
		size, rk := i.sent(), i.op.key.RowKey()
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

// back takes operations back that have not been sent, before all others: not many, so that these stay where they are.
func (g *group) back(left []bulkOp) {
	g.left = append(left[:len(left):len(left)], g.left...)
	g.n, g.full = 0, false
	g.grow()
}

// goesWith tells whether two operations on one partition may be in one transaction.
func (i bulkOp) goesWith(j bulkOp) bool {
	a, b := i.op.core, j.op.core
	return a.exact == b.exact && a.completes == b.completes && (a.outbox == nil && b.outbox == nil || sameValue(a.outbox, b.outbox))
}

// queue lets a group wait for its turn, if it has something to send.
func (b *bulk) queue(g *group) {
	switch {
	case g.busy:
		return
	case g.len() == 0:
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

// next takes the group whose turn it is: one whose batch is full, or where flush says so the one that waits longest. nil if
// there is none.
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
