package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Restore moves the newest incarnation of a key back, as a new incarnation, so that moves of the old one do not touch it. When Restore
// returns, the entity is in its table, with all its columns and derived rows; a worker deletes it from the destination.
//
// Errors: table.ErrNotFound if the destination does not have the key; ErrUnderway if the entity is not moved yet; table.ErrExists if the table
// has another entity of that key by now; ErrRestored if another Restore was faster; those of [table.Table.InsertRow]. Requests: 6, and 1
// more for each move that has put the entity and not moved it; and the worker's 6.
func (m *Mover[T]) Restore(ctx context.Context, k keys.Key) (*table.Entity[T], error) {
	there, err := m.archived(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("archive: Restore: %w", err)
	}
	t, err := m.from.With(nil, &restores[T]{m.kind, there.Incarnation})
	if err != nil {
		return nil, fmt.Errorf("archive: Restore: %w", err)
	}
	e, err := t.InsertRow(ctx, k, there.Row)
	if err != nil {
		return nil, fmt.Errorf("archive: Restore: %w", err)
	}
	return e, nil
}

// archived is the newest life of a key, once it was moved: before that, what is in the destination is an attempt, which may be old, or
// of an entity that was deleted. So it is read again when its move is seen to be over.
func (m *Mover[T]) archived(ctx context.Context, k keys.Key) (*ArchivedRow, error) {
	there, err := m.newest(ctx, k)
	switch {
	case err != nil:
		return nil, err
	case there == nil:
		return nil, table.ErrNotFound
	}
	switch over, err := m.over(ctx, there, ""); {
	case err != nil:
		return nil, err
	case !over:
		return nil, ErrUnderway
	}
	id := there.ID
	if there, err = m.to.Get(ctx, there.ID); err == nil && (there == nil || there.Row == nil) {
		err = table.ErrNotFound
	} else if err == nil && there.ID != id {
		err = fmt.Errorf("%w: asked for %v, %s", ErrForeign, k, id.Incarnation)
	}
	return there, err
}

// reserved.Restored begins the RowKeys of notes that a life was restored: two that read it before, one of them long ago, do not both
// bring it back.
const (
	restoredProperty = "Restored"
	kindProperty     = "Kind"
)

// restores adds to the entity's insertion that its old life is not restored again, and is to be forgotten.
type restores[T any] struct{ kind, life string }

func (r *restores[T]) Name() string { return r.kind }
func (r *restores[T]) MaxRows() int { return 1 }

func (r *restores[T]) Maintain(_ context.Context, p *table.Plan, c *table.Change[T]) error {
	c.Incarnation() // a new one
	note := &table.Row{Key: keys.Stored(c.Key.PartitionKey(), reserved.Restored+r.life)}
	if err := errors.Join(note.Set(restoredProperty, c.Key.RowKey()), note.Set(kindProperty, r.kind)); err != nil {
		return err
	}
	if err := p.Insert(note, ErrRestored); err != nil {
		return err
	}
	return effect(p, r.kind, payload{Incarnation: r.life, Forget: true})
}
