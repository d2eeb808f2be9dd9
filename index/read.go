package index

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// readsEntity reports whether a look-up reads the entity that an index row names.
func (ix *Index[T, K]) readsEntity() bool { return ix.opt.Pointer || ix.opt.ReadEntities }

// checkReadable fails for an index that cannot be read through a handle.
func (ix *Index[T, K]) checkReadable(t *table.Table[T]) error {
	switch {
	case t == nil:
		return &table.ValueError{Field: "table", Reason: "is nil"}
	case ix.invalid != nil:
		return ix.invalid
	case ix.opt.WriteOnly:
		return ErrWriteOnly
	case t.Engine().Mode.Maintainer(ix.name) == nil:
		return errNotAttached(ix.name) // an index without rows and an index that was not attached would look the same
	}
	return nil
}

func errNotAttached(definition string) error {
	return &DefinitionError{Definition: definition, Field: "table", Reason: "does not have the definition attached: use the handle that Attach has returned, and the same definition"}
}

// uniqueKey returns the key of the only row under a value. A table with one partition needs no partition.
func (ix *Index[T, K]) uniqueKey(t *table.Table[T], partition keys.Enc, k K) (keys.Key, error) {
	if only := t.Engine().Mode.Schema.Partitions(); !partition.IsSet() && only.IsPoint() {
		partition = only.Point()
	}
	pk, err1 := partition.Result()
	rk, err2 := ix.rowKey(k, keys.Key{})
	return keys.Stored(pk, rk), errors.Join(err1, err2)
}

// entityOf returns the entity of an index row, nil if there is none or it does not have the row's value.
func (ix *Index[T, K]) entityOf(ctx context.Context, t *table.Table[T], row *table.Row) (e *table.Entity[T], err error) {
	k, is := row.Engine().Primary()
	if !is || k.Err() != nil {
		return nil, nil // a foreign row
	}
	whole := ix.readsEntity()
	if !whole {
		if e, whole, err = ix.decodeCopy(t, row); err != nil {
			return nil, err
		}
	}
	if whole {
		if e, err = t.Get(ctx, k); errors.Is(err, table.ErrNotFound) || derived.IsForeign(err) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return ix.ifCurrent(e, row.Key.RowKey()), nil
}

// decodeCopy returns the entity of a copy. It reports unfit if the entity itself must be read, because the copy is of another kind
// than the index makes now, or of an older version that only a whole row can be upgraded from.
func (ix *Index[T, K]) decodeCopy(t *table.Table[T], row *table.Row) (e *table.Entity[T], unfit bool, err error) {
	if _, named := row.Get(reserved.OperationID); ix.full() != named {
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
func (ix *Index[T, K]) ifCurrent(e *table.Entity[T], row string) *table.Entity[T] {
	if !ix.hasRow(&e.Value, e.Key, row) {
		return nil
	}
	return e
}
