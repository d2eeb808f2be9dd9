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
	sum                big.Int // which may be more while entities are added up than it is in the end
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
		st.sum.SetInt64(get(m.Name + "Sum"))
	}
	return t, whole && t.count > 0
}

// row is the row of a total.
func (s *Summary[T, K]) row(k keys.Key, t total) (*table.Row, error) {
	r := &table.Row{Key: k}
	err := r.Set("Count", t.count)
	for i, m := range s.measures {
		st := &t.stats[i]
		if !st.sum.IsInt64() {
			return nil, fmt.Errorf("%w: %sSum of %v", ErrOverflow, m.Name, k)
		}
		err = errors.Join(err, r.Set(m.Name+"Count", st.count), r.Set(m.Name+"Sum", st.sum.Int64()), r.Set(m.Name+"Min", st.least), r.Set(m.Name+"Max", st.most))
	}
	return r, err
}

// change takes away what one entity has added, and adds what it adds now; nil for nothing. It is false where the rest cannot be
// told from that: an extreme has left, or the row was wrong.
func (t *total) change(less, more *share) (known bool) {
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
		known = t.stats[i].change(value(less, i), value(more, i)) && known
	}
	return known && t.count >= 0
}

func (s *stat) change(less, more *int64) bool {
	switch {
	case less == nil && more == nil, less != nil && more != nil && *less == *more:
		return true
	case less == nil:
		if s.count == 0 {
			s.least, s.most = *more, *more
		}
		s.count++
		s.sum.Add(&s.sum, big.NewInt(*more))
		s.least, s.most = min(s.least, *more), max(s.most, *more)
		return true
	}
	if s.count < 1 || *less < s.least || *less > s.most {
		return false
	}
	s.count--
	s.sum.Sub(&s.sum, big.NewInt(*less))
	if s.count == 0 {
		whole := s.sum.Sign() == 0
		*s = stat{}
		return whole && (more == nil || s.change(nil, more))
	}
	if more == nil {
		return s.least == s.most || *less != s.least && *less != s.most
	}
	known := s.least == s.most || (*less != s.least || *more <= s.least) && (*less != s.most || *more >= s.most)
	return s.change(nil, more) && known
}
