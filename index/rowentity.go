package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// namedBy returns the key of the entity that an index row names. is is false for a foreign row and for a tombstone. Errors:
// *table.DecodeError.
func namedBy(row *table.Row) (k keys.Key, is bool, err error) {
	k, is = row.Engine().Primary()
	return k, is && k.Err() == nil && !reconcile.IsTombstone(row), ownerError(row)
}

// ownerError returns the error of a row whose owner another program has stored with another type. Without it, the row would be taken
// for a foreign one, and left out. Errors: *table.DecodeError.
func ownerError(row *table.Row) error {
	_, err := stored.Text(row, reserved.Owner)
	if err != nil {
		err = fmt.Errorf("%w; delete the row, and verify.Run with Repair writes it again", err)
	}
	return err
}

// entityOf returns the entity of an index row, nil if there is none or it does not have the row's value.
func (ix *Index[T, K]) entityOf(ctx context.Context, t *table.Table[T], row *table.Row) (e *table.Entity[T], err error) {
	k, is, err := namedBy(row)
	if err != nil || !is {
		return nil, err
	}
	mustRead := ix.readsEntity()
	if !mustRead {
		if e, mustRead, err = ix.decodeCopy(t, row); err != nil {
			return nil, err
		}
	}
	if mustRead {
		return ix.readEntity(ctx, t, k, row.Key)
	}
	return ix.ifCurrent(e, row.Key), nil
}

// entityOfCopy is entityOf for what Copies yields: e is the entity of a full copy, nil for other rows. hasRow is Index.hasRow or a matcher.
func (ix *Index[T, K]) entityOfCopy(ctx context.Context, t *table.Table[T], row *engine.Row, e *table.Entity[T], hasRow func(v *T, primary, row keys.Key) bool) (*table.Entity[T], error) {
	switch {
	case e == nil:
		return ix.entityOf(ctx, t, table.RowOf(row))
	case ix.readsEntity(), !ix.full():
		return ix.readEntity(ctx, t, e.Key, row.Key)
	}
	return current(e, row.Key, hasRow), nil
}

// readEntity reads the entity of an index row. It returns nil if there is none or it does not have the row's value.
func (ix *Index[T, K]) readEntity(ctx context.Context, t *table.Table[T], k, row keys.Key) (*table.Entity[T], error) {
	e, err := t.Get(ctx, k)
	switch {
	case errors.Is(err, table.ErrNotFound), derived.IsForeign(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return ix.ifCurrent(e, row), nil
}

// decodeCopy returns the entity of a copy. mustRead reports that the entity itself must be read, because the copy is of another
// kind than the index makes now, or of an older version that only a whole row can be upgraded from.
func (ix *Index[T, K]) decodeCopy(t *table.Table[T], row *table.Row) (e *table.Entity[T], mustRead bool, err error) {
	if _, isFull := row.Get(reserved.OperationID); ix.full() != isFull {
		return nil, true, nil
	}
	if !ix.full() {
		only, err := t.Engine().Mode.Schema.Properties(untyped(ix.opt.Only)...)
		if err != nil || row.Engine().ProjectionID() != projectionID(only) {
			return nil, true, err
		}
	}
	e, err = t.Entity(row)
	var old *table.VersionError
	switch {
	case derived.IsForeign(err), errors.As(err, &old) && old.Got < old.Want:
		return nil, true, nil // Get returns the error
	}
	return e, false, err
}

// ifCurrent returns the entity if the row follows from it, else nil.
func (ix *Index[T, K]) ifCurrent(e *table.Entity[T], row keys.Key) *table.Entity[T] {
	return current(e, row, ix.hasRow)
}

// current is ifCurrent with Index.hasRow or a matcher.
func current[T any](e *table.Entity[T], row keys.Key, hasRow func(v *T, primary, row keys.Key) bool) *table.Entity[T] {
	if !hasRow(&e.Value, e.Key, row) {
		return nil
	}
	return e
}
