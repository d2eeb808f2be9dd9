package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Measure is a number that entities of a summary have.
type Measure[T any] struct {
	Name string                      // of the properties: Age gives AgeCount, AgeSum, AgeMin, AgeMax, and how many have those, AgeMinCount and AgeMaxCount
	Of   func(*T) (v int64, ok bool) // ok is false where the entity has none. It must be pure

	// Loose lets Min and Max be as they are where the last entity that has one of them leaves: bounds that nobody reaches any
	// more (Stat.Loose). No write then reads other entities; Verify with Repair makes them exact again. Count and Sum are always exact.
	Loose bool
}

// Stat is what a summary says of a measure. Min and Max are 0 where Count is.
type Stat struct {
	Count, Sum, Min, Max int64

	// Loose tells that Min and Max are bounds, and perhaps no entity's: all are between them. It is false but for measures that are
	// Loose, and while Verify changes many entities of the group; if that is cut short, until one of them leaves it, or Verify is
	// run again.
	Loose bool
}

// Group is a summary of the entities that have a value: how many they are, and what their measures come to.
type Group[K any] struct {
	Value    K // that was asked for; of All, as the layout reads it: folded, where it folds
	Count    int64
	Measures map[string]Stat
}

// Summary keeps one entity for each value, with the number of the entities that have it, and the sum, least and greatest of their
// measures: so that an aggregate is one read. It is right at every instant.
//
// All writers of a group share its row: a write that changes a group, or a measure, reads the row first, 1 request more, and is
// planned again where a rival was faster. Where the last that has the least or the greatest leaves, and others stay, all entities of
// the partition are read, 1 request for each 1,000: in a large partition, or a group that changes all the time, such a write may not
// come to its end, and Loose is the better choice. Sums are whole numbers, which do not drift: for money, count
// cents. One that is more than 64 bits hold is refused with ErrOverflow, also after a part of a transaction only.
type Summary[T, K any] struct {
	ix       *Index[T, K] // its layout, and where its rows are
	layout   keys.Compound[K]
	measures []Measure[T]
}

// SummaryOptions are options of a [Summary]. The zero value counts entities.
type SummaryOptions[T any] struct {
	Measures []Measure[T]

	// WriteOnly and Reserved are as in Options.
	WriteOnly, Reserved bool
}

// maxMeasures is how many measures a row has room for, of seven properties at most.
const maxMeasures = 35

// NewSummary defines a summary. What is wrong with a definition is an error of [Attach].
func NewSummary[T, K any](name string, layout keys.Layout[K], key func(*T) (K, bool), o *SummaryOptions[T]) *Summary[T, K] {
	if o == nil {
		o = &SummaryOptions[T]{}
	}
	s := &Summary[T, K]{
		ix:       New(name, layout, key, &Options[T]{Unique: InPartition, Pointer: true, WriteOnly: o.WriteOnly, Reserved: o.Reserved}),
		measures: slices.Clone(o.Measures),
	}
	if layout != nil {
		s.layout = keys.NamedAs(layout, name)
	}
	seen, properties := map[string]bool{}, map[string]string{}
	if len(s.measures) > maxMeasures {
		s.ix.fail("measures", fmt.Sprintf("are %d, and a row has room for %d", len(s.measures), maxMeasures))
	}
	for _, m := range s.measures {
		switch {
		case m.Name == "":
			s.ix.fail("measures", "have one without a name")
		case seen[m.Name]:
			s.ix.fail("measures", fmt.Sprintf("have two of the name %q", m.Name))
		case m.Of == nil:
			s.ix.fail("measures", fmt.Sprintf("have one without a function, %q", m.Name))
		}
		for _, of := range []string{"Count", "Sum", "Min", "Max", "MinCount", "MaxCount", "Loose"} {
			if err := new(table.Row).Set(m.Name+of, 0); err != nil {
				s.ix.fail("measures", err.Error())
			}
			if other, taken := properties[m.Name+of]; taken && other != m.Name {
				s.ix.fail("measures", fmt.Sprintf("have %q and %q, both of which would make the property %s", other, m.Name, m.Name+of))
			}
			properties[m.Name+of] = m.Name
		}
		seen[m.Name] = true
	}
	return s
}

// Name is the name of the definition.
func (s *Summary[T, K]) Name() string { return s.ix.name }

// Get returns the summary of the entities that have the value k in a partition: of none, where nobody has it. 1 request. Errors:
// ErrWriteOnly; *keys.KeyError; *DefinitionError for a handle that it is not attached to; those of table.Table.GetRow.
func (s *Summary[T, K]) Get(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) (*Group[K], error) {
	fail := func(err error) (*Group[K], error) { return nil, about(s.ix.name, err) }
	if err := s.ix.readable(t); err != nil {
		return fail(err)
	}
	at, err := s.ix.at(t, partition, k)
	if err != nil {
		return fail(err)
	}
	row, err := t.GetRow(ctx, at)
	if errors.Is(err, table.ErrNotFound) {
		return &Group[K]{Value: k, Measures: map[string]Stat{}}, nil
	} else if err != nil {
		return fail(err)
	}
	return s.group(row, k), nil
}

