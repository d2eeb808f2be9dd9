package keys

import (
	"errors"
	"strings"
)

// All returns the range of all keys of the layout.
func (l Layout1[A]) All() Range {
	if err := checkPart(1, &l.a); err != nil {
		return Range{err: err}
	}
	r := l.name.allRange()
	if l.name.prefix == "" && r.err == nil && l.a.width > 0 {
		r.from, r.to, r.closed = l.a.low(), l.a.high(), true
	}
	return r
}

// All returns the range of all keys of the layout.
func (l Layout2[A, B]) All() Range { return firstPartRange(l.name, l.a, checkPart(2, &l.b)) }

// All returns the range of all keys of the layout.
func (l Layout3[A, B, C]) All() Range {
	return firstPartRange(l.name, l.a, errors.Join(checkPart(2, &l.b), checkPart(3, &l.c)))
}

func (n name) allRange() Range {
	if n.err != nil {
		return Range{err: n.err}
	}
	if n.prefix == "" {
		return Range{to: string(reservedFirst), set: true}
	}
	return prefixRange(n.prefix)
}

func firstPartRange[A any](n name, first Part[A], others error) Range {
	if err := errors.Join(checkPart(1, &first), others); err != nil {
		return Range{err: err}
	}
	r := n.allRange()
	if n.prefix == "" && r.err == nil && first.width > 0 {
		r.from, r.to = first.low()+separator, first.high()+afterSeparator
	}
	return r
}

// prefixRange returns the range of the keys that begin with s, which ends with the separator.
func prefixRange(s string) Range {
	return Range{from: s, to: strings.TrimSuffix(s, separator) + afterSeparator, set: true}
}

// prefix returns the range of the keys that begin with the written parts. rest are the errors of the other parts.
func (w *writer) prefix(rest ...error) Range {
	if err := errors.Join(append(rest, w.err)...); err != nil {
		return Range{err: err}
	}
	return prefixRange(string(w.b))
}

// Prefix returns the range of all keys whose first part is a, and of no other keys.
func (l Layout2[A, B]) Prefix(a A) Range {
	w := l.name.newWriter(0)
	writePart(&w, &l.a, a, true)
	return w.prefix(checkPart(2, &l.b))
}

// Prefix1 returns the range of all keys whose first part is a, and of no other keys.
func (l Layout3[A, B, C]) Prefix1(a A) Range {
	w := l.name.newWriter(0)
	writePart(&w, &l.a, a, true)
	return w.prefix(checkPart(2, &l.b), checkPart(3, &l.c))
}

// Prefix2 returns the range of all keys whose first two parts are a and b, and of no other keys.
func (l Layout3[A, B, C]) Prefix2(a A, b B) Range {
	w := l.name.newWriter(0)
	writePart(&w, &l.a, a, true)
	writePart(&w, &l.b, b, true)
	return w.prefix(checkPart(3, &l.c))
}

// Between returns the range of the keys of all values from lo to hi, both included. Swapped bounds are a *KeyError. The order of a
// text is that of its part; see [Text].
func (l Layout1[A]) Between(lo, hi A) Range {
	return closedBetween(l.All(), l.a.desc, l.lowerBound(lo), l.Of(hi))
}

// AtLeast returns the range of lo and all greater values.
func (l Layout1[A]) AtLeast(lo A) Range { return halfOpen(l.All(), !l.a.desc, l.lowerBound(lo)) }

// lowerBound is Of for a lower bound. The empty text is a valid bound although it is not a valid key.
func (l Layout1[A]) lowerBound(a A) Enc {
	if l.name.prefix == "" && l.a.prefixes && l.a.check() == nil {
		if b, err := l.a.append(nil, a); err == nil && len(b) == 0 {
			return Enc{set: true}
		}
	}
	return l.Of(a)
}

// AtMost returns the range of hi and all smaller values.
func (l Layout1[A]) AtMost(hi A) Range { return halfOpen(l.All(), l.a.desc, l.Of(hi)) }

// Between returns the range of the keys with first part a and second part from lo to hi, both included.
func (l Layout2[A, B]) Between(a A, lo, hi B) Range {
	return closedBetween(l.Prefix(a), l.b.desc, l.Of(a, lo), l.Of(a, hi))
}

// AtLeast returns the range of the keys with first part a and second part lo or greater.
func (l Layout2[A, B]) AtLeast(a A, lo B) Range { return halfOpen(l.Prefix(a), !l.b.desc, l.Of(a, lo)) }

// AtMost returns the range of the keys with first part a and second part hi or smaller.
func (l Layout2[A, B]) AtMost(a A, hi B) Range { return halfOpen(l.Prefix(a), l.b.desc, l.Of(a, hi)) }

// Between returns the range of the keys with first parts a and b and third part from lo to hi, both included.
func (l Layout3[A, B, C]) Between(a A, b B, lo, hi C) Range {
	return closedBetween(l.Prefix2(a, b), l.c.desc, l.Of(a, b, lo), l.Of(a, b, hi))
}

// AtLeast returns the range of the keys with first parts a and b and third part lo or greater.
func (l Layout3[A, B, C]) AtLeast(a A, b B, lo C) Range {
	return halfOpen(l.Prefix2(a, b), !l.c.desc, l.Of(a, b, lo))
}

// AtMost returns the range of the keys with first parts a and b and third part hi or smaller.
func (l Layout3[A, B, C]) AtMost(a A, b B, hi C) Range {
	return halfOpen(l.Prefix2(a, b), l.c.desc, l.Of(a, b, hi))
}

// Starting returns the range of all texts that begin with a: email_a to email_b contains every address that begins with an a. A
// part other than Text, Ordered, Bytes and their folded forms is a *KeyError. For folded text, a must begin with whole characters:
// é does not begin with e.
func (l Layout1[A]) Starting(a A) Range {
	if !l.a.prefixes {
		return Range{err: ofPart(1, &l.a, &KeyError{Reason: "has no prefixes; Starting requires text or bytes"})}
	}
	w := l.name.newWriter(0)
	writePart(&w, &l.a, a, false)
	if w.err != nil {
		return Range{err: w.err}
	}
	if string(w.b) == l.name.prefix {
		return l.All()
	}
	return startingWith(string(w.b))
}

// startingWith returns the range of the keys that begin with s.
func startingWith(s string) Range {
	end := []byte(s)
	end[len(end)-1]++ // the last byte is z, | or a smaller byte, so that the next byte is a valid character
	return Range{from: s, to: string(end), set: true}
}

func closedBetween(whole Range, desc bool, lo, hi Enc) Range {
	if desc {
		lo, hi = hi, lo
	}
	from, err1 := lo.Result()
	to, err2 := hi.Result()
	switch {
	case whole.err != nil:
		return whole
	case err1 != nil:
		return Range{err: err1}
	case err2 != nil:
		return Range{err: err2}
	case Compare(from, to) > 0:
		return Range{err: swappedBounds(from, to)}
	}
	return Range{from: from, to: to, closed: true, set: true}
}

// halfOpen returns the part of a range from a key on, or up to the key.
func halfOpen(whole Range, lower bool, at Enc) Range {
	s, err := at.Result()
	switch {
	case whole.err != nil:
		return whole
	case err != nil:
		return Range{err: err}
	case lower:
		whole.from = s
	default:
		whole.to, whole.closed = s, true
	}
	return whole
}
