package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// ErrUnderway: the entity's move is not complete, so the entity cannot be restored yet.
var ErrUnderway = errors.New("archive: the entity's move is not complete; restore it later")

// Restore moves the newest incarnation of a key back, as a new incarnation, so that moves of the old one do not touch it. When
// Restore returns, the entity is in its table, with all its columns and derived rows; a worker deletes it from the destination.
//
// Errors: table.ErrNotFound if the destination does not contain the key; ErrUnderway if the move is not complete; table.ErrExists
// if the table contains another entity under that key by now; ErrRestored if a concurrent Restore was first; those of
// [table.Table.Insert], and about the row those of [table.Table.Get]. Requests: 6, and 1 more for each move that has stored the row
// and not moved the entity; and the worker's 6.
func (m *Mover[T]) Restore(ctx context.Context, k keys.Key) (*table.Entity[T], error) {
	archived, err := m.newestMoved(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("archive: Restore: %w", err)
	}
	t, err := maintain.With(m.as(engine.Move{Restored: archived.Incarnation}), &restoreMaintainer[T]{m.kind, archived.Incarnation})
	if err != nil {
		return nil, fmt.Errorf("archive: Restore: %w", err)
	}
	e, err := t.InsertRow(ctx, k, archived.Row.Engine())
	if err != nil {
		return nil, fmt.Errorf("archive: Restore: %w", err)
	}
	return e, nil
}

// newestMoved returns the newest incarnation of a key, if its move is complete. Before that, the archived row may be old, or may
// belong to an entity that was deleted. So newestMoved reads the row again once the move is seen to be complete.
func (m *Mover[T]) newestMoved(ctx context.Context, k keys.Key) (*ArchivedRow, error) {
	archived, err := m.newest(ctx, k)
	switch {
	case err != nil:
		return nil, err
	case archived == nil:
		return nil, table.ErrNotFound
	}
	switch moved, err := m.moved(ctx, archived, ""); {
	case err != nil:
		return nil, err
	case !moved:
		return nil, ErrUnderway
	}
	id := archived.ID
	if archived, err = m.to.Get(ctx, id); err == nil && (archived == nil || archived.Row == nil) {
		err = table.ErrNotFound
	} else if err == nil && archived.ID != id {
		err = fmt.Errorf("destination: %w: want a row of %v, %s", table.ErrForeignRow, k, id.Incarnation)
	}
	return archived, err
}
