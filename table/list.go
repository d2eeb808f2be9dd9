package table

import (
	"context"
	"iter"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// List yields the entities of a query in the order of their keys:
//
//	for e, err := range staff.List(ctx, table.Query[Employee]{Partition: dept.Of("Sales")}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(e.Value.LastName)
//	}
//
// An error is yielded once, and ends the list. The loop sends the requests, and each loop over the list starts from the beginning,
// unless the query has a [Cursor]. Rows whose key belongs to another layout are left out, and counted in Query.Stats.
//
// Errors: ErrTableScan for a query without a partition; *LimitError for more than 15 comparisons; *ValueError for values that
// cannot be compared; *keys.KeyError; *DecodeError for a row that does not fit T; ErrBudget; ErrTableNotFound. Requests: 1 for each
// page, which is 1,000 rows or Query.PageSize. The service may return shorter pages, also empty ones. With
// Query.ReadAhead, the next page travels while the loop works on one.
func (t *Table[T]) List(ctx context.Context, q Query[T]) iter.Seq2[*Entity[T], error] {
	plain := q.engine()
	return func(yield func(*Entity[T], error) bool) {
		if err := t.h.listAll(ctx, plain, func(e entity) bool { return yield(e.(*Entity[T]), nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// listAll gives the entities of a query to yield, until yield returns false.
func (h handle) listAll(ctx context.Context, q engine.Query, yield func(entity) bool) error {
	return h.list(ctx, "List", *h.shape.query(q, true), h.shape.read, yield)
}

// list gives the entities of a query to yield, as read makes them, until yield returns false.
func (h handle) list(ctx context.Context, method string, q engine.Query, read func(*edm.Reader, edm.Entity) (entity, bool, error), yield func(entity) bool) error {
	return public(h.engine.List(ctx, method, q, &entities{read: read, yield: yield}))
}

// entities is the engine's Lister of entities.
type entities struct {
	read  func(*edm.Reader, edm.Entity) (entity, bool, error)
	yield func(entity) bool
	last  entity
}

func (l *entities) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	l.last, mine, err = l.read(r, in)
	return mine, err
}

func (l *entities) Yield() bool { return l.yield(l.last) }

// rowLister is the engine's Lister of rows.
type rowLister struct {
	yield func(*Row, error) bool
	last  *Row
}

func (l *rowLister) Read(r *edm.Reader, in edm.Entity) (mine bool, err error) {
	columns, err := r.Columns()
	l.last = &Row{Key: keys.Stored(in.PartitionKey, in.RowKey), ETag: azcore.ETag(in.ETag), Timestamp: in.Timestamp, columns: columns}
	return true, err
}

func (l *rowLister) Yield() bool { return l.yield(l.last, nil) }

// Rows yields the rows of a query as they are stored, whatever their type, in the order of their keys. Without Query.Rows, it reads
// the whole partition except the library's own rows. Requests and errors are those of List.
func (t *Table[T]) Rows(ctx context.Context, q Query[T]) iter.Seq2[*Row, error] {
	return t.h.listRows(ctx, q.engine())
}

//go:noinline
func (h handle) listRows(ctx context.Context, q engine.Query) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		if err := h.engine.List(ctx, "Rows", *h.shape.query(q, false), &rowLister{yield: yield}); err != nil {
			yield(nil, public(err))
		}
	}
}
