package keys

import "errors"

// Suffixed is a layout of keys that consist of a value and another key, which belongs to the entity with the value. Package index
// uses it: the rows of entities with equal values are neighbours. Programs do not need it.
type Suffixed[K any] struct{ layout valueLayout[K] }

// WithSuffix returns a layout whose keys are those of l, the separator _ and another key. l gets the name prefix, unless it has a
// name already.
func WithSuffix[K any](l Layout[K], prefix string) Suffixed[K] {
	return Suffixed[K]{namedLayout(l, prefix)}
}

// Of returns the key of the value k with the given suffix. The method that uses the key returns its error (*KeyError).
func (l Suffixed[K]) Of(k K, suffix Enc) Enc {
	w, err := l.layout.newWriter(k, true)
	if err != nil {
		return Enc{err: err}
	}
	s, err := suffix.Result()
	if err != nil {
		return Enc{err: err}
	}
	w.b = append(w.b, s...)
	w.end = suffix.end
	return w.key()
}

// Decode returns the value and the suffix of a key. A key that Of does not make is a *KeyError.
func (l Suffixed[K]) Decode(s string) (k K, suffix string, err error) {
	if err := l.layout.check(); err != nil {
		return k, "", err
	}
	r := l.layout.name.newReader(s)
	if l.layout.read(r, &k, true); r.err == nil && r.rest == "" {
		r.err = &KeyError{Value: s, Reason: "has no suffix"}
	}
	return k, r.rest, r.err
}

// All returns the range of all keys of the layout.
func (l Suffixed[K]) All() Range { return l.layout.allRange() }

// Prefix returns the range of the keys with the value k.
func (l Suffixed[K]) Prefix(k K) Range {
	w, err := l.layout.newWriter(k, true)
	if err != nil {
		return Range{err: err}
	}
	return w.prefix()
}

// Between returns the range of the keys with values from lo to hi, both included. It compares values as [Compound.Between] does. A
// part that does not sort by its values before another part is a *KeyError: use [Ordered] in place of [Text].
func (l Suffixed[K]) Between(lo, hi K) Range {
	whole := l.layout.orderedAll(l.layout.fullOrder)
	if l.layout.desc {
		lo, hi = hi, lo
	}
	first, last := l.Prefix(lo), l.Prefix(hi)
	switch err := errors.Join(whole.err, first.err, last.err); {
	case err != nil:
		return Range{err: err}
	case Compare(first.from, last.from) > 0:
		return Range{err: swappedBounds(first.from, last.from)}
	}
	return Range{from: first.from, to: last.to, set: true}
}

// AtLeast returns the range of the keys with the value lo or a greater value; see [Suffixed.Between].
func (l Suffixed[K]) AtLeast(lo K) Range { return l.oneSided(lo, !l.layout.desc) }

// AtMost returns the range of the keys with the value hi or a smaller value; see [Suffixed.Between].
func (l Suffixed[K]) AtMost(hi K) Range { return l.oneSided(hi, l.layout.desc) }

func (l Suffixed[K]) oneSided(k K, lower bool) Range {
	whole, at := l.layout.orderedAll(l.layout.fullOrder), l.Prefix(k)
	switch err := errors.Join(whole.err, at.err); {
	case err != nil:
		return Range{err: err}
	case lower:
		whole.from = at.from
	default:
		whole.to = at.to
	}
	return whole
}

// Starting returns the range of the keys whose value begins with k; see [Layout1.Starting].
func (l Suffixed[K]) Starting(k K) Range { return l.layout.startingWith(k) }
