package index

import (
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Measure is a number that entities of a summary have.
type Measure[T any] struct {
	// Name begins the names of the properties: Age gives AgeCount, AgeSum, AgeMin, AgeMax, and the numbers of the entities that have
	// the least and the greatest value, AgeMinCount and AgeMaxCount.
	Name string

	// Of returns the number, and false for an entity that has none. It must be pure.
	Of func(*T) (v int64, ok bool)

	// ApproximateBounds keeps Min and Max if the last entity with one of them leaves: approximate bounds, which no entity may have any
	// more, and which Stat.Approximate reports. No write then reads other entities, and verify.Run with Repair makes the bounds exact
	// again. Count and Sum are always exact. Groups of more than 1,000 entities have approximate bounds also without
	// ApproximateBounds, unless Exact is set.
	ApproximateBounds bool

	// Exact keeps Min and Max exact also in groups of more than 1,000 entities. If the last entity with one of them leaves such a
	// group, the write reads all entities of the partition, and starts again whenever a concurrent writer has changed the group:
	// in a group that changes all the time it fails with table.ErrContended.
	Exact bool
}

// Summary stores one row for each value, with the number of the entities that have it, and the sum, least and greatest of their
// measures, so that an aggregate is one read. The row is exact at every instant.
//
// All writers of a group share its row: a write that changes a group, or a measure, reads the row first, 1 request more, and is
// replanned if a concurrent writer has changed the row. If the last entity with the least or the greatest value leaves a group of
// up to 1,000 entities, the write reads all entities of the partition, 1 request for each 1,000, and Min and Max stay exact. In a
// larger group such a write reads no other entities: Min or Max stays as an approximate bound, which Stat.Approximate reports,
// until verify.Run with Repair makes it exact, or the group has shrunk to 1,000. Measure.Exact and Measure.ApproximateBounds choose
// one of the two for groups of any size.
//
// The first write of an entity that was stored before the summary was attached, or that another program has replaced without its
// _ix, counts again the group that the stored entity is in and the group that it joins, once for each group and transaction: 1
// request for each 1,000 entities of the partition. If the entity is in no group, the write after which it is in one does so. Run
// verify.Run with Repair after attaching a summary to a table in use: it counts each group once.
//
// Limitation: a group may still count an entity that another program has deleted, or moved to another group without its _ix. If the
// entity is inserted again into that group, or joins it later from the other group, the group counts it twice until verify.Run
// repairs the group.
//
// Sums are whole numbers, which do not drift: for money, count cents. A write fails with ErrOverflow if a sum would have more than
// 64 bits, also if only an operation in the middle of its transaction makes it so large.
//
// The group's row contains the name and kind of the definition and the type of its entities. If a row of another type, definition
// or program has the group's key, writes and Get fail with ErrForeignRow, and All leaves the group out.
type Summary[T, K any] struct {
	ix       *Index[T, K] // the key function and the range of the rows
	layout   keys.Compound[K]
	measures []Measure[T]
}

// SummaryOptions are the options of a [Summary]. The zero value counts entities.
type SummaryOptions[T any] struct {
	// Measures are the properties that the summary adds up besides the count.
	Measures []Measure[T]

	// WriteOnly and Reserved have the same meaning as in Options.
	WriteOnly, Reserved bool
}

// maxMeasures is the most measures that a row has room for, with seven properties each.
const maxMeasures = 35

// NewSummary defines a summary. [Attach] returns the error of a wrong definition.
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
	seen, properties := map[string]bool{}, map[string]string{} // names, and the names by their properties
	if len(s.measures) > maxMeasures {
		s.ix.fail("Measures", fmt.Sprintf("are %d; a row has room for %d", len(s.measures), maxMeasures))
	}
	for _, m := range s.measures {
		switch {
		case m.Name == "":
			s.ix.fail("Measures", "contain a measure without a Name")
		case seen[m.Name]:
			s.ix.fail("Measures", fmt.Sprintf("contain two measures with the Name %q", m.Name))
		case m.Of == nil:
			s.ix.fail("Measures", fmt.Sprintf("contain %q, whose function Of is nil", m.Name))
		case m.ApproximateBounds && m.Exact:
			s.ix.fail("Measures", fmt.Sprintf("contain %q with both ApproximateBounds and Exact; set one of the two", m.Name))
		}
		for _, of := range []string{"Count", "Sum", "Min", "Max", "MinCount", "MaxCount", "Loose"} {
			if err := new(table.Row).Set(m.Name+of, 0); err != nil {
				s.ix.fail("Measures", err.Error())
			}
			if other, taken := properties[m.Name+of]; taken && other != m.Name {
				s.ix.fail("Measures", fmt.Sprintf("contain %q and %q, which would both make the property %s; rename one of them", other, m.Name, m.Name+of))
			}
			properties[m.Name+of] = m.Name
		}
		seen[m.Name] = true
	}
	return s
}

// Name returns the name of the definition.
func (s *Summary[T, K]) Name() string { return s.ix.name }
