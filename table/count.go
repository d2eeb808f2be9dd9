package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
)

// Exists reports whether there is a row under k, of any type. Errors: ErrTableNotFound; *keys.KeyError. 1 request, a point query
// whose response contains only the keys.
func (t *Table[T]) Exists(ctx context.Context, k keys.Key) (bool, error) {
	return t.h.exists(ctx, k)
}

func (h handle) exists(ctx context.Context, k keys.Key) (bool, error) {
	if err := engine.QueryErr(k); err != nil {
		return false, h.opError("Exists", k, err)
	}
	q := engine.Query{Partition: k.Partition(), Rows: keys.Point(k.Row()), Limit: 1, Select: edm.PartitionKey + "," + edm.RowKey}
	n, err := h.count(ctx, "Exists", q, false, func(*edm.Reader, edm.Entity) (bool, error) { return true, nil })
	return n > 0, err
}

// Count returns the number of entities of a query, up to the query's limit. The service sends keys only, but reads and bills every
// row: for a number that is often asked for, use a summary. If the RowKey is computed from fields ([keys.BindFunc]), every row in
// the range of keys counts as T's. Errors are those of List. 1 request for each 1,000 rows.
func (t *Table[T]) Count(ctx context.Context, q Query[T]) (int, error) {
	return t.h.countAll(ctx, q.engine())
}

func (h handle) countAll(ctx context.Context, q engine.Query) (int, error) {
	q.Select = h.shape.Select()
	return h.count(ctx, "Count", q, true, h.shape.ownsAny)
}

// count returns the number of rows that are mine.
func (h handle) count(ctx context.Context, method string, q engine.Query, own bool, mine func(*edm.Reader, edm.Entity) (bool, error)) (int, error) {
	q.HeadsOnly = true
	c := &counted{mine: mine}
	err := h.engine.List(ctx, method, *h.shape.query(q, own), c)
	return c.n, public(err)
}

// counted is the engine's Lister that counts.
type counted struct {
	mine func(*edm.Reader, edm.Entity) (bool, error)
	n    int
}

func (c *counted) Read(r *edm.Reader, in edm.Entity) (bool, error) { return c.mine(r, in) }
func (c *counted) Yield() bool                                     { c.n++; return true }

// GetOrInsert returns the entity under the key that the schema makes of v, and inserts v if there is none; inserted reports which.
// Errors are those of Get and Insert; after ErrUnknownOutcome it may be called again. 1 request if the row exists, 2 if it does
// not, and 3 more for each concurrent writer that inserts and deletes it in between, Retry.ConflictAttempts times at most.
func (t *Table[T]) GetOrInsert(ctx context.Context, v *T) (e *Entity[T], inserted bool, err error) {
	insert := t.InsertOp(v)
	got, inserted, err := t.h.getOrInsert(ctx, insert)
	e, err = typed[T](got, err)
	return e, inserted, err
}

func (h handle) getOrInsert(ctx context.Context, insert Op) (e entity, inserted bool, err error) {
	ctx, end := h.engine.Span(ctx, "GetOrInsert")
	defer func() { end(err) }()
	k := insert.op.Key
	if insert.op.Err != nil {
		return nil, false, h.opError("GetOrInsert", k, insert.op.Err)
	}
	for attempt := 1; ; attempt++ {
		e, err := h.getToWrite(ctx, "GetOrInsert", k)
		if !errors.Is(err, ErrNotFound) {
			return e, false, err
		}
		err = insert.send(ctx)
		var derived *DerivedError // a value is taken, and not the row
		if !errors.Is(err, ErrExists) || errors.As(err, &derived) || attempt >= h.engine.Options.Retry.ConflictAttempts {
			return insert.stored(), err == nil, err
		}
		h.engine.Log("GetOrInsert", k).Conflict(ctx, attempt, 0, err)
	}
}
