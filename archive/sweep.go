package archive

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// sweep deletes tombstones and restore records that are older than any late request. A record that cannot be read stays, since without
// it the incarnation might be restored again. 1 request for each old restore record, besides those of the destination's sweep and of one
// list.
func (m *Mover[T]) sweep(ctx context.Context, partition keys.Enc, before time.Time) error {
	if s, is := m.to.(Sweeper); is {
		if err := s.Sweep(ctx, partition, before); err != nil {
			return err
		}
	}
	rows := table.RowsOf(m.from.Engine(), false)
	_, err := bulk.Run(ctx, func(yield func(table.Op, error) bool) {
		for row, err := range rowsWithPrefix(ctx, rows, partition, reserved.Restored) {
			if err != nil {
				yield(table.Op{}, err)
				return
			}
			id, kind, err := decodeRestoreRecord(row)
			if err != nil || kind != m.kind || !row.Timestamp.Before(before) {
				continue
			}
			stored, err := m.stored(ctx, id)
			if stored {
				continue
			}
			if err != nil {
				yield(table.Op{}, err)
				return
			}
			if !yield(rows.DeleteAnyOp(row.Key), nil) {
				return
			}
		}
	}, nil)
	return err
}

// stored reports whether the destination still contains a restored incarnation, which no worker could delete. Its restore record
// must stay until then, so that the incarnation is not restored again.
func (m *Mover[T]) stored(ctx context.Context, id ID) (bool, error) {
	if id.Err() != nil {
		return false, nil // no restore has written the record
	}
	archived, err := m.to.Get(ctx, id)
	if errors.Is(err, table.ErrForeignRow) {
		return true, nil
	}
	return archived != nil && archived.Row != nil, err
}
