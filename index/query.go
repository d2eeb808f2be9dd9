package index

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// List yields the entities that have the value k in a partition, in the order of their keys. Errors are those of [Index.Query].
// Requests: 1 for each 1,000; with Pointer or ReadEntities 1 more for each entity, 10 at a time.
func (ix *Index[T, K]) List(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) iter.Seq2[*table.Entity[T], error] {
	return func(yield func(*table.Entity[T], error) bool) {
		of, err := ix.partitionForValue(partition, k)
		if err != nil {
			yield(nil, withDefinition(ix.name, err))
			return
		}
		ix.Query(ctx, t, table.Query[T]{Partition: of, Rows: ix.Value(k)})(yield)
	}
}

// Between yields the entities that have values from lo to hi, both included, in the order of the values (newest first if
// [keys.Desc] inverts them) and, if the index is not unique, of their keys. If some of several fields are inverted, lo is the value
// that sorts first; see [keys.Compound.Between]. keys.Text can be used in a unique index only; [keys.Ordered] in any. Requests are
// those of List.
func (ix *Index[T, K]) Between(ctx context.Context, t *table.Table[T], partition keys.Enc, lo, hi K) iter.Seq2[*table.Entity[T], error] {
	return ix.Query(ctx, t, table.Query[T]{Partition: partition, Rows: ix.Range(lo, hi)})
}

// Prefix yields the entities whose values begin with k, which is text or bytes, in the order of the values. For an index over
// several fields, Query with [Index.Under] yields the entities whose first field has a value. Requests are those of List.
func (ix *Index[T, K]) Prefix(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) iter.Seq2[*table.Entity[T], error] {
	return ix.Query(ctx, t, table.Query[T]{Partition: partition, Rows: ix.Starting(k)})
}

// Query is [table.Table.List] by the index. The query's Rows are a range of the index ([Index.Value], [Index.Range], …), and all of
// it if unset. Limits, pages, cursors and budgets are as in List; a budget also counts the requests for entities, and lets at least
// one be read. Conditions need a full copy without ReadEntities. With Pointer or ReadEntities, entities are read 10 at a time, up
// to 40 ahead of the loop.
//
// Errors: *DefinitionError if t is not a handle with this definition, ErrWriteOnly, *keys.KeyError for Rows of another range,
// *table.DecodeError for an index row whose `_sys` another program has stored with another type, and those of [table.Table.List].
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

// Keys yields the keys of the entities that a query finds, from the index rows alone: 1 request for each 1,000, also with Pointer
// and ReadEntities. It does not compare the index rows with the entities. Errors are those of Query.
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
			if is && t.Engine().Mode.Schema.Mine(row.Engine()) {
				if limit--; !yield(k, nil) || limit == 0 {
					return
				}
			}
		}
	}
}
