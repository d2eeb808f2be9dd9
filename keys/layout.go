package keys

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/aztablekit/aztablekit/internal/keydoor"
)

// The separator between components, and the next character, with which the range of a prefix ends.
const (
	separator      = "_"
	afterSeparator = "`"
)

// Layout is the layout of the keys of one Go value: a [Component], or several components that [Struct2] or [Struct3] binds to the fields of a
// struct. Indexes use it.
type Layout[K any] interface {
	PartitionKey(K) PartitionKey
	RowKey(K) RowKey
	Decode(key string) (K, error)
	Rows() RowRanges[K]

	layout() valueLayout[K]
}

// valueLayout is a layout of any number of components as the layout of one value.
type valueLayout[K any] struct {
	name     name
	spelling string                                // of its components
	write    func(w writer, k K, more bool) writer // more reports whether another component follows
	read     func(r reader, more bool) (K, reader)

	verbatim func(k K) (s string, ok bool) // of a single component; see Component
	end      string                        // of a single component

	components int
	width      int    // of a single component, 0 if it depends on the value
	low, high  string // the first and the last encoding of the first component, if it has a fixed width
	desc       bool   // every component is inverted, so that larger values sort first
	prefixes   bool   // of the component; see Component
	innerOrder error  // keys do not sort by values, since a component before the last does not
	fullOrder  error  // keys with a suffix do not sort by values, since one of the components does not
	lossy      string // why the value of a single component cannot be decoded, "" if it can
	err        error
}

// orderLost returns an error if the order of the n-th component is lost before another component.
func orderLost[A any](n int, p *Component[A]) error {
	if p.width > 0 || p.end != "" {
		return nil
	}
	return componentError(n, p, &KeyError{Reason: "does not sort by its values before another component; use Ordered"})
}

// check returns a *KeyError for an invalid layout. The zero layout is invalid, too.
func (l *valueLayout[K]) check() error {
	if l.err == nil && l.write == nil {
		return &KeyError{Reason: "has the zero layout; make the layout by Struct2, Struct3 or a function of a Component, such as Digits"}
	}
	return l.err
}

func (l *valueLayout[K]) encode(k K) encoded {
	if err := l.check(); err != nil {
		return encoded{err: err}
	}
	if l.verbatim != nil && l.name == (name{}) {
		if s, ok := l.verbatim(k); ok {
			return textKey(s, l.end)
		}
	}
	w := l.write(l.name.newWriter(l.width), k, false)
	return w.key()
}

func (l *valueLayout[K]) decode(key string) (k K, err error) {
	if err := l.check(); err != nil {
		return k, err
	}
	k, r := l.read(l.name.newReader(key), false)
	return k, r.err
}

// Compound is a layout of several components for one struct.
type Compound[K any] struct{ of *valueLayout[K] }

// Compound2 is a [Compound] of two components.
type Compound2[K, A, B any] struct {
	of *bound2[K, A, B]
	Compound[K]
}

// Compound3 is a [Compound] of three components.
type Compound3[K, A, B, C any] struct {
	of *bound3[K, A, B, C]
	Compound[K]
}

// Struct2 binds two components of a key to two fields of a struct:
//
//	keys.Struct2(keys.Ordered(), keys.Date(), func(h *hired) (*string, *time.Time) { return &h.Title, &h.On })
func Struct2[K, A, B any](a Component[A], b Component[B], at func(*K) (*A, *B)) Compound2[K, A, B] {
	return compoundOf2(newBound2(a, b, at))
}

//go:noinline
func compoundOf2[K, A, B any](l *bound2[K, A, B]) Compound2[K, A, B] {
	if l == nil {
		return Compound2[K, A, B]{}
	}
	return Compound2[K, A, B]{l, Compound[K]{&valueLayout[K]{
		name:     l.name,
		spelling: l.spelling(),
		write: func(w writer, k K, more bool) writer {
			a, b := l.at(&k)
			writeComponent(&w, &l.a, *a, true)
			writeComponent(&w, &l.b, *b, more)
			return w
		},
		read: func(r reader, more bool) (k K, _ reader) {
			a, b := l.at(&k)
			readComponent(&r, &l.a, a, true)
			readComponent(&r, &l.b, b, more)
			return k, r
		},
		components: 2,
		low:        l.a.low(),
		high:       l.a.high(),
		desc:       l.a.desc && l.b.desc,
		innerOrder: orderLost(1, &l.a),
		fullOrder:  errors.Join(orderLost(1, &l.a), orderLost(2, &l.b)),
		err:        errors.Join(checkAccessor(l.at == nil), l.check()),
	}}}
}

// Struct3 binds three components of a key to three fields of a struct.
func Struct3[K, A, B, C any](a Component[A], b Component[B], c Component[C], at func(*K) (*A, *B, *C)) Compound3[K, A, B, C] {
	return compoundOf3(newBound3(a, b, c, at))
}

