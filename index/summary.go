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

	// Loose lets Min and Max be as they are where the last entity that has one of them leaves: approximate bounds, which no entity
	// has any more, and which Stat.Approximate reports. No write then reads other entities; Verify with Repair makes the bounds exact again.
	// Count and Sum are always exact. Groups of more than 1,000 entities have approximate bounds also without Loose, unless Exact is set.
	ApproximateBounds bool

	// Exact keeps Min and Max exact also in groups of more than 1,000 entities. If the last entity with one of them leaves such a
	// group, the write reads all entities of the partition, and starts again whenever a concurrent writer has changed the group:
	// in a group that changes all the time it fails with table.ErrContended.
	Exact bool
}

// exactUpTo is how many entities a group has at most for its bounds to be exact, unless a measure says otherwise: as many as one page
// of a list holds.
const maxExactGroup = 1000

// Stat is the statistics of a measure in a group. If Count is 0, so are Min and Max.
type Stat struct {
	Count, Sum, Min, Max int64

	// Loose reports that Min and Max are approximate bounds: all entities are between them, but perhaps none has them. That can be so
	// in groups of more than 1,000 entities, of measures that are Loose, and while Verify changes many entities of the group. If Verify
	// was interrupted, they stay approximate until the group changes or Verify runs again.
	Approximate bool
}

// Group is a summary of the entities that have a value: their number, and the statistics of their measures.
type Group[K any] struct {
	Value    K // that was asked for; of All, as the layout reads it: folded, where it folds
	Count    int64
	Measures map[string]Stat
}

// Summary keeps one entity for each value, with the number of the entities that have it, and the sum, least and greatest of their
// measures: so that an aggregate is one read. It is right at every instant.
//
// All writers of a group share its row: a write that changes a group, or a measure, reads the row first, 1 request more, and is
// replanned if a concurrent writer has changed the row. If the last entity with the least or the greatest value leaves a group of up to
// 1,000 entities, the write reads all entities of the partition, 1 request for each 1,000, and Min and Max stay exact. In a larger group
// such a write reads no other entities: Min or Max stays as an approximate bound, which Stat.Approximate reports, until Verify with Repair
// makes it exact, or the group has shrunk to 1,000. Measure.Exact and Measure.ApproximateBounds choose one of the two for groups of any size.
//
// The first write of an entity that was stored before the summary was attached, or that another program has replaced without its _ix,
// counts anew the group that the stored entity is in and the group that it joins, once for each group and transaction: 1 request for each
// 1,000 entities of the partition. If the entity is in no group, the write after which it is in one does so. Run Verify with Repair after
// attaching a summary to a table in use: Verify counts each group once.
//
// Limitation: a group may still count an entity that another program has deleted, or moved to another group without its _ix. If the
// entity is inserted again into that group, or joins it later from the other group, the group counts it twice until Verify with Repair
// runs.
//
// Sums are whole numbers, which do not drift: for money, count cents. A sum of more than 64 bits is refused with ErrOverflow, also after a
// part of a transaction only.
//
// The group's row contains the name and kind of the definition and the type of its entities. If a row of another type, definition or
// program has the group's key, writes and Get fail with ErrForeignRow, and All leaves the group out.
type Summary[T, K any] struct {
	ix       *Index[T, K] // its layout, and where its rows are
	layout   keys.Compound[K]
	measures []Measure[T]
}

// SummaryOptions are the options of a [Summary]. The zero value counts entities.
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
	seen, properties := map[string]bool{}, map[string]string{} // by names, and by properties
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
		case m.ApproximateBounds && m.Exact:
			s.ix.fail("measures", fmt.Sprintf("have one that is both Loose and Exact, %q", m.Name))
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

