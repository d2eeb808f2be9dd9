package index

import (
	"context"
	"iter"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Maintain takes away what the entity has added, as it remembers, and adds what it should. Every change of either writes the row,
// whatever comes of it: so who counts anew from all entities meets all changes at the row. An entity that remembers nothing may be
// counted or not; its groups are counted anew.
func (m *summaryMaintainer[T, K]) Maintain(ctx context.Context, p *table.Plan, c *table.Change[T]) error {
	had := m.contributionIn(c.State())
	want, err := m.contributionOf(c.New, c.Key)
	if err != nil {
		return err
	}
	c.SetState(m.stateOf(want)...)
	if had.group == "" && c.Old != nil {
		was, err := m.contributionOf(c.Old, c.Key)
		if err != nil {
			was = contribution{} // no group follows from it as it is stored
		}
		if was.group != "" || c.StateMissing() || slices.Equal(c.State(), unknownGroup) {
			if r, _ := repairModeOf(ctx); was.group == "" && want.group == "" && !slices.Contains(r.counts, m.ix.name) {
				c.SetState(unknownGroup...)
			}
			return m.changeUncounted(ctx, p, c.Key, was, want)
		}
	}
	anew := mustRewrite(ctx, m.ix.name)
	if slices.Equal(m.stateOf(had), m.stateOf(want)) && !(anew && want.group != "") {
		return nil
	}
	if had.group != "" && had.group != want.group && !m.ix.All().Contains(had.group) {
		// Of a former layout, or what others have written there: of a row that is none of this summary nothing is taken.
		row, err := p.Entity(ctx, keys.Stored(c.Key.PartitionKey(), had.group).Row())
		if err != nil {
			return err
		}
		if _, whole := m.totalOf(row); !whole || !m.Owns(row) {
			had = contribution{}
		}
	}
	if had.group != "" && had.group != want.group {
		if err := m.changeGroup(ctx, p, c.Key, had.group, &had, nil, false); err != nil {
			return err
		}
	}
	switch {
	case want.group == "":
		return nil
	case had.group == want.group:
		return m.changeGroup(ctx, p, c.Key, want.group, &had, &want, anew)
	}
	return m.changeGroup(ctx, p, c.Key, want.group, nil, &want, anew)
}

// unknownGroup is what an entity remembers that had lost its maintainer state and is in no group: some group may still count it. Other
// definitions fill _ix again, so that its absence no longer says so. The group that the entity joins is then counted anew.
var unknownGroup = []string{"/?"}

// countedOf is what a summary has counted of what an entity remembers.
func contributionState(texts []string) []string {
	if slices.Equal(texts, unknownGroup) {
		return nil
	}
	return texts
}

// uncertain is about an entity that may be counted in the group that follows from it as it is stored, was, or may not; or, if that is
// none, in any. Verify counts all entities before it writes one. A recount does the same, so later operations of the transaction find
// their entities counted.
func (m *summaryMaintainer[T, K]) changeUncounted(ctx context.Context, p *table.Plan, entity keys.Key, was, want contribution) error {
	r, _ := repairModeOf(ctx)
	counted := slices.Contains(r.counts, m.ix.name)
	switch {
	case counted && r.foreign[want.group]:
		return foreignRowError(m.ix.name, keys.Stored(entity.PartitionKey(), want.group))
	case counted && slices.Equal(m.stateOf(was), m.stateOf(want)):
		return nil
	}
	change := func(group string, less, more *contribution) error {
		if !counted && p.First(m.ix.name+"/"+group) {
			return m.changeGroup(ctx, p, entity, group, nil, more, true)
		}
		return m.changeGroup(ctx, p, entity, group, less, more, false)
	}
	if was.group == want.group && want.group != "" {
		return change(want.group, &was, &want)
	}
	if was.group != "" {
		if err := change(was.group, &was, nil); err != nil {
			return err
		}
	}
	if want.group == "" {
		return nil
	}
	return change(want.group, nil, &want) // where it may have been, before another program changed it
}

// change takes a share away from a group and adds another; anew counts the group whatever its row says.
func (m *summaryMaintainer[T, K]) changeGroup(ctx context.Context, p *table.Plan, entity keys.Key, group string, less, more *contribution, anew bool) error {
	k := keys.Stored(entity.PartitionKey(), group)
	row, err := p.Load(ctx, k.Row())
	switch {
	case err != nil:
		return err
	case row == nil && less == nil && more == nil:
		return nil // nobody was counted
	case row == nil || m.Owns(row):
	case more != nil:
		return foreignRowError(m.ix.name, k)
	default:
		return nil // nothing is counted there
	}
	t, whole := m.totalOf(row)
	r, _ := repairModeOf(ctx)
	verifying := slices.Contains(r.counts, m.ix.name)
	switch lost := row == nil && less != nil; {
	case !verifying || anew:
	case row != nil && !whole:
		return p.Put(row) // Verify will count it, as everybody else does who finds it so
	case lost:
		return p.Put(m.EmptyGroup(k))
	}
	count := t.count
	if less != nil {
		count--
	}
	if more != nil {
		count++
	}
	// Of a group that has no row nobody remembers anything.
	if known := whole || row == nil && less == nil; !t.apply(less, more, m.approximate(count, verifying)) || !known || anew {
		totals, err := m.totalsOf(p.Scan(ctx, m.table.Range()), group, nil)
		if err != nil {
			return err
		}
		if t = (total{stats: make([]stat, len(m.measures))}); totals[group] != nil {
			t = *totals[group]
		}
		t.apply(nil, more, nil)
	}
	if t.count == 0 {
		if row == nil {
			return nil
		}
		return p.Remove(k.Row())
	}
	total, err := m.row(k, t)
	if err != nil {
		return err
	}
	keepType(row, total)
	return p.Put(total)
}

// count makes the totals of a group anew, or of all groups for "": of what their entities remember to have added, and of what follows
// from those that remember nothing. seen, if there is one, is told what each adds.
func (m *summaryMaintainer[T, K]) totalsOf(rows iter.Seq2[*table.Row, error], group string, seen func(row *table.Row, sh contribution, remembered bool)) (map[string]*total, error) {
	all := map[string]*total{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		row = asEntityRow(row)
		if !m.table.Mine(row) {
			continue
		}
		sh := m.contributionIn(row.MaintainerState(m.ix.name))
		remembered := sh.group != ""
		if !remembered {
			if e, err := m.table.Entity(row); err == nil {
				if sh, err = m.contributionOf(&e.Value, e.Key); err != nil {
					continue
				}
			}
		}
		if sh.group == "" || group != "" && sh.group != group {
			continue
		}
		if seen != nil {
			seen(row, sh, remembered)
		}
		addContribution(all, sh, len(m.measures))
	}
	return all, nil
}

// add adds a share to the total of its group.
func addContribution(all map[string]*total, sh contribution, measures int) {
	if all[sh.group] == nil {
		all[sh.group] = &total{stats: make([]stat, measures)}
	}
	all[sh.group].apply(nil, &sh, nil)
}
