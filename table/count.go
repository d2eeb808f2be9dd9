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

// Count counts the entities of a query, up to its limit if it has one. Only keys travel, but the service reads and pays for
// every row: for a number that is asked for often keep a summary. 1 request for each 1000 rows. Errors are those of List.
// Where the RowKey is computed from fields (keys.BindFunc), every row in the range of keys counts as T's.
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

// GetOrInsert returns the entity under the key that the schema makes of v, and inserts v if there is none. inserted tells
// which. 1 request where the row exists, 2 where it does not, and 3 more for each concurrent writer that inserts and deletes it in
// between, Retry.Rounds times at most. Errors are those of Get and Insert; after ErrUnknownOutcome it may be called again.
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
		if !errors.Is(err, ErrExists) || errors.As(err, &derived) || round >= t.opt.Retry.Rounds {
			return e, err == nil, err
		}
	}
}
