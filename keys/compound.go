package keys

import (
	"cmp"
	"errors"
)

// PartitionOf2 is the PartitionKey of a T, made of two fields. It also has the methods of
// [PartitionRanges], by the first field: All and Between, say.
type PartitionOf2[T, A, B any] struct {
	PartitionRanges[A]
	of *bound2[A, B]
}

// RowOf2 is the RowKey of a T, made of two fields. It also has the methods of [RowRanges], by the
// first field: All and Between, say. As a [Layout], it is that of the values of an index.
type RowOf2[T, A, B any] struct {
	RowRanges[A]
	of *bound2[A, B]
}

// Partition2 is a PartitionKey that holds two fields of a T; see [Partition].
func Partition2[T, A, B any](a Component[A], b Component[B], at func(*T) (*A, *B)) *PartitionOf2[T, A, B] {
	return partitionOf2[T](newBound2(a, b, anyAt2(at)))
}

// Row2 is a RowKey that holds two fields of a T:
//
//	review := keys.Row2(keys.Digits[int](6), keys.Digits[int](4), func(r *Review) (*int, *int) { return &r.Employee, &r.Year })
//
//	review.Of(123, 2012)               // 000123_2012
//	review.Under(123).All()            // all reviews of employee 123, and of no other
//	review.Under(123).AtLeast(2010)
//	review.Between(100, 199)           // the reviews of many employees
//
// A component that cannot be decoded ([Fold], [Spread]) is an error of a table that has the key,
// and not of an index by it.
func Row2[T, A, B any](a Component[A], b Component[B], at func(*T) (*A, *B)) *RowOf2[T, A, B] {
	return rowOf2[T](newBound2(a, b, anyAt2(at)))
}

// Of returns the PartitionKey of two values. The method that uses the key returns its error
// (*KeyError).
func (p *PartitionOf2[T, A, B]) Of(a A, b B) PartitionKey { return PartitionKey{p.of.encode(a, b)} }

// Of returns the RowKey of two values. The method that uses the key returns its error (*KeyError).
func (r *RowOf2[T, A, B]) Of(a A, b B) RowKey { return RowKey{r.of.encode(a, b)} }

// Decode returns the values of a PartitionKey. A key that no values have is a *KeyError.
func (p *PartitionOf2[T, A, B]) Decode(k PartitionKey) (A, B, error) { return p.of.decode(k.encoded) }

// Decode returns the values of a RowKey. A key that no values have is a *KeyError.
func (r *RowOf2[T, A, B]) Decode(k RowKey) (A, B, error) { return r.of.decode(k.encoded) }

// Under returns the ranges by the second value, under one first value.
func (p *PartitionOf2[T, A, B]) Under(a A) *PartitionRanges[B] {
	return &PartitionRanges[B]{p.of.second(a)}
}

// Under returns the ranges by the second value, under one first value: Under(a).All() is everything
// with the first value a.
func (r *RowOf2[T, A, B]) Under(a A) *RowRanges[B] { return &RowRanges[B]{r.of.second(a)} }

func (*PartitionOf2[T, A, B]) partitionOf(*T) {}

func (p *PartitionOf2[T, A, B]) binding() binding { return p.of.binding() }

func (*RowOf2[T, A, B]) rowOf(*T) {}

func (r *RowOf2[T, A, B]) binding() binding { return r.of.binding() }

//go:noinline
func partitionOf2[T, A, B any](of *bound2[A, B]) *PartitionOf2[T, A, B] {
	return &PartitionOf2[T, A, B]{PartitionRanges[A]{of.first()}, of}
}

//go:noinline
func rowOf2[T, A, B any](of *bound2[A, B]) *RowOf2[T, A, B] {
	return &RowOf2[T, A, B]{RowRanges[A]{of.first()}, of}
}

//go:noinline
func anyAt2[T, A, B any](at func(*T) (*A, *B)) func(any) (*A, *B) {
	if at == nil {
		return nil
	}
	return func(v any) (*A, *B) { return at(v.(*T)) }
}

// bound2 are two components of a key, and the fields of a T that they hold.
type bound2[A, B any] struct {
	name name // of the first component
	a    Component[A]
	b    Component[B]
	at   func(any) (*A, *B)
}