// All yields the summaries of a partition, in the order of their values. 1 request for each 1,000. Errors are those of
// table.Table.List, and a *keys.KeyError where the layout's values cannot be read back.
func (s *Summary[T, K]) All(ctx context.Context, t *table.Table[T], partition keys.Enc) iter.Seq2[*Group[K], error] {
	return func(yield func(*Group[K], error) bool) {
		fail := func(err error) { yield(nil, about(s.ix.name, err)) }
		if err := s.ix.readable(t); err != nil {
			fail(err)
			return
		}
		for row, err := range t.Rows(ctx, table.Query[T]{Partition: partition, Rows: s.ix.All()}) {
			var k K
			if err == nil {
				k, err = s.layout.Decode(strings.TrimPrefix(row.Key.RowKey(), s.ix.place("")))
			}
			if err != nil {
				fail(err)
				return
			}
			if g := s.group(row, k); g.Count > 0 && !yield(g, nil) { // else Verify is about to count it
				return
			}
		}
	}
}

func (s *Summary[T, K]) group(row *table.Row, k K) *Group[K] {
	t, _ := s.totalOf(row)
	g := &Group[K]{Value: k, Count: t.count, Measures: map[string]Stat{}}
	for i, m := range s.measures {
		st := &t.stats[i]
		g.Measures[m.Name] = Stat{st.count, st.sum.Int64(), st.least, st.most, st.loose}
	}
	return g
}

// share is what an entity should add.
func (s *Summary[T, K]) share(v *T, k keys.Key) (share, error) {
	rows, err := s.ix.rows(v, k)
	if err != nil || len(rows) == 0 {
		return share{}, err
	}
	sh := share{row: rows[0], values: make([]*int64, len(s.measures))}
	for i, m := range s.measures {
		type result struct {
			v  int64
			ok bool
		}
		of := func(v *T) result { n, ok := m.Of(v); return result{n, ok} }
		r, err := call(s.ix.name, "measure "+m.Name, of, v)
		if err != nil {
			return sh, err
		}
		if again, err := call(s.ix.name, "measure "+m.Name, of, v); err != nil || again != r {
			return sh, &DefinitionError{Definition: s.ix.name, Field: "measure " + m.Name, Reason: "is not pure"}
		}
		if r.ok {
			sh.values[i] = &r.v
		}
	}
	return sh, nil
}

// summaries keeps the rows of a Summary.
type summaries[T, K any] struct {
	*Summary[T, K]
	table *table.Table[T]
}

func (s *Summary[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	m := &summaries[T, K]{s, t}
	if s.ix.fault != nil {
		return m, s.ix.fault
	}
	if err := s.ix.probe(t); err != nil {
		return m, err
	}
	return m, probed(func(v *T) error { _, err := s.share(v, keys.Stored("p", "r")); return err })
}

// MaxRows is the group that is left and the one that is joined.
func (m *summaries[T, K]) MaxRows() int { return 2 }

func (m *summaries[T, K]) ranges() []keys.Range { return []keys.Range{m.ix.All()} }
func (m *summaries[T, K]) columns() []string    { return nil }

func (m *summaries[T, K]) is(d Definition[T]) bool { return d == Definition[T](m.Summary) }

// Maintain takes away what the entity has added, as it remembers, and adds what it should. Every change of either writes the row,
// whatever comes of it: so who counts anew from all entities meets all changes at the row.
func (m *summaries[T, K]) Maintain(ctx context.Context, p *table.Plan, c *table.Change[T]) error {
	had := m.shareOf(c.Remembered())
	want, err := m.share(c.New, c.Key)
	if err != nil {
		return err
	}
	c.Remember(m.texts(want)...)
	anew := forced(ctx, m.ix.name)
	if slices.Equal(m.texts(had), m.texts(want)) && !(anew && want.row != "") {
		return nil
	}
	if had.row != "" && had.row != want.row && !m.ix.All().Contains(had.row) {
		// Of a former layout, or what others have written there: of a row that is none of a summary nothing is taken.
		row, err := p.Entity(ctx, keys.Stored(c.Key.PartitionKey(), had.row).Row())
		if err != nil {
			return err
		}
		if _, whole := m.totalOf(row); !whole || row.Type("_op") != "" { // which entities have
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

// change takes a share away from a group and adds another; anew counts the group whatever its row says.
func (m *summaries[T, K]) change(ctx context.Context, p *table.Plan, entity keys.Key, group string, less, more *share, anew bool) error {
	k := keys.Stored(entity.PartitionKey(), group)
	row, err := p.Load(ctx, k.Row())
	if err != nil {
		return err
	}
	t, whole := m.totalOf(row)
	r, _ := repairs(ctx)
	verifying := slices.Contains(r.counts, m.ix.name)
	switch lost := row == nil && less != nil; {
	case !verifying || anew:
	case row != nil && !whole:
		return p.Put(row) // Verify will count it, as everybody else does who finds it so
	case lost:
		return p.Put(nobodys(k))
	}
	// Of a group that has no row nobody remembers anything.
	if known := whole || row == nil && less == nil; !t.change(less, more, m.loose(verifying)) || !known || anew {
		totals, err := m.count(p.Scan(ctx, m.table.Range()), group)
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
	if row, err = m.row(k, t); err != nil {
		return err
	}
	return p.Put(row)
}

// count makes the totals of a group anew, or of all groups for "", of what their entities remember to have added.
func (s *Summary[T, K]) count(rows iter.Seq2[*table.Row, error], group string) (map[string]*total, error) {
	all := map[string]*total{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		sh := s.shareOf(row.Remembered(s.ix.name))
		if sh.row == "" || group != "" && sh.row != group {
			continue
		}
		if all[sh.row] == nil {
			all[sh.row] = &total{stats: make([]stat, len(s.measures))}
		}
		all[sh.row].change(nil, &sh, nil)
	}
	return all, nil
}
