package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Handler carries out the moves, for [eventual.NewWorker].
func (m *Mover[T]) Handler() eventual.Handler {
	return eventual.Handler{Kind: m.kind, Table: m.from, Handle: m.handle, Sweep: m.sweep}
}

// parse reads what an effect asks for. Nothing of it is trusted: it may name the rows of entities alone, and incarnations.
func parse(j eventual.Job) (id ID, p payload, err error) {
	pk, err := j.Partition.Result()
	if err != nil {
		return id, p, err
	}
	if err := json.Unmarshal(j.Effect.Payload, &p); err != nil {
		return id, p, errors.New("archive: the payload is none of a move's")
	}
	id = ID{keys.Stored(pk, j.Effect.RowKey), p.Incarnation}
	if strings.HasPrefix(j.Effect.RowKey, separator) {
		return id, p, fmt.Errorf("archive: %w", &table.ValueError{Field: "RowKey", Reason: "belongs to the library"})
	}
	if err := id.Err(); err != nil {
		return id, p, fmt.Errorf("archive: %w", err)
	}
	return id, p, nil
}

// rounds is how often a worker begins anew in one attempt where others are faster.
const rounds = 8

func (m *Mover[T]) handle(ctx context.Context, j eventual.Job) error {
	id, p, err := parse(j)
	if err != nil {
		return eventual.Poison(err)
	}
	step := m.move
	if p.Forget {
		step = m.forget
	}
	for range rounds {
		if err = step(ctx, id, j); !errors.Is(err, errAgain) {
			return err
		}
	}
	if err == errMoved {
		return eventual.Poison(err)
	}
	return fmt.Errorf("archive: others were faster %d times", rounds)
}

// errAgain: what was read has changed.
var errAgain = errors.New("archive: it has changed meanwhile")

// errMoved: the table has an incarnation that was moved before, and which may be about to be forgotten. A program has written an old read
// back, by other means than this library's. If the move has only just been made, the next round finds the row gone.
var errMoved = fmt.Errorf("archive: the row carries an incarnation (_life) that was moved before; delete that property: %w", errAgain)

// move is one round of a move: the destination is read first and the table last, so that what is put is never older than what is
// there; then it is put by the destination's version; and then deleted by the table's ETag, in the transaction that settles the effect.
func (m *Mover[T]) move(ctx context.Context, id ID, j eventual.Job) error {
	there, err := m.get(ctx, id)
	if err != nil {
		return err
	}
	if there != nil && there.Row == nil {
		return nil // it was moved, and restored since or withdrawn
	}
	row, err := m.from.GetRow(ctx, id.Key)
	switch {
	case errors.Is(err, table.ErrNotFound), err == nil && row.Incarnation() != id.Incarnation:
		return m.left(ctx, id, there, j)
	case err != nil:
		return err
	}
	e, err := m.from.Entity(row)
	var newer *table.VersionError
	switch {
	case errors.As(err, &newer):
		return err // a worker of another release knows it
	case err != nil:
		return eventual.Poison(err) // no program knows what derives from it
	}
	if there != nil {
		switch over, err := m.over(ctx, there, j.OperationID); {
		case err != nil:
			return err
		case over:
			return errMoved
		}
	}
	put, version := &ArchivedRow{ID: id, Kind: m.kind, Row: row.WithoutSystemProperties(), Time: row.Timestamp}, ""
	if there != nil {
		put.Moves, version = there.Moves, there.Version
	}
	if !slices.Contains(put.Moves, j.OperationID) {
		put.Moves = append(slices.Clone(put.Moves), j.OperationID)
	}
	if err := m.put(ctx, put, version); err != nil {
		return err
	}
	err = m.from.Completing(j.CommitRecord, j.Index).Delete(ctx, e)
	if !errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrChanged) {
		return err
	}
	// The row has changed, or the intent.
	switch now, err := m.from.CommitRecords().Get(ctx, j.Partition, j.OperationID); {
	case err != nil:
		return err
	case now.Version() != j.CommitRecord.Version():
		return table.ErrChanged // the worker goes on with what it says now
	}
	return errAgain
}

// get reads what the destination keeps of an incarnation. What is kept of another one is poison.
func (m *Mover[T]) get(ctx context.Context, id ID) (*ArchivedRow, error) {
	there, err := m.to.Get(ctx, id)
	if err == nil && there != nil && there.ID != id {
		err = fmt.Errorf("%w: asked for %v, %s", ErrForeign, id.Key, id.Incarnation)
	}
	if errors.Is(err, ErrForeign) {
		return nil, eventual.Poison(err)
	}
	return there, err
}

