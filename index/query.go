package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
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
func notFound(t table.Handle) error {
	if door.Table(t).Mode.Guard != nil {
		return errNotFound
	}
	return errNotFoundUnfilled
}

// listed yields the entities of a list, each a tabledoor.Entity, until yield returns false.
type listed = func(yield func(tabledoor.Entity, error) bool)

// wanted is a value that is looked up.
type wanted struct {
	partition keys.PartitionKey // of the value, if each value has one of its own
	rows      keys.RowRange     // under the value
	row       keys.RowKey       // the only one, in a unique index
}

// lookUp is Index.Get.
func (ix *core) lookUp(
	ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, of wanted,
) (tabledoor.Entity, error) {
	ctx, end := door.Table(t).Span(ctx, "Get")
	e, err := ix.get(ctx, t, partition, of)
	end(err)
	if err != nil {
		return nil, withDefinition(ix.name, err)
	}
	return e, nil
}

func (ix *core) get(
	ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, of wanted,
) (tabledoor.Entity, error) {
	if ix.opt.unique {
		return ix.getUnique(ctx, t, partition, of)
	}
	if err := ix.checkPartition(t, partition); err != nil {
		return nil, err
	}
	var first tabledoor.Entity
	var failed error
	q := query.Query{Partition: ix.partitionFor(partition, of), Rows: of.rows, Limit: 2}
	ix.run(ctx, t, q, func(e tabledoor.Entity, err error) bool {
		if err == nil && first != nil {
			err = errSeveral
		}
		first, failed = e, err
		return err == nil
	})
	if failed != nil {
		return nil, failed
	}
	if first == nil {
		return nil, notFound(t)
	}
	return first, nil
}

