package index

import "github.com/aztablekit/aztablekit/table"

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
	t.stats = make([]stat, len(s.measures))
	if row == nil {
		return t, false
	}
	valid = true
	get := func(name string) int64 {
		v, _ := row.Get(name)
		n, ok := v.(int64)
		valid = valid && ok
		return n
	}
	t.count = get("Count")
	for i, m := range s.measures {
		st := &t.stats[i]
		st.count, st.min, st.max = get(m.Name+"Count"), get(m.Name+"Min"), get(m.Name+"Max")
		st.minCount, st.maxCount = get(m.Name+"MinCount"), get(m.Name+"MaxCount")
		st.sum.SetInt64(get(m.Name + "Sum"))
		v, _ := row.Get(m.Name + "Loose")
		st.approximate, _ = v.(bool)
	}
	return t, valid && t.count > 0
}