//go:noinline
func compoundOf3[K, A, B, C any](l *bound3[K, A, B, C]) Compound3[K, A, B, C] {
	if l == nil {
		return Compound3[K, A, B, C]{}
	}
	return Compound3[K, A, B, C]{l, Compound[K]{&valueLayout[K]{
		name:     l.name,
		spelling: l.spelling(),
		write: func(w writer, k K, more bool) writer {
			a, b, c := l.at(&k)
			writeComponent(&w, &l.a, *a, true)
			writeComponent(&w, &l.b, *b, true)
			writeComponent(&w, &l.c, *c, more)
			return w
		},
		read: func(r reader, more bool) (k K, _ reader) {
			a, b, c := l.at(&k)
			readComponent(&r, &l.a, a, true)
			readComponent(&r, &l.b, b, true)
			readComponent(&r, &l.c, c, more)
			return k, r
		},
		components: 3,
		low:        l.a.low(),
		high:       l.a.high(),
		desc:       l.a.desc && l.b.desc && l.c.desc,
		innerOrder: errors.Join(orderLost(1, &l.a), orderLost(2, &l.b)),
		fullOrder:  errors.Join(orderLost(1, &l.a), orderLost(2, &l.b), orderLost(3, &l.c)),
		err:        errors.Join(checkAccessor(l.at == nil), l.check()),
	}}}
}

func checkAccessor(unset bool) error {
	if unset {
		return &KeyError{Reason: "is bound to fields by a nil function"}
	}
	return nil
}

func (l Compound[K]) openNamed(name string) any { return openNamed[K](l, name) }

func (l Compound[K]) openSuffixed(name string) any { return openSuffixed[K](l, name) }

func (l Compound[K]) openSpelling() string { return openSpelling[K](l) }

func (l Compound[K]) layout() valueLayout[K] {
	if l.of == nil {
		return valueLayout[K]{}
	}
	return *l.of
}

// Named returns the layout with a name before every key; see [Component.Named].
func (l Compound[K]) Named(prefix string) Compound[K] {
	named := l.layout()
	named.name = newName(prefix)
	return Compound[K]{&named}
}

// Named returns the layout with a name before every key; see [Component.Named].
func (l Compound2[K, A, B]) Named(prefix string) Compound2[K, A, B] {
	return compoundOf2(l.of.named(prefix))
}

// Named returns the layout with a name before every key; see [Component.Named].
func (l Compound3[K, A, B, C]) Named(prefix string) Compound3[K, A, B, C] {
	return compoundOf3(l.of.named(prefix))
}

// First returns the ranges of the RowKeys by the first value; see [RowOf2.First].
func (l Compound2[K, A, B]) First() RowRanges[A] { return RowRanges[A]{l.of.first()} }

// First returns the ranges of the RowKeys by the first value; see [RowOf2.First].
func (l Compound3[K, A, B, C]) First() RowRanges[A] { return RowRanges[A]{l.of.first()} }

// Under returns the ranges of the RowKeys by the second value, under one first value; see [RowOf2.Under].
func (l Compound2[K, A, B]) Under(a A) RowRanges[B] { return RowRanges[B]{l.of.second(a)} }

// Under returns the ranges of the RowKeys by the second value, under one first value; see [RowOf2.Under].
func (l Compound3[K, A, B, C]) Under(a A) RowRanges[B] { return RowRanges[B]{l.of.second(a)} }

// Under2 returns the ranges of the RowKeys by the third value, under the first two.
func (l Compound3[K, A, B, C]) Under2(a A, b B) RowRanges[C] { return RowRanges[C]{l.of.third(a, b)} }

// PartitionKey returns the PartitionKey of a value. The method that uses the key returns its error (*KeyError).
func (l Compound[K]) PartitionKey(k K) PartitionKey { return PartitionKey{l.encode(k)} }

// RowKey returns the RowKey of a value. The method that uses the key returns its error (*KeyError).
func (l Compound[K]) RowKey(k K) RowKey { return RowKey{l.encode(k)} }

func (l Compound[K]) encode(k K) encoded {
	v := l.layout()
	return v.encode(k)
}

// Decode returns the value of a key. A key that no value has is a *KeyError.
func (l Compound[K]) Decode(key string) (K, error) {
	v := l.layout()
	return v.decode(key)
}

// Rows returns the ranges of the RowKeys. Values are compared component by component in the order of their keys: if Desc inverts only some
// components, lo is the value that sorts first. A component that does not sort by its values before another component, such as [Text], makes every
// range of values a *KeyError.
func (l Compound[K]) Rows() RowRanges[K] { return RowRanges[K]{&ranges[K]{layout: l.layout()}} }

