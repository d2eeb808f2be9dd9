package keys

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"
)

// The separator between components, and the next character, with which the range of a prefix ends.
const (
	separator      = "_"
	afterSeparator = "`"
)

// Layout1 is the layout of keys of one component.
type Layout1[A any] struct {
	name name
	a    Component[A]
}

// Layout2 is the layout of keys of two components, joined by _.
type Layout2[A, B any] struct {
	name name
	a    Component[A]
	b    Component[B]
}

// Layout3 is the layout of keys of three components, joined by _.
type Layout3[A, B, C any] struct {
	name name
	a    Component[A]
	b    Component[B]
	c    Component[C]
}

// Tuple1 returns a layout of one component.
func Tuple1[A any](a Component[A]) Layout1[A] { return Layout1[A]{a: a} }

// Tuple2 returns a layout of two components.
func Tuple2[A, B any](a Component[A], b Component[B]) Layout2[A, B] { return Layout2[A, B]{a: a, b: b} }

// Tuple3 returns a layout of three components.
func Tuple3[A, B, C any](a Component[A], b Component[B], c Component[C]) Layout3[A, B, C] {
	return Layout3[A, B, C]{a: a, b: b, c: c}
}

// Named returns the layout with a name of letters and digits before every key, as in empid_000223. Layouts with different names
// have separate ranges, so that one partition can contain rows of several layouts.
func (l Layout1[A]) Named(prefix string) Layout1[A] { l.name = newName(prefix); return l }

// Named is [Layout1.Named].
func (l Layout2[A, B]) Named(prefix string) Layout2[A, B] { l.name = newName(prefix); return l }

// Named is [Layout1.Named].
func (l Layout3[A, B, C]) Named(prefix string) Layout3[A, B, C] { l.name = newName(prefix); return l }

// Of returns the key of the values. The method that uses the key returns its error (*KeyError).
func (l Layout1[A]) Of(a A) Enc { return l.encode(a) }

func (l *Layout1[A]) encode(a A) Enc {
	if l.a.verbatim != nil && l.name == (name{}) {
		if s, ok := l.a.verbatim(a); ok {
			return textKey(s, l.a.end)
		}
	}
	w := l.name.newWriter(l.a.width)
	writeComponent(&w, &l.a, a, false)
	return w.key()
}

// Of returns the key of the values. The method that uses the key returns its error (*KeyError).
func (l Layout2[A, B]) Of(a A, b B) Enc { return l.encode(a, b) }

func (l *Layout2[A, B]) encode(a A, b B) Enc {
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	writeComponent(&w, &l.b, b, false)
	return w.key()
}

// Of returns the key of the values. The method that uses the key returns its error (*KeyError).
func (l Layout3[A, B, C]) Of(a A, b B, c C) Enc { return l.encode(a, b, c) }

func (l *Layout3[A, B, C]) encode(a A, b B, c C) Enc {
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	writeComponent(&w, &l.b, b, true)
	writeComponent(&w, &l.c, c, false)
	return w.key()
}

// Decode returns the values of a key. A key that Of does not make is a *KeyError.
func (l Layout1[A]) Decode(s string) (a A, err error) { return l.decode(s) }

func (l *Layout1[A]) decode(s string) (a A, err error) {
	r := l.name.newReader(s)
	readComponent(&r, &l.a, &a, false)
	return a, r.err
}

// Decode returns the values of a key. A key that Of does not make is a *KeyError.
func (l Layout2[A, B]) Decode(s string) (a A, b B, err error) { return l.decode(s) }

func (l *Layout2[A, B]) decode(s string) (a A, b B, err error) {
	r := l.name.newReader(s)
	readComponent(&r, &l.a, &a, true)
	readComponent(&r, &l.b, &b, false)
	return a, b, r.err
}

// Decode returns the values of a key. A key that Of does not make is a *KeyError.
func (l Layout3[A, B, C]) Decode(s string) (a A, b B, c C, err error) { return l.decode(s) }