//go:noinline
func newBound2[A, B any](a Component[A], b Component[B], at func(any) (*A, *B)) *bound2[A, B] {
	l := &bound2[A, B]{name: a.name, a: a, b: b, at: at}
	l.a.name = name{}
	l.name.err = cmp.Or(unnamed(2, &b), l.name.err)
	return l
}

//go:noinline
func (l *bound2[A, B]) encode(a A, b B) encoded {
	if l == nil {
		return encoded{err: errZeroKey}
	}
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	writeComponent(&w, &l.b, b, false)
	return w.key()
}

//go:noinline
func (l *bound2[A, B]) decode(k encoded) (a A, b B, err error) {
	if l == nil {
		return a, b, errZeroKey
	}
	r := k.newReader(l.name)
	readComponent(&r, &l.a, &a, true)
	readComponent(&r, &l.b, &b, false)
	return a, b, r.err
}

//go:noinline
func (l *bound2[A, B]) spelling() string { return l.a.spelling + ", " + l.b.spelling }

//go:noinline
func (l *bound2[A, B]) check() error {
	return errors.Join(l.name.err, checkComponent(1, &l.a), checkComponent(2, &l.b))
}

//go:noinline
func (l *bound2[A, B]) first() *ranges[A] {
	if l == nil {
		return nil
	}
	return firstOf(l.name, &l.a, l.check())
}

//go:noinline
func (l *bound2[A, B]) second(a A) *ranges[B] {
	if l == nil {
		return nil
	}
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	return underOf(&w, &l.b, l.check())
}

// firstOf returns the ranges by the first of several components.
func firstOf[A any](n name, first *Component[A], fault error) *ranges[A] {
	r := first.rows()
	r.layout.name, r.layout.err = n, fault
	r.more = true
	return r
}

// underOf returns the ranges by a component under the values that were written.
func underOf[A any](w *writer, c *Component[A], fault error) *ranges[A] {
	r := c.rows()
	if fault == nil {
		fault = w.err
	}
	r.layout.name, r.layout.err = name{prefix: string(w.b)}, fault
	r.before = w.n
	r.layout.fullOrder = orderLost(w.n+1, c)
	return r
}

//go:noinline
func (l *bound2[A, B]) binding() binding {
	if l == nil {
		return binding{err: errZeroKey}
	}
	return binding{
		err:    checkTwoWay(l.at == nil, l.a.lossy, l.b.lossy),
		layout: l.name.spell(l.spelling()),
		all:    l.first().all(),
		encode: func(v any) encoded { a, b := l.at(v); return l.encode(*a, *b) },
		fields: func(v any) []any { a, b := l.at(v); return []any{a, b} },
		decode: func(v any, s string) error {
			a, b, err := l.decode(encodedAs(s, nil))
			if err == nil {
				pa, pb := l.at(v)
				*pa, *pb = a, b
			}
			return err
		},
	}
}

func (r *RowOf2[T, A, B]) open(name string) any { return openNamed[T](r, name) }

// layout returns the key as the layout of a struct, whose fields it holds.
func (r *RowOf2[T, A, B]) layout() valueLayout[T] {
	l := r.of
	if l == nil {
		return valueLayout[T]{}
	}
	return valueLayout[T]{
		name:     l.name,
		spelling: l.spelling(),
		write: func(w writer, v T, more bool) writer {
			a, b := l.at(&v)
			writeComponent(&w, &l.a, *a, true)
			writeComponent(&w, &l.b, *b, more)
			return w
		},
		read: func(r reader, more bool) (v T, _ reader) {
			a, b := l.at(&v)
			readComponent(&r, &l.a, a, true)
			readComponent(&r, &l.b, b, more)
			return v, r
		},
		components: 2,
		low:        l.a.low(),
		high:       l.a.high(),
		desc:       l.a.desc && l.b.desc,
		innerOrder: orderLost(1, &l.a),
		fullOrder:  errors.Join(orderLost(1, &l.a), orderLost(2, &l.b)),
		err:        errors.Join(checkTwoWay(l.at == nil), l.check()),
	}
}

// PartitionOf3 is the PartitionKey of a T, made of three fields. It also has the methods of
// [PartitionRanges], by the first field: All and Between, say.
type PartitionOf3[T, A, B, C any] struct {
	PartitionRanges[A]
	of *bound3[A, B, C]
}

