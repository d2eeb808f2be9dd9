package index

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Get returns the entity that has the value k in a partition: of the entities or, with [Global.In],
// of the rows. A copy in another partition may be older than its entity; a look-up by a pointer
// reads the entity itself. A full copy has the entity's key, fields and other columns as they were
// last written; Replace, Merge and Delete of it read the row first, and fail with table.ErrChanged
// if the row is not as it was copied. An entity of a projected copy has only the copied fields: it
// is Partial, and cannot be written.
//
// Entities that other programs have stored without the index are not found until they are written
// again or verify.Repair has added them.
//
// Errors:
//   - table.ErrNotFound
//   - one that names List, if several entities have the value of an index that is not unique
//   - table.ErrChanged if a unique value went from one entity to another at each of
//     Retry.ConflictAttempts attempts
//   - table.ErrNotReadable
//   - *keys.KeyError
//   - *table.DefinitionError for a wrong definition, and for a handle without it
//   - *table.DecodeError for a row that does not fit T
//   - errors of a read (see package table)
//
// Requests: 1; 2 by a pointer. If the row's entity no longer has the value, 1 more: Get reads the
// row again. If several entities have the value of an index that is not unique, up to 2 of them are
// read.
func (ix *Index[T, K]) Get(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K) (*table.Entity[T], error) {
	c, v := ix.core()
	return typed[*table.Entity[T]](c.lookUp(ctx, tabledoor.Of(t), partition, v.wanted(c, k)))
}

// List yields the entities that have the value k in a partition, in the order of their keys.
// Errors: table.ErrNotReadable; *keys.KeyError; *table.DefinitionError for a wrong definition, and
// for a handle without it; *table.DecodeError for a row that does not fit T; errors of a read (see
// package table). Requests: 1 for each 1,000; by pointers 1 more for each entity, 10 at a time.
func (ix *Index[T, K]) List(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K) iter.Seq2[*table.Entity[T], error] {
	c, v := ix.core()
	return entities[T](c.list(ctx, tabledoor.Of(t), partition, v.wanted(c, k)))
}

// Between is [Index.Query] for a range of values: it yields the entities that have values from lo
// to hi, both included, in the order of the values (newest first if [keys.Desc] inverts them) and,
// if the index is not unique, of their keys. If some of several fields are inverted, lo is the
// value that sorts first. keys.Text can be used in a unique index only; [keys.Ordered] in any.
func (ix *Index[T, K]) Between(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, lo, hi K) iter.Seq2[*table.Entity[T], error] {
	c, _ := ix.core()
	return entities[T](c.listIn(ctx, tabledoor.Of(t), partition, ix.Rows().Between(lo, hi)))
}

// Prefix is [Index.Query] for the beginning of values: it yields the entities whose values begin
// with k, which is text or bytes, in the order of the values. For an index over several fields, see
// [Index.Rows].
func (ix *Index[T, K]) Prefix(ctx context.Context, t *table.Table[T], partition keys.PartitionKey, k K) iter.Seq2[*table.Entity[T], error] {
	c, _ := ix.core()
	return entities[T](c.listIn(ctx, tabledoor.Of(t), partition, ix.Rows().Starting(k)))
}

// Query is [table.Table.List] by the index. The query's Rows are a range of the index
// ([Index.Rows], [Index.Value]), and all of it if unset. Limits, pages, cursors and budgets are as
// in List; a budget also counts the requests for entities, and lets at least one be read.
// Conditions need full copies. Requests: 1 for each 1,000; by pointers 1 more for each entity, 10
// at a time and up to 40 ahead of the loop.
//
// Errors:
//   - table.ErrNotReadable
//   - table.ErrTableScan for a query without a partition
//   - table.ErrBudget
//   - *keys.KeyError for Rows of another range
//   - *table.ValueError for conditions that the index rows cannot answer
//   - *table.LimitError for too many conditions
//   - *table.DefinitionError for a wrong definition, and for a handle without it
//   - *table.DecodeError for a row that does not fit T, or whose `_sys` another program has stored
//     with another type
//   - *table.ValueError for a Cursor of another query
//   - errors of a read (see package table)
func (ix *Index[T, K]) Query(ctx context.Context, t *table.Table[T], q table.Query[T]) iter.Seq2[*table.Entity[T], error] {
	c, _ := ix.core()
	return entities[T](c.query(ctx, tabledoor.Of(t), tabledoor.QueryOf(&q)))
}

