package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// errNotFound: a look-up found no entity. errNotFoundUnfilled also says why a handle that knows no
// catalogue may find none; a store lets a program look up when the index is filled.
var (
	errSeveral          = errors.New("several entities have the value; use List")
	errNotFound         = fmt.Errorf("%w with this value in the index", table.ErrNotFound)
	errNotFoundUnfilled = fmt.Errorf("%w (an entity that was stored without the index is found after verify.Repair)", errNotFound)
)

// notFound returns the error of a look-up that found no entity.
func notFound[T any](t *table.Table[T]) error {
	if door.Table(t).Mode.Guard != nil {
		return errNotFound
	}
	return errNotFoundUnfilled
}

// Get returns the entity that has the value k in a partition: of the entities or, with [Global.In], of the rows. A copy in another
// partition may be older than its entity; a look-up by a pointer reads the entity itself. A full copy has the entity's key, fields and other columns as they
// were last written; Replace, Merge and Delete of it read the row first, and fail with table.ErrChanged if the row is not as it was
// copied. An entity of a projected copy has only the copied fields: it is Partial, and cannot be written.
//
// Entities that other programs have stored without the index are not found until they are written
// again or verify.Repair has added them. Errors: table.ErrNotFound; another one if several
// entities have the value of an index that is not unique, for which see List; table.ErrChanged if a unique value went
// from one entity to another at each of Retry.ConflictAttempts attempts; table.ErrNotReadable;
// *keys.KeyError; *table.DefinitionError for a wrong definition, and for a handle without it;
// *table.DecodeError for a row that does not fit T; errors of a read (see package table).
//
// Requests: 1; 2 by a pointer. If the row's entity no longer has the value, 1 more: Get reads the row again. If
// several entities have the value of an index that is not unique, up to 2 of them are read.
func (ix *Index[T, K]) Get(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K) (*table.Entity[T], error) {
	ctx, end := door.Table(t).Span(ctx, "Get")
	e, err := ix.get(ctx, t, partition, k)
	end(err)
	if err != nil {
		return nil, withDefinition(ix.name, err)
	}
	return e, nil
}

func (ix *Index[T, K]) get(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K) (*table.Entity[T], error) {
	if !ix.opt.unique {
		if err := ix.checkPartition(t, partition); err != nil {
			return nil, err
		}
		var first *table.Entity[T]
		q := table.Query[T]{Partition: ix.partitionForValue(partition, k), Rows: ix.Value(k), Limit: 2}
		for e, err := range ix.query(ctx, t, q) {
			switch {
			case err != nil:
				return nil, err
			case first != nil:
				return nil, errSeveral
			}
			first = e
		}
		if first == nil {
			return nil, notFound(t)
		}
		return first, nil
	}
	rows, err := ix.readable(t)
	if err != nil {
		return nil, err
	}
	at, err := ix.uniqueKey(t, partition, k)
	if err != nil {
		return nil, err
	}
	// Between the two reads, another entity may get the value: no entity has it only if the row has not changed.
	var before *stored.Row
	o := &door.Table(t).Options
	conflicts, attempts := o.NewConflicts(), 0
	for ; attempts < o.Retry.ConflictAttempts; attempts++ {
		if attempts > 1 { // the second read shows whether there was a conflict
			if again, err := conflicts.Wait(ctx, door.Table(t).Log("Get", at), table.ErrChanged); err != nil {
				return nil, err
			} else if !again {
				break
			}
		}
		row, copied, err := door.GetCopy[*table.Entity[T]](ctx, rows, at)
		if errors.Is(err, table.ErrNotFound) {
			return nil, errs.With(notFound(t), err)
		} else if err != nil {
			return nil, err
		}
		if before != nil && stored.SameVersion(before, row) {
			return nil, notFound(t) // the row is wrong, and no entity has the value
		}
		e, err := ix.entityOfCopy(ctx, t, row, copied, ix.hasRow)
		if err != nil || e != nil {
			return e, err
		}
		before = row
	}
	return nil, fmt.Errorf("%w: gave up after %d attempts: concurrent writers gave the value to another entity each time", table.ErrChanged, attempts)
}

// uniqueKey returns the key of the only row under a value. A table with one partition needs no partition.
func (ix *Index[T, K]) uniqueKey(t *table.Table[T], partition keys.PartitionKey, k K) (keys.Key, error) {
	if only := door.Table(t).Mode.Schema.Partitions(); !ix.elsewhere && !partition.IsSet() && only.IsPoint() {
		partition = keyrange.Partition(only)
	}
	pk, err1 := ix.partitionForValue(partition, k).Result()
	rk, err2 := ix.rowKey(k, keys.Key{})
	return keys.Raw(pk, rk), errors.Join(err1, err2)
}