// RowOf3 is the RowKey of a T, made of three fields. It also has the methods of [RowRanges], by the
// first field: All and Between, say. As a [Layout], it is that of the values of an index.
type RowOf3[T, A, B, C any] struct {
	RowRanges[A]
	of *bound3[A, B, C]
}

// Partition3 is a PartitionKey that holds three fields of a T; see [Partition].
func Partition3[T, A, B, C any](
	a Component[A], b Component[B], c Component[C], at func(*T) (*A, *B, *C),
) *PartitionOf3[T, A, B, C] {
	return partitionOf3[T](newBound3(a, b, c, anyAt3(at)))
}

// Row3 is a RowKey that holds three fields of a T; see [Row2].
func Row3[T, A, B, C any](
	a Component[A], b Component[B], c Component[C], at func(*T) (*A, *B, *C),
) *RowOf3[T, A, B, C] {
	return rowOf3[T](newBound3(a, b, c, anyAt3(at)))
}

// Of returns the PartitionKey of three values. The method that uses the key returns its error
// (*KeyError).
func (p *PartitionOf3[T, A, B, C]) Of(a A, b B, c C) PartitionKey {
	return PartitionKey{p.of.encode(a, b, c)}
}

// Of returns the RowKey of three values. The method that uses the key returns its error
// (*KeyError).
func (r *RowOf3[T, A, B, C]) Of(a A, b B, c C) RowKey { return RowKey{r.of.encode(a, b, c)} }

// Decode returns the values of a PartitionKey. A key that no values have is a *KeyError.
func (p *PartitionOf3[T, A, B, C]) Decode(k PartitionKey) (A, B, C, error) {
	return p.of.decode(k.encoded)
}

// Decode returns the values of a RowKey. A key that no values have is a *KeyError.
func (r *RowOf3[T, A, B, C]) Decode(k RowKey) (A, B, C, error) { return r.of.decode(k.encoded) }

// Under returns the ranges by the second value, under one first value, whatever the third is.
func (p *PartitionOf3[T, A, B, C]) Under(a A) *PartitionRanges[B] {
	return &PartitionRanges[B]{p.of.second(a)}
}

// Under2 returns the ranges by the third value, under the first two.
func (p *PartitionOf3[T, A, B, C]) Under2(a A, b B) *PartitionRanges[C] {
	return &PartitionRanges[C]{p.of.third(a, b)}
}

// Under returns the ranges by the second value, under one first value, whatever the third is.
func (r *RowOf3[T, A, B, C]) Under(a A) *RowRanges[B] { return &RowRanges[B]{r.of.second(a)} }

// Under2 returns the ranges by the third value, under the first two.
func (r *RowOf3[T, A, B, C]) Under2(a A, b B) *RowRanges[C] { return &RowRanges[C]{r.of.third(a, b)} }

func (*PartitionOf3[T, A, B, C]) partitionOf(*T) {}

func (p *PartitionOf3[T, A, B, C]) binding() binding { return p.of.binding() }

func (*RowOf3[T, A, B, C]) rowOf(*T) {}

func (r *RowOf3[T, A, B, C]) binding() binding { return r.of.binding() }

//go:noinline
func partitionOf3[T, A, B, C any](of *bound3[A, B, C]) *PartitionOf3[T, A, B, C] {
	return &PartitionOf3[T, A, B, C]{PartitionRanges[A]{of.first()}, of}
}

//go:noinline
func rowOf3[T, A, B, C any](of *bound3[A, B, C]) *RowOf3[T, A, B, C] {
	return &RowOf3[T, A, B, C]{RowRanges[A]{of.first()}, of}
}

//go:noinline
func anyAt3[T, A, B, C any](at func(*T) (*A, *B, *C)) func(any) (*A, *B, *C) {
	if at == nil {
		return nil
	}
	return func(v any) (*A, *B, *C) { return at(v.(*T)) }
}

// bound3 are three components of a key, and the fields of a T that they hold.
type bound3[A, B, C any] struct {
	name name // of the first component
	a    Component[A]
	b    Component[B]
	c    Component[C]
	at   func(any) (*A, *B, *C)
}

