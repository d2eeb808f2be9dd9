package keys

import (
	"errors"

	"github.com/aztablekit/aztablekit/internal/suffix"
)

// WithSuffix returns a layout whose keys are those of l, the separator _ and another key. l gets the name prefix, unless it has a
// name already. It is for packages of this module: the rows of an index have such keys.
func WithSuffix[K any](l Layout[K], prefix string) suffix.Layout[K, Enc, Range] {
	return suffixed[K]{namedLayout(l, prefix)}
}

type suffixed[K any] struct{ layout valueLayout[K] }

func (l suffixed[K]) Of(k K, suffix Enc) Enc { return l.Maker().Of(k, suffix) }

func (l suffixed[K]) Maker() suffix.Maker[K, Enc] { return &maker[K]{layout: l.layout} }

// maker makes keys. Of gives the memory of a key away with the key, and Is has a memory of its own.
type maker[K any] struct {
	layout   valueLayout[K]
	w        writer
	compared []byte // the memory of Is
	first    [48]byte
}

// write writes a value into a memory.
func (m *maker[K]) write(memory []byte, k K) error {
	m.w = writer{b: append(memory[:0], m.layout.name.prefix...), err: m.layout.name.err}
	m.layout.write(&m.w, k, true)
	return m.w.err
}

func (m *maker[K]) Of(k K, suffix Enc) Enc {
	if err := m.layout.check(); err != nil {
		return Enc{err: err}
	}
	if err := m.write(m.layout.name.newWriter(0).b, k); err != nil {
		return Enc{err: err}
	}
	s, err := suffix.Result()
	if err != nil {
		return Enc{err: err}
	}
	m.w.b = append(m.w.b, s...)
	m.w.end = suffix.end
	return m.w.key()
}

func (m *maker[K]) Is(s string, k K, suffix Enc) bool {
	if m.compared == nil {
		m.compared = m.first[:0]
	}
	if m.layout.check() != nil || m.write(m.compared, k) != nil || suffix.Err() != nil {
		return false
	}
	m.compared = m.w.b
	n := len(m.w.b)
	return len(s) == n+len(suffix.text) && s[:n] == string(m.w.b) && s[n:] == suffix.text && checkKey(s) == nil
}

func (l suffixed[K]) Decode(s string) (k K, suffix string, err error) {
	if err := l.layout.check(); err != nil {
		return k, "", err
	}
	r := l.layout.name.newReader(s)
	if l.layout.read(&r, &k, true); r.err == nil && r.rest == "" {
		r.err = &KeyError{Value: s, Reason: "has no suffix"}
	}
	return k, r.rest, r.err
}

func (l suffixed[K]) All() Range { return l.layout.allRange() }

func (l suffixed[K]) Prefix(k K) Range {
	w, err := l.layout.newWriter(k, true)
	if err != nil {
		return Range{err: err}
	}
	return w.prefix()
}

func (l suffixed[K]) Between(lo, hi K) Range {
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

func (l suffixed[K]) AtLeast(lo K) Range { return l.oneSided(lo, !l.layout.desc) }

func (l suffixed[K]) AtMost(hi K) Range { return l.oneSided(hi, l.layout.desc) }

func (l suffixed[K]) oneSided(k K, lower bool) Range {
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

func (l suffixed[K]) Starting(k K) Range { return l.layout.startingWith(k) }
