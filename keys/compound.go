package keys

import "errors"

// Layout is a layout of one Go value: a [Layout1], or a layout of several components that [Struct2] or [Struct3] binds to the
// fields of a struct. Indexes use it.
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

// valueLayout is a layout of any number of components as the layout of one value.
type valueLayout[K any] struct {
	name       name
	write      func(w *writer, k K, more bool)
	read       func(r *reader, k *K, more bool)
	components int
	desc       bool  // every component is inverted, so that larger values sort first
	prefixes   bool  // of the component; see Component
	innerOrder error // keys do not sort by values, since a component before the last does not
	fullOrder  error // keys with a suffix do not sort by values, since one of the components does not
	err        error
}

// orderLost returns an error if the order of the n-th component is lost before another component.
func orderLost[A any](n int, p *Component[A]) error {
	if p.width > 0 || p.end != "" {
		return nil
	}
	return componentError(n, p, &KeyError{Reason: "does not sort by its values before another component; use Ordered"})
}

func (l Layout1[A]) valueLayout() valueLayout[A] {
	return valueLayout[A]{
		name:       l.name,
		write:      func(w *writer, a A, more bool) { writeComponent(w, &l.a, a, more) },
		read:       func(r *reader, a *A, more bool) { readComponent(r, &l.a, a, more) },
		components: 1,
		desc:       l.a.desc,
		prefixes:   l.a.prefixes,
		fullOrder:  orderLost(1, &l.a),
		err:        checkComponent(1, &l.a),
	}
}

// Compound is a layout of several components for one struct.
type Compound[K any] struct{ layout valueLayout[K] }

// Struct2 binds a layout of two components to two fields of a struct:
//
//	keys.Struct2(keys.Tuple2(keys.Ordered(), keys.Date()), func(h *hired) (*string, *time.Time) { return &h.Title, &h.On })
func Struct2[K, A, B any](l Layout2[A, B], at func(*K) (*A, *B)) Compound[K] {
	return Compound[K]{valueLayout[K]{
		name: l.name,
		write: func(w *writer, k K, more bool) {
			a, b := at(&k)
			writeComponent(w, &l.a, *a, true)
			writeComponent(w, &l.b, *b, more)
		},
		read: func(r *reader, k *K, more bool) {
			a, b := at(k)
			readComponent(r, &l.a, a, true)
			readComponent(r, &l.b, b, more)
		},
		components: 2,
		desc:       l.a.desc && l.b.desc,
		innerOrder: orderLost(1, &l.a),
		fullOrder:  errors.Join(orderLost(1, &l.a), orderLost(2, &l.b)),
		err:        errors.Join(checkAccessor(at == nil), checkComponent(1, &l.a), checkComponent(2, &l.b)),
	}}
}

// Struct3 binds a layout of three components to three fields of a struct.
func Struct3[K, A, B, C any](l Layout3[A, B, C], at func(*K) (*A, *B, *C)) Compound[K] {
	return Compound[K]{valueLayout[K]{
		name: l.name,
		write: func(w *writer, k K, more bool) {
			a, b, c := at(&k)
			writeComponent(w, &l.a, *a, true)
			writeComponent(w, &l.b, *b, true)
			writeComponent(w, &l.c, *c, more)
		},
		read: func(r *reader, k *K, more bool) {
			a, b, c := at(k)
			readComponent(r, &l.a, a, true)
			readComponent(r, &l.b, b, true)
			readComponent(r, &l.c, c, more)
		},
		components: 3,
		desc:       l.a.desc && l.b.desc && l.c.desc,
		innerOrder: errors.Join(orderLost(1, &l.a), orderLost(2, &l.b)),
		fullOrder:  errors.Join(orderLost(1, &l.a), orderLost(2, &l.b), orderLost(3, &l.c)),
		err:        errors.Join(checkAccessor(at == nil), checkComponent(1, &l.a), checkComponent(2, &l.b), checkComponent(3, &l.c)),
	}}
}

