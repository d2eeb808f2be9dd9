package index

import "math/big"

// total is the sum of the contributions of a group.
type total struct {
	count int64
	stats []stat
}

type stat struct {
	count, min, max    int64
	minCount, maxCount int64   // how many entities have min, and max; 0 if perhaps none
	sum                big.Int // may exceed 64 bits while entities are added up
	approximate        bool    // min and max are bounds
}

// apply subtracts a former contribution of an entity and adds its new one; nil for none. It reports whether the total is known
// afterwards: it is not if the last entity with an extreme has left, unless bounds may be approximate, or if the total was wrong
// before.
func (t *total) apply(less, more *contribution, approximate []bool) (known bool) {
	known = true
	if less != nil {
		t.count--
	}
	if more != nil {
		t.count++
	}
	value := func(c *contribution, i int) *int64 {
		if c == nil {
			return nil
		}
		return c.values[i]
	}
	for i := range t.stats {
		may := approximate != nil && approximate[i]
		known = t.stats[i].apply(value(less, i), value(more, i)) && known && (may || !t.stats[i].approximate)
	}
	return known && t.count >= 0
}

func (s *stat) apply(less, more *int64) (known bool) {
	if less != nil && more != nil && *less == *more {
		return true
	}
	// The new value is added first, because it may be the extreme that the former value was.
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

// remove reports whether the total is known afterwards: it is not if it was wrong before. If perhaps no entity has an extreme any
// more, the bounds become approximate.
func (s *stat) remove(v int64) (known bool) {
	if s.count < 1 || v < s.min || v > s.max {
		return false
	}
	s.count--
	s.sum.Sub(&s.sum, big.NewInt(v))
	if s.count == 0 {
		valid := s.sum.Sign() == 0
		*s = stat{}
		return valid
	}
	if last := s.sum.Int64(); s.count == 1 && s.sum.IsInt64() && s.min <= last && last <= s.max {
		s.min, s.max, s.minCount, s.maxCount, s.approximate = last, last, 1, 1, false
		return true
	}
	left := func(n *int64) bool { // reports whether another entity has the extreme
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

// matches reports whether a total equals the exact one, except for the bounds of measures that may be approximate.
func (t *total) matches(exact *total, approximate []bool) bool {
	if t.count != exact.count {
		return false
	}
	for i := range t.stats {
		a, b := &t.stats[i], &exact.stats[i]
		if a.approximate && !approximate[i] {
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
