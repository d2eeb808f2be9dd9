package keys

import "errors"

// Layout is a layout of one Go value, of whatever parts: a [Layout1], or several parts that [Struct2] and [Struct3] tie to the
// fields of a struct. It is what indexes are made of.
type Layout[K any] interface {
	Of(K) Enc
	Decode(string) (K, error)
	All() Range
	Between(lo, hi K) Range
	AtLeast(lo K) Range
	AtMost(hi K) Range
	Starting(K) Range

	valueLayout() valueLayout[K]
}

// form is a layout whose parts are seen as one.
type valueLayout[K any] struct {
	name       name
	put        func(w *writer, k K, more bool)
	take       func(r *reader, k *K, more bool)
	parts      int
	desc       bool  // larger values sort first
	prefixes   bool  // see Part
	innerOrder error // the order of keys is not that of values, since one part is followed by another
	fullOrder  error // or would not be, if the last part were followed by another
	err        error
}

// unordered is the reason why the order of a part is lost before another.
func orderLost[A any](n int, p Part[A]) error {
	if p.width > 0 || p.end != "" {
		return nil
	}
	return ofPart(n, p, &KeyError{Reason: "is not in order where something follows it; Ordered is"})
}

func (l Layout1[A]) valueLayout() valueLayout[A] {
	return valueLayout[A]{
		name:      l.name,
		put:       func(w *writer, a A, more bool) { writePart(w, l.a, a, more) },
		take:      func(r *reader, a *A, more bool) { readPart(r, l.a, a, more) },
		parts:     1,
		desc:      l.a.desc,
		prefixes:  l.a.prefixes,
		fullOrder: orderLost(1, l.a),
		err:       checkPart(1, l.a),
	}
}

// Compound is a layout of several parts, as a layout of one struct.
type Compound[K any] struct{ layout valueLayout[K] }

// Struct2 ties a layout of two parts to two fields of a struct:
//
//	keys.Struct2(keys.Tuple2(keys.Ordered(), keys.Date()), func(h *hired) (*string, *time.Time) { return &h.Title, &h.On })
func Struct2[K, A, B any](l Layout2[A, B], at func(*K) (*A, *B)) Compound[K] {
	return Compound[K]{valueLayout[K]{
		name: l.name,
		put: func(w *writer, k K, more bool) {
			a, b := at(&k)
			writePart(w, l.a, *a, true)
			writePart(w, l.b, *b, more)
		},
		take: func(r *reader, k *K, more bool) {
			a, b := at(k)
			readPart(r, l.a, a, true)
			readPart(r, l.b, b, more)
		},
		parts:      2,
		desc:       l.a.desc && l.b.desc,
		innerOrder: orderLost(1, l.a),
		fullOrder:  errors.Join(orderLost(1, l.a), orderLost(2, l.b)),
		err:        errors.Join(checkAccessor(at == nil), checkPart(1, l.a), checkPart(2, l.b)),
	}}
}

// Struct3 ties a layout of three parts to three fields of a struct.
func Struct3[K, A, B, C any](l Layout3[A, B, C], at func(*K) (*A, *B, *C)) Compound[K] {
	return Compound[K]{valueLayout[K]{
		name: l.name,
		put: func(w *writer, k K, more bool) {
			a, b, c := at(&k)
			writePart(w, l.a, *a, true)
			writePart(w, l.b, *b, true)
			writePart(w, l.c, *c, more)
		},
		take: func(r *reader, k *K, more bool) {
			a, b, c := at(k)
			readPart(r, l.a, a, true)
			readPart(r, l.b, b, true)
			readPart(r, l.c, c, more)
		},
		parts:      3,
		desc:       l.a.desc && l.b.desc && l.c.desc,
		innerOrder: errors.Join(orderLost(1, l.a), orderLost(2, l.b)),
		fullOrder:  errors.Join(orderLost(1, l.a), orderLost(2, l.b), orderLost(3, l.c)),
		err:        errors.Join(checkAccessor(at == nil), checkPart(1, l.a), checkPart(2, l.b), checkPart(3, l.c)),
	}}
}

func checkAccessor(unset bool) error {
	if unset {
		return &KeyError{Reason: "is tied to fields by an accessor that is nil"}
	}
	return nil
}

// NamedAs gives a layout a name, as [Layout1.Named] does, unless it has one.
func NamedAs[K any](l Layout[K], prefix string) Compound[K] {
	return Compound[K]{namedLayout(l, prefix)}
}

func namedLayout[K any](l Layout[K], prefix string) valueLayout[K] {
	if l == nil {
		return valueLayout[K]{err: &KeyError{Reason: "is of no layout"}}
	}
	f := l.valueLayout()
	if f.name == (name{}) {
		f.name = newName(prefix)
	}
	return f
}

func (l Compound[K]) valueLayout() valueLayout[K] { return l.layout }

// Named is [Layout1.Named].
func (l Compound[K]) Named(prefix string) Compound[K] { l.layout.name = newName(prefix); return l }

// Of builds the key. Errors (*KeyError) stay inside it until it is used.
func (l Compound[K]) Of(k K) Enc {
	w, err := l.layout.write(k, false)
	if err != nil {
		return Enc{err: err}
	}
	return w.key()
}

