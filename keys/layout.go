package keys

import (
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

// Layout is the layout of the keys of one Go value: a [Component], or what [Row2] or [Row3]
// returns, of the fields of a struct. Indexes use it.
type Layout[K any] interface {
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
		return &KeyError{Reason: "has the zero layout; make the layout by Row2, Row3 or a function of a Component, such as Digits"}
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

// opened is a layout with a name, for package keydoor.
type opened[K any] struct{ of *valueLayout[K] }

func openNamed[K any](l Layout[K], name string) any { return opened[K]{namedLayout(l, name)} }

func (l opened[K]) suffixed() any {
	return suffixed[K]{ranges: &RowRanges[K]{&ranges[K]{layout: *l.of, more: true}}, layout: l.of}
}

func (l opened[K]) PartitionKey(k K) PartitionKey { return PartitionKey{l.of.encode(k)} }

func (l opened[K]) RowKey(k K) RowKey { return RowKey{l.of.encode(k)} }

func (l opened[K]) Decode(key string) (K, error) { return l.of.decode(key) }

func (l opened[K]) Rows() *RowRanges[K] { return &RowRanges[K]{&ranges[K]{layout: *l.of}} }

func (l opened[K]) Spelling() string { return l.of.name.spell(l.of.spelling) }

// namedLayout returns a layout with a name, unless it has one already or the name is "".
func namedLayout[K any](l Layout[K], prefix string) *valueLayout[K] {
	v := l.layout()
	if prefix != "" && v.name == (name{}) {
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
	if len(b) > maxUnits && w.long == nil {
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
	return componentError(n, p, &KeyError{Reason: "has a name; the name of a key stands on its first component"})
}

// suffixed is a layout of keys that end with another key.
type suffixed[K any] struct {
	ranges *RowRanges[K] // with more set
	layout *valueLayout[K]
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

func (l suffixed[K]) Rows() any { return l.ranges }

func (l suffixed[K]) Prefix(k K) RowRange { return RowRange{l.ranges.in.valueRange(k)} }

func (p Component[A]) layout() valueLayout[A] {
	l := valueLayout[A]{
		name:       p.name,
		spelling:   p.spelling,
		write:      func(w writer, a A, more bool) writer { writeComponent(&w, &p, a, more); return w },
		read:       func(r reader, more bool) (a A, _ reader) { readComponent(&r, &p, &a, more); return a, r },
		verbatim:   p.verbatim,
		end:        p.end,
		components: 1,
		width:      p.width,
		desc:       p.desc,
		prefixes:   p.prefixes,
		fullOrder:  orderLost(1, &p),
		lossy:      p.lossy,
		err:        checkComponent(1, &p),
	}
	if p.width > 0 {
		l.low, l.high = p.low(), p.high()
	}
	return l
}

// check returns a *KeyError for an invalid component. The zero Component is invalid, too.
func (p *Component[A]) check() error {
	if p.err == nil && p.append == nil {
		return &KeyError{Reason: "is the zero Component; make it by a function of package keys, such as Digits"}
	}
	return p.err
}
