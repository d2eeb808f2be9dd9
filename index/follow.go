package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// following is a query of an index under way. Its cursor stands behind what was yielded, also where that is behind what was read.
type queryRun[T, K any] struct {
	ix       *Index[T, K]
	table    *table.Table[T]
	q        table.Query[T]
	cursor   *table.Cursor // the caller's, or nil; that of the query is ahead of it
	limit    int           // how many more are wanted, less than 1 for all
	deadline time.Time
	fetched  bool // an entity was fetched
	yield    func(*table.Entity[T], error) bool
}

// met is an index row whose entity is to be read.
type pointer struct {
	entity   keys.Key
	row      string
	position *table.Cursor // behind it
}

func (ix *Index[T, K]) query(ctx context.Context, t *table.Table[T], q table.Query[T]) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		f := &queryRun[T, K]{ix: ix, table: t, q: q, cursor: q.Cursor, limit: q.Limit, yield: yield}
		if q.Cursor != nil {
			f.q.Cursor = q.Cursor.Copy()
		}
		if q.Stats == nil {
			f.q.Stats = new(table.Stats)
		}
		if q.Budget.Time > 0 {
			f.deadline = time.Now().Add(q.Budget.Time)
		}
		rows, err := ix.queryRows(ctx, t, f.q)
		switch {
		case err != nil:
			yield(nil, err)
		case ix.readsEntity():
			f.yieldPointed(ctx, rows)
		default:
			f.yieldCopies(ctx, rows)
		}
	}
}

// give yields an entity, or passes over nil.
func (f *queryRun[T, K]) yieldEntity(e *table.Entity[T], err error) bool {
	if e == nil && err == nil {
		return true
	}
	f.limit--
	return f.yield(e, err) && err == nil && f.limit != 0
}

// place is where the query stands now, nil where nobody asks.
func (f *queryRun[T, K]) position() *table.Cursor {
	if f.cursor == nil {
		return nil
	}
	return f.q.Cursor.Copy()
}

func (f *queryRun[T, K]) moveTo(to *table.Cursor) {
	if f.cursor != nil {
		*f.cursor = *to
	}
}

// read gives what the rows hold.
func (f *queryRun[T, K]) yieldCopies(ctx context.Context, rows iter.Seq2[*table.Row, error]) {
	for row, err := range rows {
		if err != nil {
			f.endWith(err)
			return
		}
		e, err := f.ix.entityOf(ctx, f.table, row)
		if err == nil {
			f.moveTo(f.position())
		}
		if !f.yieldEntity(e, err) {
			return
		}
	}
	f.moveTo(f.position())
}

// end gives the error that ends the list of rows: the place is behind those that it has given, and perhaps pages without any.
func (f *queryRun[T, K]) endWith(err error) {
	f.moveTo(f.position())
	f.yieldEntity(nil, err)
}

// ahead is how many entities GetMany reads ahead.
const readAhead = 40

// fetched reads the entities of index rows, several at a time.
func (f *queryRun[T, K]) yieldPointed(ctx context.Context, rows iter.Seq2[*table.Row, error]) {
	batch := 10
	if f.limit > 0 {
		batch = min(batch, f.limit)
	}
	var all []pointer
	for row, err := range rows {
		if err != nil {
			if f.fetchBatch(ctx, all) {
				f.endWith(err)
			}
			return
		}
		if k, is := row.Primary(); is && k.Err() == nil {
			all = append(all, pointer{k, row.Key.RowKey(), f.position()})
		}
		b := f.q.Budget.Requests
		if len(all) == batch || b > 0 && len(all) > 0 && f.q.Stats.Requests+len(all) >= b {
			if !f.fetchBatch(ctx, all) {
				return
			}
			if all, batch = nil, readAhead; f.limit > 0 {
				batch = min(batch, f.limit)
			}
		}
	}
	if f.fetchBatch(ctx, all) {
		f.moveTo(f.position())
	}
}

// fetch reads some of them, as far as the budget goes, but one at least, so that a list that is taken up again comes to its end. It is
// false where the list is over.
func (f *queryRun[T, K]) fetchBatch(ctx context.Context, all []pointer) bool {
	var ks []keys.Key
	for _, m := range all {
		ks = append(ks, m.entity)
	}
	var spent error
	n, b := len(ks), f.q.Budget
	if b.Requests > 0 && f.q.Stats.Requests+n > b.Requests {
		n, spent = max(b.Requests-f.q.Stats.Requests, 0), errors.New("its requests are used up")
	} else if b.Time > 0 && n > 0 && time.Now().After(f.deadline) {
		n, spent = 0, errors.New("its time is used up")
	}
	if n == 0 && !f.fetched {
		n = min(1, len(ks))
	}
	if n == len(ks) {
		spent = nil
	}
	ks, f.fetched = ks[:n], f.fetched || n > 0
	i := 0
	f.q.Stats.Requests += len(ks)
	for e, err := range f.table.GetMany(ctx, ks...) {
		if err == nil {
			e = f.ix.ifCurrent(e, all[i].row)
		} else if errors.Is(err, table.ErrNotFound) || isForeign(err) {
			e, err = nil, nil
		}
		if err == nil {
			f.moveTo(all[i].position)
		}
		if i++; !f.yieldEntity(e, err) {
			return false
		}
	}
	if spent != nil {
		f.yieldEntity(nil, fmt.Errorf("%w (%w)", table.ErrBudget, spent))
		return false
	}
	return true
}
