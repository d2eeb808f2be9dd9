package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// handler returns the handler that executes the moves.
func (m *mover) handler() host.Handler {
	return host.Handler{Kind: m.kind, Table: m.from, Handle: m.handle, Sweep: m.sweep}
}

// errConflict: a concurrent writer changed the row, or its copy in the destination, during an
// attempt.
var errConflict = errors.New("concurrent writers changed the row or its archived copy each time")

// errMovedBefore: the table contains an incarnation that was moved before, and that a restore may
// be about to delete from the destination. Either the other move was applied during this attempt,
// and the next attempt finds no row, or a program has written an old read of the row back by other
// means than this library's.
var errMovedBefore = errors.New("the row contains an incarnation (_life) that was moved before; delete that property")

// handle executes an effect. It repeats an attempt after a conflict, by the retry policy of the
// table's options. It makes errMovedBefore poison after two attempts, since no concurrent move
// explains the second.
func (m *mover) handle(ctx context.Context, j eventual.Job) (err error) {
	ctx, end := door.Table(m.from).Span(ctx, "Archive")
	defer func() { end(err) }()
	id, p, err := decodeEffect(j)
	if err != nil {
		return eventual.Poison(err)
	}
	attempt := m.move
	if p.Discard {
		attempt = m.discard
	}
	n, movedBefore := 0, false
	log := door.Table(m.from).Log("Archive", id.Key)
	log.Conflicts = true
	err = engine.Retry(door.Table(m.from).Options.Retry).ForConflicts().Repeat(ctx, log, func() (again bool, err error) {
		n++
		err = attempt(ctx, id, j)
		if err == errMovedBefore && movedBefore {
			return false, eventual.Poison(fmt.Errorf("archive: %w", err))
		}
		movedBefore = err == errMovedBefore
		return movedBefore || err == errConflict, err
	})
	if err == errConflict || err == errMovedBefore {
		return fmt.Errorf("archive: gave up after %d attempts: %w", n, err)
	}
	return err
}

// move makes one attempt to move an incarnation. It reads the destination first and the table
// second, so that the row that it stores is never older than the archived one. It then stores the
// row by the destination's version, and deletes the entity by its ETag in the transaction that
// completes the effect.
//
// If the destination contains a tombstone and the table the incarnation, the entity has left its
// key and has come back. The tombstone must stay, since slow workers may still store the row. So
// the entity gets a new incarnation, and that one is moved.
func (m *mover) move(ctx context.Context, id ID, j eventual.Job) error {
	archived, err := m.get(ctx, id)
	if err != nil {
		return err
	}
	tombstone := archived != nil && archived.Row == nil
	row, err := tabledoor.GetRow(ctx, door.InMode(m.from, func(m *engine.Mode) { m.SetEnds(nil) }), id.Key) // the move was requested before its end, if it is over
	switch {
	case errors.Is(err, table.ErrNotFound), err == nil && row.Incarnation() != id.Incarnation:
		if tombstone {
			return nil // the incarnation was restored, deleted, or has left its key
		}
		return m.withdraw(ctx, id, archived, j)
	case err != nil:
		return err
	}
	e, err := m.from.Entity(row)
	var newer *table.VersionError
	switch {
	case errors.As(err, &newer):
		return err // a worker of another release can read the row
	case err != nil:
		return eventual.Poison(err) // no program can tell which rows are derived from this one
	}
	if tombstone {
		return m.written(ctx, j, m.renewing(id.Incarnation, j).Touch(ctx, e))
	}
	if archived != nil {
		switch moved, err := m.moved(ctx, archived, j.OperationID); {
		case err != nil:
			return err
		case moved:
			return errMovedBefore
		}
	}
	next, version := &ArchivedRow{ID: id, Kind: m.kind, Row: (*table.Row)((*stored.Row)(row).WithoutSystemProperties()), Time: row.Timestamp}, ""
	if archived != nil {
		next.Moves, version = archived.Moves, archived.Version
	}
	if !slices.Contains(next.Moves, j.OperationID) {
		next.Moves = append(slices.Clone(next.Moves), j.OperationID)
	}
	if err := m.put(ctx, next, version); err != nil {
		return err
	}
	record, index := host.RecordOf(j)
	return m.written(ctx, j, records.Completing(m.moveHandle(engine.Move{Away: true}), record, index).Delete(ctx, e))
}

// renewing returns a handle for one write, which gives an entity that has this incarnation a new
// one. The write replaces the effect by an effect that moves the new incarnation, which the worker
// executes next.
func (m *mover) renewing(incarnation string, j eventual.Job) tabledoor.Untyped {
	t := door.InMode(m.archiving, func(mode *engine.Mode) { mode.Move = engine.Move{Renewed: incarnation} })
	record, index := host.RecordOf(j)
	return records.Completing(t, record, index)
}