func checkAccessor(unset bool) error {
	if unset {
		return &KeyError{Reason: "is bound to fields by a nil function"}
	}
	return nil
}

// NamedAs returns the layout with a name, as [Layout1.Named] does, unless the layout has a name already.
func NamedAs[K any](l Layout[K], prefix string) Compound[K] {
	return Compound[K]{namedLayout(l, prefix)}
}

func namedLayout[K any](l Layout[K], prefix string) valueLayout[K] {
	if l == nil {
		return valueLayout[K]{err: &KeyError{Reason: "has a nil layout"}}
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

// Of returns the key of a value. The method that uses the key returns its error (*KeyError).
func (l Compound[K]) Of(k K) Enc {
	w, err := l.layout.newWriter(k, false)
	if err != nil {
		return Enc{err: err}
	}
	return w.key()
}

// Decode returns the value of a key. A key that Of does not make is a *KeyError.
func (l Compound[K]) Decode(s string) (k K, err error) {
	if err := l.layout.check(); err != nil {
		return k, err
	}
	r := l.layout.name.newReader(s)
	l.layout.read(&r, &k, false)
	return k, r.err
}

// All returns the range of all keys of the layout, or of all keys except the library's if the layout has no name.
func (l Compound[K]) All() Range { return l.layout.allRange() }

// Between returns the range of the keys from lo to hi, both included. Swapped bounds are a *KeyError. Values are compared
// component by component in the order of their keys: if Desc inverts only some components, lo is the value that sorts first. A
// component that does not sort by its values before another component, such as [Text], is a *KeyError.
func (l Compound[K]) Between(lo, hi K) Range {
	return closedBetween(l.layout.orderedAll(l.layout.innerOrder), l.layout.desc, l.Of(lo), l.Of(hi))
}

// AtLeast returns the range of lo and all greater values. It compares values as [Compound.Between] does.
func (l Compound[K]) AtLeast(lo K) Range {
	return halfOpen(l.layout.orderedAll(l.layout.innerOrder), !l.layout.desc, l.Of(lo))
}

// AtMost returns the range of hi and all smaller values. It compares values as [Compound.Between] does.
func (l Compound[K]) AtMost(hi K) Range {
	return halfOpen(l.layout.orderedAll(l.layout.innerOrder), l.layout.desc, l.Of(hi))
}

// Starting is [Layout1.Starting]. A layout of several components is a *KeyError.
func (l Compound[K]) Starting(k K) Range { return l.layout.startingWith(k) }

// check returns a *KeyError for an invalid layout. The zero layout is invalid, too.
func (f valueLayout[K]) check() error {
	if f.err == nil && f.write == nil {
		return &KeyError{Reason: "has the zero layout; make the layout by Struct2, Struct3 or NamedAs"}
	}
	return f.err
}

// newWriter returns a writer with all components of a value. more reports whether another component follows.
func (f valueLayout[K]) newWriter(k K, more bool) (*writer, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	w := f.name.newWriter(0)
	f.write(&w, k, more)
	return &w, w.err
}

func (f valueLayout[K]) allRange() Range {
	if err := f.check(); err != nil {
		return Range{err: err}
	}
	return f.name.allRange()
}

// orderedAll returns the range of all keys, or fault, the reason why an interval of values is not an interval of keys.
func (f valueLayout[K]) orderedAll(fault error) Range {
	if fault != nil && f.err == nil {
		return Range{err: fault}
	}
	return f.allRange()
}

func (f valueLayout[K]) startingWith(k K) Range {
	if f.err == nil && (f.components > 1 || !f.prefixes) {
		return Range{err: &KeyError{Component: "layout", Reason: "has no range of prefixes, which requires a single component of text or bytes; for the first of several components use Prefix of the layout"}}
	}
	w, err := f.newWriter(k, false)
	if err != nil {
		return Range{err: err}
	}
	if string(w.b) == f.name.prefix {
		return f.allRange()
	}
	return startingWith(string(w.b))
}
