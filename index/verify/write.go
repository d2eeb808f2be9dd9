package verify

import (
	"context"
	"errors"
	"slices"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// mustReread reports whether a write failed because of a concurrent writer, or has an unknown outcome.
func mustReread(err error) bool {
	return errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrExists) || errors.Is(err, table.ErrContended) || errors.Is(err, table.ErrUnknownOutcome)
}

// writeRow replaces a row that was read, by its ETag, or deletes it if want is nil. A row that contains an operation ID and is no
// copy is an entity, and then gets a new operation ID.
func (p *partition[T]) writeRow(ctx context.Context, is, want *table.Row) error {
	if err := p.pacer.Spend(ctx, 1); err != nil {
		return err
	}
	_, hasID := is.Get(reserved.OperationID)
	_, isCopy := is.Engine().Primary()
	rows := table.RowsOf(p.table.Engine(), hasID && !isCopy)
	e, err := rows.Entity(is)
	if err != nil {
		return err
	}
	if want == nil {
		return rows.Delete(ctx, e)
	}
	derived.KeepType(is, want)
	e.Value = *want
	return rows.Replace(ctx, e)
}

// removeEntity removes an entity from a row that should not name it, by the row's ETag: a concurrent write that makes it right
// changes the row.
func (p *partition[T]) removeEntity(ctx context.Context, d derived.PerEntity[T], row *table.Row, entity string) error {
	if row == nil {
		return nil
	}
	rest, err := d.Without(row, entity)
	if err != nil {
		return err
	}
	return p.writeRow(ctx, row, rest)
}

// releaseRows writes an entity so that the rows of a definition that it should not have are deleted, and removed from its
// maintainer state. Otherwise the entity's next write would delete the rows of the new owner. It adds no rows, because a row that
// the entity lacks may belong to another one.
func (p *partition[T]) releaseRows(ctx context.Context, d derived.PerEntity[T], e *table.Entity[T]) error {
	if err := p.pacer.Spend(ctx, 2+p.rowsPerWrite()); err != nil {
		return err
	}
	return p.repairEntity(ctx, e, derived.RepairMode{ReleaseOnly: true, CheckUnique: true, Foreign: p.foreign}, d.Name())
}

// repairEntity writes an entity by a handle of repairTable.
func (p *partition[T]) repairEntity(ctx context.Context, e *table.Entity[T], mode derived.RepairMode, definitions ...string) error {
	t, err := p.repairTable(mode, definitions...)
	if err != nil {
		return err
	}
	p.entitiesWritten.Store(true)
	return t.Touch(ctx, e)
}

// repairTable returns a handle whose touches of entities repair derived rows, and change nothing else in the entities: rows of an older
// version of the schema stay of that version. The mode holds for all definitions, but Rewrite and ReleaseOnly only for those that are
// named.
func (r *run[T]) repairTable(mode derived.RepairMode, definitions ...string) (*table.Table[T], error) {
	all := derived.MaintainersOf[maintain.Maintainer[T]](r.table.Engine())
	for i, m := range all {
		d, is := m.(derived.Maintainer[T])
		if !is {
			continue
		}
		_, perGroup := m.(derived.PerGroup[T])
		chosen, verified, mode := slices.Contains(definitions, m.Name()), r.verifies(m.Name()), mode
		mode.Rewrite, mode.ReleaseOnly = chosen && !mode.ReleaseOnly, chosen && mode.ReleaseOnly
		mode.Active, mode.RowsRead, mode.CountsGroups = true, verified, perGroup && verified
		all[i] = d.InRepairMode(mode)
	}
	return maintain.With(r.table.InMode(func(m *engine.Mode) { m.Maintainers, m.Repairs = nil, true }), all...)
}