// Get returns the summary of the entities that have the value k in a partition. If there are none, its Count is 0. Errors:
// ErrWriteOnly; ErrForeignRow if a foreign row has the group's key; *keys.KeyError; *DefinitionError for a handle that it is not
// attached to; those of table.Table.GetRow. 1 request.
func (s *Summary[T, K]) Get(ctx context.Context, t *table.Table[T], partition keys.Enc, k K) (*Group[K], error) {
	fail := func(err error) (*Group[K], error) { return nil, withDefinition(s.ix.name, err) }
	if err := s.ix.checkReadable(t); err != nil {
		return fail(err)
	}
	at, err := s.ix.uniqueKey(t, partition, k)
	if err != nil {
		return fail(err)
	}
	row, err := t.GetRow(ctx, at)
	if errors.Is(err, table.ErrNotFound) {
		return &Group[K]{Value: k, Measures: map[string]Stat{}}, nil
	} else if err != nil {
		return fail(err)
	}
	if !tagOf(summaryTag+s.ix.name, t).matches(row.Owner()) {
		return fail(foreignRowError(s.ix.name, at)) // the entities of the group may not be counted anywhere
	}
	return s.group(row, k), nil
}

// All yields the summaries of a partition, in the order of their values, without groups whose key a foreign row has. 1 request for each
// 1,000. Errors are those of table.Table.List, and a *keys.KeyError where the layout's values cannot be read back.
func (s *Summary[T, K]) All(ctx context.Context, t *table.Table[T], partition keys.Enc) iter.Seq2[*Group[K], error] {
	return func(yield func(*Group[K], error) bool) {
		fail := func(err error) { yield(nil, withDefinition(s.ix.name, err)) }
		if err := s.ix.checkReadable(t); err != nil {
			fail(err)
			return
		}
		mine := tagOf(summaryTag+s.ix.name, t)
		for row, err := range t.Rows(ctx, table.Query[T]{Partition: partition, Rows: s.ix.All()}) {
			var k K
			if err == nil {
				if !mine.matches(row.Owner()) {
					continue
				}
				k, err = s.layout.Decode(strings.TrimPrefix(row.Key.RowKey(), s.ix.prefixed("")))
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
		g.Measures[m.Name] = Stat{st.count, st.sum.Int64(), st.min, st.max, st.approximate}
	}
	return g
}

// share is what an entity should add.
func (s *Summary[T, K]) contributionOf(v *T, k keys.Key) (contribution, error) {
	rows, err := s.ix.rowKeys(v, k)
	if err != nil || len(rows) == 0 {
		return contribution{}, err
	}
	sh := contribution{group: rows[0], values: make([]*int64, len(s.measures))}
	for i, m := range s.measures {
		type result struct {
			v  int64
			ok bool
		}
		of := func(v *T) result { n, ok := m.Of(v); return result{n, ok} }
		r, err := callUser(s.ix.name, "measure "+m.Name, of, v)
		if err != nil {
			return sh, err
		}
		if again, err := callUser(s.ix.name, "measure "+m.Name, of, v); err != nil || again != r {
			return sh, &DefinitionError{Definition: s.ix.name, Field: "measure " + m.Name, Reason: "is not pure"}
		}
		if r.ok {
			sh.values[i] = &r.v
		}
	}
	return sh, nil
}

// summaries keeps the rows of a Summary.
type summaryMaintainer[T, K any] struct {
	*Summary[T, K]
	table *table.Table[T]
	tag   tag
}

func (s *Summary[T, K]) maintainer(t *table.Table[T]) (maintainer[T], error) {
	m := &summaryMaintainer[T, K]{s, t, tagOf(summaryTag+s.ix.name, t)}
	if s.ix.invalid != nil {
		return m, s.ix.invalid
	}
	if err := s.ix.probe(t); err != nil {
		return m, err
	}
	return m, probeFunction(func(v *T) error { _, err := s.contributionOf(v, keys.Stored("p", "r")); return err })
}

// MaxRows is the group that is left and the one that is joined.
func (m *summaryMaintainer[T, K]) MaxRows() int { return 2 }

func (m *summaryMaintainer[T, K]) Ranges() []keys.Range { return []keys.Range{m.ix.All()} }
func (m *summaryMaintainer[T, K]) columns() []string    { return nil }

func (m *summaryMaintainer[T, K]) Owns(row *table.Row) bool { return m.tag.matches(row.Owner()) }

func (m *summaryMaintainer[T, K]) is(d Definition[T]) bool { return d == Definition[T](m.Summary) }