// List yields the entities that have the value k in a partition, in the order of their keys.
// Errors: table.ErrNotReadable; *keys.KeyError; *table.DefinitionError for a wrong definition, and for a handle
// without it; *table.DecodeError for a row that does not fit T; errors of a read (see package
// table). Requests: 1 for each 1,000; by pointers 1 more for each entity, 10 at a time.
func (ix *Index[T, K]) List(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		q := table.Query[T]{Partition: ix.partitionForValue(partition, k), Rows: ix.Value(k)}
		ix.queryIn(ctx, t, partition, q)(yield)
	}
}

// queryIn is Query for a method whose caller gives the partition.
func (ix *Index[T, K]) queryIn(
	ctx context.Context, t *table.Table[T], partition keys.PartitionKey, q table.Query[T],
) iter.Seq2[*table.Entity[T], error] {
	if err := ix.checkPartition(t, partition); err != nil {
		return func(yield func(*table.Entity[T], error) bool) { yield(nil, withDefinition(ix.name, err)) }
	}
	return ix.Query(ctx, t, q)
}

// checkPartition returns the error of a partition that the caller has not given, and that does not
// follow from the definition or the table.
func (ix *Index[T, K]) checkPartition(t *table.Table[T], partition keys.PartitionKey) error {
	if ix.invalid != nil || partition.IsSet() || ix.hasOwnPartitions() {
		return nil
	}
	of := door.Table(t)
	if !ix.elsewhere && of != nil && of.Mode.Schema != nil && of.Mode.Schema.Partitions().IsPoint() {
		return nil
	}
	return unsetPartition{}
}

// Between is [Index.Query] for a range of values: it yields the entities that have values from lo to hi, both included, in the
// order of the values (newest first if [keys.Desc] inverts them) and, if the index is not unique, of their keys. If some of
// several fields are inverted, lo is the value that sorts first. keys.Text can be used in a unique
// index only; [keys.Ordered] in any.
func (ix *Index[T, K]) Between(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, lo, hi K) iter.Seq2[*table.Entity[T], error] {
	return ix.queryIn(ctx, t, partition, table.Query[T]{Partition: partition, Rows: ix.Rows().Between(lo, hi)})
}

// Prefix is [Index.Query] for the beginning of values: it yields the entities whose values begin with k, which is text or bytes,
// in the order of the values. For an index over several fields, see [Index.Rows].
func (ix *Index[T, K]) Prefix(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K) iter.Seq2[*table.Entity[T], error] {
	return ix.queryIn(ctx, t, partition, table.Query[T]{Partition: partition, Rows: ix.Rows().Starting(k)})
}

