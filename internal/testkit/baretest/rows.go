package baretest

import (
	"context"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Exists reports whether there is a row under k, of any type. Errors: *keys.KeyError,
// table.ErrNotCreated and the other errors of a read (see package table). 1 request, a point query
// whose response contains only the keys.
func Exists(ctx context.Context, t table.Handle, k keys.Key) (bool, error) {
	return tabledoor.Of(t).Exists(ctx, k)
}

// InsertAtOp is [table.Table.InsertAt] as an operation of a transaction.
func InsertAtOp[T any](t *table.Table[T], k keys.Key, v *T) table.Op {
	return tabledoor.Of(t).InsertAtOp(k, entity(v))
}

// UpsertAtOp is [UpsertAt] as an operation of a transaction.
func UpsertAtOp[T any](t *table.Table[T], k keys.Key, v *T, mode table.UpsertMode) table.Op {
	return tabledoor.Of(t).UpsertAtOp(k, entity(v), mode)
}

// UpsertAt is [table.Table.Upsert] under an explicit key.
func UpsertAt[T any](
	ctx context.Context, t *table.Table[T], k keys.Key, v *T, mode table.UpsertMode,
) (*table.Entity[T], error) {
	e, err := tabledoor.Of(t).UpsertAt(ctx, k, entity(v), mode)
	if err != nil {
		return nil, err
	}
	return e.(*table.Entity[T]), nil
}

// MergeAnyOp is [table.Table.MergeAny] as an operation of a transaction.
func MergeAnyOp[T any](t *table.Table[T], k keys.Key, changes ...table.Set[T]) table.Op {
	all := make([]any, len(changes))
	for i, c := range changes {
		all[i] = c
	}
	return tabledoor.Of(t).MergeAnyOp(k, all)
}

// ReplaceAnyOp is [table.Table.ReplaceAny] as an operation of a transaction.
func ReplaceAnyOp[T any](t *table.Table[T], e *table.Entity[T]) table.Op {
	return tabledoor.Of(t).ReplaceAnyOp(e)
}

// Touch changes no property of the entity, but calls the maintainers, which may add rows and
// effects, by the ETag of e. It renews that ETag. Errors: table.ErrChanged; table.ErrNotFound;
// table.ErrNotRead; *table.ValueError for an entity of an older version; errors of a write. 1
// request, and 1 more if e is not the whole row, or if the row has changed.
func Touch[T any](ctx context.Context, t *table.Table[T], e *table.Entity[T]) error {
	return tabledoor.Of(t).Touch(ctx, e)
}

// TouchOp is [Touch] as an operation of a transaction.
func TouchOp[T any](t *table.Table[T], e *table.Entity[T]) table.Op {
	return tabledoor.Of(t).TouchOp(e)
}

// Repaired returns how many derived rows were missing or changed, and were repaired by a write of
// their entity. It counts for this handle and those that bare.With and Exact have made of it, and
// for the handle that it was made of.
func Repaired(t table.Handle) int { return door.Table(t).Repaired() }

// entity returns a value as an entity, nil for nil.
func entity[T any](v *T) *table.Entity[T] {
	if v == nil {
		return nil
	}
	return &table.Entity[T]{Value: *v}
}
