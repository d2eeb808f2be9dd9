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
func (m *summaries[T, K]) Maintain(ctx context.Context, p *table.Plan, c *table.Change[T]) error {
	had := m.shareOf(c.State())
	want, err := m.share(c.New, c.Key)
	if err != nil {
		return err
	}
	c.SetState(m.texts(want)...)
	if had.row == "" && c.Old != nil {
		was, err := m.share(c.Old, c.Key)
		if err != nil {
			was = share{} // no group follows from it as it is stored
		}
		if was.row != "" || c.StateMissing() || slices.Equal(c.State(), unknownGroup) {
			if r, _ := repairs(ctx); was.row == "" && want.row == "" && !slices.Contains(r.counts, m.ix.name) {
				c.SetState(unknownGroup...)
			}
			return m.uncertain(ctx, p, c.Key, was, want)
		}
	}
	anew := forced(ctx, m.ix.name)
	if slices.Equal(m.texts(had), m.texts(want)) && !(anew && want.row != "") {
		return nil
	}
	if had.row != "" && had.row != want.row && !m.ix.All().Contains(had.row) {
		// Of a former layout, or what others have written there: of a row that is none of this summary nothing is taken.
		row, err := p.Entity(ctx, keys.Stored(c.Key.PartitionKey(), had.row).Row())
		if err != nil {
			return err
		}
		if _, whole := m.totalOf(row); !whole || !m.mine(row) {
			had = share{}
		}
	}
	if had.row != "" && had.row != want.row {
		if err := m.change(ctx, p, c.Key, had.row, &had, nil, false); err != nil {
			return err
		}
	}
	switch {
	case want.row == "":
		return nil
	case had.row == want.row:
		return m.change(ctx, p, c.Key, want.row, &had, &want, anew)
	}
	return m.change(ctx, p, c.Key, want.row, nil, &want, anew)
}

// unknownGroup is what an entity remembers that had lost its maintainer state and is in no group: some group may still count it. Other
// definitions fill _ix again, so that its absence no longer says so. The group that the entity joins is then counted anew.
var unknownGroup = []string{"/?"}

// countedOf is what a summary has counted of what an entity remembers.
func countedOf(texts []string) []string {
	if slices.Equal(texts, unknownGroup) {
		return nil
	}
	return texts
}

// uncertain is about an entity that may be counted in the group that follows from it as it is stored, was, or may not; or, if that is
// none, in any. Verify counts all entities before it writes one. A recount does the same, so later operations of the transaction find
// their entities counted.
func (m *summaries[T, K]) uncertain(ctx context.Context, p *table.Plan, entity keys.Key, was, want share) error {
	r, _ := repairs(ctx)
	counted := slices.Contains(r.counts, m.ix.name)
	switch {
	case counted && r.foreign[want.row]:
		return foreignRow(m.ix.name, keys.Stored(entity.PartitionKey(), want.row))
	case counted && slices.Equal(m.texts(was), m.texts(want)):
		return nil
	}
	change := func(group string, less, more *share) error {
		if !counted && p.First(m.ix.name+"/"+group) {
			return m.change(ctx, p, entity, group, nil, more, true)
		}
		return m.change(ctx, p, entity, group, less, more, false)
	}
	if was.row == want.row && want.row != "" {
		return change(want.row, &was, &want)
	}
	if was.row != "" {
		if err := change(was.row, &was, nil); err != nil {
			return err
		}
	}
	if want.row == "" {
		return nil
	}
	return change(want.row, nil, &want) // where it may have been, before another program changed it
}

// change takes a share away from a group and adds another; anew counts the group whatever its row says.
func (m *summaries[T, K]) change(ctx context.Context, p *table.Plan, entity keys.Key, group string, less, more *share, anew bool) error {
	k := keys.Stored(entity.PartitionKey(), group)
	row, err := p.Load(ctx, k.Row())
	switch {
	case err != nil:
		return err
	case row == nil && less == nil && more == nil:
		return nil // nobody was counted
	case row == nil || m.mine(row):
	case more != nil:
		return foreignRow(m.ix.name, k)
	default:
		return nil // nothing is counted there
	}
	t, whole := m.totalOf(row)
	r, _ := repairs(ctx)
	verifying := slices.Contains(r.counts, m.ix.name)
	switch lost := row == nil && less != nil; {
	case !verifying || anew:
	case row != nil && !whole:
		return p.Put(row) // Verify will count it, as everybody else does who finds it so
	case lost:
		return p.Put(m.nobody(k))
	}
	count := t.count
	if less != nil {
		count--
	}
	if more != nil {
		count++
	}
	// Of a group that has no row nobody remembers anything.
	if known := whole || row == nil && less == nil; !t.change(less, more, m.loose(count, verifying)) || !known || anew {
		totals, err := m.count(p.Scan(ctx, m.table.Range()), group, nil)
		if err != nil {
			return err
		}
		if t = (total{stats: make([]stat, len(m.measures))}); totals[group] != nil {
			t = *totals[group]
		}
		t.change(nil, more, nil)
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
func (m *summaries[T, K]) count(rows iter.Seq2[*table.Row, error], group string, seen func(row *table.Row, sh share, remembered bool)) (map[string]*total, error) {
	all := map[string]*total{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		row = original(row)
		if !m.table.Mine(row) {
			continue
		}
		sh := m.shareOf(row.MaintainerState(m.ix.name))
		remembered := sh.row != ""
		if !remembered {
			if e, err := m.table.Entity(row); err == nil {
				if sh, err = m.share(&e.Value, e.Key); err != nil {
					continue
				}
			}
		}
		if sh.row == "" || group != "" && sh.row != group {
			continue
		}
		if seen != nil {
			seen(row, sh, remembered)
		}
		add(all, sh, len(m.measures))
	}
	return all, nil
}

// add adds a share to the total of its group.
func add(all map[string]*total, sh share, measures int) {
	if all[sh.row] == nil {
		all[sh.row] = &total{stats: make([]stat, measures)}
	}
	all[sh.row].change(nil, &sh, nil)
}
