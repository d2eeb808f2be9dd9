package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// summaryMaintainer writes the rows of a Summary.
type summaryMaintainer struct {
	*summaryCore
	table  tabledoor.Untyped
	schema engine.Schema // of the table
	tag    tag
	mode   derived.RepairMode
}

func (s *summaryCore) maintainer(t tabledoor.Untyped) (maintainer, error) {
	m := &summaryMaintainer{summaryCore: s, table: t, schema: door.Table(t).Mode.Schema, tag: tagOf(summaryTag+s.ix.name, t)}
	if s.ix.invalid != nil {
		return m, s.ix.invalid
	}
	if err := s.ix.probe(t); err != nil {
		return m, err
	}
	return m, probeFunction(t, func(v any) error { _, err := s.contributionOf(v, keys.Raw("p", "r")); return err })
}

// MaxRows counts the group that the entity leaves and the group that it joins.
func (m *summaryMaintainer) MaxRows() int { return 2 }

func (m *summaryMaintainer) Ranges() []keys.RowRange    { return []keys.RowRange{m.ix.all()} }
func (m *summaryMaintainer) targetProperties() []string { return nil }

func (m *summaryMaintainer) Owns(row *table.Row) bool {
	return m.tag.matches((*stored.Row)(row).Owner())
}

func (m *summaryMaintainer) Definition() any    { return m.ix.definition }
func (m *summaryMaintainer) Form() string       { return m.ix.form("summary") }
func (m *summaryMaintainer) FormerForm() string { return m.ix.formerForm("summary") }

func (m *summaryMaintainer) RowsPerWrite() int { return 0 }

func (m *summaryMaintainer) InRepairMode(mode derived.RepairMode) derived.Maintainer {
	c := *m
	c.mode = mode
	return &c
}

// Maintain subtracts the contribution in the entity's maintainer state, and adds the contribution
// that the entity should have. Every change of a contribution writes the group's row, even if the
// total stays the same, so that a concurrent recount of the group fails by the row's ETag. An
// entity without maintainer state may be counted or not; its groups are counted again.
func (m *summaryMaintainer) Maintain(ctx context.Context, p *extend.Plan, c *engine.Change) error {
	had := m.contributionIn(c.State())
	want, err := m.contributionOf(c.New, c.Key)
	if err != nil {
		return err
	}
	c.SetState(m.stateOf(want)...)
	if had.group == "" && c.Old != nil {
		was := m.contributionOfStored(c.Old, c.Key)
		if was.group != "" || c.StateMissing() || derived.IsUnknownGroup(c.State()) {
			if was.group == "" && want.group == "" && !m.mode.CountsGroups {
				c.SetState(derived.UnknownGroup()...)
			}
			return m.changeUncounted(ctx, p, c.Key, was, want)
		}
	}
	if slices.Equal(m.stateOf(had), m.stateOf(want)) && !(m.mode.Rewrite && want.group != "") {
		return nil
	}
	return m.changeCounted(ctx, p, c.Key, had, want)
}

// changeCounted changes the groups of an entity whose maintainer state names the group that counts
// it, and of a new entity.
func (m *summaryMaintainer) changeCounted(
	ctx context.Context, p *extend.Plan, entity keys.Key, had, want contribution,
) error {
	if had.group != "" && had.group == want.group {
		return m.changeGroup(ctx, p, entity, want.group, &had, &had, &want, m.mode.Rewrite)
	}
	if had.group != "" {
		if err := m.leaveGroup(ctx, p, entity, &had); err != nil {
			return err
		}
	}
	if want.group == "" {
		return nil
	}
	return m.changeGroup(ctx, p, entity, want.group, nil, nil, &want, m.mode.Rewrite)
}

