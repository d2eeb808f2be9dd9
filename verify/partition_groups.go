package verify

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// groupsRead is the rows of a summary, read before and after the entities that they count.
type groupsRead struct {
	before, after map[string]*table.Row
	totals        derived.GroupTotals
	conflict      error // why a group must be read again, if that is because of a concurrent writer
}

// unchanged reports whether the row of a group was the same before and after the entities were
// read. Every write that changes the group writes its row, so that the row should then contain the
// total of these entities.
func (g *groupsRead) unchanged(group string) bool {
	return unchanged(g.before[group], g.after[group])
}

// all returns the RowKeys of all groups.
func (g *groupsRead) all() map[string]bool {
	all := map[string]bool{}
	for _, rows := range []map[string]*table.Row{g.totals.Rows, g.after} {
		for rk := range rows {
			all[rk] = true
		}
	}
	for rk := range g.totals.Failed {
		all[rk] = true
	}
	return all
}

// noteConflict notes the error of a write if the group must be read again because of it.
func (g *groupsRead) noteConflict(err error) {
	if mustReread(err) {
		g.conflict = err
	}
}

// readGroups reads the rows of the groups, counts all entities, and reads the rows of the groups
// again.
func (p *partition) readGroups(ctx context.Context, d derived.PerGroup, first bool) (g groupsRead, err error) {
	if g.before, err = p.groupRows(ctx, d, first); err != nil {
		return g, err
	}
	if g.totals, err = d.Totals(p.pk, p.scan(ctx, p.schema.Rows())); err != nil {
		return g, err
	}
	g.after, err = p.groupRows(ctx, d, false)
	return g, err
}

// groupRows reads the rows of a summary.
func (p *partition) groupRows(ctx context.Context, d derived.PerGroup, first bool) (map[string]*table.Row, error) {
	all := map[string]*table.Row{}
	for row, err := range p.derivedRows(ctx, d, first) {
		if err != nil {
			return nil, err
		}
		all[row.Key.RowKey()] = row
	}
	if first {
		p.count(derived.Rows, len(all))
	}
	return all, nil
}

// lacksUncountedOnly reports whether a row lacks only the entities without maintainer state. These
// are reported one by one.
func lacksUncountedOnly(d derived.PerGroup, totals derived.GroupTotals, row *table.Row, group string) bool {
	if totals.Recorded == nil {
		return false
	}
	recorded := totals.Recorded[group]
	if recorded == nil {
		return row == nil || d.IsEmptyGroup(row)
	}
	return row != nil && d.Matches(row, recorded, true)
}

// addUncounted writes the totals that include the entities without maintainer state. Later repairs
// of these entities then change only their maintainer state. open reports whether another fault may
// be left.
func (p *partition) addUncounted(ctx context.Context, d derived.PerGroup) (open bool, err error) {
	for a := range p.attempts(ctx, derived.NoEntity) {
		g, err := p.readGroups(ctx, d, a.number == 0)
		if err != nil {
			return true, err
		}
		again := false
		for rk := range g.all() {
			is, want := g.after[rk], g.totals.Rows[rk]
			switch {
			case is != nil && want != nil && d.Equal(is, want):
			case want == nil || p.foreign[rk] || !lacksUncountedOnly(d, g.totals, is, rk):
				open = true
			case !g.unchanged(rk):
				again, g.conflict = true, errChanging
			case is == nil:
				err = p.insertEmptyGroup(ctx, d, keys.Raw(p.pk, rk))
				again = true
				g.noteConflict(err)
			default:
				err = p.writeRow(ctx, is, want)
				again = again || mustReread(err)
				g.noteConflict(err)
			}
			open = open || err != nil && !mustReread(err)
			if ctx.Err() != nil {
				return true, ctx.Err()
			}
		}
		if !again {
			return open, nil
		}
		a.conflict = g.conflict
	}
	return true, ctx.Err()
}

