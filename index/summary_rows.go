package index

import (
	"errors"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
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

// rowOf returns the row of a total.
func (s *summaryMaintainer[T, K]) rowOf(k keys.Key, t total) (*table.Row, error) {
	r := &table.Row{Key: k}
	r.Own(s.tag.text)
	err := r.Set("Count", t.count)
	for i, m := range s.measures {
		st := &t.stats[i]
		if !st.sum.IsInt64() {
			return nil, fmt.Errorf("%w: %sSum of %v", ErrOverflow, m.Name, k)
		}
		err = errors.Join(err, r.Set(m.Name+"Count", st.count), r.Set(m.Name+"Sum", st.sum.Int64()), r.Set(m.Name+"Min", st.min), r.Set(m.Name+"Max", st.max),
			r.Set(m.Name+"MinCount", st.minCount), r.Set(m.Name+"MaxCount", st.maxCount))
		if st.approximate {
			err = errors.Join(err, r.Set(m.Name+"Loose", true))
		}
	}
	return r, err
}

// totalsOf counts the entities of a group, or of all groups for "". An entity contributes what its maintainer state records, or, if
// it has none, what follows from its content. If seen is not nil, totalsOf calls it for each contribution.
func (m *summaryMaintainer[T, K]) totalsOf(rows iter.Seq2[*table.Row, error], group string, seen func(row *table.Row, of contribution, recorded bool)) (map[string]*total, error) {
	all := map[string]*total{}
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		row = derived.AsEntity(row)
		if !m.table.Mine(row) {
			continue
		}
		of := m.contributionIn(row.MaintainerState(m.ix.name))
		recorded := of.group != ""
		if !recorded {
			if e, err := m.table.Entity(row); err == nil {
				if of, err = m.contributionOf(&e.Value, e.Key); err != nil {
					continue
				}
			}
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

// addContribution adds a contribution to the total of its group.
func addContribution(all map[string]*total, sh contribution, measures int) {
	if all[sh.group] == nil {
		all[sh.group] = &total{stats: make([]stat, measures)}
	}
	all[sh.group].apply(nil, &sh, nil)
}
