package verify

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/table"
)

// mustReread reports whether a write failed because of a concurrent writer, or has an unknown outcome.
func mustReread(err error) bool {
	return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) || errors.Is(err, table.ErrUnknownOutcome)
}

// writeRow replaces a row that was read, by its ETag, or deletes it if want is nil. A row that contains an operation ID and is no
// copy is an entity, and then gets a new operation ID.
func (in *partition[T]) writeRow(ctx context.Context, is, want *table.Row) error {
	if err := in.pace(ctx, 1); err != nil {
		return err
	}
	_, hasID := is.Get(reserved.OperationID)
	_, isCopy := is.Engine().Primary()
	rows := table.RowsOf(in.table.Engine(), hasID && !isCopy)
	e, err := rows.Entity(is)
	if err != nil {
		return err
	}
	if want == nil {
		return rows.Delete(ctx, e)
	}
	derived.KeepType(is, want)
	e.Value = *want
	return rows.Replace(ctx, e)
}

// removeEntity removes an entity from a row that should not name it, by the row's ETag: a concurrent write that makes it right
// changes the row.
func (in *partition[T]) removeEntity(ctx context.Context, d derived.PerEntity[T], row *table.Row, entity string) error {
	if row == nil {
		return nil
	}
	rest, err := d.Without(row, entity)
	if err != nil {
		return err
	}
	return in.writeRow(ctx, row, rest)
}

// releaseRows writes an entity so that the rows of a definition that it should not have are deleted, and removed from its maintainer
// state. Otherwise the entity's next write would delete the rows of the new owner. It adds no rows, because a row that the entity
// lacks may belong to another one.
func (in *partition[T]) releaseRows(ctx context.Context, d derived.PerEntity[T], e *table.Entity[T]) error {
	if err := in.pace(ctx, 2+in.rowsPerWrite()); err != nil {
		return err
	}
	return in.repairEntity(ctx, e, derived.RepairMode{ReleaseOnly: true, CheckUnique: true, Foreign: in.foreign}, d.Name())
}

// repairEntity writes an entity by a handle of repairTable.
func (in *partition[T]) repairEntity(ctx context.Context, e *table.Entity[T], mode derived.RepairMode, definitions ...string) error {
	t, err := in.repairTable(mode, definitions...)
	if err != nil {
		return err
	}
	in.entitiesWritten.Store(true)
	return t.Replace(ctx, e)
}