// verifyGroups compares the rows of a summary with the totals of the entities. To repair a missing
// row, it inserts the row of an empty group, which concurrent writers count again, and replaces
// that row by its ETag at the next attempt.
func (p *partition) verifyGroups(ctx context.Context, d derived.PerGroup, first bool) error {
	var open map[string]string // the groups to read again, with the faults that are known, "" for none; nil for all groups
	for a := range p.attempts(ctx, derived.NoEntity) {
		g, err := p.readGroups(ctx, d, first && a.number == 0)
		if err != nil {
			return err
		}
		open, err = p.verifyOpenGroups(ctx, d, &g, open)
		if err != nil || len(open) == 0 {
			return err
		}
		a.conflict = g.conflict
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for rk, kind := range open {
		if kind == "" {
			p.count(derived.Unconfirmed, 1)
			continue
		}
		p.noteFault(Fault{Definition: d.Name(), Kind: kind, Row: keys.Raw(p.pk, rk), Err: errChanging})
	}
	return nil
}

// verifyOpenGroups compares the groups that are open, or all if open is nil. It returns those to
// read again.
func (p *partition) verifyOpenGroups(
	ctx context.Context, d derived.PerGroup, g *groupsRead, open map[string]string,
) (again map[string]string, err error) {
	groups := open
	if open == nil {
		groups = map[string]string{}
		for rk := range g.all() {
			groups[rk] = ""
		}
	}
	again = map[string]string{}
	for _, rk := range slices.Sorted(maps.Keys(groups)) {
		kind, more, err := p.verifyGroup(ctx, d, g, rk, groups[rk])
		if err != nil {
			return nil, err
		}
		if more {
			again[rk] = kind
		}
	}
	return again, nil
}

// groupCheck is the comparison of the row of a group with its total.
type groupCheck struct {
	d        derived.PerGroup
	read     *groupsRead
	is, want *table.Row // nil if the group has no row, and should have none
	fault    Fault      // without a kind as long as none is known
}

// verifyGroup compares the row of a group with its total, and repairs it. known is the fault that
// an earlier attempt found, "" for none. If again is set, the group must be read again, with kind
// as the fault that is known.
func (p *partition) verifyGroup(
	ctx context.Context, d derived.PerGroup, g *groupsRead, rk string, known string,
) (kind string, again bool, err error) {
	c := groupCheck{d: d, read: g, is: g.after[rk], want: g.totals.Rows[rk], fault: Fault{Definition: d.Name(), Kind: known, Row: keys.Raw(p.pk, rk)}}
	switch {
	case p.isDone(&c):
		return "", false, nil
	case !g.unchanged(rk):
		g.conflict = errChanging
		return known, true, nil
	case known == "" && p.opt.DryRun && lacksUncountedOnly(d, g.totals, c.is, rk):
		return "", false, nil
	case known == "":
		c.fault.Kind = c.kind(!p.opt.DryRun)
	}
	if c.is == nil && known == "" {
		missing, err := p.groupIsMissing(ctx, d, rk, g.totals.Members[rk])
		if err != nil || !missing {
			g.conflict = errChanging
			return "", true, err
		}
	}
	if !p.opt.DryRun && p.repairGroup(ctx, &c) {
		return c.fault.Kind, true, nil
	}
	if c.fault.Kind != "" && !(c.want == nil && d.IsEmptyGroup(c.is)) { // the row of an empty group counts no entity, which is right
		p.noteFault(c.fault)
	}
	return "", false, nil
}

// isDone reports whether nothing is to do about a group: its row is right, or cannot be repaired.
// It notes a fault that was known, or that cannot be repaired.
func (p *partition) isDone(c *groupCheck) bool {
	rk := c.fault.Row.RowKey()
	switch failed := c.read.totals.Failed[rk]; {
	case failed != nil:
		c.fault.Kind, c.fault.Err = Stale, failed
	case c.want != nil && p.foreign[rk]:
		c.fault.Kind, c.fault.Err = Missing, derived.ForeignRow(c.d.Name(), c.fault.Row)
	case c.is == nil && c.want == nil, c.is != nil && c.want != nil && c.d.Equal(c.is, c.want):
		c.fault.Repaired = true // by an earlier attempt or a concurrent writer, if a fault was known
	default:
		return false
	}
	if c.fault.Kind != "" {
		p.noteFault(c.fault)
	}
	return true
}

// kind returns the kind of the fault of a row that differs from its total, "" for none: approximate
// bounds of measures that allow them are no fault. For a repair, which makes all bounds exact, no
// bounds are.
func (c *groupCheck) kind(repair bool) string {
	switch {
	case c.is == nil:
		return Missing
	case c.want == nil:
		return Dangling
	case c.d.Matches(c.is, c.want, repair):
		return ""
	}
	return Stale
}

// repairGroup writes the row of a group as it should be. again reports that the group must be read
// again: a concurrent writer has changed the row, or it was missing and is now that of an empty
// group.
func (p *partition) repairGroup(ctx context.Context, c *groupCheck) (again bool) {
	f := &c.fault
	if c.is == nil {
		f.Err = p.insertEmptyGroup(ctx, c.d, f.Row)
	} else {
		f.Err = p.writeRow(ctx, c.is, c.want)
	}
	c.read.noteConflict(f.Err)
	switch {
	case mustReread(f.Err) && f.Kind == "" && c.d.Matches(c.is, c.want, false):
		return false // the row was right before a concurrent writer changed it
	case mustReread(f.Err), c.is == nil && f.Err == nil:
		return true
	}
	f.Repaired = f.Err == nil
	return false
}

// insertEmptyGroup inserts the row of a group that counts no entity yet.
func (p *partition) insertEmptyGroup(ctx context.Context, d derived.PerGroup, group keys.Key) error {
	if err := p.pacer.Spend(ctx, 1); err != nil {
		return err
	}
	_, err := door.Rows[table.Table[table.Row]](door.Table(p.table), false).InsertAt(ctx, group, d.EmptyGroup(group))
	return err
}

// groupIsMissing reports whether an entity was in a group that had no row, at one instant.
func (p *partition) groupIsMissing(
	ctx context.Context, d derived.PerGroup, group, member string,
) (missing bool, err error) {
	row, err := p.getRow(ctx, member)
	if err != nil || row == nil || !slices.Contains((*stored.Row)(row).MaintainerState(d.Name()), group) {
		return false, err
	}
	is, err := p.getRow(ctx, group)
	if err != nil || is != nil {
		return false, err
	}
	again, err := p.getRow(ctx, member)
	return err == nil && unchanged(row, again), err
}

// repairMiscounted writes an entity whose recorded contribution to a summary is not what it should
// be. The entity itself shows the fault, which needs no confirmation.
func (p *partition) repairMiscounted(ctx context.Context, f Fault) error {
	d := p.summaries[slices.IndexFunc(p.summaries, func(d derived.PerGroup) bool { return d.Name() == f.Definition })]
	f.Err = errChanging
	for a := range p.attempts(ctx, f.Entity.RowKey()) {
		e, row, err := p.getEntity(ctx, f.Entity.RowKey())
		var unreadable *unreadableError
		switch {
		case err == errForeign || errors.As(err, &unreadable):
			f.Err = err
			p.noteFault(f)
			return nil
		case err != nil:
			return err
		}
		var state []string
		if e != nil {
			if state, f.Err = d.StateOf(e); f.Err != nil {
				break
			}
		}
		if e == nil || slices.Equal(state, groupOf((*stored.Row)(row).MaintainerState(d.Name()))) {
			f.Err = nil // a concurrent writer has repaired or deleted the entity
			break
		}
		if err := p.pacer.Spend(ctx, 3+p.rowsPerWrite()); err != nil { // the entity, the group that it leaves and the group that it joins
			return err
		}
		if f.Err = p.repairEntity(ctx, e, derived.RepairMode{CheckUnique: true, Foreign: p.foreign}); f.Err == nil || !mustReread(f.Err) {
			break
		}
		a.conflict = f.Err
	}
	if mustReread(f.Err) {
		p.count(derived.Unconfirmed, 1)
		return ctx.Err()
	}
	f.Repaired = f.Err == nil
	p.noteFault(f)
	return ctx.Err()
}
