package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/property"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Mover moves entities of a table to a destination, and back: a definition for aztablekit.Table.
// [Into] makes one. Its methods take the handle of a table that it was given to. It can be a
// package's variable, and is safe for concurrent use.
type Mover[T any] struct {
	kind string
	to   Destination
}

// Into declares that entities of a table can move to a destination. kind names the effects of the
// moves, and must be the same in all programs that move between these two places. The indexes of an
// entity move with it, up to 96 rows.
//
//	var former = archive.Into[Employee]("former", archive.ToTable("former", nil))
//
//	staff := aztablekit.Table(company, "staff", dept, empid, byEmail, former)
//	err := former.Archive(ctx, staff, e)
//
// The store's Ensure creates the destination. Movers of two tables to one destination have
// different kinds.
//
// Errors, returned by the methods of the store and of the table:
//   - *table.ValueError for an empty kind, a nil destination, a destination in the table itself,
//     and a kind that another table's mover to the destination has
//   - *table.LimitError if the definitions of the table need more than 96 rows of an entity
//   - those of the destination
func Into[T any](kind string, to Destination) *Mover[T] { return &Mover[T]{kind, to} }

// Name returns the kind.
func (m *Mover[T]) Name() string {
	if m == nil {
		return ""
	}
	return m.kind
}

// Define adds the mover to the declaration of a table; aztablekit.Table calls it.
func (m *Mover[T]) Define(d *extend.Declaration[T]) error {
	switch {
	case m == nil || m.kind == "":
		return &table.ValueError{Field: "kind", Reason: "is empty"}
	case wire.IsNil(m.to):
		return &table.ValueError{Field: "to", Reason: "is nil"}
	}
	return define(d, m, m.kind, m.to)
}

// define adds a mover to a declaration, d. definition is the Mover as the program has it.
func define(d, definition any, kind string, to Destination) error {
	made := &mover{kind: kind}
	err := host.Attach(d, func(t table.Handle) (table.Handle, error) { return bare.Bind(t, definition, made), nil })
	if err != nil {
		return err
	}
	return host.Needs(d, func(t table.Handle) (parts host.Parts, err error) {
		at := to
		if placed, is := at.(placed); is {
			if at, err = placed.In(host.OfDeclaration(d)); err != nil {
				return parts, err
			}
		}
		if err := made.bind(t, at, host.OfDeclaration(d).Outbox); err != nil {
			return parts, err
		}
		place := fmt.Sprintf("%p", to)
		if of, is := at.(interface{ Place() string }); is {
			place = of.Place()
		}
		parts.Handlers = []host.Handler{made.handler()}
		parts.Names = []string{fmt.Sprintf("kind %s in %s", kind, place)}
		if of, is := at.(interface{ Tables() []string }); is {
			parts.Destinations = of.Tables()
		}
		if at, is := at.(interface{ Ensure(context.Context) error }); is {
			parts.Ensure = []host.Task{{Name: "destination " + place, Do: at.Ensure}}
		}
		return parts, nil
	})
}

// placed is a destination that belongs to a store, and says which in a store.
type placed interface {
	In(h *host.Host) (Destination, error)
}

// binding returns the mover of a table that the mover was given to.
func (m *Mover[T]) binding(t *table.Table[T]) (*mover, error) { return bare.BoundTo[*mover](t, m) }

// mover is a Mover of a table.
type mover struct {
	kind      string
	from      tabledoor.Untyped // with its maintainers, so that indexes move with the entities
	archiving tabledoor.Untyped // a handle whose touches request a move
	to        Destination
}