func (l *Layout3[A, B, C]) decode(s string) (a A, b B, c C, err error) {
	r := l.name.newReader(s)
	readComponent(&r, &l.a, &a, true)
	readComponent(&r, &l.b, &b, true)
	readComponent(&r, &l.c, &c, false)
	return a, b, c, r.err
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

// writer builds a key from its components and keeps the first error.
type writer struct {
	b   []byte
	n   int
	end string // the terminator of the last component
	err error
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
	if more {
		b = append(append(b, p.end...), separator...)
	}
	w.b, w.end = b, p.end
}

// key checks the rules for whole keys. The key of a layout can violate them if it is empty or too long.
func (w *writer) key() Enc {
	if w.err != nil {
		return Enc{err: w.err}
	}
	return textKey(unsafe.String(unsafe.SliceData(w.b), len(w.b)), w.end) // the writer ends here: its bytes change no more
}

func textKey(s, end string) Enc {
	if err := checkKey(s); err != nil {
		return Enc{err: err}
	}
	return Enc{text: s, end: end, set: true}
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
	c.Component = fmt.Sprintf("component %d, %s", n, p.name)
	return &c
}

// All returns the range of all keys of the layout.
func (l Layout1[A]) All() Range {
	if err := checkComponent(1, &l.a); err != nil {
		return Range{err: err}
	}
	r := l.name.allRange()
	if l.name.prefix == "" && r.err == nil && l.a.width > 0 {
		r.from, r.to, r.closed = l.a.low(), l.a.high(), true
	}
	return r
}

// All returns the range of all keys of the layout.
func (l Layout2[A, B]) All() Range { return firstComponentRange(l.name, l.a, checkComponent(2, &l.b)) }

// All returns the range of all keys of the layout.
func (l Layout3[A, B, C]) All() Range {
	return firstComponentRange(l.name, l.a, errors.Join(checkComponent(2, &l.b), checkComponent(3, &l.c)))
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

func firstComponentRange[A any](n name, first Component[A], others error) Range {
	if err := errors.Join(checkComponent(1, &first), others); err != nil {
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

// prefix returns the range of the keys that begin with the written components. rest are errors about the other components.
func (w *writer) prefix(rest ...error) Range {
	if err := errors.Join(append(rest, w.err)...); err != nil {
		return Range{err: err}
	}
	return prefixRange(string(w.b))
}

// Prefix returns the range of all keys whose first component is a, and of no other keys.
func (l Layout2[A, B]) Prefix(a A) Range {
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	return w.prefix(checkComponent(2, &l.b))
}

// Prefix1 returns the range of all keys whose first component is a, and of no other keys.
func (l Layout3[A, B, C]) Prefix1(a A) Range {
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	return w.prefix(checkComponent(2, &l.b), checkComponent(3, &l.c))
}

// Prefix2 returns the range of all keys whose first two components are a and b, and of no other keys.
func (l Layout3[A, B, C]) Prefix2(a A, b B) Range {
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, true)
	writeComponent(&w, &l.b, b, true)
	return w.prefix(checkComponent(3, &l.c))
}

// Between returns the range of the keys of all values from lo to hi, both included. Swapped bounds are a *KeyError. Texts sort as
// their component says; see [Text].
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

// Between returns the range of the keys with first component a and second component from lo to hi, both included.
func (l Layout2[A, B]) Between(a A, lo, hi B) Range {
	return closedBetween(l.Prefix(a), l.b.desc, l.Of(a, lo), l.Of(a, hi))
}

// AtLeast returns the range of the keys with first component a and second component lo or greater.
func (l Layout2[A, B]) AtLeast(a A, lo B) Range { return halfOpen(l.Prefix(a), !l.b.desc, l.Of(a, lo)) }

// AtMost returns the range of the keys with first component a and second component hi or smaller.
func (l Layout2[A, B]) AtMost(a A, hi B) Range { return halfOpen(l.Prefix(a), l.b.desc, l.Of(a, hi)) }

// Between returns the range of the keys with first components a and b and third component from lo to hi, both included.
func (l Layout3[A, B, C]) Between(a A, b B, lo, hi C) Range {
	return closedBetween(l.Prefix2(a, b), l.c.desc, l.Of(a, b, lo), l.Of(a, b, hi))
}

// AtLeast returns the range of the keys with first components a and b and third component lo or greater.
func (l Layout3[A, B, C]) AtLeast(a A, b B, lo C) Range {
	return halfOpen(l.Prefix2(a, b), !l.c.desc, l.Of(a, b, lo))
}

// AtMost returns the range of the keys with first components a and b and third component hi or smaller.
func (l Layout3[A, B, C]) AtMost(a A, b B, hi C) Range {
	return halfOpen(l.Prefix2(a, b), l.c.desc, l.Of(a, b, hi))
}

// Starting returns the range of all texts that begin with a: email_a to email_b contains every address that begins with an a. A
// component other than Text, Ordered, Bytes and their folded forms is a *KeyError. For folded text, a must begin with whole
// characters: é does not begin with e.
func (l Layout1[A]) Starting(a A) Range {
	if !l.a.prefixes {
		return Range{err: componentError(1, &l.a, &KeyError{Reason: "has no prefixes; Starting requires text or bytes"})}
	}
	w := l.name.newWriter(0)
	writeComponent(&w, &l.a, a, false)
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

// halfOpen returns the range of the keys of whole from a key on, or up to the key.
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
