package archive

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// ErrRestored: a concurrent Restore has restored this incarnation.
var ErrRestored = errors.New("archive: this incarnation was restored before; read the entity from its table")

// archiveMaintainer adds the effect of a move to the touch of an entity.
type archiveMaintainer[T any] struct {
	kind string
	to   Destination
}

func (a *archiveMaintainer[T]) Name() string { return a.kind }
func (a *archiveMaintainer[T]) MaxRows() int { return 0 }

func (a *archiveMaintainer[T]) Maintain(_ context.Context, p *maintain.Plan, c *maintain.Change[T]) error {
	if c.New == nil {
		return nil
	}
	id := ID{c.Key, c.Incarnation()}
	if to, is := a.to.(Checker); is {
		row, err := c.Row()
		if err != nil {
			return err
		}
		if err := to.Check(&ArchivedRow{ID: id, Kind: a.kind, Row: row, Moves: []string{longestOperationID}, Time: longestTime}); err != nil {
			return err
		}
	}
	return addEffect(p, a.kind, payload{Incarnation: id.Incarnation})
}

// The operation ID and the time of the coming move are not known when the destination checks the row. These are as long.
var (
	longestOperationID = strings.Repeat("0", 26)
	longestTime        = time.Date(2000, 1, 1, 0, 0, 0, 1, time.UTC)
)

// restoreMaintainer adds a restore record to the insertion of a restored entity, and the effect that deletes the old incarnation
// from the destination. A second restore of the incarnation, however late, fails at the record.
type restoreMaintainer[T any] struct{ kind, incarnation string }

func (r *restoreMaintainer[T]) Name() string { return r.kind }
func (r *restoreMaintainer[T]) MaxRows() int { return 1 }

func (r *restoreMaintainer[T]) Maintain(_ context.Context, p *maintain.Plan, c *maintain.Change[T]) error {
	c.Incarnation() // gives the entity a new incarnation
	record, err := restoreRecord(ID{c.Key, r.incarnation}, r.kind)
	if err != nil {
		return err
	}
	if err := p.Insert(record, ErrRestored); err != nil {
		return err
	}
	return addEffect(p, r.kind, payload{Incarnation: r.incarnation, Discard: true})
}

// Properties of restore records.
const (
	restoredProperty = "Restored" // the RowKey of the entity
	kindProperty     = "Kind"     // the kind of the mover
)

// restoreRecord returns the row that says, in the entity's partition, that an incarnation was restored.
func restoreRecord(id ID, kind string) (*table.Row, error) {
	record := &table.Row{Key: keys.Stored(id.Key.PartitionKey(), reserved.Restored+id.Incarnation)}
	return record, errors.Join(record.Set(restoredProperty, id.Key.RowKey()), record.Set(kindProperty, kind))
}

// decodeRestoreRecord returns the ID and the kind of a restore record. The ID has an error if another program wrote the row. Errors:
// *table.DecodeError.
func decodeRestoreRecord(record *table.Row) (id ID, kind string, err error) {
	rowKey, err1 := stored.Text(record, restoredProperty)
	kind, err2 := stored.Text(record, kindProperty)
	return ID{keys.Stored(record.Key.PartitionKey(), rowKey), strings.TrimPrefix(record.Key.RowKey(), reserved.Restored)}, kind, errors.Join(err1, err2)
}
