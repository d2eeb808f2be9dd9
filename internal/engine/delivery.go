package engine

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
)

// Lister is told about the rows of a list.
type Lister interface {
	// Read decodes a row. mine is false for a row of another type, which is passed over.
	Read(r *edm.Reader, in edm.Entity) (mine bool, err error)
	// Yield hands out what Read has decoded last. It returns false to end the list.
	Yield() bool
}

// delivery hands the rows of a list to its Lister.
type delivery struct {
	pager   *pager
	lister  Lister
	method  string
	view    *markView // of the page; nil if no row of it is marked
	left    int       // of the limit
	stopped bool
	err     error // that ends the list
}

// page hands out the rows of a page. It returns the error of a page that cannot be read.
func (d *delivery) page(r *edm.Reader) error {
	return r.Page(func(in edm.Entity) bool {
		if !d.wants(in) {
			return d.err == nil && !d.pager.spent
		}
		in.Date = d.pager.date
		row, v, err := d.filtered(received{r, in})
		if d.passesOver(row.Entity, v) {
			return true
		}
		if err == nil && !d.pager.q.WithoutJSON {
			row.JSON = row.Keep()
		}
		mine := true
		if err == nil {
			mine, err = d.read(row.Reader, row.Entity)
		}
		return d.give(row.Entity, mine, err, r.AtEnd())
	})
}

// filtered applies the marks of the page to a row, then the features of the handle.
func (d *delivery) filtered(r received) (_ received, v finding, err error) {
	if d.view != nil {
		r, v, err = d.view.read(d.pager.table, r)
	}
	if err != nil || v != given {
		return r, v, err
	}
	return d.pager.table.filtered(r)
}

// passesOver reports whether a row is not there for readers.
func (d *delivery) passesOver(in edm.Entity, v finding) bool {
	switch v {
	case absent:
		d.pager.absent(in)
	case outlived:
		d.pager.foreign(in)
		d.pager.stats.Over++
	}
	return v != given
}

// wants reports whether a row is to be read. A row that was not asked for ends the list.
func (d *delivery) wants(in edm.Entity) bool {
	d.err = d.pager.table.OpError(d.method, keys.Key{}, d.pager.unasked(in))
	return d.err == nil && d.pager.wants(in)
}

// read lets the Lister read a row. The error of a row that ends the list names the way out.
func (d *delivery) read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	mine, err = d.lister.Read(r, in)
	if err != nil && d.pager.q.Skip == nil {
		err = &errs.Explained{Err: err, Explanation: "the list ends at this row; Query.Skip can leave it out"}
	}
	return mine, err
}

// give hands out the row that the Lister has read. last reports that it is the last of its page.
// give reports whether the list goes on.
func (d *delivery) give(in edm.Entity, mine bool, err error, last bool) (goOn bool) {
	p := d.pager
	switch {
	case !mine:
		p.foreign(in)
		return true
	case err != nil:
		k := keys.Raw(in.PartitionKey, in.RowKey)
		if d.err = p.table.OpError(d.method, k, err); p.q.Skip != nil && p.q.Skip(k, d.err) {
			d.err = nil
			p.stats.Skipped++
			p.at.Deliver(in)
			return true
		}
		return false
	}
	d.left--
	p.at.Deliver(in)
	if last {
		p.turn()
	}
	d.stopped = !d.lister.Yield() || d.left == 0
	return !d.stopped
}

// widePage is page for a table with wide entities. An entity of which the page does not contain all
// parts is read by its key: 1 request more.
func (d *delivery) widePage(ctx context.Context, r *edm.Reader) error {
	all, broken := d.assembleAll(r)
	i, readToEnd := 0, broken == nil && d.err == nil && !d.pager.spent
	InOrder(ctx, all, d.complete, func(a completed, err error) bool {
		i++
		return d.giveWide(all[i-1].head, a, err, i == len(all) && readToEnd)
	})
	return broken
}

// assembleAll returns the wanted entities of a page, with their parts there.
func (d *delivery) assembleAll(r *edm.Reader) (all []*assembly, broken error) {
	var pending *assembly
	broken = r.Page(func(in edm.Entity) bool {
		columns, err := r.Columns()
		if stored.Find(columns, reserved.Part).Kind != edm.Absent {
			if d.pager.passed { // else the part is of an entity that was delivered before
				d.pager.stats.Rows++
			}
			if pending != nil && pending.head.PartitionKey == in.PartitionKey {
				pending.add(in.RowKey, columns)
			}
			return true
		}
		pending = nil
		if !d.wants(in) {
			return d.err == nil && !d.pager.spent
		}
		if d.view != nil && err == nil {
			var exists bool
			in, columns, exists = d.view.row(in, columns)
			if !exists {
				d.pager.absent(in)
				return true
			}
		}
		pending = assemble(in, columns)
		if err != nil {
			pending.err = err
		}
		all = append(all, pending)
		return true
	})
	return all, broken
}

// giveWide is give for an entity whose head was read as in.
func (d *delivery) giveWide(in edm.Entity, a completed, err error, last bool) (goOn bool) {
	if a.read {
		d.pager.stats.Requests++
	}
	if a.gone && err == nil {
		return true
	}
	row, v := received{edm.ReadColumns(a.entity, a.entity.Columns), a.entity}, given
	if err == nil {
		row, v, err = d.pager.table.filtered(row)
	}
	switch {
	case err != nil:
		return d.give(in, true, err, false)
	case d.passesOver(in, v):
		return true
	}
	mine, err := d.read(row.Reader, row.Entity)
	return d.give(row.Entity, mine, err, last)
}

// completed is an entity of a page with all its parts.
type completed struct {
	entity edm.Entity
	read   bool // by its key
	gone   bool // it was deleted meanwhile
}

func (d *delivery) complete(ctx context.Context, a *assembly) (completed, error) {
	if d.pager.q.HeadsOnly || a.whole() == nil {
		in := a.head
		in.Columns, in.Date = a.columns, d.pager.date
		return completed{entity: in}, nil
	}
	f, err := d.pager.table.readEntity(ctx, a.row().Key)
	if err != nil || f.row == nil {
		return completed{read: true, gone: true}, err
	}
	in := a.head
	in.ETag, in.Timestamp, in.Columns, in.Date = string(f.row.ETag), f.row.Timestamp, f.row.Columns(), f.date
	return completed{entity: in, read: true}, nil
}
