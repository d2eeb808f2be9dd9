package engine

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// This file contains what a plan reads: single rows, entities, and ranges.

// Load reads a row that several entities share, with the changes that this transaction has planned so far.
func (p *Plan) Load(ctx context.Context, rowKey string) (*Row, error) {
	d, err := p.rowFor(keys.Stored(p.partition, rowKey))
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
			return nil, p.refuse(d.key, ErrRanged)
		}
		d.read, d.older = &f, p.ahead != nil && p.ahead.isOlder(rowKey)
	}
	if d.loaded = true; !d.planned {
		d.after = d.read.row
	}
	return d.after, nil
}

// beforeLoad lets a row be read together with the rows that the operations after this one load.
func (p *Plan) beforeLoad(ctx context.Context, row keys.Key) (err error) {
	switch {
	case p.ahead != nil && p.ahead.has(row.RowKey(), false):
	case p.preview != nil:
		p.preview.loads(row)
		return errPreview
	case p.lookAhead != nil:
		err = p.lookAhead(ctx, row)
		p.unread = firstError(p.unread, err)
	}
	return err
}

// Entity returns the row of an entity, with the changes that this transaction has planned so far.
func (p *Plan) Entity(ctx context.Context, rowKey string) (*Row, error) {
	k := keys.Stored(p.partition, rowKey)
	if row, planned := p.planned[rowKey]; planned {
		if !row.Known() {
			return nil, nil
		}
		columns, err := row.Decoded()
		return &Row{Key: k, Columns: columns}, err
	}
	if p.own[rowKey] != nil {
		f, err := p.readEntity(ctx, p.own[rowKey], k)
		return f.row, err
	}
	row, err := p.Load(ctx, rowKey)
	if err == nil && row != nil && row.Has(reserved.Parts) {
		return nil, p.refuse(k, ErrUnknownParts) // it is the head alone
	}
	return row, err
}

// Scan calls f for the rows of a range as they will be after the transaction, without the row of the changing entity, until f
// returns false. A scanned row may change before the transaction commits.
func (p *Plan) Scan(ctx context.Context, rows keys.Range, f func(*Row) bool) error {
	if err := rows.Err(); err != nil {
		return err
	}
	if p.preview != nil {
		return errPreview
	}
	var filter filter
	filter.key(edm.PartitionKey, "eq", p.partition)
	filter.keys(edm.RowKey, rows)
	stopped := false
	table := p.table
	if own := p.own[p.key.RowKey()]; own != nil {
		table = own // of the changing entity: another operation's handle may not know of parts
	}
	err := table.eachEntity(ctx, filter.b.String(), func(r *Row) bool {
		rk := r.Key.RowKey()
		_, planned := p.planned[rk]
		if planned || rk == p.key.RowKey() || !rows.Contains(rk) {
			return true
		}
		stopped = !f(r)
		return !stopped
	})
	if err == nil && !stopped && table.RangedRows() {
		err = ErrRanged
	}
	if err != nil {
		p.unread = err
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
		stopped = !f(&Row{Key: keys.Stored(p.partition, rk), Columns: columns})
	}
	return nil
}

// confirm reads loaded rows again, if they were read or written before this write began. No ETag protects a row that is loaded and not
// written, and an entity that was read since may belong to a later state of it. It returns errOutdated if a row has changed.
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
			return p.refuse(d.key, ErrRanged)
		case f.etag() != d.read.etag():
			p.ahead.drop(rk)
			return errOutdated
		}
		d.older = false
	}
	return nil
}

// readEntity reads an entity of a handle for the plan, with its parts.
func (p *Plan) readEntity(ctx context.Context, t rowReader, k keys.Key) (readResult, error) {
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
		p.unread = err
	}
	return f, err
}
