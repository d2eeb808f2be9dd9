package materialized

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Target returns a derived entity for the execution of an effect, which is not trusted.
func (m *maintainer) Target(entity, derived keys.Key) (reconcile.Target, error) {
	schema := door.Table(m.to).Mode.Schema
	if err := noteKey(derived).Err(); err != nil {
		return nil, err
	}
	if !schema.Rows().Contains(derived.RowKey()) || strings.HasPrefix(derived.RowKey(), reserved.First) {
		return nil, fmt.Errorf("%w: the view has no entity %v of %v", table.ErrForeignRow, derived, entity)
	}
	return &target{maintainer: m, entity: entity, key: derived}, nil
}

// target is a derived entity in one execution, with its note.
type target struct {
	*maintainer
	entity keys.Key
	key    keys.Key // of the derived entity
	stored *table.Row
}

var _ reconcile.Target = (*target)(nil)

// Read reads the note. 1 request.
func (t *target) Read(ctx context.Context) (err error) {
	t.stored, err = tabledoor.FindRow(ctx, notes(door.Table(t.to)), noteKey(t.key))
	return err
}

// Write stores what follows from the entity, together with the note. 1 request; the maintainers of
// the derived entity add theirs.
func (t *target) Write(ctx context.Context, entity *table.Row) error {
	want, err := t.wanted(ctx, entity, t.key)
	if err != nil {
		return err
	}
	now := note{entity: t.entity, gone: want.value == nil, maintainers: t.maintainersOf()}
	if t.stored == nil {
		return t.write(ctx, now, want.value, false)
	}
	was, mine, err := noteIn(t.stored, t.owner())
	if err != nil {
		return err
	}
	switch missing := was.lacks(now.maintainers); {
	case !mine && !was.gone:
		return fmt.Errorf("%w: the note of the derived entity %v is of %q", table.ErrForeignRow, t.key, (*stored.Row)(t.stored).Owner())
	case was.gone:
		return t.write(ctx, now, want.value, false)
	case missing != "":
		return fmt.Errorf("derived entity %v: %w: declare the view's table with definition %q", t.key, errs.ErrUnknownMaintainer, missing)
	case was.entity == t.entity:
		return t.write(ctx, now, want.value, want.value == nil)
	case want.value == nil:
		return t.store(ctx, was) // the derived entity of another entity; the write makes slower workers fail
	}
	if taken, err := t.isWanted(ctx, was.entity); err != nil {
		return err
	} else if taken {
		return fmt.Errorf("view %s: %w: %v of %v and of %v", t.name, errTaken, t.key, was.entity, t.entity)
	}
	return t.write(ctx, now, want.value, false)
}

// isWanted reports whether another entity has the derived entity. One that is over is deleted
// first, and has none. Requests: 1; of a table with ends 1 more, and those of the deletion.
func (t *target) isWanted(ctx context.Context, entity keys.Key) (bool, error) {
	if from := door.Table(t.all); from.Mode.Ends() != nil {
		there, err := from.StillThere(ctx, "View", entity)
		if err != nil || !there {
			return false, err
		}
	}
	row, err := tabledoor.FindRow(ctx, door.Rows[table.Table[table.Row]](door.Table(t.from), true), entity)
	if err != nil {
		return false, err
	}
	d, err := t.wanted(ctx, row, t.key)
	return d.value != nil, err
}

// write stores the note, and the derived entity in the same transaction: value, or nothing if value
// is nil.
func (t *target) write(ctx context.Context, n note, value tabledoor.Entity, deletes bool) error {
	var ops []table.Op
	switch {
	case value != nil:
		ops = append(ops, t.to.UpsertAtOp(t.key, value, table.ReplaceExisting))
	case deletes:
		ops = append(ops, t.to.DeleteAnyOp(t.key))
	}
	err := t.store(ctx, n, ops...)
	var be *table.BatchError
	if deletes && errors.Is(err, table.ErrNotFound) && errors.As(err, &be) && be.Index == 1 {
		return t.store(ctx, n) // another program has deleted the derived entity
	}
	return err
}

// store stores the note in place of the one that Read has found, together with other operations.
// The note comes first, so that a late copy of the request fails by its ETag.
func (t *target) store(ctx context.Context, n note, ops ...table.Op) error {
	row, err := n.row(t.key, t.owner())
	if err != nil {
		return err
	}
	rows := notes(door.Table(t.to))
	op := rows.InsertOp(row)
	if t.stored != nil {
		e, err := rows.Entity(t.stored)
		if err != nil {
			return err
		}
		e.Value = *row
		op = rows.ReplaceOp(e)
	}
	_, err = table.Transact(ctx, append([]table.Op{op}, ops...)...)
	return err
}

// Sweep deletes an old tombstone. 1 request.
func (t *target) Sweep(ctx context.Context, before time.Time) error {
	if t.stored == nil || !t.stored.Timestamp.Before(before) {
		return nil
	}
	if n, mine, err := noteIn(t.stored, t.owner()); err != nil || !mine || !n.gone {
		return err
	}
	rows := notes(door.Table(t.to))
	e, err := rows.Entity(t.stored)
	if err != nil {
		return err
	}
	return rows.Delete(ctx, e)
}

// wanted returns the derived entity that an entity should have under a key: the zero value for
// none, and if the row is nil. The maintainer state of the entity decides about the key, so that
// programs of two releases agree. If this program's function returns another key, a worker of
// another release has to execute the effect. No entity has one of a view that is not filled, or is
// retired.
func (m *maintainer) wanted(ctx context.Context, row *table.Row, k keys.Key) (none derivation, err error) {
	if row == nil || !door.Table(m.from).Mode.Schema.Mine((*stored.Row)(row)) {
		return none, nil
	}
	if g := door.Table(m.from).Mode.Guard; g != nil {
		if kept, err := g.Keeps(ctx, m.Name()); err != nil || !kept {
			return none, err
		}
	}
	e, err := m.from.Entity(row)
	switch {
	case derived.IsForeign(err):
		return none, nil
	case err != nil:
		return none, err
	}
	d, err := m.deriveTwice(tabledoor.ValueOf(e), tabledoor.KeyOf(e))
	if err != nil {
		return none, err
	}
	has := d.key
	if is, _ := recorded(m.stateIn((*stored.Row)(row))); is != (keys.Key{}) {
		has = is
	}
	switch {
	case has != k:
		return none, nil
	case d.key != k:
		return none, &table.VersionError{Type: fmt.Sprintf("%v of view %s, of a release whose derive returns another key for %v", k, m.name, row.Key), Got: 1}
	}
	return d, nil
}

// WantedRows and RecordedRows return the derived entity that follows from an entity, and that which
// the entity records.
func (m *maintainer) WantedRows(entity any) ([]keys.Key, error) {
	d, err := m.deriveTwice(tabledoor.ValueOf(entity), tabledoor.KeyOf(entity))
	return keyOrNone(d.key), err
}

func (m *maintainer) RecordedRows(entity *table.Row) []keys.Key {
	k, _ := recorded(m.stateIn((*stored.Row)(entity)))
	return keyOrNone(k)
}

func keyOrNone(k keys.Key) []keys.Key {
	if k == (keys.Key{}) {
		return nil
	}
	return []keys.Key{k}
}

// stateIn returns the maintainer state of the view in a row, none if the state is corrupt.
func (m *maintainer) stateIn(row *stored.Row) []string { return row.MaintainerState(m.Name()) }
