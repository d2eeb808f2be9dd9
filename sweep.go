package aztablekit

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/table"
)

// sweeper deletes the rows of a retired definition.
type sweeper struct {
	maintainer string
	pacer      *pace.Limit
	prefix     string // of tokens
	token      string // where the scan of the entities begins
	swept      int
	progress   func(token string)
	hold       func(context.Context) (engine.Lease, error) // while the definition is retired
}

// sweep deletes the rows that entities record, with the record, each entity by its ETag. Then it
// deletes the rows that no entity records. Meanwhile no writer adds such a row.
func sweep(ctx context.Context, t tabledoor.Untyped, w *sweeper) error {
	if w.maintainer == door.Table(t).Mode.Stamps() {
		return sweepStamps(ctx, t, w)
	}
	if err := sweepEntities(ctx, t, w); err != nil {
		return err
	}
	switch m := door.Table(t).Mode.Maintainer(w.maintainer).Typed().(type) {
	case view:
		return m.Drop(ctx, w.delete)
	case derived.Elsewhere:
		return sweepElsewhere(ctx, m, w)
	case derived.Maintainer:
		return sweepRows(ctx, t, m, w)
	}
	return nil
}

// view is the maintainer of a view.
type view interface {
	Drop(ctx context.Context, each func(context.Context, func(context.Context) error) error) error
}

const (
	mostSweeps = 10  // of the entities, while concurrent writers change some of them
	sweepChunk = 100 // entities that are written together
)

func sweepEntities(ctx context.Context, t tabledoor.Untyped, w *sweeper) error {
	for range mostSweeps {
		skipped, err := sweepOnce(ctx, t, w)
		if err != nil || skipped == 0 {
			return err
		}
	}
	return table.ErrContended
}

// sweepOnce reads all entities, and writes those that record the definition. The writes drop its
// rows, since it is retired.
func sweepOnce(ctx context.Context, t tabledoor.Untyped, w *sweeper) (skipped int, err error) {
	writer := door.InMode(t, func(m *engine.Mode) { m.IgnoreCorruptState, m.Repairs = true, true })
	schema := door.Table(t).Mode.Schema
	cursor := table.NewCursor(w.token)
	var chunk []tabledoor.Entity
	token := w.token // behind which none was skipped
	flush := func() error {
		n, err := w.touch(ctx, writer, chunk)
		chunk, skipped = chunk[:0], skipped+n
		if skipped == 0 {
			token = cursor.Token()
		}
		w.progress(w.prefix + token)
		return err
	}
	q := table.Query[table.Row]{Rows: schema.Rows(), TableScan: true, Cursor: cursor}
	for e, err := range door.Rows[table.Table[table.Row]](door.Table(t), true).List(ctx, q) {
		if err != nil {
			return skipped, err
		}
		if err := w.pacer.Spend(ctx, 1); err != nil {
			return skipped, err
		}
		row := (*stored.Row)(&e.Value)
		if !schema.Mine(row) || len(row.MaintainerState(w.maintainer)) == 0 {
			continue
		}
		entity, err := writer.Entity(&e.Value)
		if err != nil {
			return skipped, err
		}
		chunk = append(chunk, entity)
		if len(chunk) == sweepChunk {
			if err := flush(); err != nil {
				return skipped, err
			}
		}
	}
	return skipped, flush()
}

// touch writes entities as they are stored, and returns how many of them a concurrent writer has
// changed.
func (w *sweeper) touch(ctx context.Context, t tabledoor.Untyped, all []tabledoor.Entity) (skipped int, err error) {
	if err := w.pacer.Spend(ctx, len(all)); err != nil {
		return 0, err
	}
	result, err := door.Bulk(ctx, door.Ops(all, t.TouchOp), &engine.BulkOptions{Skip: func(_ int, err error) bool {
		changed := errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound)
		if changed {
			skipped++
		}
		return changed
	}})
	w.swept += result.Applied
	return skipped, err
}

// delete deletes a row while the definition is retired: no later, since the row may be one of a
// definition that was filled again. A row that a concurrent writer has deleted, or changed, is not
// the sweeper's any more.
func (w *sweeper) delete(ctx context.Context, del func(context.Context) error) error {
	if err := w.pacer.Spend(ctx, 1); err != nil {
		return err
	}
	lease, err := w.hold(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := engine.UnderLease(ctx, lease)
	defer cancel()
	err = del(ctx)
	switch {
	case err == nil:
		w.swept++
	case errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrNotFound):
		return nil
	}
	return err
}

// sweepStamps deletes the stamps of all partitions.
func sweepStamps(ctx context.Context, t table.Handle, w *sweeper) error {
	rows := door.Rows[table.Table[table.Row]](door.Table(t), false)
	for row, err := range rows.Rows(ctx, table.Query[table.Row]{Rows: keyrange.Stored(reserved.Stamp, reserved.Stamp+" "), TableScan: true}) {
		if err != nil {
			return err
		}
		if err := w.delete(ctx, func(ctx context.Context) error { return rows.DeleteAny(ctx, row.Key) }); err != nil {
			return err
		}
	}
	return nil
}

// sweepElsewhere deletes rows in other partitions. Tombstones stay for the work of a day.
func sweepElsewhere(ctx context.Context, m derived.Elsewhere, w *sweeper) error {
	for row, err := range m.Rows(ctx, 0) {
		if err != nil {
			return err
		}
		if len(m.EntitiesIn(row)) == 0 { // a tombstone, or another's
			continue
		}
		if err := w.delete(ctx, func(ctx context.Context) error { return m.Delete(ctx, row) }); err != nil {
			return err
		}
	}
	return nil
}

// sweepRows deletes rows in the partitions of the entities.
func sweepRows(ctx context.Context, t tabledoor.Untyped, m derived.Maintainer, w *sweeper) error {
	var queries []table.Query[table.Row]
	for _, r := range m.Ranges() {
		queries = append(queries, table.Query[table.Row]{Rows: r, TableScan: true})
	}
	if searched, is := m.(derived.Searched); is {
		queries = append(queries, table.Query[table.Row]{Where: searched.Condition(), TableScan: true})
	}
	for _, q := range queries {
		for row, err := range door.Rows[table.Table[table.Row]](door.Table(t), false).Rows(ctx, q) {
			if err != nil {
				return err
			}
			if !m.Owns(row) {
				continue
			}
			if err := w.delete(ctx, func(ctx context.Context) error { return deleteRow(ctx, t, m, row) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteRow deletes a row, or the part of it that is the definition's, by its ETag.
func deleteRow(ctx context.Context, t tabledoor.Untyped, m derived.Maintainer, row *table.Row) (err error) {
	var rest *table.Row
	_, searched := m.(derived.Searched)
	if per, is := m.(derived.PerEntity); is && searched {
		if rest, err = per.Without(row, per.EntitiesIn(row)...); err != nil {
			return err
		}
	}
	return derived.WriteRow(ctx, t, row, rest)
}