// put keeps something in the destination.
func (m *Mover[T]) put(ctx context.Context, k *ArchivedRow, version string) error {
	err := m.to.Put(ctx, k, version)
	var le *table.LimitError
	var ve *table.ValueError
	var ke *keys.KeyError
	switch {
	case errors.Is(err, table.ErrChanged):
		return errAgain
	case errors.As(err, &le), errors.As(err, &ve), errors.As(err, &ke):
		return eventual.Poison(err)
	}
	return err
}

// left ends the move of a life that the table does not have any more: another worker or another move has moved it, or its user has
// deleted it. Only the intents tell: each move has settled its effect in the transaction that deleted the entity. If none has, what
// was put into the destination is withdrawn; also where nothing is there yet, for it may be on its way.
func (m *Mover[T]) left(ctx context.Context, id ID, there *ArchivedRow, j eventual.Job) error {
	if there == nil {
		return m.put(ctx, &ArchivedRow{ID: id, Kind: m.kind, Moves: []string{j.OperationID}}, "")
	}
	intents := m.from.CommitRecords()
	own, err := intents.Get(ctx, j.Partition, j.OperationID)
	switch {
	case err != nil && !errors.Is(err, table.ErrNotFound):
		return err
	case err != nil || !m.moves(own, there.ID):
		return table.ErrChanged // by another worker; the intent says what is left to be done
	}
	switch over, err := m.over(ctx, there, j.OperationID); {
	case err != nil:
		return err
	case over:
		return nil // by another move
	}
	return m.put(ctx, there.gone(), there.Version)
}

// gone is what is left of it.
func (k *ArchivedRow) gone() *ArchivedRow {
	return &ArchivedRow{ID: k.ID, Kind: k.Kind, Moves: k.Moves, Time: k.Time}
}

// over tells whether one of the moves that have put something, but for one, has moved it: it has settled its effect, or did so long
// ago that its intent was swept. Until then what is in the destination is an attempt. 1 request for each that has not.
func (m *Mover[T]) over(ctx context.Context, there *ArchivedRow, but string) (bool, error) {
	for _, op := range there.Moves {
		if op == but {
			continue
		}
		i, err := m.from.CommitRecords().Get(ctx, there.Key.Partition(), op)
		switch {
		case errors.Is(err, table.ErrNotFound):
			return true, nil
		case err != nil:
			return false, err
		case !m.moves(i, there.ID):
			return true, nil
		}
	}
	return false, nil
}

// moves tells whether an intent still has a life to be moved.
func (m *Mover[T]) moves(i *table.CommitRecord, id ID) bool {
	return i.State == table.CommitPending && slices.ContainsFunc(i.Effects, func(e table.Effect) bool {
		var p payload
		return e.Kind == m.kind && e.RowKey == id.Key.RowKey() && json.Unmarshal(e.Payload, &p) == nil && p == payload{Incarnation: id.Incarnation}
	})
}

// forget is one round of what is left of a restore: the old life goes from the destination.
func (m *Mover[T]) forget(ctx context.Context, id ID, _ eventual.Job) error {
	there, err := m.get(ctx, id)
	if err != nil || there == nil || there.Row == nil {
		return err
	}
	return m.put(ctx, there.gone(), there.Version)
}

// sweep deletes what is kept so that late requests meet it, and that none is late enough to meet any more. 1 request for each restore
// that is over, besides those of any sweep.
func (m *Mover[T]) sweep(ctx context.Context, partition keys.Enc, before time.Time) error {
	if s, is := m.to.(Sweeper); is {
		if err := s.Sweep(ctx, partition, before); err != nil {
			return err
		}
	}
	rows := m.from.Untyped(false)
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for row, err := range rows.Rows(ctx, table.Query[table.Row]{Partition: partition, Rows: keys.StoredBetween(reserved.Restored, reserved.Restored+"\x7f")}) {
			if err == nil {
				if kind, _ := row.Get(kindProperty); kind != m.kind || !row.Timestamp.Before(before) {
					continue // young, or another mover's
				}
				var there bool
				if there, err = m.stillThere(ctx, row); there {
					continue
				}
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

// stillThere tells whether a life that was restored is still in the destination, since nobody has been able to delete it there: then
// its note keeps it from being restored again.
func (m *Mover[T]) stillThere(ctx context.Context, note *table.Row) (bool, error) {
	v, _ := note.Get(restoredProperty)
	rowKey, _ := v.(string)
	id := ID{keys.Stored(note.Key.PartitionKey(), rowKey), strings.TrimPrefix(note.Key.RowKey(), reserved.Restored)}
	if id.Err() != nil {
		return false, nil // no restore has left it
	}
	there, err := m.to.Get(ctx, id)
	if errors.Is(err, ErrForeign) {
		return true, nil
	}
	return there != nil && there.Row != nil, err
}
