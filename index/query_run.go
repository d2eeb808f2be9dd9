package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// queryRun is a query of an index in progress. The caller's cursor is behind the last entity that was yielded, although rows beyond
// it may have been read.
type queryRun[T, K any] struct {
	ix       *Index[T, K]
	table    *table.Table[T]
	q        table.Query[T]
	cursor   *table.Cursor // the caller's, or nil; the cursor of q may be ahead of it
	limit    int           // how many more entities to yield; all if less than 1
	deadline time.Time
	fetched  bool // an entity was read
	yield    func(*table.Entity[T], error) bool
}

// pointer is an index row whose entity is to be read.
type pointer struct {
	entity   keys.Key
	row      keys.Key
	position *table.Cursor // behind the row
}

func (ix *Index[T, K]) query(ctx context.Context, t *table.Table[T], q table.Query[T]) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		r := &queryRun[T, K]{ix: ix, table: t, q: q, cursor: q.Cursor, limit: q.Limit, yield: yield}
		if q.Cursor != nil {
			r.q.Cursor = q.Cursor.Copy()
		}
		if q.Stats == nil {
			r.q.Stats = new(table.Stats)
		}
		if q.Budget.Time > 0 {
			r.deadline = time.Now().Add(q.Budget.Time)
		}
		rows, q, err := ix.rowsQuery(t, r.q)
		switch {
		case err != nil:
			yield(nil, err)
		case ix.readsEntity():
			r.yieldPointed(ctx, rows.Rows(ctx, q))
		default:
			r.yieldCopies(ctx, rows, q)
		}
	}
}

// yieldEntity yields an entity or an error, and nothing for nil. It reports whether the query continues.
func (r *queryRun[T, K]) yieldEntity(e *table.Entity[T], err error) bool {
	if e == nil && err == nil {
		return true
	}
	r.limit--
	return r.yield(e, err) && err == nil && r.limit != 0
}

// position returns the position of the query, nil if the caller has no cursor.
func (r *queryRun[T, K]) position() *table.Cursor {
	if r.cursor == nil {
		return nil
	}
	return r.q.Cursor.Copy()
}

// moveTo moves the caller's cursor.
func (r *queryRun[T, K]) moveTo(to *table.Cursor) {
	if r.cursor != nil {
		*r.cursor = *to
	}
}

// yieldCopies yields the entities of full and projected copies in a table of rows.
func (r *queryRun[T, K]) yieldCopies(ctx context.Context, rows *table.Table[T], q table.Query[T]) {
	goOn, hasRow := true, r.ix.matcher()
	err := rows.Copies(ctx, q, func(row *engine.Row, e *table.Entity[T]) bool {
		e, err := r.ix.entityOfCopy(ctx, r.table, row, e, hasRow)
		if err == nil {
			r.moveTo(r.position())
		}
		goOn = r.yieldEntity(e, err)
		return goOn
	})
	switch {
	case !goOn:
	case err != nil:
		r.endWith(err)
	default:
		r.moveTo(r.position())
	}
}

// endWith yields the error that ends the rows. The cursor is behind the last row, and perhaps behind pages without rows.
func (r *queryRun[T, K]) endWith(err error) {
	r.moveTo(r.position())
	r.yieldEntity(nil, err)
}

// pointerBatch is the number of pointers whose entities are read together: as many as GetMany reads ahead.
const pointerBatch = 40

// yieldPointed yields the entities that index rows name, read several at a time.
func (r *queryRun[T, K]) yieldPointed(ctx context.Context, rows iter.Seq2[*table.Row, error]) {
	batch := 10
	if r.limit > 0 {
		batch = min(batch, r.limit)
	}
	var all []pointer
	for row, err := range rows {
		var k keys.Key
		var is bool
		if err == nil {
			k, is, err = namedBy(row)
		}
		if err != nil {
			if r.fetchBatch(ctx, all) {
				r.endWith(err)
			}
			return
		}
		if is {
			all = append(all, pointer{k, row.Key, r.position()})
		}
		b := r.q.Budget.Requests
		if len(all) == batch || b > 0 && len(all) > 0 && r.q.Stats.Requests+len(all) >= b {
			if !r.fetchBatch(ctx, all) {
				return
			}
			if all, batch = nil, pointerBatch; r.limit > 0 {
				batch = min(batch, r.limit)
			}
		}
	}
	if r.fetchBatch(ctx, all) {
		r.moveTo(r.position())
	}
}

