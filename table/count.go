package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// justKeys is the projection of those who count.
const justKeys = edm.PartitionKey + "," + edm.RowKey

// Exists tells whether there is a row under k, whatever it holds. 1 request, a point query that brings nothing but the
// keys. Errors: ErrTableNotFound, *keys.KeyError.
func (t *Table[T]) Exists(ctx context.Context, k keys.Key) (bool, error) {
	if err := k.Err(); err != nil {
		return false, t.opError("Exists", k, err)
	}
	q := Query[T]{Partition: k.Partition(), Rows: keys.Point(k.Row()), Limit: 1}
	for _, err := range list(t, ctx, "Exists", q, justKeys, false, func(*edm.Reader, edm.Entity) (struct{}, bool, error) { return struct{}{}, true, nil }) {
		return err == nil, err
	}
	return false, nil
}

// Count counts the entities of a query, up to its limit if it has one. Only keys travel, but the service reads and pays for
// every row: for a number that is asked for often keep a summary. 1 request for each 1000 rows. Errors are those of List.
// Where the RowKey is computed from fields (keys.BindFunc), every row in the range of keys counts as T's.
func (t *Table[T]) Count(ctx context.Context, q Query[T]) (int, error) {
	n := 0
	for _, err := range list(t, ctx, "Count", q, justKeys, true, func(_ *edm.Reader, in edm.Entity) (struct{}, bool, error) {
		return struct{}{}, t.owns(in), nil
	}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// owns tells by its keys whether a row is one of T.
func (t *Table[T]) owns(in edm.Entity) bool {
	var v T
	return t.schema.Row.Decode(&v, in.RowKey) == nil && t.schema.Partition.Decode(&v, in.PartitionKey) == nil
}

// GetOrInsert returns the entity under the key that the schema makes of v, and inserts v if there is none. inserted tells
// which. 1 request where the row exists, 2 where it does not, and 2 more for each rival that inserts or deletes it in
// between, Retry.Rounds times at most. Errors are those of Get and Insert; after ErrUnknownOutcome it may be called again.
func (t *Table[T]) GetOrInsert(ctx context.Context, v *T) (e *Entity[T], inserted bool, err error) {
	ctx, end := t.span(ctx, "GetOrInsert")
	defer func() { end(err) }()
	insert := t.InsertOp(v)
	if insert.err != nil {
		return nil, false, t.opError("GetOrInsert", insert.key, insert.err)
	}
	for round := 1; ; round++ {
		e, err := t.get(ctx, "GetOrInsert", insert.key)
		if !errors.Is(err, ErrNotFound) {
			return e, false, err
		}
		e, err = t.storing(ctx, insert)
		if !errors.Is(err, ErrExists) || round >= t.opt.Retry.Rounds {
			return e, err == nil, err
		}
	}
}
