package table

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// Exists tells whether there is a row under k, whatever it holds. 1 request, a point query that brings nothing but the
// keys. Errors: ErrTableNotFound, *keys.KeyError.
func (t *Table[T]) Exists(ctx context.Context, k keys.Key) (bool, error) {
	if err := k.Err(); err != nil {
		return false, t.opError("Exists", k, err)
	}
	q := Query[T]{Partition: k.Partition(), Rows: keys.Point(k.Row()), Limit: 1}
	for _, err := range list(t, ctx, "Exists", q, edm.PartitionKey+","+edm.RowKey, false, func(*edm.Reader, edm.Entity) (struct{}, bool, error) { return struct{}{}, true, nil }) {
		return err == nil, err
	}
	return false, nil
}

// Count returns the number of entities of a query, up to the query's limit. The service sends keys only, but reads and bills every
// row: for a number that is often asked for, use a summary. If the RowKey is computed from fields ([keys.BindFunc]), every row in the
// range of keys counts as T's. Errors are those of List. 1 request for each 1,000 rows.
func (t *Table[T]) Count(ctx context.Context, q Query[T]) (int, error) {
	n := 0
	for _, err := range list(t, ctx, "Count", q, t.choose(), true, func(r *edm.Reader, in edm.Entity) (struct{}, bool, error) {
		mine, err := t.ownsAny(r, in)
		return struct{}{}, mine, err
	}) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// owns tells by its keys and its type whether a row of which only some properties were read is one of T.
func (t *Table[T]) owns(r *edm.Reader, in edm.Entity) (bool, error) {
	var v T
	if t.schema.Row.Decode(&v, in.RowKey) != nil || t.schema.Partition.Decode(&v, in.PartitionKey) != nil {
		return false, nil
	}
	return t.current(r)
}

// ownsAny is owns also for rows of older versions.
func (t *Table[T]) ownsAny(r *edm.Reader, in edm.Entity) (bool, error) {
	mine, err := t.owns(r, in)
	var old *VersionError
	if errors.As(err, &old) && old.Got < old.Want {
		err = nil
	}
	return mine, err
}

// GetOrInsert returns the entity under the key that the schema makes of v, and inserts v if there is none; inserted reports which.
// Errors are those of Get and Insert; after ErrUnknownOutcome it may be called again. 1 request if the row exists, 2 if it does not,
// and 3 more for each concurrent writer that inserts and deletes it in between, Retry.ConflictAttempts times at most.
func (t *Table[T]) GetOrInsert(ctx context.Context, v *T) (e *Entity[T], inserted bool, err error) {
	ctx, end := t.span(ctx, "GetOrInsert")
	defer func() { end(err) }()
	insert := t.InsertOp(v)
	if insert.err != nil {
		return nil, false, t.opError("GetOrInsert", insert.key, insert.err)
	}
	for round := 1; ; round++ {
		e, err := t.getToWrite(ctx, "GetOrInsert", insert.key)
		if !errors.Is(err, ErrNotFound) {
			return e, false, err
		}
		e, err = t.storing(ctx, insert)
		var derived *DerivedError // a value is taken, and not the row
		if !errors.Is(err, ErrExists) || errors.As(err, &derived) || round >= t.opt.Retry.ConflictAttempts {
			return e, err == nil, err
		}
	}
}
