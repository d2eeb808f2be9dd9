package archive

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Contains reports whether the destination contains an incarnation of a key: it was moved there, and has been neither restored nor
// deleted since. Package largeentity asks so whether the blobs of a moved entity are still needed. Requests are the destination's.
// Errors: those of [ID.Err] and of the destination, such as table.ErrForeignRow.
func (m *Mover[T]) Contains(ctx context.Context, k keys.Key, incarnation string) (bool, error) {
	id := ID{k, incarnation}
	err := id.Err()
	var archived *ArchivedRow
	if err == nil {
		archived, err = m.to.Get(ctx, id)
	}
	if err == nil && archived != nil && archived.ID != id {
		err = table.ErrForeignRow
	}
	if err != nil {
		return false, fmt.Errorf("archive: Contains: %w", err)
	}
	return archived != nil && archived.Row != nil, nil
}

// as returns the table as the writes of a move use it, which tell the maintainers of the move.
func (m *Mover[T]) as(move engine.Move) *table.Table[T] {
	return m.from.InMode(func(mode *engine.Mode) { mode.Move = move })
}