// leaveGroup subtracts a contribution from a group that the entity is no longer in.
func (m *summaryMaintainer) leaveGroup(ctx context.Context, p *extend.Plan, entity keys.Key, had *contribution) error {
	if !m.ix.all().Contains(had.group) {
		// The RowKey is of a former layout, or another program has written it. Nothing is
		// subtracted from a row that is not this summary's.
		row, err := p.Entity(ctx, keys.Raw(entity.PartitionKey(), had.group).Row())
		if err != nil {
			return err
		}
		if _, valid := m.totalOf(row); !valid || !m.Owns(row) {
			return nil
		}
	}
	return m.changeGroup(ctx, p, entity, had.group, had, had, nil, false)
}

// changeUncounted changes the groups of an entity without maintainer state, which may be counted or
// not: in was, the group that the stored entity is in, or in any group if it is in none. A repair
// has counted all entities before it writes one. Other writes count each group once in a
// transaction; later operations of the transaction then find their entities counted.
func (m *summaryMaintainer) changeUncounted(
	ctx context.Context, p *extend.Plan, entity keys.Key, was, want contribution,
) error {
	counted := m.mode.CountsGroups
	switch {
	case counted && m.mode.Foreign[want.group]:
		return derived.ForeignRow(m.ix.name, keys.Raw(entity.PartitionKey(), want.group))
	case counted && slices.Equal(m.stateOf(was), m.stateOf(want)):
		return nil
	}
	change := func(group string, less, more *contribution) error {
		if !counted && door.PlanOf(p).First(m.ix.name+"/"+group) {
			return m.changeGroup(ctx, p, entity, group, less, nil, more, true)
		}
		return m.changeGroup(ctx, p, entity, group, less, less, more, false)
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
	return change(want.group, nil, &want) // this group may count the entity from before another program changed it
}

// changeGroup subtracts a contribution from a group and adds another. recount counts all entities
// of the group, whatever its row says. was is what the entity contributes to the group as it is
// stored, nil for none, whether the row counts it or not.
func (m *summaryMaintainer) changeGroup(
	ctx context.Context, p *extend.Plan, entity keys.Key, group string, was, less, more *contribution, recount bool,
) error {
	k := keys.Raw(entity.PartitionKey(), group)
	row, err := p.Load(ctx, k.Row())
	switch {
	case err != nil:
		return err
	case row == nil && less == nil && more == nil:
		return nil // no entity was counted
	case row == nil || m.Owns(row):
	case more != nil:
		return derived.ForeignRow(m.ix.name, k)
	default:
		return nil // a foreign row counts no entity
	}
	t, valid := m.totalOf(row)
	// A repair counts the group afterwards. Until then, a missing or invalid row makes every other
	// writer count it.
	switch {
	case !m.mode.CountsGroups || recount:
	case row != nil && !valid:
		return p.Put(row)
	case row == nil && less != nil:
		return p.Put(m.EmptyGroup(k))
	}
	// No entity's maintainer state records a group that has no row, so that such a group is known
	// to be empty.
	known := valid || row == nil && less == nil
	applied := t.apply(less, more, m.approximate(countAfter(t.count, less, more), m.mode.CountsGroups))
	if !applied || !known || recount {
		t, err = m.counted(ctx, p, group)
		if err != nil {
			return err
		}
		t.apply(nil, more, nil)
	}
	if err := m.full(k, was, more, &t); err != nil {
		return err
	}
	return m.putGroup(p, k, row, t)
}

// FullError: a write would make a group of a [Summary] exceed its bound (SummaryOptions.Most,
// Measure.Most). Nothing was written.
type FullError struct {
	Definition string // the name of the summary
	Value      any    // of the group, as the layout decodes it; the RowKey if it cannot
	Measure    string // whose Sum would be too great, "" for the number of entities
	Most       int64  // the bound
	got        int64  // what the group would have
}

func (e *FullError) Error() string {
	of := "the number of entities"
	if e.Measure != "" {
		of = "the sum of " + e.Measure
	}
	return fmt.Sprintf("%s in the group %v of %s would be %d, and may be %d: delete some, or raise Most in all programs", of, e.Value, e.Definition, e.got, e.Most)
}

// full returns an error if a change of an entity makes the total of its group exceed a bound. An
// entity may leave a group that exceeds it already, and change in it without growing. A repair
// counts what there is.
func (m *summaryMaintainer) full(k keys.Key, was, more *contribution, t *total) error {
	if m.mode.Active || m.mode.CountsGroups || m.mode.Rewrite {
		return nil
	}
	refuse := func(measure string, got, most int64) error {
		refused := &FullError{Definition: m.ix.name, Value: k.RowKey(), Measure: measure, Most: most, got: got}
		if value, err := m.ix.values.decode(strings.TrimPrefix(k.RowKey(), m.ix.prefixed(""))); err == nil {
			refused.Value = value
		}
		return refused
	}
	if m.most > 0 && was == nil && more != nil && t.count > m.most {
		return refuse("", t.count, m.most)
	}
	for i, of := range m.measures {
		var before, after int64
		if was != nil && was.values[i] != nil {
			before = *was.values[i]
		}
		if more != nil && more.values[i] != nil {
			after = *more.values[i]
		}
		sum := &t.stats[i].sum // one that is no Int64 is refused as it is written
		if of.Most > 0 && after > before && sum.IsInt64() && sum.Int64() > of.Most {
			return refuse(of.Name, sum.Int64(), of.Most)
		}
	}
	return nil
}

// countAfter returns the count of a group after a contribution was subtracted and another one
// added; nil for none.
func countAfter(count int64, less, more *contribution) int64 {
	if less != nil {
		count--
	}
	if more != nil {
		count++
	}
	return count
}

// counted counts the entities of a group, without that of the change.
func (m *summaryMaintainer) counted(ctx context.Context, p *extend.Plan, group string) (total, error) {
	totals, err := m.totalsOf(p.Scan(ctx, m.schema.Rows()), group, nil)
	if err != nil {
		return total{}, err
	}
	if totals[group] == nil {
		return total{stats: make([]stat, len(m.measures))}, nil
	}
	return *totals[group], nil
}

// putGroup plans the row of a group in place of the row that is loaded, which may be nil. A group
// without entities has no row.
func (m *summaryMaintainer) putGroup(p *extend.Plan, k keys.Key, loaded *table.Row, t total) error {
	if t.count == 0 {
		if loaded == nil {
			return nil
		}
		return p.Remove(k.Row())
	}
	row, err := m.rowOf(k, t)
	if err != nil {
		return err
	}
	derived.KeepType(loaded, row)
	return p.Put(row)
}

// rowOf returns the row of a total.
func (s *summaryMaintainer) rowOf(k keys.Key, t total) (*table.Row, error) {
	r := &table.Row{Key: k}
	derived.Own(r, s.tag.text)
	err := r.Set("Count", t.count)
	for i, m := range s.measures {
		st := &t.stats[i]
		if !st.sum.IsInt64() {
			field := fmt.Sprintf("index %s: the sum of %s in %v", s.ix.name, m.Name, k)
			return nil, &table.LimitError{Field: field, Limit: "bits", Got: st.sum.BitLen() + 1, Max: 64}
		}
		err = errors.Join(err, r.Set(m.Name+"Count", st.count), r.Set(m.Name+"Sum", st.sum.Int64()), r.Set(m.Name+"Min", st.min), r.Set(m.Name+"Max", st.max),
			r.Set(m.Name+"MinCount", st.minCount), r.Set(m.Name+"MaxCount", st.maxCount))
		if st.approximate {
			err = errors.Join(err, r.Set(m.Name+"Loose", true))
		}
	}
	return r, err
}

// totalsOf counts the entities of a group, or of all groups for "". An entity contributes what its
// maintainer state records, or, if it has none, what follows from its content. If seen is not nil,
// totalsOf calls it for each contribution.
func (m *summaryMaintainer) totalsOf(
	rows iter.Seq2[*table.Row, error], group string, seen func(row *table.Row, of contribution, recorded bool),
) (map[string]*total, error) {
	all := map[string]*total{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		row = derived.AsEntity(row)
		if !m.schema.Mine((*stored.Row)(row)) {
			continue
		}
		of := m.contributionIn((*stored.Row)(row).MaintainerState(m.ix.name))
		recorded := of.group != ""
		if !recorded {
			of = m.contributionOfRow(row)
		}
		if of.group == "" || group != "" && of.group != group {
			continue
		}
		if seen != nil {
			seen(row, of, recorded)
		}
		addContribution(all, of, len(m.measures))
	}
	return all, nil
}

// contributionOfRow returns what follows from the content of a row. A row that is no T is in no
// group.
func (m *summaryMaintainer) contributionOfRow(row *table.Row) contribution {
	e, err := m.table.Entity(row)
	if err != nil {
		return contribution{}
	}
	return m.contributionOfStored(tabledoor.ValueOf(e), tabledoor.KeyOf(e))
}

// contributionOfStored returns the contribution of a stored entity. One that could not be written
// is in no group.
func (m *summaryMaintainer) contributionOfStored(v any, k keys.Key) contribution {
	of, err := m.contributionOf(v, k)
	if err != nil {
		return contribution{}
	}
	return of
}

// addContribution adds a contribution to the total of its group.
func addContribution(all map[string]*total, c contribution, measures int) {
	if all[c.group] == nil {
		all[c.group] = &total{stats: make([]stat, measures)}
	}
	all[c.group].apply(nil, &c, nil)
}

// The methods of derived.PerGroup.

func (m *summaryMaintainer) StateOf(entity any) ([]string, error) {
	of, err := m.contributionOf(tabledoor.ValueOf(entity), tabledoor.KeyOf(entity))
	return m.stateOf(of), err
}

func (m *summaryMaintainer) Matches(got, want *table.Row, all bool) bool {
	a, valid := m.totalOf(got)
	b, _ := m.totalOf(want)
	return valid && a.matches(&b, m.approximate(b.count, all))
}

func (m *summaryMaintainer) Equal(got, want *table.Row) bool {
	a, valid := m.totalOf(got)
	b, _ := m.totalOf(want)
	return valid && reflect.DeepEqual(a, b)
}

func (m *summaryMaintainer) EmptyGroup(group keys.Key) *table.Row {
	r := &table.Row{Key: group}
	derived.Own(r, m.tag.text)
	_ = r.Set("Count", int64(0)) // a valid property, which cannot fail
	return r
}

func (m *summaryMaintainer) IsEmptyGroup(row *table.Row) bool {
	return (*stored.Row)(row).WithoutSystemProperties().Same((*stored.Row)(m.EmptyGroup(row.Key)).WithoutSystemProperties())
}

func (m *summaryMaintainer) Totals(pk string, entities iter.Seq2[*table.Row, error]) (derived.GroupTotals, error) {
	all := derived.GroupTotals{Members: map[string]string{}, Failed: map[string]error{}}
	recordedTotals, allRecorded := map[string]*total{}, true
	totals, err := m.totalsOf(entities, "", func(row *table.Row, of contribution, recorded bool) {
		allRecorded = allRecorded && recorded
		if recorded {
			all.Members[of.group] = row.Key.RowKey()
			addContribution(recordedTotals, of, len(m.measures))
		}
	})
	if err != nil {
		return all, err
	}
	rowsOf := func(totals map[string]*total, failed map[string]error) map[string]*table.Row {
		rows := map[string]*table.Row{}
		for rk, t := range totals {
			if !m.ix.all().Contains(rk) {
				continue // a group of a former layout, which the members leave when they are repaired
			}
			if row, err := m.rowOf(keys.Raw(pk, rk), *t); err != nil {
				failed[rk] = err
			} else {
				rows[rk] = row
			}
		}
		return rows
	}
	all.Rows = rowsOf(totals, all.Failed)
	if !allRecorded {
		all.Recorded = rowsOf(recordedTotals, map[string]error{})
	}
	return all, nil
}