// getUnique is get for unique values.
func (ix *core) getUnique(
	ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, of wanted,
) (tabledoor.Entity, error) {
	rows, err := ix.readable(t)
	if err != nil {
		return nil, err
	}
	at, err := ix.uniqueKey(t, partition, of)
	if err != nil {
		return nil, err
	}
	// Between the two reads, another entity may get the value: no entity has it only if the row has
	// not changed.
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
		row, copied, err := rows.GetCopy(ctx, at)
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

// uniqueKey returns the key of the only row under a value. A table with one partition needs no
// partition.
func (ix *core) uniqueKey(t tabledoor.Untyped, partition keys.PartitionKey, of wanted) (keys.Key, error) {
	if only := door.Table(t).Mode.Schema.Partitions(); !ix.elsewhere && !partition.IsSet() && only.IsPoint() {
		partition = keyrange.Partition(only)
	}
	pk, err1 := ix.partitionFor(partition, of).Result()
	rk, err2 := ix.stored(of.row)
	return keys.Raw(pk, rk), errors.Join(err1, err2)
}

// partitionFor returns the partition for a look-up of a value.
func (ix *core) partitionFor(partition keys.PartitionKey, of wanted) keys.PartitionKey {
	if ix.hasOwnPartitions() && ix.invalid == nil {
		return of.partition
	}
	return partition
}

// list is Index.List.
func (ix *core) list(ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, of wanted) listed {
	return ix.queryIn(ctx, t, partition, query.Query{Partition: ix.partitionFor(partition, of), Rows: of.rows})
}

// listIn is Index.Between and Index.Prefix.
func (ix *core) listIn(
	ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, rows keys.RowRange,
) listed {
	return ix.queryIn(ctx, t, partition, query.Query{Partition: partition, Rows: rows})
}

// queryIn is Query for a method whose caller gives the partition.
func (ix *core) queryIn(ctx context.Context, t tabledoor.Untyped, partition keys.PartitionKey, q query.Query) listed {
	if err := ix.checkPartition(t, partition); err != nil {
		return func(yield func(tabledoor.Entity, error) bool) { yield(nil, withDefinition(ix.name, err)) }
	}
	return ix.query(ctx, t, q)
}

// query is Index.Query.
func (ix *core) query(ctx context.Context, t tabledoor.Untyped, q query.Query) listed {
	return func(yield func(tabledoor.Entity, error) bool) {
		ix.run(ctx, t, q, func(e tabledoor.Entity, err error) bool {
			if err != nil {
				err = withDefinition(ix.name, err)
			}
			return yield(e, err)
		})
	}
}

// checkPartition returns the error of a partition that the caller has not given, and that does not
// follow from the definition or the table.
func (ix *core) checkPartition(t tabledoor.Untyped, partition keys.PartitionKey) error {
	if ix.invalid != nil || partition.IsSet() || ix.hasOwnPartitions() {
		return nil
	}
	of := door.Table(t)
	if !ix.elsewhere && of != nil && of.Mode.Schema != nil && of.Mode.Schema.Partitions().IsPoint() {
		return nil
	}
	return unsetPartition{}
}

// keysOf is Index.Keys.
func (ix *core) keysOf(ctx context.Context, t tabledoor.Untyped, q query.Query) iter.Seq2[keys.Key, error] {
	return func(yield func(keys.Key, error) bool) {
		limit, last := q.Limit, keys.Key{}
		from, q, err := ix.rowsQuery(t, q)
		if err != nil {
			yield(keys.Key{}, withDefinition(ix.name, err))
			return
		}
		for row, err := range from.RowsOf(ctx, q) {
			if err != nil {
				yield(keys.Key{}, withDefinition(ix.name, err))
				return
			}
			k, is, err := namedBy(row)
			if err != nil {
				yield(keys.Key{}, withDefinition(ix.name, err))
				return
			}
			if ix.pointsElsewhere() {
				base, points := engine.BaseOf(row.Key)
				is = is && points && base != last // several writes may have stored one for a while
				last = base
			}
			if is && door.Table(t).Mode.Schema.Mine((*stored.Row)(row)) {
				if limit--; !yield(k, nil) || limit == 0 {
					return
				}
			}
		}
	}
}

// queryRun is a query of an index in progress. The caller's cursor is behind the last entity that
// was yielded, although rows beyond it may have been read.
type queryRun struct {
	ix       *core
	table    tabledoor.Untyped
	rows     tabledoor.Untyped // the table where the index rows are
	q        query.Query
	ofRows   query.Query   // finds the index rows
	cursor   *query.Cursor // the caller's, or nil; the cursor of q may be ahead of it
	limit    int           // how many more entities to yield; all if less than 1
	deadline time.Time
	fetched  bool // an entity was read
	yield    func(tabledoor.Entity, error) bool
}

// pointer is an index row whose entity is to be read.
type pointer struct {
	entity   keys.Key
	row      keys.Key
	stored   time.Time     // by the service's clock
	position *query.Cursor // behind the row
}

// run yields the entities of a query until yield returns false.
func (ix *core) run(ctx context.Context, t tabledoor.Untyped, q query.Query, yield func(tabledoor.Entity, error) bool) {
	r := &queryRun{ix: ix, table: t, q: q, cursor: q.Cursor, limit: q.Limit, yield: yield}
	if q.Cursor != nil {
		r.q.Cursor = q.Cursor.Copy()
	}
	if q.Stats == nil {
		r.q.Stats = new(query.Stats)
	}
	if q.Budget.Time > 0 {
		r.deadline = time.Now().Add(q.Budget.Time)
	}
	rows, q, err := ix.rowsQuery(t, r.q)
	r.rows = rows
	switch {
	case err != nil:
		yield(nil, err)
	case ix.readsEntity():
		r.yieldPointed(ctx, rows.RowsOf(ctx, q))
	default:
		r.ofRows = q
		r.yieldCopies(ctx, rows)
	}
}

// yieldEntity yields an entity or an error, and nothing for nil. It reports whether the query
// continues.
func (r *queryRun) yieldEntity(e tabledoor.Entity, err error) bool {
	if e == nil && err == nil {
		return true
	}
	r.limit--
	return r.yield(e, err) && err == nil && r.limit != 0
}

// position returns the position of the query, nil if the caller has no cursor.
func (r *queryRun) position() *query.Cursor {
	if r.cursor == nil {
		return nil
	}
	return r.q.Cursor.Copy()
}

// moveTo moves the caller's cursor.
func (r *queryRun) moveTo(to *query.Cursor) {
	if r.cursor != nil {
		*r.cursor = *to
	}
}

// yieldCopies yields the entities of full and projected copies in a table of rows.
func (r *queryRun) yieldCopies(ctx context.Context, rows tabledoor.Untyped) {
	goOn, hasRow := true, r.ix.matcher()
	err := rows.Copies(ctx, r.ofRows, func(row *stored.Row, e tabledoor.Entity) bool {
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

// endWith yields the error that ends the rows. The cursor is behind the last row, and perhaps
// behind pages without rows.
func (r *queryRun) endWith(err error) {
	r.moveTo(r.position())
	r.yieldEntity(nil, err)
}

// pointerBatch is the number of pointers whose entities are read together: as many as GetMany reads
// ahead.
const pointerBatch = 40

// yieldPointed yields the entities that index rows name, read several at a time.
func (r *queryRun) yieldPointed(ctx context.Context, rows iter.Seq2[*table.Row, error]) {
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
			all = append(all, pointer{k, row.Key, row.Timestamp, r.position()})
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

// fetchBatch yields the entities of some index rows, as far as the budget allows, but at least one,
// so that a query that is resumed makes progress. It reports whether the query continues.
func (r *queryRun) fetchBatch(ctx context.Context, all []pointer) bool {
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
	goOn := true
	var wrong []pointer
	r.table.GetMany(ctx, ks, func(e tabledoor.Entity, err error) bool {
		left := false
		switch {
		case err == nil && r.ix.pointsElsewhere():
			e, left = r.ix.pointed(e, all[i].row)
		case err == nil:
			e = r.ix.ifCurrent(e, all[i].row)
		case errors.Is(err, table.ErrNotFound) || derived.IsForeign(err):
			e, err, left = nil, nil, true
		}
		if err == nil {
			r.moveTo(all[i].position)
		}
		if left {
			wrong = append(wrong, all[i])
		}
		i++
		goOn = r.yieldEntity(e, err)
		return goOn
	})
	if goOn && spent == nil {
		r.dropOld(ctx, wrong)
	}
	if !goOn {
		return false
	}
	if spent != nil {
		r.yieldEntity(nil, fmt.Errorf("%w (%w)", table.ErrBudget, spent))
		return false
	}
	return true
}

// dropOld deletes pointers that crashed programs have left a day ago. A program that may not do
// that leaves them.
func (r *queryRun) dropOld(ctx context.Context, wrong []pointer) {
	if !r.ix.pointsElsewhere() {
		return
	}
	t, rows := door.Table(r.table), door.Table(r.rows)
	wrong = slices.DeleteFunc(wrong, func(p pointer) bool { return rows.MayBeNamed(p.stored) })
	r.q.Stats.Requests += 3 * len(wrong)
	engine.InOrder(ctx, wrong, func(ctx context.Context, p pointer) (struct{}, error) {
		return struct{}{}, r.ix.dropOld(ctx, t, rows, p.row, p.entity)
	}, func(struct{}, error) bool { return true })
}

// rowsQuery returns the query of the index rows for a query, and the table where the rows are.
func (ix *core) rowsQuery(t tabledoor.Untyped, q query.Query) (from tabledoor.Untyped, rows query.Query, err error) {
	if from, err = ix.readable(t); err != nil {
		return nil, q, err
	}
	if !ix.full() && q.Where.Op != "" {
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
	// It reads ahead only if the list can tell which page is needed.
	q.ReadAhead = q.ReadAhead && q.Limit <= 0 && (q.Budget.Requests == 0 || !ix.readsEntity())
	// The rows have no limit of their own, but an invalid limit stays an error.
	q.Limit = min(q.Limit, 0)
	return from, q, nil
}

// rowsIn returns the range of the stored rows for a range of the index or of its layout, and for an
// unset one.
func (ix *core) rowsIn(r keys.RowRange) (keys.RowRange, error) {
	all := ix.values.all(ix.opt.unique)
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

// page is a table.Page.
type page struct {
	entities []tabledoor.Entity
	token    string
}

// page is Index.Page. The page is nil after an error that has none.
func (ix *core) page(ctx context.Context, t tabledoor.Untyped, q query.Query, token string) (*page, error) {
	if q.Cursor != nil {
		return nil, withDefinition(ix.name, errPageCursor)
	}
	if q.Limit == 0 {
		q.Limit = 1000
	}
	q.Cursor = query.NewCursor(token)
	p := &page{}
	var failed error
	ix.query(ctx, t, q)(func(e tabledoor.Entity, err error) bool {
		if err != nil {
			failed = err
			return false
		}
		p.entities = append(p.entities, e)
		return true
	})
	if failed != nil && !errors.Is(failed, table.ErrBudget) {
		return nil, failed
	}
	p.token = q.Cursor.Token()
	return p, failed
}

var errPageCursor = &table.ValueError{Field: "Query.Cursor", Reason: "is set, but a page begins at its token; use Query for a cursor"}

// all returns the range of all rows of the index, as they are stored.
func (ix *core) all() keys.RowRange { return ix.prefixedRange(ix.values.all(ix.opt.unique)) }

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
func (ix *core) readsEntity() bool { return ix.content == keyOnly }

// readable returns the handle of the table where the rows of the definition are. Errors:
// table.ErrNotReadable; *table.DefinitionError if the definition is wrong, or t does not have it.
func (ix *core) readable(t tabledoor.Untyped) (rows tabledoor.Untyped, err error) {
	if err := engine.CheckHandle("t", door.Table(t)); err != nil {
		return nil, err
	}
	if ix.invalid != nil {
		return nil, ix.invalid
	}
	// An index without rows and an index that the table does not have would look the same, and so
	// would an index of the same name.
	if m := door.Table(t).Mode.Maintainer(ix.name); m != nil {
		if e, is := m.Typed().(ofElsewhere); is && e.Definition() == ix.definition {
			return ix.lookingUp(t, e.rowsTable()), nil
		}
		if m, is := m.Typed().(derived.Maintainer); is && m.Definition() == ix.definition {
			return ix.lookingUp(t, t), nil
		}
	}
	return nil, &table.DefinitionError{Definition: ix.name, Field: "table", Reason: "does not have the definition: use the handle of a table that the same definition was given to"}
}

// lookingUp returns a handle of the rows of the index whose reads are answers only while the index
// is readable.
func (ix *core) lookingUp(t, rows tabledoor.Untyped) tabledoor.Untyped {
	of := &door.Table(t).Mode
	if of.Guard == nil && of.Ends() == nil {
		return rows
	}
	return door.InMode(rows, func(m *engine.Mode) {
		if of.Guard != nil {
			m.LookUp = &engine.LookUp{Guard: of.Guard, Definition: ix.name}
		}
		switch {
		case ix.readsEntity(): // which says whether it is over
			m.SetEnds(nil)
		case of.Ends() != nil && rows != t:
			m.SetEnds(new(engine.Ends))
		}
	})
}