// namedLayout returns a layout with a name, unless it has one already.
func namedLayout[K any](l Layout[K], prefix string) *valueLayout[K] {
	v := l.layout()
	if v.name == (name{}) {
		v.name = newName(prefix)
	}
	return &v
}

// name is the prefix of a layout, with the separator.
type name struct {
	prefix string
	err    error
}

func newName(prefix string) name {
	for i := range len(prefix) {
		if !alnum(prefix[i]) {
			return name{err: &KeyError{Component: "name", Value: prefix, Reason: "may contain only letters and digits"}}
		}
	}
	if prefix == "" {
		return name{err: &KeyError{Component: "name", Reason: "is empty"}}
	}
	return name{prefix: prefix + separator}
}

// spell returns the spelling of a layout: ordered, date named hired. Equal spellings make equal
// keys of equal values of their components.
func (n name) spell(components string) string {
	if n.prefix == "" {
		return components
	}
	return components + " named " + strings.TrimSuffix(n.prefix, separator)
}

func (n name) allRange() span {
	if n.err != nil {
		return span{err: n.err}
	}
	if n.prefix == "" {
		return span{to: string(reservedFirst), set: true}
	}
	return prefixRange(n.prefix)
}

// prefixRange returns the range of the keys that begin with s, which ends with the separator.
func prefixRange(s string) span {
	return span{from: s, to: strings.TrimSuffix(s, separator) + afterSeparator, set: true}
}

// prefix returns the range of the keys that begin with the written components.
func (w *writer) prefix() span {
	if w.err != nil {
		return span{err: w.err}
	}
	return prefixRange(string(w.b))
}

// writer builds a key from its components and keeps the first error.
type writer struct {
	b   []byte
	n   int
	end string // the terminator of the last component
	err error

	long *KeyError // of the first component with which the key is too long
}

// newWriter begins a key whose components have so many bytes, 0 if the number is unknown.
func (n name) newWriter(width int) writer {
	if width == 0 {
		width = 40
	}
	return writer{b: append(make([]byte, 0, len(n.prefix)+width), n.prefix...), err: n.err}
}

// writeComponent writes a component. more reports whether another component follows.
func writeComponent[A any](w *writer, p *Component[A], a A, more bool) {
	w.n++
	if w.err != nil {
		return
	}
	if w.err = checkComponent(w.n, p); w.err != nil {
		return
	}
	b, err := p.append(w.b, a)
	if err != nil {
		w.err = componentError(w.n, p, err)
		return
	}
	if len(b) > MaxUnits && w.long == nil {
		w.long = &KeyError{Component: componentName(w.n, p), Value: fmt.Sprint(a)}
		w.long.Reason = tooLong
		if reflect.TypeFor[A]().Kind() == reflect.String && len(b)-len(w.b) > len(w.long.Value) {
			w.long.Reason += " where it is escaped: a letter such as ü takes 3, others up to 5"
		}
	}
	if more {
		b = append(append(b, p.end...), separator...)
	}
	w.b, w.end = b, p.end
}

// key checks the rules for whole keys. The key of a layout can violate them if it is empty or too long.
func (w *writer) key() encoded {
	if w.err != nil {
		return encoded{err: w.err}
	}
	k := textKey(unsafe.String(unsafe.SliceData(w.b), len(w.b)), w.end) // the writer ends here: its bytes change no more
	if ke, is := k.err.(*KeyError); is && w.long != nil && ke.Limit > 0 {
		w.long.Length, w.long.Limit = ke.Length, ke.Limit
		k.err = w.long
	}
	return k
}

func textKey(s, end string) encoded {
	if err := checkKey(s); err != nil {
		return encoded{err: err}
	}
	return encoded{text: s, end: end, set: true}
}

func (e encoded) newReader(n name) reader {
	s, err := e.Result()
	if err != nil {
		return reader{err: err}
	}
	return n.newReader(s)
}

// reader decodes the components of a key and keeps the first error.
type reader struct {
	whole, rest string
	n           int
	err         error
}

func (n name) newReader(s string) reader {
	r := reader{whole: s, rest: s, err: n.err}
	if r.err == nil {
		if r.err = checkKey(s); r.err == nil {
			var ok bool
			if r.rest, ok = strings.CutPrefix(s, n.prefix); !ok {
				r.err = &KeyError{Value: s, Reason: fmt.Sprintf("does not begin with %q", n.prefix)}
			}
		}
	}
	return r
}

