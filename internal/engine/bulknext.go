package engine

import "context"

// nextRows are rows that are read for the next transaction of a group while one travels.
type nextRows struct {
	read   aheadRows
	cancel context.CancelFunc
	done   chan struct{}
}

// readNext begins to read the rows of operations that the next transaction takes, but for rows that the transaction under way has
// used. If a row cannot be read, the next transaction reads it itself. It returns nil if there is nothing to read.
func (a *aheadRows) readNext(ctx context.Context, later []*Op) *nextRows {
	var wanted []wantedRow
	for i := range later[:min(len(later), int(maxOperations/(1+a.mean)))] {
		op := later[i]
		if r := (wantedRow{table: op.Table, key: op.Key}); op.reads() && !op.Table.wide() && !a.knows(r) && !a.used[op.Key.RowKey()] {
			wanted = append(wanted, r)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	n := &nextRows{aheadRows{sparse: a.sparse}, cancel, make(chan struct{})}
	go func() {
		defer close(n.done)
		ctx, end := wanted[0].table.Span(ctx, "BulkReadAhead")
		n.read.read(ctx, wanted)
		end(nil) // a row that was not read is no failure: its transaction reads it
	}()
	return n
}

// await waits for the rows, or cancels their reads, and adds them to a, but for rows that a transaction has used meanwhile.
func (n *nextRows) await(a *aheadRows, cancel bool) {
	if n == nil {
		return
	}
	if cancel {
		n.cancel()
	}
	<-n.done
	n.cancel()
	for rk, row := range n.read.rows {
		if !a.used[rk] {
			a.add(rk, row)
		}
	}
	a.sparse = a.sparse || n.read.sparse
}
