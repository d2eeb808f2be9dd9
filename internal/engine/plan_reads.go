package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// This file contains what a plan reads: single rows, entities, and ranges.

// Load reads a row that several entities share, with the changes that this transaction has planned
// so far.
func (p *Plan) Load(ctx context.Context, rowKey string) (*stored.Row, error) {
	d, err := p.rowFor(keys.Raw(p.partition, rowKey))
	if err != nil {
		return nil, err
	}
	if d.read == nil {
		if err := p.beforeLoad(ctx, d.key); err != nil {
			return nil, err
		}
		f, err := p.readRow(ctx, d.key)
		switch {
		case err != nil:
			return nil, err
		case f.hidden:
			return nil, p.refuse(d.key, errs.ErrRanged)
		}
		d.read, d.older = &f, p.ahead != nil && p.ahead.isOlder(rowKey)
	}
	d.loaded = true
	if !d.planned {
		d.after = d.read.row
	}
	return d.after, nil
}

// beforeLoad lets a row be read together with the rows that the operations after this one load.
func (p *Plan) beforeLoad(ctx context.Context, row keys.Key) (err error) {
	switch {
	case p.ahead != nil && p.ahead.has(row.RowKey(), false):
	case p.preview != nil:
		if !slices.Contains(p.preview.rows, row) {
			p.preview.rows = append(p.preview.rows, row)
		}
		return errPreview
	case p.lookAhead != nil:
		err = p.lookAhead(ctx, row)
		p.readErr = cmp.Or(p.readErr, err)
	}
	return err
}

// Entity returns the row of an entity, with the changes that this transaction has planned so far.
func (p *Plan) Entity(ctx context.Context, rowKey string) (*stored.Row, error) {
	k := keys.Raw(p.partition, rowKey)
	if row, planned := p.planned[rowKey]; planned {
		if !row.Known() {
			return nil, nil
		}
		columns, err := row.Decoded()
		return stored.New(k, columns), err
	}
	if p.own[rowKey] != nil {
		f, err := p.readEntity(ctx, p.own[rowKey], k)
		return f.row, err
	}
	row, err := p.Load(ctx, rowKey)
	if err == nil && row != nil && row.Has(reserved.Parts) {
		return nil, p.refuse(k, errs.ErrUnknownParts) // it is the head alone
	}
	return row, err
}

// Scan calls f for the rows of a range as they will be after the transaction, without the row of
// the changing entity, until f returns false. A scanned row may change before the transaction
// commits.
func (p *Plan) Scan(ctx context.Context, rows keys.RowRange, f func(*stored.Row) bool) error {
	if err := rows.Err(); err != nil {
		return err
	}
	if p.preview != nil {
		return errPreview
	}
	var filter query.Filter
	filter.Key(edm.PartitionKey, "eq", p.partition)
	filter.Keys(edm.RowKey, query.BoundsOf(rows))
	stopped := false
	table := p.table
	if own := p.own[p.key.RowKey()]; own != nil {
		table = own // of the changing entity: another operation's handle may not know of parts
	}
	err := table.eachEntity(ctx, filter.String(), func(r *stored.Row) bool {
		rk := r.Key.RowKey()
		_, planned := p.planned[rk]
		if planned || rk == p.key.RowKey() || !rows.Contains(rk) {
			return true
		}
		stopped = !f(r)
		return !stopped
	})
	if err == nil && !stopped && table.RangedRows() {
		err = errs.ErrRanged
	}
	if err != nil {
		p.readErr = err
		return err
	}
	for rk, row := range p.planned {
		if stopped || !row.Known() || rk == p.key.RowKey() || !rows.Contains(rk) {
			continue
		}
		columns, err := row.Decoded()
		if err != nil {
			return err
		}
		stopped = !f(stored.New(keys.Raw(p.partition, rk), columns))
	}
	return nil
}

// confirm reads loaded rows again, if they were read or written before this write began. No ETag
// protects a row that is loaded and not written, and an entity that was read since may belong to a
// later state of it. It returns errOutdated if a row has changed.
func (p *Plan) confirm(ctx context.Context, which func(*derivedRow) bool) error {
	for _, rk := range p.order {
		d := p.rows[rk]
		if !d.older || !which(d) {
			continue
		}
		f, err := p.table.readRow(ctx, d.key)
		switch {
		case err != nil:
			return err
		case f.hidden:
			return p.refuse(d.key, errs.ErrRanged)
		case f.etag() != d.read.etag():
			p.ahead.drop(rk)
			return errOutdated
		}
		d.older = false
	}
	return nil
}

// readEntity reads an entity of a handle for the plan, with its parts.
func (p *Plan) readEntity(ctx context.Context, t *Table, k keys.Key) (readResult, error) {
	return p.read(ctx, k, t.wide(), t.readEntity)
}

// readRow reads a row for the plan.
func (p *Plan) readRow(ctx context.Context, k keys.Key) (readResult, error) {
	return p.read(ctx, k, false, p.table.readRow)
}