// readComponent decodes a component into to. more reports whether another component follows.
func readComponent[A any](r *reader, p *Component[A], to *A, more bool) {
	r.n++
	if r.err != nil {
		return
	}
	if r.err = checkComponent(r.n, p); r.err != nil {
		return
	}
	s := r.rest
	if more {
		end := p.end + separator
		i := strings.Index(s, separator)
		if i < 0 || !strings.HasSuffix(s[:i+1], end) {
			r.err = componentError(r.n, p, &KeyError{Value: r.whole, Reason: "ends before the last component"})
			return
		}
		s, r.rest = s[:i+1-len(end)], s[i+1:]
	}
	if p.width > 0 && len(s) != p.width {
		r.err = componentError(r.n, p, &KeyError{Value: r.whole, Reason: fmt.Sprintf("has %d characters in this component; the layout requires %d", len(s), p.width)})
		return
	}
	v, err := p.parse(s)
	if err == nil && p.lossy != "" { // parse then accepts more than append makes
		if again, _ := p.append(nil, v); string(again) != s {
			err = &KeyError{Value: s, Reason: fmt.Sprintf("differs from %q, the encoding of the same value", again)}
		}
	}
	if err != nil {
		r.err = componentError(r.n, p, err)
		return
	}
	*to = v
}

// checkComponent returns a *KeyError if the n-th component of a layout is invalid.
func checkComponent[A any](n int, p *Component[A]) error {
	if err := p.check(); err != nil {
		return componentError(n, p, err)
	}
	return nil
}

// componentError adds the name of the component to a KeyError.
func componentError[A any](n int, p *Component[A], err error) error {
	ke, ok := err.(*KeyError)
	if !ok {
		ke = &KeyError{Reason: err.Error()}
	}
	c := *ke
	c.Component = componentName(n, p)
	return &c
}

func componentName[A any](n int, p *Component[A]) string {
	return fmt.Sprintf("component %d, %s", n, p.spelling)
}

// unnamed returns an error if the n-th component of several has a name of its own.
func unnamed[A any](n int, p *Component[A]) error {
	if p.name == (name{}) {
		return nil
	}
	return componentError(n, p, &KeyError{Reason: "has a name of its own; name the whole key"})
}

func openNamed[K any](l Layout[K], name string) any { return Compound[K]{namedLayout(l, name)} }

func openSpelling[K any](l Layout[K]) string {
	v := l.layout()
	return v.name.spell(v.spelling)
}

func openSuffixed[K any](l Layout[K], name string) keydoor.Layout[K, RowKey, RowRange] {
	return newSuffixed(l, name)
}

// suffixed is a layout of keys that end with another key.
type suffixed[K any] struct {
	RowRanges[K] // with more set
	layout       *valueLayout[K]
}

func newSuffixed[K any](l Layout[K], prefix string) suffixed[K] {
	v := namedLayout(l, prefix)
	return suffixed[K]{RowRanges: RowRanges[K]{&ranges[K]{layout: *v, more: true}}, layout: v}
}

func (l suffixed[K]) Of(k K, suffix RowKey) RowKey { return l.Maker().Of(k, suffix) }

func (l suffixed[K]) Maker() keydoor.Maker[K, RowKey] { return &maker[K]{layout: l.layout} }

// maker makes keys. Of gives the memory of a key away with the key, and Is has a memory of its own.
type maker[K any] struct {
	layout   *valueLayout[K]
	compared []byte // the memory of Is
	first    [48]byte
}

// write writes a value into a memory.
func (m *maker[K]) write(memory []byte, k K) writer {
	name := &m.layout.name
	return m.layout.write(writer{b: append(memory[:0], name.prefix...), err: name.err}, k, true)
}

func (m *maker[K]) Of(k K, suffix RowKey) RowKey {
	if err := m.layout.check(); err != nil {
		return RowKey{encoded{err: err}}
	}
	w := m.write(m.layout.name.newWriter(0).b, k)
	s, err := suffix.Result()
	if w.err == nil {
		w.err = err
	}
	if w.err != nil {
		return RowKey{encoded{err: w.err}}
	}
	w.b = append(w.b, s...)
	w.end = suffix.end
	return RowKey{w.key()}
}

func (m *maker[K]) Is(s string, k K, suffix RowKey) bool {
	if m.compared == nil {
		m.compared = m.first[:0]
	}
	if m.layout.check() != nil || suffix.Err() != nil {
		return false
	}
	w := m.write(m.compared, k)
	if w.err != nil {
		return false
	}
	m.compared = w.b
	n := len(w.b)
	return len(s) == n+len(suffix.text) && s[:n] == string(w.b) && s[n:] == suffix.text && checkKey(s) == nil
}

func (l suffixed[K]) Decode(s string) (k K, suffix string, err error) {
	if err := l.layout.check(); err != nil {
		return k, "", err
	}
	k, r := l.layout.read(l.layout.name.newReader(s), true)
	if r.err == nil && r.rest == "" {
		r.err = &KeyError{Value: s, Reason: "has no suffix"}
	}
	return k, r.rest, r.err
}

func (l suffixed[K]) Prefix(k K) RowRange { return RowRange{l.in.valueRange(k)} }