//go:noinline
func newBound3[A, B, C any](
	a Component[A], b Component[B], c Component[C], at func(any) (*A, *B, *C),
) *bound3[A, B, C] {
	l := &bound3[A, B, C]{name: a.name, a: a, b: b, c: c, at: at}
	l.a.name = name{}
	l.name.err = cmp.Or(errors.Join(unnamed(2, &b), unnamed(3, &c)), l.name.err)
	return l
}

//go:noinline
func (l *bound3[A, B, C]) encode(a A, b B, c C) encoded {
	if l == nil {
		return encoded{err: errZeroKey}
	}
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	writeComponent(&w, &l.b, b, true)
	writeComponent(&w, &l.c, c, false)
	return w.key()
}

//go:noinline
func (l *bound3[A, B, C]) decode(k encoded) (a A, b B, c C, err error) {
	if l == nil {
		return a, b, c, errZeroKey
	}
	r := k.newReader(l.name)
	readComponent(&r, &l.a, &a, true)
	readComponent(&r, &l.b, &b, true)
	readComponent(&r, &l.c, &c, false)
	return a, b, c, r.err
}

//go:noinline
func (l *bound3[A, B, C]) spelling() string {
	return l.a.spelling + ", " + l.b.spelling + ", " + l.c.spelling
}

//go:noinline
func (l *bound3[A, B, C]) check() error {
	return errors.Join(l.name.err, checkComponent(1, &l.a), checkComponent(2, &l.b), checkComponent(3, &l.c))
}

//go:noinline
func (l *bound3[A, B, C]) first() *ranges[A] {
	if l == nil {
		return nil
	}
	return firstOf(l.name, &l.a, l.check())
}

//go:noinline
func (l *bound3[A, B, C]) second(a A) *ranges[B] {
	if l == nil {
		return nil
	}
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	r := underOf(&w, &l.b, l.check())
	r.more = true
	return r
}

//go:noinline
func (l *bound3[A, B, C]) third(a A, b B) *ranges[C] {
	if l == nil {
		return nil
	}
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	writeComponent(&w, &l.b, b, true)
	return underOf(&w, &l.c, l.check())
}

//go:noinline
func (l *bound3[A, B, C]) binding() binding {
	if l == nil {
		return binding{err: errZeroKey}
	}
	return binding{
		err:    checkTwoWay(l.at == nil, l.a.lossy, l.b.lossy, l.c.lossy),
		layout: l.name.spell(l.spelling()),
		all:    l.first().all(),
		encode: func(v any) encoded { a, b, c := l.at(v); return l.encode(*a, *b, *c) },
		fields: func(v any) []any { a, b, c := l.at(v); return []any{a, b, c} },
		decode: func(v any, s string) error {
			a, b, c, err := l.decode(encodedAs(s, nil))
			if err == nil {
				pa, pb, pc := l.at(v)
				*pa, *pb, *pc = a, b, c
			}
			return err
		},
	}
}

func (r *RowOf3[T, A, B, C]) open(name string) any { return openNamed[T](r, name) }

// layout returns the key as the layout of a struct, whose fields it holds.
func (r *RowOf3[T, A, B, C]) layout() valueLayout[T] {
	l := r.of
	if l == nil {
		return valueLayout[T]{}
	}
	return valueLayout[T]{
		name:     l.name,
		spelling: l.spelling(),
		write: func(w writer, v T, more bool) writer {
			a, b, c := l.at(&v)
			writeComponent(&w, &l.a, *a, true)
			writeComponent(&w, &l.b, *b, true)
			writeComponent(&w, &l.c, *c, more)
			return w
		},
		read: func(r reader, more bool) (v T, _ reader) {
			a, b, c := l.at(&v)
			readComponent(&r, &l.a, a, true)
			readComponent(&r, &l.b, b, true)
			readComponent(&r, &l.c, c, more)
			return v, r
		},
		components: 3,
		low:        l.a.low(),
		high:       l.a.high(),
		desc:       l.a.desc && l.b.desc && l.c.desc,
		innerOrder: errors.Join(orderLost(1, &l.a), orderLost(2, &l.b)),
		fullOrder:  errors.Join(orderLost(1, &l.a), orderLost(2, &l.b), orderLost(3, &l.c)),
		err:        errors.Join(checkTwoWay(l.at == nil), l.check()),
	}
}
