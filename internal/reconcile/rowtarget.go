package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Row is a [Target] that is one derived row. It takes 2 requests.
type Row struct {
	Table commit.Table // any handle of the table where the row is
	Key   keys.Key

	// Follow returns what the row should be, never nil and under Key, for what is stored and for the entity, each nil if there is
	// none. An error ends the execution.
	Follow func(stored, entity *table.Row) (*table.Row, error)

	// IsTombstone reports whether a stored row can be deleted once it is old.
	IsTombstone func(stored *table.Row) bool

	stored *table.Row
}

var _ Target = (*Row)(nil)

// Read reads the row. 1 request.
func (r *Row) Read(ctx context.Context) (err error) {
	if r.stored, err = table.RowsOf(r.Table.Engine(), false).GetRow(ctx, r.Key); errors.Is(err, table.ErrNotFound) {
		return nil
	}
	return err
}

// Write stores what Follow returns. 1 request.
func (r *Row) Write(ctx context.Context, entity *table.Row) error {
	want, err := r.Follow(r.stored, entity)
	if err != nil {
		return fmt.Errorf("%v in table %s: %w", r.Key, r.Table.Name(), err)
	}
	return r.store(ctx, want)
}

func (r *Row) store(ctx context.Context, want *table.Row) error {
	row := *want.Engine()
	row.Key = r.Key
	if r.stored == nil {
		return table.ErrorOf(r.Table.Engine().WriteRow(ctx, "Reconcile", &row, ""))
	}
	return table.ErrorOf(r.Table.Engine().WriteRow(ctx, "Reconcile", &row, r.stored.ETag))
}

// Sweep deletes an old tombstone. 1 request.
func (r *Row) Sweep(ctx context.Context, before time.Time) error {
	if r.stored == nil || !r.stored.Timestamp.Before(before) || !r.IsTombstone(r.stored) {
		return nil
	}
	rows := table.RowsOf(r.Table.Engine(), false)
	e, err := rows.Entity(r.stored)
	if err != nil {
		return err
	}
	return rows.Delete(ctx, e)
}

// gone is the projection ID of tombstones. That of a copy has other characters.
const gone = "~"

// Tombstone returns the row that says that there is no row of an entity under a key.
func Tombstone(entity, at keys.Key) *table.Row {
	return table.RowOf((&table.Row{Key: entity}).Engine().Copy(at, gone))
}

// IsTombstone reports whether a row is a Tombstone.
func IsTombstone(row *table.Row) bool {
	_, isCopy := row.Engine().Primary()
	return isCopy && row.Engine().ProjectionID() == gone
}
