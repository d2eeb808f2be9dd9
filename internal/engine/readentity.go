package engine

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// Get reads the entity under a key as it is stored, with its parts. 1 request. Errors: ErrNotFound, and those of any read.
func (t *Table) Get(ctx context.Context, k keys.Key) (*Row, error) {
	f, err := t.readEntity(ctx, k)
	if err == nil && f.row == nil {
		err = f.gone
	}
	return f.row, err
}

// OpenRow reads an entity whose columns the caller decodes. 1 request. Errors are those of Get.
func (t *Table) OpenRow(ctx context.Context, k keys.Key) (*edm.Reader, edm.Entity, error) {
	if t.Mode.Parts > 0 {
		row, err := t.Get(ctx, k)
		if err != nil {
			return nil, edm.Entity{}, err
		}
		r, in := row.Open()
		return r, in, nil
	}
	r, in, f, err := t.openRow(ctx, k)
	if err == nil && r == nil {
		err = f.gone
	}
	return r, in, err
}

// Open returns the row as OpenRow returns a row that it has read.
func (r *Row) Open() (*edm.Reader, edm.Entity) {
	in := edm.Entity{PartitionKey: r.Key.PartitionKey(), RowKey: r.Key.RowKey(), ETag: string(r.ETag), Timestamp: r.Timestamp, Columns: r.Columns}
	return edm.ReadColumns(in, in.Columns), in
}

// wide reports whether an entity may have parts.
func (t *Table) wide() bool { return t.Mode.Parts > 0 }

// mostTornReads is how often an entity is read that concurrent writers change during each read.
const mostTornReads = 5

// readEntity reads an entity, with its parts if it is wide. An entity that is not there is no error. 1 request, and 1 more for each
// time that a concurrent writer has changed it meanwhile.
func (t *Table) readEntity(ctx context.Context, k keys.Key) (readResult, error) {
	if t.Mode.Parts == 0 {
		return t.readRow(ctx, k)
	}
	var found readResult
	var torn tornReads
	err := torn.policy(t).Repeat(ctx, t.Log("Get", k), func() (again bool, err error) {
		var a *assembly
		if a, err = t.readRows(ctx, k, edm.MaxPart); err != nil {
			return false, err
		}
		if a == nil {
			found = readResult{gone: &Condition{ErrNotFound, errNoRow}, hidden: t.RangedRows()}
			return false, nil
		}
		found = readResult{row: a.row()}
		return torn.again(a, a.whole())
	})
	return found, err
}

// tornReads decides what becomes of reads that find rows of several versions. If the head has not changed since the read before, no
// writer was at work: the entity is damaged.
type tornReads struct {
	last  string // the ETag of the head
	times int
}

func (r *tornReads) policy(t *Table) Retry {
	policy := t.Options.Retry.OfConflicts()
	policy.Attempts = mostTornReads
	return policy
}

// again returns the error of a read, nil for none, and whether to read again.
func (r *tornReads) again(a *assembly, err error) (bool, error) {
	if r.times++; err == nil || a.head.ETag == r.last {
		return false, err
	}
	if r.last = a.head.ETag; r.times == mostTornReads {
		err = &Condition{ErrContended, err}
	}
	return true, err
}

// readRows reads the head of an entity and its parts up to a number by one query, nil if there is no head. If a write over several
// partitions has prepared the head, readRows ends that write and reads again.
func (t *Table) readRows(ctx context.Context, k keys.Key, last uint8) (a *assembly, err error) {
	var marked bool
	var m mark
	view := false
	for n := range mostResolutions {
		if a, m, marked, err = t.readRowsOnce(ctx, view, k, last); err != nil || !marked {
			return a, err
		}
		ended, err := t.resolve(ctx, k, m, n)
		if err != nil && !mayNotWrite(err) && !isDamage(err) {
			return nil, err
		}
		view = view || ended || err != nil // another program may have written the mark back
	}
	return nil, &Condition{ErrContended, errPrepared}
}

// readRowsOnce is one attempt of readRows. It returns the mark of the head, if it has one.
func (t *Table) readRowsOnce(ctx context.Context, committed bool, k keys.Key, last uint8) (a *assembly, m mark, marked bool, err error) {
	err = t.eachStored(ctx, rowsFilter(k.PartitionKey(), k.RowKey(), partKey(k, last).RowKey()), "", committed, func(in edm.Entity, columns []edm.Column) bool {
		if in.RowKey == k.RowKey() {
			if m, marked = markIn(columns); marked {
				return false
			}
		}
		switch {
		case in.RowKey == k.RowKey():
			a = assemble(in, columns)
		case a != nil:
			a.add(in.RowKey, columns)
		}
		return true
	})
	return a, m, marked, err
}

// eachEntity is each for entities: parts come with their heads.
func (t *Table) eachEntity(ctx context.Context, filter string, f func(*Row) bool) error {
	if t.Mode.Parts == 0 {
		return t.each(ctx, filter, "", f)
	}
	var pending *assembly
	var bad error
	flush := func() (more bool) {
		a := pending
		if pending = nil; a == nil {
			return true
		}
		if a.whole() == nil {
			return f(a.row())
		}
		again, err := t.readEntity(ctx, a.row().Key)
		if bad = err; err != nil || again.row == nil {
			return err == nil
		}
		return f(again.row)
	}
	stopped := false
	err := t.eachPhysical(ctx, filter, "", func(in edm.Entity, columns []edm.Column) bool {
		if pending != nil && pending.head.PartitionKey == in.PartitionKey && pending.add(in.RowKey, columns) || Find(columns, reserved.Part).Kind != edm.Absent {
			return true
		}
		stopped = !flush()
		pending = assemble(in, columns)
		return !stopped
	})
	if err == nil && !stopped {
		flush()
	}
	return firstError(bad, err)
}
