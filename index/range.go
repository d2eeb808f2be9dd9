package index

import "github.com/aztablekit/aztablekit/keys"

// Value returns the range of the rows under the value k.
func (ix *Index[T, K]) Value(k K) keys.Range {
	if ix.opt.Unique == NotUnique {
		return ix.prefixedRange(ix.byValueAndKey.Prefix(k))
	}
	return ix.prefixedRange(keys.Point(ix.byValue.Of(k)))
}

// Range returns the range of the rows under values from lo to hi, both included.
func (ix *Index[T, K]) Range(lo, hi K) keys.Range {
	if ix.opt.Unique == NotUnique {
		return ix.prefixedRange(ix.byValueAndKey.Between(lo, hi))
	}
	return ix.prefixedRange(ix.byValue.Between(lo, hi))
}

// AtLeast returns the range of the rows under lo and greater values.
func (ix *Index[T, K]) AtLeast(lo K) keys.Range {
	if ix.opt.Unique == NotUnique {
		return ix.prefixedRange(ix.byValueAndKey.AtLeast(lo))
	}
	return ix.prefixedRange(ix.byValue.AtLeast(lo))
}

// AtMost returns the range of the rows under hi and smaller values.
func (ix *Index[T, K]) AtMost(hi K) keys.Range {
	if ix.opt.Unique == NotUnique {
		return ix.prefixedRange(ix.byValueAndKey.AtMost(hi))
	}
	return ix.prefixedRange(ix.byValue.AtMost(hi))
}

// Starting returns the range of the rows under values that begin with k, which is text or bytes.
func (ix *Index[T, K]) Starting(k K) keys.Range {
	return ix.prefixedRange(ix.byValueAndKey.Starting(k))
}

// Under returns the range of the rows whose values are in r, a range of the layout that was given to New. For an index by
// department and date, Under of the layout's Prefix("Sales") selects one department. If the index is not unique, queries refuse
// ranges with a last value, such as those of Between; use [Index.Range] or [Index.AtMost].
func (ix *Index[T, K]) Under(r keys.Range) keys.Range {
	all := ix.byValueAndKey.All()
	if !r.IsSet() || r.Err() != nil || within(r, all) {
		return ix.prefixedRange(r)
	}
	name, end, _ := all.Bounds()
	from, to, closed := r.Bounds()
	switch {
	case to == "":
		return ix.prefixedRange(keys.StoredBetween(name+from, end))
	case closed && ix.opt.Unique == NotUnique:
		return r
	case closed:
		to += " " // the first key behind the closed range
	}
	return ix.prefixedRange(keys.StoredBetween(name+from, name+to))
}

// All returns the range of all rows of the index.
func (ix *Index[T, K]) All() keys.Range { return ix.prefixedRange(ix.byValueAndKey.All()) }

// within reports whether a range is inside another.
func within(r, all keys.Range) bool {
	from, to, closed := r.Bounds()
	first, last, lastClosed := all.Bounds()
	if keys.Compare(from, first) < 0 || to == "" {
		return false
	}
	n := keys.Compare(to, last)
	return n < 0 || n == 0 && (lastClosed || !closed)
}