// written returns what an attempt returns whose last write, which completes the effect, has
// returned err.
func (m *mover) written(ctx context.Context, j eventual.Job, err error) error {
	if !errors.Is(err, table.ErrNotFound) && !errors.Is(err, table.ErrChanged) {
		return err
	}
	record, _ := host.RecordOf(j)
	// Either the row has changed, or the commit record.
	switch now, err := records.Of(m.from).Get(ctx, j.Key.Partition(), j.OperationID); {
	case err != nil:
		return err
	case now.Version() != record.Version():
		return table.ErrChanged // the worker continues with the new commit record
	}
	return errConflict
}

// get reads the row or tombstone that the destination stores for an incarnation. A row of another
// incarnation makes the message poison.
func (m *mover) get(ctx context.Context, id ID) (*ArchivedRow, error) {
	archived, err := m.to.Get(ctx, id)
	if err == nil && archived != nil && archived.ID != id {
		err = fmt.Errorf("destination: %w: want a row of %v, %s", table.ErrForeignRow, id.Key, id.Incarnation)
	}
	if errors.Is(err, table.ErrForeignRow) {
		return nil, eventual.Poison(err)
	}
	return archived, err
}

// put stores r in the destination, if version is still the stored one.
func (m *mover) put(ctx context.Context, r *ArchivedRow, version string) error {
	err := m.to.Put(ctx, r, version)
	var le *table.LimitError
	var ve *table.ValueError
	var ke *keys.KeyError
	switch {
	case errors.Is(err, table.ErrChanged):
		return errConflict
	case errors.As(err, &le), errors.As(err, &ve), errors.As(err, &ke):
		return eventual.Poison(err)
	}
	return err
}

// withdraw ends the move of an incarnation that the table does not contain any more. Either another
// worker or another move has moved it, or a program has deleted it. Only the commit records show
// which: a move completes its effect in the transaction that deletes the entity. If no move has,
// the entity was deleted, and withdraw replaces its archived row by a tombstone. It stores a
// tombstone even if the destination contains nothing, since an earlier Put may still arrive.
func (m *mover) withdraw(ctx context.Context, id ID, archived *ArchivedRow, j eventual.Job) error {
	if archived == nil {
		return m.put(ctx, &ArchivedRow{ID: id, Kind: m.kind, Moves: []string{j.OperationID}}, "")
	}
	own, err := records.Of(m.from).Get(ctx, j.Key.Partition(), j.OperationID)
	switch {
	case err != nil && !errors.Is(err, table.ErrNotFound):
		return err
	case err != nil || !m.pending(own, archived.ID):
		return table.ErrChanged // another worker has moved the entity; the worker continues with the new commit record
	}
	switch moved, err := m.moved(ctx, archived, j.OperationID); {
	case err != nil:
		return err
	case moved:
		return nil // by another move
	}
	return m.put(ctx, archived.tombstone(), archived.Version)
}

// moved reports whether one of the moves that have stored an archived row, other than except, has
// moved the entity: its effect is complete, or its commit record was swept since. Until then the
// entity may change, and the archived row is provisional. 1 request for each move whose effect is
// not complete.
func (m *mover) moved(ctx context.Context, archived *ArchivedRow, except string) (bool, error) {
	for _, op := range archived.Moves {
		if op == except {
			continue
		}
		record, err := records.Of(m.from).Get(ctx, archived.Key.Partition(), op)
		switch {
		case errors.Is(err, table.ErrNotFound):
			return true, nil
		case err != nil:
			return false, err
		case !m.pending(record, archived.ID):
			return true, nil
		}
	}
	return false, nil
}

// pending reports whether a commit record still contains the effect that moves an incarnation.
func (m *mover) pending(record *commit.Record, id ID) bool {
	return record.State == commit.Pending && slices.ContainsFunc(record.Effects, func(e commit.Effect) bool {
		var p payload
		return e.Kind == m.kind && e.RowKey == id.Key.RowKey() && json.Unmarshal(e.Payload, &p) == nil && p == payload{Incarnation: id.Incarnation}
	})
}

// discard makes one attempt to delete a restored incarnation from the destination.
func (m *mover) discard(ctx context.Context, id ID, _ eventual.Job) error {
	archived, err := m.get(ctx, id)
	if err != nil || archived == nil || archived.Row == nil {
		return err
	}
	return m.put(ctx, archived.tombstone(), archived.Version)
}