// bind makes a mover one of a table. outbox notifies workers of moves; it is the outbox of from, if
// from has one.
func (m *mover) bind(from table.Handle, to Destination, outbox commit.Outbox) (err error) {
	if d, is := to.(*tableDestination); is {
		if door.Table(d.rows).Same(door.Table(from)) {
			return &table.ValueError{Field: "to", Reason: "is also the table from; give another"}
		}
		to = d.withParts(door.Table(from).Mode.Parts)
	}
	if from, err = bare.InOutbox(from, outbox); err != nil {
		return err
	}
	archiving, err := bare.WithAny(from, &archiveMaintainer{m.kind, to})
	if err != nil {
		return err
	}
	// An entity that is archived must be able to come back.
	if _, err := bare.WithAny(from, &restoreMaintainer{kind: m.kind}); err != nil {
		return err
	}
	m.from, m.archiving, m.to = tabledoor.Of(from), tabledoor.Of(archiving), to
	return nil
}

// Archive requests a move of an entity, if the stored row is still as e was read, and renews e's
// ETag. A worker moves the entity, with what concurrent writers have written to it meanwhile. Until
// then the entity is in the table, then in both places for a moment, and always in at least one. If
// a concurrent writer deletes the entity meanwhile, the destination does not contain it in the end
// either. If Move gives it another key meanwhile, the request may end without an archived row.
//
// Errors:
//   - table.ErrChanged
//   - table.ErrNotFound if the row is gone
//   - *table.ValueError for a row of an older version
//   - table.ErrNotRead
//   - table.ErrOutbox if the queue does not store the notification, and then nothing was written
//   - *table.LimitError for a row that the destination can never store, if it has the method Check
//   - *table.DefinitionError for a handle without the mover
//   - table.ErrUnknownOutcome and the other errors of a write (see package table)
//
// Requests: 3, and 1 more if e is not the whole row; the worker's are 7. A second request for the
// same move does no harm.
func (m *Mover[T]) Archive(ctx context.Context, t *table.Table[T], e *table.Entity[T]) error {
	of, err := m.binding(t)
	if err != nil {
		return err
	}
	return of.archive(ctx, e)
}

func (m *mover) archive(ctx context.Context, e tabledoor.Entity) error {
	if err := m.archiving.Touch(ctx, e); err != nil {
		return fmt.Errorf("archive: Archive: %w", err)
	}
	return nil
}

// payload is the payload of a mover's effects. It names an incarnation to be moved or, if Discard
// is set, a restored incarnation to be deleted from the destination.
type payload struct {
	Incarnation string `json:"life"`
	Discard     bool   `json:"forget,omitempty"`
}

// addEffect adds an effect to the plan of a write.
func addEffect(p *extend.Plan, kind string, of payload) error {
	b, err := json.Marshal(of)
	if err != nil {
		return err
	}
	p.Effect(kind, 1, b)
	return nil
}

// decodeEffect returns the ID and the payload of a job's effect. The effect is not trusted: it may
// name only rows of entities, and only well-formed incarnations.
func decodeEffect(j eventual.Job) (id ID, p payload, err error) {
	pk, err := j.Key.Partition().Result()
	if err != nil {
		return id, p, err
	}
	if err := json.Unmarshal(j.Payload, &p); err != nil {
		return id, p, fmt.Errorf("archive: the payload of effect %q is not a mover's", j.Kind)
	}
	id = ID{keys.Raw(pk, j.Key.RowKey()), p.Incarnation}
	if strings.HasPrefix(j.Key.RowKey(), reserved.First) {
		return id, p, fmt.Errorf("archive: %w", &table.ValueError{Field: "Effect.RowKey", Reason: "begins with ~; such rows belong to the library"})
	}
	if err := id.Err(); err != nil {
		return id, p, fmt.Errorf("archive: %w", err)
	}
	return id, p, nil
}

// errRestored: a concurrent Restore has restored this incarnation.
var errRestored = errs.Of(table.ErrExists, "archive: this incarnation was restored before; read the entity from its table")

// archiveMaintainer adds the effect of a move to the touch of an entity.
type archiveMaintainer struct {
	kind string
	to   Destination
}

func (a *archiveMaintainer) Name() string { return a.kind }
func (a *archiveMaintainer) MaxRows() int { return 0 }

