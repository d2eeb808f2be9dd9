package index

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ErrOverflow: a sum of a [Summary] is more than 64 bits hold.
var ErrOverflow = errors.New("a sum is more than 64 bits hold")

// share is what one entity adds to its group: where that is, and its measures; nil for those that it lacks.
type contribution struct {
	group  string
	values []*int64
}

// texts are what an entity remembers of its share: the row, and each measure by its name.
func (s *Summary[T, K]) stateOf(sh contribution) []string {
	if sh.group == "" {
		return nil
	}
	texts := []string{sh.group}
	for i, m := range s.measures {
		text := "/" + m.Name + "="
		if v := sh.values[i]; v != nil {
			text += strconv.FormatInt(*v, 10)
		}
		texts = append(texts, text)
	}
	return texts
}

// shareOf reads what texts has written, perhaps in an earlier release: measures that have come since are missing, and those that
// have gone are passed over, as they are when a group is counted.
func (s *Summary[T, K]) contributionIn(texts []string) contribution {
	rows, measures := splitState(texts)
	if len(rows) == 0 {
		return contribution{}
	}
	sh := contribution{group: rows[0], values: make([]*int64, len(s.measures))}
	for _, text := range measures {
		name, number, _ := strings.Cut(strings.TrimPrefix(text, "/"), "=")
		v, err := strconv.ParseInt(number, 10, 64)
		for i, m := range s.measures {
			if m.Name == name && err == nil {
				sh.values[i] = &v
			}
		}
	}
	return sh
}

// total is what a row of a summary holds.
type total struct {
	count int64
	stats []stat
}

type stat struct {
	count, min, max    int64
	minCount, maxCount int64   // how many have the least, and the most; 0 where nobody may have it any more
	sum                big.Int // which may be more while entities are added up than it is in the end
	approximate        bool    // least and most are bounds
}

// totalOf reads a row, nil for none. whole is false where it is not what a summary writes.
func (s *Summary[T, K]) totalOf(row *table.Row) (t total, whole bool) {
	t.stats = make([]stat, len(s.measures))
	if row == nil {
		return t, false
	}
	whole = true
	get := func(name string) int64 {
		v, _ := row.Get(name)
		n, ok := v.(int64)
		whole = whole && ok
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
	return t, whole && t.count > 0
}

// row is the row of a total.
func (s *summaryMaintainer[T, K]) row(k keys.Key, t total) (*table.Row, error) {
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

// loose are the measures whose extremes may be approximate bounds in a group of so many: all of them for Verify.
func (s *Summary[T, K]) approximate(count int64, verifying bool) []bool {
	all := make([]bool, len(s.measures))
	for i, m := range s.measures {
		all[i] = m.ApproximateBounds || verifying || count > maxExactGroup && !m.Exact
	}
	return all
}

// change takes away what one entity has added, and adds what it adds now; nil for nothing. It is false where the rest cannot be
// told from that: the last with an extreme has left, of a measure that is not loose, or the row was wrong.
func (t *total) apply(less, more *contribution, loose []bool) (known bool) {
	known = true
	if less != nil {
		t.count--
	}
	if more != nil {
		t.count++
	}
	value := func(sh *contribution, i int) *int64 {
		if sh == nil {
			return nil
		}
		return sh.values[i]
	}
	for i := range t.stats {
		may := loose != nil && loose[i]
		known = t.stats[i].apply(value(less, i), value(more, i)) && known && (may || !t.stats[i].approximate)
	}
	return known && t.count >= 0
}

func (s *stat) apply(less, more *int64) (known bool) {
	if less != nil && more != nil && *less == *more {
		return true
	}
	// What comes first, for it may be the extreme that the other was.
	if more != nil {
		s.add(*more)
	}
	return less == nil || s.remove(*less)
}

func (s *stat) add(v int64) {
	if s.count == 0 {
		*s = stat{min: v, max: v}
	}
	s.count++
	s.sum.Add(&s.sum, big.NewInt(v))
	switch {
	case v < s.min:
		s.min, s.minCount = v, 1
	case v == s.min:
		s.minCount++
	}
	switch {
	case v > s.max:
		s.max, s.maxCount = v, 1
	case v == s.max:
		s.maxCount++
	}
}

// take is false where the row was wrong. Bounds that nobody may have any more make it loose.
func (s *stat) remove(v int64) (known bool) {
	if s.count < 1 || v < s.min || v > s.max {
		return false
	}
	s.count--
	s.sum.Sub(&s.sum, big.NewInt(v))
	if s.count == 0 {
		whole := s.sum.Sign() == 0
		*s = stat{}
		return whole
	}
	if last := s.sum.Int64(); s.count == 1 && s.sum.IsInt64() && s.min <= last && last <= s.max {
		s.min, s.max, s.minCount, s.maxCount, s.approximate = last, last, 1, 1, false
		return true
	}
	left := func(n *int64) bool { // whether somebody has it still
		if *n > 0 {
			*n--
		}
		return *n > 0
	}
	if v == s.min && !left(&s.minCount) || v == s.max && !left(&s.maxCount) {
		s.approximate = true
	}
	return true
}

// agrees tells whether a total is as it should be, but that extremes may be bounds, of the measures that may be loose.
func (t *total) matches(exact *total, loose []bool) bool {
	if t.count != exact.count {
		return false
	}
	for i := range t.stats {
		a, b := &t.stats[i], &exact.stats[i]
		if a.approximate && !loose[i] {
			return false
		}
		same := a.count == b.count && a.sum.Cmp(&b.sum) == 0
		within := a.min <= b.min && b.max <= a.max
		if !same || !within || !a.approximate && (a.min != b.min || a.max != b.max || a.minCount != b.minCount || a.maxCount != b.maxCount) {
			return false
		}
	}
	return true
}
