package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// errNothing is the error of a look-up that finds nobody. It says what a program that has just attached the index may have missed.
var errNotFound = fmt.Errorf("%w with this value in the index (an entity that was stored before the index was attached is found after Verify with Repair)", table.ErrNotFound)

// Get returns the entity that has the value k in a partition. A full copy has the entity's key, fields and other columns as they were
// last written; Replace, Merge and Delete of it read the row first, and fail with table.ErrChanged if the row is not as it was copied.
// An entity of a projected copy has only the copied fields. With Pointer or Verified, the entity is the row itself.
//
// Entities that were stored before the index was attached, or by handles without it, are not found until they are written again or
// Verify with Repair has added them. Errors: table.ErrNotFound; ErrSeveral if several entities have the value of an index that is not
// unique; table.ErrChanged if a unique value went from one entity to another at each of 8 look-ups; ErrWriteOnly; *keys.KeyError;
// *DefinitionError, also for a handle that the index is not attached to; those of table.Table.Get.
//
// Requests: 1; 2 with Pointer or Verified, and 1 more to confirm that no entity has the value if the row is wrong. If several entities
// have the value of an index that is not unique, up to 2 of them are read.
func (ix *Index[T, K]) Get(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) (*table.Entity[T], error) {
	e, err := ix.get(ctx, t, partition, k)
	if err != nil {
		return nil, withDefinition(ix.name, err)
	}
	return e, nil
}

func (ix *Index[T, K]) get(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) (found *table.Entity[T], err error) {
	if ix.opt.Unique == NotUnique {
		for e, err := range ix.query(ctx, t, table.Query[T]{Partition: partition, Rows: ix.Value(k), Limit: 2}) {
			switch {
			case err != nil:
				return nil, err
			case found != nil:
				return nil, ErrSeveral
			}
			found = e
		}
		if found == nil {
			return nil, errNotFound
		}
		return found, nil
	}
	if err := ix.checkReadable(t); err != nil {
		return nil, err
	}
	at, err := ix.uniqueKey(t, partition, k)
	if err != nil {
		return nil, err
	}
	// Between the index row and the entity, the value may change hands.
	var before *table.Row
	for range rounds {
		row, err := t.GetRow(ctx, at)
		if errors.Is(err, table.ErrNotFound) {
			return nil, fmt.Errorf("%w: %w", errNotFound, err)
		} else if err != nil {
			return nil, err
		}
		if before != nil && before.ETag == row.ETag {
			return nil, errNotFound // the row is wrong, and nobody has the value
		}
		e, err := ix.entityOf(ctx, t, row)
		if err != nil || e != nil {
			return e, err
		}
		before = row
	}
	return nil, fmt.Errorf("%w: the value is another's each time", table.ErrChanged)
}

// at is the key of the only row under a value. A partition need not be given where the table has but one.
func (ix *Index[T, K]) uniqueKey(t *table.Table[T], partition keys.Enc, k K) (keys.Key, error) {
	if only := t.PartitionRange(); !partition.IsSet() && only.IsPoint() {
		partition = only.Point()
	}
	pk, err1 := partition.Result()
	rk, err2 := ix.rowKey(k, keys.Key{})
	return keys.Stored(pk, rk), errors.Join(err1, err2)
}

// follows tells whether a look-up goes from the index row to the entity.
func (ix *Index[T, K]) readsEntity() bool { return ix.opt.Pointer || ix.opt.ReadEntities }

func (ix *Index[T, K]) checkReadable(t *table.Table[T]) error {
	switch {
	case t == nil:
		return &table.ValueError{Field: "table", Reason: "is nil"}
	case ix.invalid != nil:
		return ix.invalid
	case ix.opt.WriteOnly:
		return ErrWriteOnly
	case !slices.ContainsFunc(t.Maintainers(), func(m table.Maintainer[T]) bool { return m.Name() == ix.name }):
		return errNotAttached(ix.name) // nobody could tell whether it has no rows, or was forgotten
	}
	return nil
}

func errNotAttached(definition string) error {
	return &DefinitionError{Definition: definition, Field: "table", Reason: "does not keep it: use the handle that Attach has returned, and the same definition"}
}