// Query is [table.Table.List] by the index. The query's Rows are a range of the index ([Index.Rows], [Index.Value]), and all of it
// if unset. Limits, pages, cursors and budgets are as in List; a budget also counts the requests for entities, and lets at least
// one be read. Conditions need full copies. Requests: 1 for each 1,000; by pointers 1 more for each entity, 10 at a time and up to
// 40 ahead of the loop.
//
// Errors: table.ErrNotReadable; table.ErrTableScan for a query without a partition; table.ErrBudget;
// *keys.KeyError for Rows of another range; *table.ValueError for conditions that the index rows
// cannot answer; *table.LimitError for too many conditions; *table.DefinitionError for a wrong
// definition, and for a handle without it; *table.DecodeError for a row that does not fit T, or
// whose `_sys` another program has stored with another type; *table.ValueError for a Cursor of
// another query; errors of a read (see package table).
func (ix *Index[T, K]) Query(ctx context.Context, t *table.Table[T], q table.Query[T]) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		for e, err := range ix.query(ctx, t, q) {
			if err != nil {
				err = withDefinition(ix.name, err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// Keys yields the keys of the entities that a query finds, from the index rows alone: 1 request for
// each 1,000, also by pointers. It does not compare the index rows with the
// entities. Errors: table.ErrNotReadable; table.ErrTableScan; table.ErrBudget; *keys.KeyError,
// *table.ValueError, *table.LimitError and *table.ValueError for the query, as in Query;
// *table.DefinitionError for a wrong definition, and for a handle without it; *table.DecodeError for a
// row whose `_sys` another program has stored with another type; errors of a read (see package
// table).
func (ix *Index[T, K]) Keys(ctx context.Context, t *table.Table[T], q table.Query[T]) iter.Seq2[keys.Key, error] {
	return func(yield func(keys.Key, error) bool) {
		limit := q.Limit
		from, q, err := ix.rowsQuery(t, q)
		if err != nil {
			yield(keys.Key{}, withDefinition(ix.name, err))
			return
		}
		for row, err := range from.Rows(ctx, q) {
			if err != nil {
				yield(keys.Key{}, withDefinition(ix.name, err))
				return
			}
			k, is, err := namedBy(row)
			if err != nil {
				yield(keys.Key{}, withDefinition(ix.name, err))
				return
			}
			if is && door.Table(t).Mode.Schema.Mine((*stored.Row)(row)) {
				if limit--; !yield(k, nil) || limit == 0 {
					return
				}
			}
		}
	}
}

// queryRun is a query of an index in progress. The caller's cursor is behind the last entity that was yielded, although rows beyond
// it may have been read.
type queryRun[T, K any] struct {
	ix       *Index[T, K]
	table    *table.Table[T]
	q        table.Query[T]
	ofRows   table.Query[T] // finds the index rows
	cursor   *table.Cursor  // the caller's, or nil; the cursor of q may be ahead of it
	limit    int            // how many more entities to yield; all if less than 1
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
			r.q.Cursor = door.CopyCursor(q.Cursor)
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
			r.ofRows = q
			r.yieldCopies(ctx, rows)
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
	return door.CopyCursor(r.q.Cursor)
}

// moveTo moves the caller's cursor.
func (r *queryRun[T, K]) moveTo(to *table.Cursor) {
	if r.cursor != nil {
		*r.cursor = *to
	}
}

// yieldCopies yields the entities of full and projected copies in a table of rows.
func (r *queryRun[T, K]) yieldCopies(ctx context.Context, rows *table.Table[T]) {
	goOn, hasRow := true, r.ix.matcher()
	err := door.Copies(ctx, rows, &r.ofRows, func(row *stored.Row, e *table.Entity[T]) bool {
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
			all, batch = nil, pointerBatch
			if r.limit > 0 {
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
		i++
		if !r.yieldEntity(e, err) {
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
	if from, err = ix.readable(t); err != nil {
		return nil, q, err
	}
	if !ix.full() && door.Table(t).Mode.Schema.Query(&q).Where.Op != "" {
		return nil, q, &table.ValueError{Field: "Query.Where", Reason: "is set, but needs an index of full copies, whose rows contain all properties; filter the entities instead"}
	}
	if q.Rows, err = ix.rowsIn(q.Rows); err != nil {
		return nil, q, err
	}
	// The limit counts entities, and rows whose entity has changed yield none.
	if q.Limit > 0 && q.PageSize == 0 {
		q.PageSize = min(q.Limit, 1000)
		if ix.readsEntity() {
			q.PageSize = max(q.PageSize, pointerBatch)
		}
	}
	q.ReadAhead = q.ReadAhead && q.Limit <= 0 && (q.Budget.Requests == 0 || !ix.readsEntity()) // else the list cannot tell which page is needed
	q.Limit = min(q.Limit, 0)                                                                  // not the rows' limit, but an invalid limit stays an error
	return from, q, nil
}

// rowsIn returns the range of the stored rows for a range of the index or of its layout, and for an unset one.
func (ix *Index[T, K]) rowsIn(r keys.RowRange) (keys.RowRange, error) {
	all := ix.Rows().All()
	refuse := func(reason string) (keys.RowRange, error) {
		return r, &keys.KeyError{Key: "RowKey", Value: r.String(), Reason: reason}
	}
	switch _, _, closed := r.Bounds(); {
	case !r.IsSet():
		return ix.all(), nil
	case r.Err() != nil:
		return r, nil // the query returns the error
	case !within(r, all):
		return refuse("is not in the range of this index, " + all.String() + ": use a range of Index.Rows, or of its layout if that has a name")
	case closed && !ix.opt.unique:
		return refuse("has a last key, and the keys of this index go on behind their values: use a range of Index.Rows")
	}
	return ix.prefixedRange(r), nil
}

// Page is [table.Table.Page] by the index: it reads entities of a query from the position of a token on, "" for the beginning.
// The token can be stored, and used by another process. It is behind the last entity of the page, although index rows and
// entities beyond it may have been read.
//
//	q := table.Query[Employee]{Partition: dept.Of("Sales"), Rows: byName.Value("Jones"), Limit: 20}
//	page, err := byName.Page(ctx, staff, q, token)
//
// A page has Query.Limit entities, 1,000 if it is 0, unless the query ends. Token is "" after the last page. The last page is
// empty if the page before it contains all remaining entities.
//
// Errors: *table.ValueError for a corrupt token, and for a token of another table, index, query or
// version; *table.ValueError for a query with a Cursor; table.ErrNotReadable; table.ErrTableScan;
// table.ErrBudget; *keys.KeyError, *table.ValueError and *table.LimitError for the query, as in
// Query; *table.DefinitionError for a wrong definition, and for a handle without it; *table.DecodeError
// for a row that cannot be read; errors of a read (see package table). With table.ErrBudget, the
// page is returned as far as it was read, with its Token. Requests are those of Query: 1 for each
// 1,000, by pointers 1 more for each entity; and 1 more if the token is in the
// middle of one of the service's pages, or if entities of index rows have changed.
func (ix *Index[T, K]) Page(ctx context.Context, t *table.Table[T], q table.Query[T], token string) (*table.Page[T], error) {
	if q.Cursor != nil {
		return nil, withDefinition(ix.name, errPageCursor)
	}
	if q.Limit == 0 {
		q.Limit = 1000
	}
	q.Cursor = table.NewCursor(token)
	entities, err := table.Collect(ix.Query(ctx, t, q))
	if err != nil && !errors.Is(err, table.ErrBudget) {
		return nil, err
	}
	return &table.Page[T]{Entities: entities, Token: q.Cursor.Token()}, err
}

var errPageCursor = &table.ValueError{Field: "Query.Cursor", Reason: "is set, but a page begins at its token; use Query for a cursor"}

// Rows returns the ranges of the rows by their values, for a [table.Query]. They compare values, and if some of several fields are
// inverted, the lower bound is the value that sorts first. Intervals of [keys.Text] are for a unique index
// only; those of [keys.Ordered] for any.
//
//	q := table.Query[Employee]{Partition: dept.Of("Sales"), Rows: byHire.Rows().AtLeast(monday)}
//
// A query also takes the ranges of the layout that was given to New, if that has a name: of an index by name and age,
// layout.Under("Jones").All() selects a name.
func (ix *Index[T, K]) Rows() *keys.RowRanges[K] {
	if ix.opt.unique {
		return ix.byValue.Rows()
	}
	return ix.byValueAndKey.Rows().(*keys.RowRanges[K])
}

// Value returns the range of the rows under the value k; see [Index.Rows].
func (ix *Index[T, K]) Value(k K) keys.RowRange {
	if ix.opt.unique {
		return ix.byValue.RowKey(k).Point()
	}
	return ix.byValueAndKey.Prefix(k)
}

// all returns the range of all rows of the index, as they are stored.
func (ix *Index[T, K]) all() keys.RowRange { return ix.prefixedRange(ix.Rows().All()) }

// within reports whether a range is inside another.
func within(r, all keys.RowRange) bool {
	from, to, closed := r.Bounds()
	first, last, lastClosed := all.Bounds()
	if keys.Compare(from, first) < 0 || to == "" {
		return false
	}
	n := keys.Compare(to, last)
	return n < 0 || n == 0 && (lastClosed || !closed)
}

// readsEntity reports whether a look-up reads the entity that an index row names.
func (ix *Index[T, K]) readsEntity() bool { return ix.content == keyOnly }

// readable returns the handle of the table where the rows of the definition are. Errors: table.ErrNotReadable; *table.DefinitionError if the
// definition is wrong, or t does not have it.
func (ix *Index[T, K]) readable(t *table.Table[T]) (rows *table.Table[T], err error) {
	if err := engine.CheckHandle("t", door.Table(t)); err != nil {
		return nil, err
	}
	if ix.invalid != nil {
		return nil, ix.invalid
	}
	// An index without rows and an index that the table does not have would look the same, and so
	// would an index of the same name.
	if m := door.Table(t).Mode.Maintainer(ix.name); m != nil {
		if e, is := m.Typed().(ofElsewhere[T]); is && e.Definition() == ix.definition {
			return ix.lookingUp(t, e.rowsTable()), nil
		}
		if m, is := m.Typed().(derived.Maintainer); is && m.Definition() == ix.definition {
			return ix.lookingUp(t, t), nil
		}
	}
	return nil, &table.DefinitionError{Definition: ix.name, Field: "table", Reason: "does not have the definition: use the handle of a table that the same definition was given to"}
}

// lookingUp returns a handle of the rows of the index whose reads are answers only while the index is readable.
func (ix *Index[T, K]) lookingUp(t, rows *table.Table[T]) *table.Table[T] {
	of := &door.Table(t).Mode
	if of.Guard == nil && of.Ends == nil {
		return rows
	}
	return door.InMode(rows, func(m *engine.Mode) {
		if of.Guard != nil {
			m.LookUp = &engine.LookUp{Guard: of.Guard, Definition: ix.name}
		}
		switch {
		case ix.readsEntity(): // which says whether it is over
			m.Ends = nil
		case of.Ends != nil && rows != t:
			m.Ends = new(engine.Ends)
		}
	})
}
