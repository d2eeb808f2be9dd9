package table

import fifo "container/list"

// bulkOp is an operation of a stream.
type bulkOp struct {
	index  int
	op     Op
	rounds int // in which it was found changed
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

// rows is how many operations of a transaction it takes at most.
func (i bulkOp) rows() int {
	if i.op.maintain == nil {
		return 1
	}
	return 1 + i.op.core.derived
}

// groupKey is a partition of a table.
type groupKey struct {
	table     int
	partition string
}

// group is what is to be sent to one partition, in its order: one batch after another.
type group struct {
	key     groupKey
	batches [][]bulkOp
	busy    bool
	place   *fifo.Element // among those that wait to be sent
	ready   bool          // it is among those whose first batch will not grow

	// Of the last batch.
	rows  map[string]bool
	count int // operations, those of maintainers and the intent included
	bytes int
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

// What an operation adds to the body of a transaction besides its entity, at most: the headers that the SDK writes, and the
// address, in which a character of a key may take three bytes for each of its own. How long the endpoint is, is not known here,
// so this is on the safe side; what is too large all the same is halved when it is sent.
const partHeaders = 900

func partSize(op Op) int {
	return partHeaders + 3*(len(op.key.PartitionKey())+len(op.key.RowKey())) + escaped(op.body)
}

// put adds an operation to the last batch, or begins another where it does not fit.
func (g *group) put(i bulkOp) {
	n, size := len(g.batches), partSize(i.op)
	if n == 0 || g.count+i.rows() > maxOperations || g.bytes+size > maxTransaction || g.rows[i.op.key.RowKey()] || !i.goesWith(g.batches[n-1][0]) {
		g.batches = append(g.batches, nil)
		g.rows, g.count, g.bytes = map[string]bool{}, 0, 0
		if i.op.core.exact || i.op.core.outbox != nil {
			g.count = 1
		}
		n++
	}
	g.batches[n-1] = append(g.batches[n-1], i)
	g.rows[i.op.key.RowKey()] = true
	g.count += i.rows()
	g.bytes += size
}

// goesWith tells whether two operations on one partition may be in one transaction.
func (i bulkOp) goesWith(j bulkOp) bool {
	a, b := i.op.core, j.op.core
	return a.exact == b.exact && (a.outbox == nil && b.outbox == nil || sameValue(a.outbox, b.outbox))
}

// full tells whether the first batch will not grow any more.
func (g *group) full() bool {
	return len(g.batches) > 1 || len(g.batches) == 1 && g.count >= maxOperations
}

// queue lets a group wait for its turn, if it has something to send.
func (b *bulk) queue(g *group) {
	switch {
	case g.busy:
		return
	case len(g.batches) == 0:
		delete(b.groups, g.key)
		return
	case g.place == nil:
		g.place = b.waiting.PushBack(g)
	}
	if g.full() && !g.ready {
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