// entity is what an index row stands for, nil if its entity does not have the row's value.
func (ix *Index[T, K]) entityOf(ctx context.Context, t *table.Table[T], row *table.Row) (e *table.Entity[T], err error) {
	k, is := row.Primary()
	if !is || k.Err() != nil {
		return nil, nil // somebody else's
	}
	whole := ix.readsEntity()
	if !whole {
		if e, whole, err = ix.decodeCopy(t, row); err != nil {
			return nil, err
		}
	}
	if whole {
		if e, err = t.Get(ctx, k); errors.Is(err, table.ErrNotFound) || isForeign(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return ix.ifCurrent(e, row.Key.RowKey()), nil
}

// copied is the entity of a copy, or tells that the entity itself must be read: for the copy is not of the kind that the index keeps
// now, or of an older version that only a whole row can be upgraded from.
func (ix *Index[T, K]) decodeCopy(t *table.Table[T], row *table.Row) (e *table.Entity[T], unfit bool, err error) {
	if _, named := row.Get(reserved.OperationID); ix.full() != named {
		return nil, true, nil
	}
	if !ix.full() {
		only, err := t.Properties(ix.opt.Only...)
		if err != nil || row.ProjectionID() != projectionID(only) {
			return nil, true, err
		}
	}
	e, err = t.Entity(row)
	var old *table.VersionError
	switch {
	case isForeign(err), errors.As(err, &old) && old.Got < old.Want:
		return nil, true, nil // as Get will say
	}
	return e, false, err
}

// having is the entity if one of its rows is this one, else nil.
func (ix *Index[T, K]) ifCurrent(e *table.Entity[T], row string) *table.Entity[T] {
	if !ix.hasRow(&e.Value, e.Key, row) {
		return nil
	}
	return e
}

// List yields the entities that have the value k in a partition, in the order of their keys. Errors are those of Get. Requests: 1 for
// each 1,000; with Pointer or Verified 1 more for each entity, 10 at a time.
func (ix *Index[T, K]) List(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) iter.Seq2[*table.Entity[T], error] {
	return ix.Query(ctx, t, table.Query[T]{Partition: partition, Rows: ix.Value(k)})
}

// Between yields the entities that have values from lo to hi, both included, in the order of the values (newest first if [keys.Desc]
// inverts them) and, if the index is not unique, of their keys. If some of several fields are inverted, lo is the value that sorts
// first; see [keys.Compound.Between]. keys.Text can be used in a unique index only; [keys.Ordered] in any. Requests are those of List.
func (ix *Index[T, K]) Between(ctx context.Context, t *table.Table[T], partition keys.Enc, lo, hi K) iter.Seq2[*table.Entity[T], error] {
	return ix.Query(ctx, t, table.Query[T]{Partition: partition, Rows: ix.Range(lo, hi)})
}

// Prefix yields the entities whose values begin with k, which is text or bytes, in the order of the values. For an index over several
// fields, Query with [Index.Under] yields the entities whose first field has a value. Requests are those of List.
func (ix *Index[T, K]) Prefix(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) iter.Seq2[*table.Entity[T], error] {
	return ix.Query(ctx, t, table.Query[T]{Partition: partition, Rows: ix.Starting(k)})
}

// Query is [table.Table.List] by the index. The query's Rows are a range of the index ([Index.Value], [Index.Range], …), and all of it
// if unset. Limits, pages, cursors and budgets are as in List; a budget also counts the requests for entities, and lets at least one
// be read. Conditions need a full copy without Verified. With Pointer or Verified, entities are read 10 at a time, up to 40 ahead of
// the loop.
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

// indexRows are the rows of a query of the index.
func (ix *Index[T, K]) queryRows(ctx context.Context, t *table.Table[T], q table.Query[T]) (iter.Seq2[*table.Row, error], error) {
	if err := ix.checkReadable(t); err != nil {
		return nil, err
	}
	if (!ix.full() || ix.readsEntity()) && !q.Where.IsZero() {
		return nil, &table.ValueError{Field: "Query.Where", Reason: "the rows of this index do not hold all properties, or are not what is answered"}
	}
	switch {
	case !q.Rows.IsSet():
		q.Rows = ix.All()
	case ix.opt.Reserved && q.Rows.Err() == nil && within(q.Rows, ix.byValueAndKey.All()):
		q.Rows = ix.prefixedRange(q.Rows) // of the layout itself
	case q.Rows.Err() == nil && !within(q.Rows, ix.All()):
		return nil, &keys.KeyError{Key: "RowKey", Value: q.Rows.String(), Reason: "is no range of this index, " + ix.All().String() + ": take one that it makes; Under makes one of a range of its layout"}
	}
	// Rows that turn out not to be of the index do not count.
	if q.Limit > 0 && q.PageSize == 0 {
		if q.PageSize = min(q.Limit, 1000); ix.readsEntity() {
			q.PageSize = max(q.PageSize, readAhead)
		}
	}
	q.Limit = min(q.Limit, 0)
	return t.Rows(ctx, q), nil
}

// within tells whether a range lies in another, by their bounds.
func within(r, all keys.Range) bool {
	from, to, closed := r.Bounds()
	first, last, lastClosed := all.Bounds()
	if keys.Compare(from, first) < 0 || to == "" {
		return false
	}
	n := keys.Compare(to, last)
	return n < 0 || n == 0 && (lastClosed || !closed)
}

// Keys yields the keys of the entities that a query finds, by the index alone: 1 request for each 1,000, also with Pointer and
// Verified. It does not compare the index rows with the entities. Errors are those of Query.
func (ix *Index[T, K]) Keys(ctx context.Context, t *table.Table[T], q table.Query[T]) iter.Seq2[keys.Key, error] {
	return func(yield func(keys.Key, error) bool) {
		limit := q.Limit
		rows, err := ix.queryRows(ctx, t, q)
		if err != nil {
			yield(keys.Key{}, withDefinition(ix.name, err))
			return
		}
		for row, err := range rows {
			if err != nil {
				yield(keys.Key{}, withDefinition(ix.name, err))
				return
			}
			if k, is := row.Primary(); is && t.Mine(row) {
				if limit--; !yield(k, nil) || limit == 0 {
					return
				}
			}
		}
	}
}

// Value is the range of the rows under the value k.
func (ix *Index[T, K]) Value(k K) keys.Range {
	if ix.opt.Unique == NotUnique {
		return ix.prefixedRange(ix.byValueAndKey.Prefix(k))
	}
	return ix.prefixedRange(keys.Point(ix.byValue.Of(k)))
}

// Range is the range of the rows under values from lo to hi, both included.
func (ix *Index[T, K]) Range(lo, hi K) keys.Range {
	if ix.opt.Unique == NotUnique {
		return ix.prefixedRange(ix.byValueAndKey.Between(lo, hi))
	}
	return ix.prefixedRange(ix.byValue.Between(lo, hi))
}

// AtLeast is the range of the rows under lo and greater values.
func (ix *Index[T, K]) AtLeast(lo K) keys.Range {
	if ix.opt.Unique == NotUnique {
		return ix.prefixedRange(ix.byValueAndKey.AtLeast(lo))
	}
	return ix.prefixedRange(ix.byValue.AtLeast(lo))
}

// AtMost is the range of the rows under hi and smaller values.
func (ix *Index[T, K]) AtMost(hi K) keys.Range {
	if ix.opt.Unique == NotUnique {
		return ix.prefixedRange(ix.byValueAndKey.AtMost(hi))
	}
	return ix.prefixedRange(ix.byValue.AtMost(hi))
}

// Starting is the range of the rows under values that begin with k, which is text or bytes.
func (ix *Index[T, K]) Starting(k K) keys.Range {
	return ix.prefixedRange(ix.byValueAndKey.Starting(k))
}

// Under is the range of the rows whose values are in a range of the layout that was given to New, if that range is open at its end, as
// a range of [keys.Layout2.Prefix] is: for an index by department and date, all of one department. If several entities may have a
// value, a range with a last value is not a range of the index; use [Index.Range] or AtMost.
func (ix *Index[T, K]) Under(r keys.Range) keys.Range {
	all := ix.byValueAndKey.All()
	if !r.IsSet() || r.Err() != nil || within(r, all) {
		return ix.prefixedRange(r)
	}
	from, to, closed := r.Bounds()
	switch {
	case to == "":
		return ix.All()
	case closed && ix.opt.Unique == NotUnique:
		return r
	case closed:
		to += " " // the first key behind it
	}
	name, _, _ := all.Bounds()
	return ix.prefixedRange(keys.StoredBetween(name+from, name+to))
}

// All is the range of all rows of the index.
func (ix *Index[T, K]) All() keys.Range { return ix.prefixedRange(ix.byValueAndKey.All()) }