func (a *archiveMaintainer) Maintain(_ context.Context, p *extend.Plan, c *engine.Change) error {
	if c.New == nil {
		return nil
	}
	id := ID{c.Key, c.Incarnation()}
	if to, is := a.to.(checker); is {
		row, err := c.Row()
		if err != nil {
			return err
		}
		archived := &ArchivedRow{ID: id, Kind: a.kind, Row: (*table.Row)(row.Clone())}
		archived.Moves, archived.Time = []string{longestOperationID}, longestTime
		if err := to.Check(archived); err != nil {
			return err
		}
	}
	return addEffect(p, a.kind, payload{Incarnation: id.Incarnation})
}

// When the destination checks the row, the move has no operation ID and no time yet. These texts
// are as long.
var (
	longestOperationID = strings.Repeat("0", 26)
	longestTime        = time.Date(2000, 1, 1, 0, 0, 0, 1, time.UTC)
)

// restoreMaintainer adds a note to the insertion of a restored entity, and the effect that deletes
// the old incarnation from the destination. A second restore of the incarnation, however late,
// fails because the note exists.
type restoreMaintainer struct{ kind, incarnation string }

func (r *restoreMaintainer) Name() string { return r.kind }
func (r *restoreMaintainer) MaxRows() int { return 1 }

func (r *restoreMaintainer) Maintain(_ context.Context, p *extend.Plan, c *engine.Change) error {
	c.Incarnation() // gives the entity a new incarnation
	note, err := restoreNote(ID{c.Key, r.incarnation}, r.kind)
	if err != nil {
		return err
	}
	if err := p.Insert(note, errRestored); err != nil {
		return err
	}
	return addEffect(p, r.kind, payload{Incarnation: r.incarnation, Discard: true})
}

// Properties of the notes of restored incarnations.
const (
	restoredProperty = "Restored" // the RowKey of the entity
	kindProperty     = "Kind"     // the kind of the mover
)

// restoreNote returns the note, in the entity's partition, that an incarnation was restored.
func restoreNote(id ID, kind string) (*table.Row, error) {
	note := &table.Row{Key: keys.Raw(id.Key.PartitionKey(), reserved.Restored+id.Incarnation)}
	return note, errors.Join(note.Set(restoredProperty, id.Key.RowKey()), note.Set(kindProperty, kind))
}

// decodeRestoreNote returns the ID and the kind of the note of a restored incarnation. The ID is
// invalid if another program wrote the note. Errors: *table.DecodeError.
func decodeRestoreNote(note *table.Row) (id ID, kind string, err error) {
	rowKey, err1 := property.Text(note, restoredProperty)
	kind, err2 := property.Text(note, kindProperty)
	return ID{keys.Raw(note.Key.PartitionKey(), rowKey), strings.TrimPrefix(note.Key.RowKey(), reserved.Restored)}, kind, errors.Join(err1, err2)
}