// Keys yields the keys of the entities that a query finds, from the index rows alone: 1 request for
// each 1,000, also by pointers. It does not compare the index rows with the entities.
//
// Errors:
//   - table.ErrNotReadable
//   - table.ErrTableScan
//   - table.ErrBudget
//   - *keys.KeyError, *table.ValueError and *table.LimitError for the query, as in Query
//   - *table.DefinitionError for a wrong definition, and for a handle without it
//   - *table.DecodeError for a row whose `_sys` another program has stored with another type
//   - errors of a read (see package table)
func (ix *Index[T, K]) Keys(ctx context.Context, t *table.Table[T], q table.Query[T]) iter.Seq2[keys.Key, error] {
	c, _ := ix.core()
	return c.keysOf(ctx, tabledoor.Of(t), tabledoor.QueryOf(&q))
}

// Page is [table.Table.Page] by the index: it reads entities of a query from the position of a
// token on, "" for the beginning. The token can be stored, and used by another process. It is
// behind the last entity of the page, although index rows and entities beyond it may have been
// read.
//
//	q := table.Query[Employee]{Partition: dept.Of("Sales"), Rows: byName.Value("Jones"), Limit: 20}
//	page, err := byName.Page(ctx, staff, q, token)
//
// A page has Query.Limit entities, 1,000 if it is 0, unless the query ends. Token is "" after the
// last page. The last page is empty if the page before it contains all remaining entities.
//
// Errors:
//   - *table.ValueError for a corrupt token, and for a token of another table, index, query or
//     version
//   - *table.ValueError for a query with a Cursor
//   - table.ErrNotReadable
//   - table.ErrTableScan
//   - table.ErrBudget
//   - *keys.KeyError, *table.ValueError and *table.LimitError for the query, as in Query
//   - *table.DefinitionError for a wrong definition, and for a handle without it
//   - *table.DecodeError for a row that cannot be read
//   - errors of a read (see package table)
//
// With table.ErrBudget, the page is returned as far as it was read, with its Token. Requests are
// those of Query: 1 for each 1,000, by pointers 1 more for each entity; and 1 more if the token is
// in the middle of one of the service's pages, or if entities of index rows have changed.
func (ix *Index[T, K]) Page(ctx context.Context, t *table.Table[T], q table.Query[T], token string) (*table.Page[T], error) {
	c, _ := ix.core()
	return pageOf[T](c.page(ctx, tabledoor.Of(t), tabledoor.QueryOf(&q), token))
}

// Rows returns the ranges of the rows by their values, for a [table.Query]. They compare values,
// and if some of several fields are inverted, the lower bound is the value that sorts first.
// Intervals of [keys.Text] are for a unique index only; those of [keys.Ordered] for any.
//
//	q := table.Query[Employee]{Partition: dept.Of("Sales"), Rows: byHire.Rows().AtLeast(monday)}
//
// A query also takes the ranges of the layout that was given to New, if that has a name: of an
// index by name and age, layout.Under("Jones").All() selects a name.
func (ix *Index[T, K]) Rows() *keys.RowRanges[K] {
	c, v := ix.core()
	return v.ranges(c.opt.unique)
}

// Value returns the range of the rows under the value k; see [Index.Rows].
func (ix *Index[T, K]) Value(k K) keys.RowRange {
	c, v := ix.core()
	return v.value(c.opt.unique, k)
}

// typed returns an entity with its type, a *table.Entity (E).
func typed[E any](e tabledoor.Entity, err error) (E, error) {
	typed, _ := e.(E)
	return typed, err
}

// entities returns a list with the type of its entities.
func entities[T any](of listed) iter.Seq2[*table.Entity[T], error] {
	return tabledoor.Typed[*table.Entity[T]](of)
}

//go:noinline
func pageOf[T any](p *page, err error) (*table.Page[T], error) {
	if p == nil {
		return nil, err
	}
	made := &table.Page[T]{Token: p.token}
	for _, e := range p.entities {
		made.Entities = append(made.Entities, e.(*table.Entity[T]))
	}
	return made, err
}
