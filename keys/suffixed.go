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

func (l suffixed[K]) Of(k K, suffix Enc) Enc {
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

func (l suffixed[K]) Matcher() func(s string, k K, suffix Enc) bool {
	if l.layout.check() != nil || l.layout.name.err != nil {
		return func(string, K, Enc) bool { return false }
	}
	w := l.layout.name.newWriter()
	return func(s string, k K, suffix Enc) bool {
		w.b, w.n, w.err = append(w.b[:0], l.layout.name.prefix...), 0, nil
		l.layout.write(&w, k, true)
		end, err := suffix.Result()
		n := len(w.b)
		return w.err == nil && err == nil && len(s) == n+len(end) && s[:n] == string(w.b) && s[n:] == end && checkKey(s) == nil
	}
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