// Contains reports whether the destination contains an incarnation of a key: it was moved there,
// and has been neither restored nor deleted since. By it, package largeentity finds out whether the
// blobs of a moved entity are still needed.
func (m *mover) Contains(ctx context.Context, k keys.Key, incarnation string) (bool, error) {
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

// moveHandle returns a handle for the writes of a move: its maintainers see the keys of the move.
func (m *mover) moveHandle(move engine.Move) tabledoor.Untyped {
	return door.InMode(m.from, func(mode *engine.Mode) { mode.Move = move })
}

var errCannotList = &table.ValueError{Field: "to", Reason: "cannot list its rows: it has no method List; see archive.Destination"}

// Find reads an entity from the table or from the destination. archived reports whether it comes
// from the destination: then it has no ETag and cannot be written; see Restore. If the destination
// has several incarnations, Find returns the newest. Find may miss an entity that is restored and
// archived again at the same time. An entity from the destination may have a pending move, or may
// have been deleted meanwhile.
//
// Errors:
//   - table.ErrNotFound
//   - table.ErrForeignRow for a row of the destination that no move has stored
//   - *keys.KeyError, *table.VersionError or *table.DecodeError for a row that is no entity of T
//   - *table.DefinitionError for a handle without the mover
//   - errors of a read (see package table) and of the destination
//
// 1 request if the entity was not moved, 2 if it was moved, 3 if it is in neither place.
func (m *Mover[T]) Find(ctx context.Context, t *table.Table[T], k keys.Key) (e *table.Entity[T], archived bool, err error) {
	of, err := m.binding(t)
	if err != nil {
		return nil, false, err
	}
	found, archived, err := of.find(ctx, k)
	e, _ = found.(*table.Entity[T])
	return e, archived, err
}

func (m *mover) find(ctx context.Context, k keys.Key) (e tabledoor.Entity, archived bool, err error) {
	fail := func(err error) (tabledoor.Entity, bool, error) {
		return nil, false, fmt.Errorf("archive: Find: %w", err)
	}
	ctx, end := door.Table(m.from).Span(ctx, "Find")
	defer func() { end(err) }()
	if e, err = m.from.Get(ctx, k); err == nil {
		return e, false, nil
	} else if !errors.Is(err, table.ErrNotFound) {
		return fail(err)
	}
	switch newest, err := m.newest(ctx, k); {
	case err != nil:
		return fail(err)
	case newest != nil:
		if e, err = m.from.Entity(newest.Row); err != nil {
			return fail(err)
		}
		return e, true, nil
	}
	// The entity may have been restored since the first read.
	if e, err = m.from.Get(ctx, k); err != nil {
		return fail(err)
	}
	return e, false, nil
}

// newest returns the newest incarnation of a key that the destination contains, or nil if it
// contains none.
func (m *mover) newest(ctx context.Context, k keys.Key) (newest *ArchivedRow, err error) {
	for archived, err := range m.to.Incarnations(ctx, k) {
		if err == nil && (archived.Key != k || archived.Err() != nil) {
			err = fmt.Errorf("destination: %w: want a row of %v", table.ErrForeignRow, k)
		}
		if err != nil {
			return nil, err
		}
		if archived.Kind == m.kind && (newest == nil || archived.Time.After(newest.Time)) {
			newest = archived
		}
	}
	return newest, nil
}

// Archived yields the entities of a partition that movers of this kind have stored in the
// destination, all incarnations. For an entity that cannot be read, it yields an error and
// continues.
//
// Errors:
//   - *table.ValueError for a destination without the method List
//   - *table.DefinitionError for a handle without the mover
//   - table.ErrForeignRow or table.ErrNotDeclared for a stored row that no move has stored, or
//     whose parts were not read
//   - *keys.KeyError, *table.VersionError or *table.DecodeError for a row that is no entity of T
//   - other errors of the destination, which end the list
//
// Requests are the destination's.
func (m *Mover[T]) Archived(ctx context.Context, t *table.Table[T], partition keys.PartitionKey) iter.Seq2[*table.Entity[T], error] {
	of, err := m.binding(t)
	if err != nil {
		return func(yield func(*table.Entity[T], error) bool) { yield(nil, err) }
	}
	return tabledoor.Typed[*table.Entity[T]](of.archived(ctx, partition))
}

func (m *mover) archived(
	ctx context.Context, partition keys.PartitionKey,
) func(yield func(tabledoor.Entity, error) bool) {
	return func(yield func(tabledoor.Entity, error) bool) {
		l, is := m.to.(lister)
		if !is {
			yield(nil, errCannotList)
			return
		}
		for archived, err := range l.List(ctx, partition) {
			var damaged *table.DecodeError
			switch {
			case errors.Is(err, table.ErrForeignRow), errors.Is(err, errs.ErrUnknownParts), errors.As(err, &damaged):
				if !yield(nil, fmt.Errorf("archive: Archived: %w", err)) {
					return
				}
				continue
			case err != nil:
				yield(nil, fmt.Errorf("archive: Archived: %w", err))
				return
			case archived.Kind != m.kind:
				continue
			}
			e, err := m.from.Entity(archived.Row)
			if err != nil {
				err = fmt.Errorf("archive: Archived: %w", err)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// errUnderway: the entity's move is not complete, so the entity cannot be restored yet.
var errUnderway = errs.Of(table.ErrIncomplete, "archive: the entity's move is not complete; restore it later")

// Restore moves the newest incarnation of a key back, as a new incarnation, so that moves of the
// old one do not touch it. When Restore returns, the entity is in its table, with all its columns
// and derived rows; a worker deletes it from the destination.
//
// Errors:
//   - table.ErrNotFound if the destination does not contain the key
//   - table.ErrIncomplete if the move is not complete
//   - table.ErrExists if the table contains another entity under that key by now, or if a
//     concurrent Restore was first
//   - table.ErrForeignRow for a row of the destination that no move has stored
//   - *keys.KeyError, *table.VersionError or *table.DecodeError for a row that is no entity of T
//   - *table.DefinitionError for a handle without the mover
//   - table.ErrUnknownOutcome and the other errors of a write (see package table)
//
// Requests: 6, and 1 more for each move that has stored the row and not moved the entity; and the
// worker's 6.
func (m *Mover[T]) Restore(ctx context.Context, t *table.Table[T], k keys.Key) (*table.Entity[T], error) {
	of, err := m.binding(t)
	if err != nil {
		return nil, err
	}
	e, err := of.restore(ctx, k)
	restored, _ := e.(*table.Entity[T])
	return restored, err
}

func (m *mover) restore(ctx context.Context, k keys.Key) (tabledoor.Entity, error) {
	archived, err := m.newestMoved(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("archive: Restore: %w", err)
	}
	of := m.moveHandle(engine.Move{Restored: archived.Incarnation})
	t, err := bare.WithAny(of, &restoreMaintainer{m.kind, archived.Incarnation})
	if err != nil {
		return nil, fmt.Errorf("archive: Restore: %w", err)
	}
	e, err := door.InsertRow[tabledoor.Entity](ctx, t, k, (*stored.Row)(archived.Row))
	if err != nil {
		return nil, fmt.Errorf("archive: Restore: %w", err)
	}
	return e, nil
}

// newestMoved returns the newest incarnation of a key, if its move is complete. Before that, the
// archived row may be old, or may belong to an entity that was deleted. So newestMoved reads the
// row again once the move is seen to be complete.
func (m *mover) newestMoved(ctx context.Context, k keys.Key) (*ArchivedRow, error) {
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
		return nil, errUnderway
	}
	id := archived.ID
	if archived, err = m.to.Get(ctx, id); err == nil && (archived == nil || archived.Row == nil) {
		err = table.ErrNotFound
	} else if err == nil && archived.ID != id {
		err = fmt.Errorf("destination: %w: want a row of %v, %s", table.ErrForeignRow, k, id.Incarnation)
	}
	return archived, err
}

// sweep deletes tombstones, and notes of restored incarnations, that are older than any late
// request. A note that cannot be read stays, because without it the incarnation might be restored
// again. 1 request for each old note, besides the requests of the destination's sweep and of one
// list.
func (m *mover) sweep(ctx context.Context, partition keys.PartitionKey, before time.Time) error {
	if s, is := m.to.(sweeper); is {
		if err := s.Sweep(ctx, partition, before); err != nil {
			return err
		}
	}
	rows := door.Rows[table.Table[table.Row]](door.Table(m.from), false)
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for row, err := range rowsWithPrefix(ctx, rows, partition, reserved.Restored) {
			if err != nil {
				yield(table.Op{}, err)
				return
			}
			id, kind, err := decodeRestoreNote(row)
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

// stored reports whether the destination still contains a restored incarnation, which no worker
// could delete. The note must stay until then, so that the incarnation is not restored again.
func (m *mover) stored(ctx context.Context, id ID) (bool, error) {
	if id.Err() != nil {
		return false, nil // no restore has written the note
	}
	archived, err := m.to.Get(ctx, id)
	if errors.Is(err, table.ErrForeignRow) {
		return true, nil
	}
	return archived != nil && archived.Row != nil, err
}
