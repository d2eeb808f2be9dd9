package index

import (
	"context"
	"slices"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// pointersElsewhere keeps pointers in other partitions than their entities, without a worker. A
// pointer is stored before its entity, which names it, and deleted after the entity names it no
// more. A look-up reads the entity anyway, so a pointer too many does no harm. Each write of an
// entity that changes a value stores a pointer of its own: the RowKey ends with its operation ID.
type pointersElsewhere struct {
	*elsewhereMaintainer
}

// Kind returns "": no worker changes the rows.
func (m *pointersElsewhere) Kind() string { return "" }

func (m *pointersElsewhere) InRepairMode(mode derived.RepairMode) derived.Maintainer {
	return &pointersElsewhere{m.elsewhereMaintainer.InRepairMode(mode).(*elsewhereMaintainer)}
}

// Maintain stores the pointers that the entity names from now on, and plans the deletion of those
// that it named. The state of another program is not trusted: a pointer of another entity stays.
func (m *pointersElsewhere) Maintain(_ context.Context, p *extend.Plan, c *engine.Change) error {
	want, err := m.rowsOf(c.New, c.Key)
	if err != nil {
		return err
	}
	had, _, err := m.recorded(c.State())
	if err != nil {
		return err
	}
	plan := door.PlanOf(p)
	var state []string
	for _, base := range want {
		row := plan.OuterKey(base)
		at := slices.IndexFunc(had, func(k keys.Key) bool { return isPointer(k, base) })
		named := at >= 0
		if named {
			row = had[at]
			had = slices.Delete(slices.Clone(had), at, at+1)
		}
		if err := row.Err(); err != nil {
			return err
		}
		if !named || m.mode.Rewrite {
			if err := plan.StoreBefore(door.Table(m.rows), (*stored.Row)(pointerTo(c.Key, row)), c.Old == nil); err != nil {
				return err
			}
		}
		state = append(state, stateText(row))
	}
	for _, k := range had {
		if base, is := engine.BaseOf(k); is && m.form.mayBe(c.Key, base) {
			plan.DropAfter(door.Table(m.rows), k)
		}
	}
	c.SetState(state...)
	return nil
}

// isPointer reports whether a row is a pointer of some write with a key.
func isPointer(row, base keys.Key) bool {
	of, is := engine.BaseOf(row)
	return is && of == base
}

// pointsElsewhere reports whether the rows are kept by pointersElsewhere.
func (ix *core) pointsElsewhere() bool {
	return ix.elsewhere && !ix.opt.unique && ix.content == keyOnly
}

// names reports whether the row of an entity names a pointer.
func (ix *core) names(e *stored.Row, row keys.Key) bool {
	return slices.Contains(e.MaintainerState(ix.name), stateText(row))
}

// pointed returns the entity of a pointer if it names the pointer and has its value, else nil. left
// reports that it does not name it.
func (ix *core) pointed(e tabledoor.Entity, row keys.Key) (is tabledoor.Entity, left bool) {
	of, err := tabledoor.RowOf(e)
	base, has := engine.BaseOf(row)
	if err != nil || of == nil || !has || !ix.names((*stored.Row)(of), row) {
		return nil, err == nil
	}
	return current(e, base, ix.hasRow), false
}

// dropOld deletes a pointer that a crashed program has left, if it is old and its entity does not
// name it.
func (ix *core) dropOld(ctx context.Context, t, rows *engine.Table, row, entity keys.Key) error {
	return rows.DropOld(ctx, row, t, entity, func(e *stored.Row) bool { return ix.names(e, row) })
}

// The methods of derived.Elsewhere.

// WantedRows returns for each value the pointer that the entity names, or its key without an
// operation ID if it names none.
func (m *pointersElsewhere) WantedRows(e tabledoor.Entity) ([]keys.Key, error) {
	want, err := m.elsewhereMaintainer.WantedRows(e)
	if err != nil {
		return nil, err
	}
	row, err := tabledoor.RowOf(e)
	if err != nil || row == nil {
		return want, err
	}
	had := m.RecordedRows(row)
	for i, base := range want {
		if at := slices.IndexFunc(had, func(k keys.Key) bool { return isPointer(k, base) }); at >= 0 {
			want[i] = had[at]
		}
	}
	return want, nil
}

// InFlight reports whether the entity of a pointer may still be on its way.
func (m *pointersElsewhere) InFlight(row *table.Row) bool {
	return door.Table(m.rows).MayBeNamed(row.Timestamp)
}

// DeleteDangling goes by the service's clock.
func (m *pointersElsewhere) DeleteDangling(ctx context.Context, row *table.Row) error {
	entity, _ := (*stored.Row)(row).Primary()
	return m.form.core.dropOld(ctx, door.Table(m.table), door.Table(m.rows), row.Key, entity)
}

// WantedContent is what verify compares a pointer with.
func (m *pointersElsewhere) WantedContent(entity *table.Row, row keys.Key) *table.Row {
	return pointerTo(entity.Key, row)
}
