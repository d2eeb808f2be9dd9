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
type share struct {
	row    string
	values []*int64
}

// texts are what an entity remembers of its share: the row, and each measure by its name.
func (s *Summary[T, K]) texts(sh share) []string {
	if sh.row == "" {
		return nil
	}
	texts := []string{sh.row}
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
func (s *Summary[T, K]) shareOf(texts []string) share {
	rows, measures := remembered(texts)
	if len(rows) == 0 {
		return share{}
	}
	sh := share{row: rows[0], values: make([]*int64, len(s.measures))}
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
	count, least, most int64
	atLeast, atMost    int64   // how many have the least, and the most; 0 where nobody may have it any more
	sum                big.Int // which may be more while entities are added up than it is in the end
	loose              bool    // least and most are bounds
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
		st.count, st.least, st.most = get(m.Name+"Count"), get(m.Name+"Min"), get(m.Name+"Max")
		st.atLeast, st.atMost = get(m.Name+"MinCount"), get(m.Name+"MaxCount")
		st.sum.SetInt64(get(m.Name + "Sum"))
		v, _ := row.Get(m.Name + "Loose")
		st.loose, _ = v.(bool)
	}
	return t, whole && t.count > 0
}

// row is the row of a total.
func (s *summaries[T, K]) row(k keys.Key, t total) (*table.Row, error) {
	r := &table.Row{Key: k}
	r.Own(s.owner.mark)
	err := r.Set("Count", t.count)
	for i, m := range s.measures {
		st := &t.stats[i]
		if !st.sum.IsInt64() {
			return nil, fmt.Errorf("%w: %sSum of %v", ErrOverflow, m.Name, k)
		}
		err = errors.Join(err, r.Set(m.Name+"Count", st.count), r.Set(m.Name+"Sum", st.sum.Int64()), r.Set(m.Name+"Min", st.least), r.Set(m.Name+"Max", st.most),
			r.Set(m.Name+"MinCount", st.atLeast), r.Set(m.Name+"MaxCount", st.atMost))
		if st.loose {
			err = errors.Join(err, r.Set(m.Name+"Loose", true))
		}
	}
	return r, err
}

// loose are the measures whose extremes may be approximate bounds in a group of so many: all of them for Verify.
func (s *Summary[T, K]) loose(count int64, verifying bool) []bool {
	all := make([]bool, len(s.measures))
	for i, m := range s.measures {
		all[i] = m.ApproximateBounds || verifying || count > exactUpTo && !m.Exact
	}
	return all
}

// change takes away what one entity has added, and adds what it adds now; nil for nothing. It is false where the rest cannot be
// told from that: the last with an extreme has left, of a measure that is not loose, or the row was wrong.
func (t *total) change(less, more *share, loose []bool) (known bool) {
	known = true
	if less != nil {
		t.count--
	}
	if more != nil {
		t.count++
	}
	value := func(sh *share, i int) *int64 {
		if sh == nil {
			return nil
		}
		return sh.values[i]
	}
	for i := range t.stats {
		may := loose != nil && loose[i]
		known = t.stats[i].change(value(less, i), value(more, i)) && known && (may || !t.stats[i].loose)
	}
	return known && t.count >= 0
}

func (s *stat) change(less, more *int64) (known bool) {
	if less != nil && more != nil && *less == *more {
		return true
	}
	// What comes first, for it may be the extreme that the other was.
	if more != nil {
		s.add(*more)
	}
	return less == nil || s.take(*less)
}

func (s *stat) add(v int64) {
	if s.count == 0 {
		*s = stat{least: v, most: v}
	}
	s.count++
	s.sum.Add(&s.sum, big.NewInt(v))
	switch {
	case v < s.least:
		s.least, s.atLeast = v, 1
	case v == s.least:
		s.atLeast++
	}
	switch {
	case v > s.most:
		s.most, s.atMost = v, 1
	case v == s.most:
		s.atMost++
	}
}

// take is false where the row was wrong. Bounds that nobody may have any more make it loose.
func (s *stat) take(v int64) (known bool) {
	if s.count < 1 || v < s.least || v > s.most {
		return false
	}
	s.count--
	s.sum.Sub(&s.sum, big.NewInt(v))
	if s.count == 0 {
		whole := s.sum.Sign() == 0
		*s = stat{}
		return whole
	}
	if last := s.sum.Int64(); s.count == 1 && s.sum.IsInt64() && s.least <= last && last <= s.most {
		s.least, s.most, s.atLeast, s.atMost, s.loose = last, last, 1, 1, false
		return true
	}
	left := func(n *int64) bool { // whether somebody has it still
		if *n > 0 {
			*n--
		}
		return *n > 0
	}
	if v == s.least && !left(&s.atLeast) || v == s.most && !left(&s.atMost) {
		s.loose = true
	}
	return true
}

// agrees tells whether a total is as it should be, but that extremes may be bounds, of the measures that may be loose.
func (t *total) agrees(exact *total, loose []bool) bool {
	if t.count != exact.count {
		return false
	}
	for i := range t.stats {
		a, b := &t.stats[i], &exact.stats[i]
		if a.loose && !loose[i] {
			return false
		}
		same := a.count == b.count && a.sum.Cmp(&b.sum) == 0
		within := a.least <= b.least && b.most <= a.most
		if !same || !within || !a.loose && (a.least != b.least || a.most != b.most || a.atLeast != b.atLeast || a.atMost != b.atMost) {
			return false
		}
	}
	return true
}
