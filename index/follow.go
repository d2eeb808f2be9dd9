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
type following[T, K any] struct {
	ix     *Index[T, K]
	table  *table.Table[T]
	q      table.Query[T]
	cursor *table.Cursor // the caller's, or nil; that of the query is ahead of it
	limit  int           // how many more are wanted, less than 1 for all
	over   time.Time
	begun  bool // an entity was fetched
	yield  func(*table.Entity[T], error) bool
}

// met is an index row whose entity is to be read.
type met struct {
	entity keys.Key
	row    string
	place  *table.Cursor // behind it
}

func (ix *Index[T, K]) query(ctx context.Context, t *table.Table[T], q table.Query[T]) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		f := &following[T, K]{ix: ix, table: t, q: q, cursor: q.Cursor, limit: q.Limit, yield: yield}
		if q.Cursor != nil {
			f.q.Cursor = q.Cursor.Copy()
		}
		if q.Stats == nil {
			f.q.Stats = new(table.Stats)
		}
		if q.Budget.Time > 0 {
			f.over = time.Now().Add(q.Budget.Time)
		}
		rows, err := ix.indexRows(ctx, t, f.q)
		switch {
		case err != nil:
			yield(nil, err)
		case ix.follows():
			f.fetched(ctx, rows)
		default:
			f.read(ctx, rows)
		}
	}
}

// give yields an entity, or passes over nil.
func (f *following[T, K]) give(e *table.Entity[T], err error) bool {
	if e == nil && err == nil {
		return true
	}
	f.limit--
	return f.yield(e, err) && err == nil && f.limit != 0
}

// place is where the query stands now, nil where nobody asks.
func (f *following[T, K]) place() *table.Cursor {
	if f.cursor == nil {
		return nil
	}
	return f.q.Cursor.Copy()
}

func (f *following[T, K]) moved(to *table.Cursor) {
	if f.cursor != nil {
		*f.cursor = *to
	}
}

// read gives what the rows hold.
func (f *following[T, K]) read(ctx context.Context, rows iter.Seq2[*table.Row, error]) {
	for row, err := range rows {
		if err != nil {
			f.end(err)
			return
		}
		e, err := f.ix.entity(ctx, f.table, row)
		if err == nil {
			f.moved(f.place())
		}
		if !f.give(e, err) {
			return
		}
	}
	f.moved(f.place())
}

// end gives the error that ends the list of rows: the place is behind those that it has given, and perhaps pages without any.
func (f *following[T, K]) end(err error) {
	f.moved(f.place())
	f.give(nil, err)
}

// ahead is how many entities GetMany reads ahead.
const ahead = 40

// fetched reads the entities of index rows, several at a time.
func (f *following[T, K]) fetched(ctx context.Context, rows iter.Seq2[*table.Row, error]) {
	batch := 10
	if f.limit > 0 {
		batch = min(batch, f.limit)
	}
	var all []met
	for row, err := range rows {
		if err != nil {
			if f.fetch(ctx, all) {
				f.end(err)
			}
			return
		}
		if k, is := row.Primary(); is && k.Err() == nil {
			all = append(all, met{k, row.Key.RowKey(), f.place()})
		}
		b := f.q.Budget.Requests
		if len(all) == batch || b > 0 && len(all) > 0 && f.q.Stats.Requests+len(all) >= b {
			if !f.fetch(ctx, all) {
				return
			}
			if all, batch = nil, ahead; f.limit > 0 {
				batch = min(batch, f.limit)
			}
		}
	}
	if f.fetch(ctx, all) {
		f.moved(f.place())
	}
}

// fetch reads some of them, as far as the budget goes, but one at least, so that a list that is taken up again comes to its end. It is
// false where the list is over.
func (f *following[T, K]) fetch(ctx context.Context, all []met) bool {
	var ks []keys.Key
	for _, m := range all {
		ks = append(ks, m.entity)
	}
	var spent error
	n, b := len(ks), f.q.Budget
	if b.Requests > 0 && f.q.Stats.Requests+n > b.Requests {
		n, spent = max(b.Requests-f.q.Stats.Requests, 0), errors.New("its requests are used up")
	} else if b.Time > 0 && n > 0 && time.Now().After(f.over) {
		n, spent = 0, errors.New("its time is used up")
	}
	if n == 0 && !f.begun {
		n = min(1, len(ks))
	}
	if n == len(ks) {
		spent = nil
	}
	ks, f.begun = ks[:n], f.begun || n > 0
	i := 0
	f.q.Stats.Requests += len(ks)
	for e, err := range f.table.GetMany(ctx, ks...) {
		if err == nil {
			e = f.ix.having(e, all[i].row)
		} else if errors.Is(err, table.ErrNotFound) || foreign(err) {
			e, err = nil, nil
		}
		if err == nil {
			f.moved(all[i].place)
		}
		if i++; !f.give(e, err) {
			return false
		}
	}
	if spent != nil {
		f.give(nil, fmt.Errorf("%w (%w)", table.ErrBudget, spent))
		return false
	}
	return true
}