func (p *Plan) read(ctx context.Context, k keys.Key, whole bool, read func(context.Context, keys.Key) (readResult, error)) (readResult, error) {
	if p.ahead != nil && p.ahead.has(k.RowKey(), whole) {
		return p.ahead.rows[k.RowKey()].readResult, nil
	}
	if p.preview != nil {
		return readResult{}, errPreview
	}
	ctx, cancel := p.table.attempt(ctx)
	defer cancel()
	f, err := read(ctx, k)
	if err != nil {
		p.readErr = err
	}
	return f, err
}

// readTogether reads a row that the plan of an operation loads, together with the rows that the
// operations after it load first. For that, it makes a preview of their plans. Rows that they load
// afterwards are read together the next time. read reports whether there was more than one row;
// otherwise none was read.
func (p *Plan) readTogether(ctx context.Context, t *Table, row keys.Key, later []step) (read bool, err error) {
	c := p.copyRows()
	c.preview, c.participants = &preview{rows: []keys.Key{row}}, nil
	c.corrections, c.entityVersions = maps.Clone(p.corrections), maps.Clone(p.entityVersions)
	for _, s := range later {
		if s.needsPlanning {
			_ = s.readAndMaintain(ctx, c) // it ends at the first row that is not known; another error comes again with the plan itself
		}
	}
	if len(c.preview.rows) < 2 {
		return false, nil
	}
	ahead := make([]wantedRow, len(c.preview.rows))
	for i, row := range c.preview.rows {
		ahead[i] = wantedRow{table: t, key: row}
	}
	return true, p.ahead.read(ctx, ahead)
}

// preview is of a plan that is made only to learn which rows it loads: it collects them, without
// reading them.
type preview struct{ rows []keys.Key }

var errPreview = errors.New("the row is not known in a preview")

// newID returns the function that makes IDs: in a preview, whose IDs are not stored, they are all
// the same.
func (t *preview) newID(otherwise func() string) func() string {
	if t == nil {
		return otherwise
	}
	return func() string { return "0000000000000000" }
}

// aheadRows are rows of one partition that were read before a plan needs them, or that an earlier
// write has written. They belong to one write at a time; bulk hands them from one transaction of a
// partition to the next. A row may have changed since: it is written by its ETag, as every row that
// a plan has read, and it is read again if a plan loads it without writing it.
type aheadRows struct {
	rows   map[string]aheadRow
	used   map[string]bool // the rows that the plans of this write have used, and may change
	sparse bool            // a query has found more other rows than wanted ones, so that the next rows are read one by one

	mean    float64 // derived rows of one operation of the last plan, on average
	counted bool    // mean is known

	writes int           // the number of the write that has the rows
	room   *atomic.Int64 // the bytes of rows that bulk work may still keep; nil if no rows are kept
}

type aheadRow struct {
	readResult
	whole bool // with its parts
	write int  // the number of the write during which the row was added
	kept  int  // bytes of room that the row takes
}

// has reports whether a row was read ahead, with its parts if whole is set, and without them
// otherwise.
func (a *aheadRows) has(rowKey string, whole bool) bool {
	r, is := a.rows[rowKey]
	return is && r.whole == whole
}

// isOlder reports whether a row was added before this write began.
func (a *aheadRows) isOlder(rowKey string) bool {
	r, is := a.rows[rowKey]
	return is && r.write < a.writes
}

// use drops a row that a plan has used, and may change.
func (a *aheadRows) use(rowKey string) {
	a.drop(rowKey)
	if a.used == nil {
		a.used = map[string]bool{}
	}
	a.used[rowKey] = true
}

func (a *aheadRows) drop(rowKey string) {
	if r, is := a.rows[rowKey]; is && r.kept > 0 {
		a.room.Add(int64(r.kept))
	}
	delete(a.rows, rowKey)
}

// add adds a row.
func (a *aheadRows) add(rowKey string, row aheadRow) {
	if a.rows == nil {
		a.rows = map[string]aheadRow{}
	}
	a.drop(rowKey)
	row.write = a.writes
	a.rows[rowKey] = row
}

// release drops all rows, and gives their room back.
func (a *aheadRows) release() {
	for rk := range a.rows {
		a.drop(rk)
	}
}

// keep adds a row that a write has written, if there is room for its bytes.
func (a *aheadRows) keep(row *stored.Row, bytes int) {
	if a.room.Add(-int64(bytes)) < 0 {
		a.room.Add(int64(bytes))
		return
	}
	a.add(row.Key.RowKey(), aheadRow{readResult: readResult{row: row}, kept: bytes})
}

// errOutdated means that a plan loads a row, without writing it, that has changed since an earlier
// write.
var errOutdated = errors.New("a row has changed since an earlier write")

// nextRows are rows that are read for the next transaction of a group while one travels.
type nextRows struct {
	read   aheadRows
	cancel context.CancelFunc
	done   chan struct{}
}

// readNext begins to read the rows of operations that the next transaction takes, but for rows that
// the transaction under way has used. If a row cannot be read, the next transaction reads it
// itself. It returns nil if there is nothing to read.
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

// await waits for the rows, or cancels their reads, and adds them to a, but for rows that a
// transaction has used meanwhile.
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
