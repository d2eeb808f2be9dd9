package index

import (
	"cmp"

	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/table"
)

// maxExactGroup is the most entities of a group with exact bounds, unless a measure says otherwise: one page of a list.
const maxExactGroup = 1000

// approximate reports for each measure whether its bounds may be approximate in a group of so many entities. In a repair all may
// be.
func (s *Summary[T, K]) approximate(count int64, repairing bool) []bool {
	all := make([]bool, len(s.measures))
	for i, m := range s.measures {
		all[i] = m.ApproximateBounds || repairing || count > maxExactGroup && !m.Exact
	}
	return all
}

// totalOf reads a row, nil for none. valid is false if the row is not as a summary writes it.
func (s *Summary[T, K]) totalOf(row *table.Row) (t total, valid bool) {
	if row == nil {
		return total{stats: make([]stat, len(s.measures))}, false
	}
	t, err := s.read(row)
	return t, err == nil && t.count > 0
}

// read reads a row. The row of an empty group has no measures. Errors: *table.DecodeError for the first property that is not as a
// summary writes it.
func (s *Summary[T, K]) read(row *table.Row) (t total, err error) {
	t.stats = make([]stat, len(s.measures))
	get := func(name string) int64 {
		n, wrong := stored.Whole(row, name)
		err = cmp.Or(err, wrong)
		return n
	}
	if t.count = get("Count"); t.count == 0 {
		return t, err
	}
	for i, m := range s.measures {
		st := &t.stats[i]
		st.count, st.min, st.max = get(m.Name+"Count"), get(m.Name+"Min"), get(m.Name+"Max")
		st.minCount, st.maxCount = get(m.Name+"MinCount"), get(m.Name+"MaxCount")
		st.sum.SetInt64(get(m.Name + "Sum"))
		approximate, wrong := stored.Bool(row, m.Name+"Loose")
		st.approximate, err = approximate, cmp.Or(err, wrong)
	}
	return t, err
}