// Decode reads a key back. A key that Of would not build is a *KeyError.
func (l Compound[K]) Decode(s string) (k K, err error) {
	if err := l.layout.check(); err != nil {
		return k, err
	}
	r := l.layout.name.newReader(s)
	l.layout.take(r, &k, false)
	return k, r.err
}

// All is the range of every key of the layout, or, where it has no name, of every key but the library's.
func (l Compound[K]) All() Range { return l.layout.all() }

// Between is the range of the keys from lo to hi, both included; swapped bounds are an error. Values are compared part by part,
// in the order of the keys: where only some parts are inverted by Desc, lo is the value that sorts first. A part whose order is
// lost before another is an error.
func (l Compound[K]) Between(lo, hi K) Range {
	return closedBetween(l.layout.orderedAll(l.layout.innerOrder), l.layout.desc, l.Of(lo), l.Of(hi))
}

// AtLeast is the range of lo and all greater values, as [Compound.Between] compares them.
func (l Compound[K]) AtLeast(lo K) Range {
	return halfOpen(l.layout.orderedAll(l.layout.innerOrder), !l.layout.desc, l.Of(lo))
}

// AtMost is the range of hi and all smaller values, as [Compound.Between] compares them.
func (l Compound[K]) AtMost(hi K) Range {
	return halfOpen(l.layout.orderedAll(l.layout.innerOrder), l.layout.desc, l.Of(hi))
}

// Starting is [Layout1.Starting]; it serves layouts of one part.
func (l Compound[K]) Starting(k K) Range { return l.layout.starting(k) }

// fault is the error of a layout that was made wrongly, or by nobody.
func (f valueLayout[K]) check() error {
	if f.err == nil && f.put == nil {
		return &KeyError{Reason: "is of a layout that was not made by a function of package keys"}
	}
	return f.err
}

// write writes all parts of a value; more tells that something follows.
func (f valueLayout[K]) write(k K, more bool) (*writer, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	w := f.name.newWriter()
	f.put(w, k, more)
	return w, w.err
}

func (f valueLayout[K]) all() Range {
	if err := f.check(); err != nil {
		return Range{err: err}
	}
	return f.name.all()
}

// sorted is all, or the reason why an interval of values is none of keys.
func (f valueLayout[K]) orderedAll(fault error) Range {
	if fault != nil && f.err == nil {
		return Range{err: fault}
	}
	return f.all()
}

func (f valueLayout[K]) starting(k K) Range {
	if f.err == nil && (f.parts > 1 || !f.prefixes) {
		return Range{err: &KeyError{Part: "layout", Reason: "has no beginnings: only one of a single part of text or bytes has; for the first of several parts use the layout's Prefix"}}
	}
	w, err := f.write(k, false)
	if err != nil {
		return Range{err: err}
	}
	if string(w.b) == f.name.prefix {
		return f.all()
	}
	return startingWith(string(w.b))
}

// Followed is a layout of values that are each followed by another key: that of the entity which has the value. Several
// entities can so stand under one value, next to each other.
type Suffixed[K any] struct{ layout valueLayout[K] }

// Follow makes a layout whose keys are those of l with another key behind, joined by _. l takes the name prefix, unless it has
// one.
func WithSuffix[K any](l Layout[K], prefix string) Suffixed[K] {
	return Suffixed[K]{namedLayout(l, prefix)}
}

// Of builds the key: the value, and what follows it. Errors (*KeyError) stay inside it until it is used.
func (l Suffixed[K]) Of(k K, rest Enc) Enc {
	w, err := l.layout.write(k, true)
	if err != nil {
		return Enc{err: err}
	}
	s, err := rest.Result()
	if err != nil {
		return Enc{err: err}
	}
	w.b = append(w.b, s...)
	w.end = rest.end
	return w.key()
}

// Decode takes a key apart. A key that Of would not build is a *KeyError.
func (l Suffixed[K]) Decode(s string) (k K, rest string, err error) {
	if err := l.layout.check(); err != nil {
		return k, "", err
	}
	r := l.layout.name.newReader(s)
	if l.layout.take(r, &k, true); r.err == nil && r.rest == "" {
		r.err = &KeyError{Value: s, Reason: "ends behind its value"}
	}
	return k, r.rest, r.err
}

// All is the range of every key of the layout.
func (l Suffixed[K]) All() Range { return l.layout.all() }

// Prefix is the range of all keys with the value k, and of no others.
func (l Suffixed[K]) Prefix(k K) Range {
	w, err := l.layout.write(k, true)
	if err != nil {
		return Range{err: err}
	}
	return w.prefix()
}

// Between is the range of the keys with values from lo to hi, both included, as [Compound.Between] compares them. Text, whose order is
// lost where something follows it, is an error here; [Ordered] is not.
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

// AtLeast is the range of the keys with the value lo and all greater ones; see [Followed.Between].
func (l Suffixed[K]) AtLeast(lo K) Range { return l.oneSided(lo, !l.layout.desc) }

// AtMost is the range of the keys with the value hi and all smaller ones; see [Followed.Between].
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

// Starting is the range of the keys whose value begins with k; see [Layout1.Starting].
func (l Suffixed[K]) Starting(k K) Range { return l.layout.starting(k) }

// StoredBetween is the half-open range of keys from ≤ key < to as they are stored, which may be rows of the library's own. It
// is not checked.
func StoredBetween(from, to string) Range { return Range{from: from, to: to, set: true} }