// fetchBatch yields the entities of some index rows, as far as the budget allows, but at least one, so that a query that is resumed
// makes progress. It reports whether the query continues.
func (r *queryRun[T, K]) fetchBatch(ctx context.Context, all []pointer) bool {
	var ks []keys.Key
	for _, m := range all {
		ks = append(ks, m.entity)
	}
	var spent error
	n, b := len(ks), r.q.Budget
	if b.Requests > 0 && r.q.Stats.Requests+n > b.Requests {
		n, spent = max(b.Requests-r.q.Stats.Requests, 0), errors.New("Budget.Requests is used up")
	} else if b.Time > 0 && n > 0 && time.Now().After(r.deadline) {
		n, spent = 0, errors.New("Budget.Time is used up")
	}
	if n == 0 && !r.fetched {
		n = min(1, len(ks))
	}
	if n == len(ks) {
		spent = nil
	}
	ks, r.fetched = ks[:n], r.fetched || n > 0
	i := 0
	r.q.Stats.Requests += len(ks)
	for e, err := range r.table.GetMany(ctx, ks...) {
		if err == nil {
			e = r.ix.ifCurrent(e, all[i].row)
		} else if errors.Is(err, table.ErrNotFound) || derived.IsForeign(err) {
			e, err = nil, nil
		}
		if err == nil {
			r.moveTo(all[i].position)
		}
		if i++; !r.yieldEntity(e, err) {
			return false
		}
	}
	if spent != nil {
		r.yieldEntity(nil, fmt.Errorf("%w (%w)", table.ErrBudget, spent))
		return false
	}
	return true
}

// rowsQuery returns the query of the index rows for a query, and the table where the rows are.
func (ix *Index[T, K]) rowsQuery(t *table.Table[T], q table.Query[T]) (from *table.Table[T], rows table.Query[T], err error) {
	if from, err = ix.readable(t, ix); err != nil {
		return nil, q, err
	}
	if ix.hasOwnPartitions() && !q.Partition.IsSet() && !q.TableScan {
		return nil, q, errNoPartition
	}
	if (!ix.full() || ix.readsEntity()) && t.Engine().Mode.Schema.Query(&q).Where.Op != "" {
		return nil, q, &table.ValueError{Field: "Query.Where", Reason: "is set, but needs an index of full copies without ReadEntities, whose rows contain all properties; filter the entities instead"}
	}
	switch {
	case !q.Rows.IsSet():
		q.Rows = ix.All()
	case ix.opt.Reserved && q.Rows.Err() == nil && within(q.Rows, ix.byValueAndKey.All()):
		q.Rows = ix.prefixedRange(q.Rows) // a range of the layout itself
	case q.Rows.Err() == nil && !within(q.Rows, ix.All()):
		return nil, q, &keys.KeyError{Key: "RowKey", Value: q.Rows.String(), Reason: "is not in the range of this index, " + ix.All().String() + ": use a range that the index returns; Under converts a range of its layout"}
	}
	// The limit counts entities, and rows whose entity has changed yield none.
	if q.Limit > 0 && q.PageSize == 0 {
		if q.PageSize = min(q.Limit, 1000); ix.readsEntity() {
			q.PageSize = max(q.PageSize, pointerBatch)
		}
	}
	q.ReadAhead = q.ReadAhead && q.Limit <= 0 && (q.Budget.Requests == 0 || !ix.readsEntity()) // else the list cannot tell which page is needed
	q.Limit = min(q.Limit, 0)                                                                  // not the rows' limit, but an invalid limit stays an error
	return from, q, nil
}
