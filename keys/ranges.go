package keys

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"
)

// Range is an interval of encoded keys: all keys from a first one up to a last one or up to a bound that is not part of
// it. Its zero value is an unset range.
type Range struct {
	from, to string // to "" = no upper bound
	closed   bool   // to belongs to the range
	family   string // only this key and those that begin with below
	below    string
	raw      bool // of keys of any characters, but for those of the library's rows
	set      bool
	err      error
}

// LogValue is the range as String has it, for slog.
func (r Range) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Bounds returns the first key ("" = none), the end ("" = none), and whether the end belongs to the range.
func (r Range) Bounds() (from, to string, closed bool) { return r.from, r.to, r.closed }

// Split reports whether keys of the range lie on both sides of the library's rows, whose keys begin with ~. Such a range
// holds none of those rows, although they lie between its bounds.
func (r Range) SpansReserved() bool {
	return r.raw && r.from < string(reservedFirst) && (r.to == "" || r.to > string(reservedFirst))
}

// Inclusive returns the first key ("" = none) and the last one that belongs to the range ("" = none), for services that
// know no other bounds, such as shared access signatures. Where the range ends before a key that is not part of it, last
// lies below that end and above every key in the range but those that begin with last itself. Errors are a *KeyError for
// a family, since keys of others lie between its own; for a range that is split by the library's rows ([Range.Split]); for
// a range that holds no key; and for the empty key as last, which would read as no bound at all.
func (r Range) Inclusive() (first, last string, err error) {
	first, last, err = r.interval()
	switch {
	case err != nil:
		return "", "", err
	case last == "" && r.raw && r.to == "":
		return first, "", nil
	case last == "":
		return "", "", &KeyError{Reason: "the empty key cannot be named as a bound"}
	case Compare(first, last) > 0:
		return "", "", &KeyError{Value: first, Reason: fmt.Sprintf("no key lies between it and %q", r.to)}
	}
	return first, last, nil
}

func (r Range) interval() (first, last string, err error) {
	switch {
	case r.err != nil || !r.set:
		return "", "", errors.Join(r.err, Enc{set: r.set}.Err())
	case r.family != "":
		return "", "", &KeyError{Value: r.family, Reason: "a family is not an interval: keys of others lie between its own"}
	case r.closed:
		return r.from, r.to, nil
	case r.SpansReserved():
		return "", "", &KeyError{Value: r.from, Reason: "begins a range that the library's rows split, so it is no interval; end it before them (keys.RawBetween(from, \"~\")), or begin it behind them"}
	case r.to == "" && r.raw:
		return r.from, "", nil
	}
	// Keys of layouts are ASCII below ~. Others may hold any character.
	to, highest := r.to, string(reservedFirst)
	if r.raw {
		highest = lastUnit
	}
	if to == "" {
		to = string(reservedFirst)
	}
	end, size := utf8.DecodeLastRuneInString(to)
	stem := to[:len(to)-size]
	for c, ok := previousChar(end); ok; c, ok = previousChar(c) { // whatever follows it is below the bound too
		if !isControl(c) && !strings.ContainsRune(forbidden, c) {
			return r.from, stem + string(c) + highest, nil
		}
	}
	if stem != "" {
		return r.from, stem, nil
	}
	return "", "", &KeyError{Value: to, Reason: "no last key can be named below this bound"}
}

// preceding is the character that sorts directly before c, by UTF-16 code units. ok is false for the first that a key may hold.
func previousChar(c rune) (before rune, ok bool) {
	switch {
	case c <= ' ':
		return 0, false
	case c == 0x10000:
		return 0xd7ff, true
	case c == 0xe000:
		return 0x10ffff, true
	}
	return c - 1, true
}

// IsSet tells whether r was made by a layout or by a function of this package.
func (r Range) IsSet() bool { return r.set || r.err != nil }

// Err returns the *KeyError of a range that could not be built.
func (r Range) Err() error { return r.err }

// IsPoint tells whether r holds exactly one key.
func (r Range) IsPoint() bool { return r.set && r.closed && r.from == r.to }

// Point returns the only key of a range for which IsPoint holds, and an unset key for any other.
func (r Range) Point() Enc {
	if !r.IsPoint() {
		return Enc{}
	}
	return Enc{text: r.from, set: true}
}

// Compare orders two encoded keys as the service does, by UTF-16 code units: -1, 0 or 1. That is the order of Go's strings
// but for characters beyond U+FFFF, which sort below U+E000 to U+FFFF.
func Compare(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n-- // to the beginning of the character in which they differ
	}
	x, _ := utf8.DecodeRuneInString(a[n:])
	y, _ := utf8.DecodeRuneInString(b[n:])
	if beyond := x > 0xffff; beyond != (y > 0xffff) && min(x, y) >= 0xe000 && len(a) > n && len(b) > n {
		if beyond {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// Contains tells whether r holds the encoded key s.
func (r Range) Contains(s string) bool {
	switch {
	case !r.set || Compare(s, r.from) < 0:
		return false
	case r.raw && strings.HasPrefix(s, string(reservedFirst)):
		return false
	case r.to != "" && (Compare(s, r.to) > 0 || s == r.to && !r.closed):
		return false
	}
	return r.family == "" || s == r.family || strings.HasPrefix(s, r.below)
}

// String returns the range as an interval: [empid_000100, empid_000199].
func (r Range) String() string {
	switch {
	case r.err != nil:
		return "(" + r.err.Error() + ")"
	case !r.set:
		return "(unset)"
	case r.family != "":
		return "the family of " + r.family
	case r.closed:
		return fmt.Sprintf("[%s, %s]", r.from, r.to)
	}
	return fmt.Sprintf("[%s, %s)", r.from, r.to)
}

// Point is the range of a single key.
func Point(e Enc) Range {
	s, err := e.Result()
	if err != nil {
		return Range{err: err}
	}
	return Range{from: s, to: s, closed: true, set: true}
}

// Family is a key and everything below it: an employee and all her reviews, 000123 and 000123_2012. Keys that merely
// begin alike, such as 0001234, do not belong to it; a query reads and drops those of them that sort before the separator.
func Family(e Enc) Range {
	s, err := e.Result()
	if err != nil {
		return Range{err: err}
	}
	return Range{from: s, to: s + afterSeparator, family: s, below: s + e.end + separator, set: true}
}

// RawBetween is the half-open range of keys from ≤ key < to, for keys without a layout, in the service's order ([Compare]).
// An empty from or to leaves that side open. The library's rows, whose keys begin with ~, are never part of it, also where
// they lie between the bounds: keys that begin with a character above ~, such as Öblarn, are behind them. A bound need
// not be a key itself, but must be valid UTF-8 without control characters and not begin with ~ and something behind it.
func RawBetween(from, to string) Range {
	for _, s := range []string{from, to} {
		switch {
		case !utf8.ValidString(s) || strings.ContainsFunc(s, isControl):
			return Range{err: &KeyError{Value: s, Reason: "holds control characters or is not valid UTF-8"}}
		case strings.HasPrefix(s, string(reservedFirst)) && s != string(reservedFirst):
			return Range{err: &KeyError{Value: s, Reason: "begins with ~, as the library's rows do, and is no bound of others"}}
		}
	}
	if to != "" && Compare(from, to) > 0 {
		return Range{err: swappedBounds(from, to)}
	}
	// The library's rows are at no end of it.
	if from == string(reservedFirst) && to != from {
		from = FirstAboveReserved
	}
	if to == FirstAboveReserved && from != to {
		to = string(reservedFirst)
	}
	return Range{from: from, to: to, set: true, raw: true}
}

// swapped is the error of a range whose lower bound sorts after the upper one.
func swappedBounds(from, to string) error {
	return &KeyError{Value: from, Reason: fmt.Sprintf("sorts after %q: the bounds are swapped", to)}
}

// All is the range of every key of the layout.
func (l Layout1[A]) All() Range {
	if err := checkPart(1, l.a); err != nil {
		return Range{err: err}
	}
	r := l.name.all()
	if l.name.prefix == "" && r.err == nil && l.a.width > 0 {
		r.from, r.to, r.closed = l.a.low(), l.a.high(), true
	}
	return r
}

// All is the range of every key of the layout.
func (l Layout2[A, B]) All() Range { return firstPartRange(l.name, l.a, checkPart(2, l.b)) }

// All is the range of every key of the layout.
func (l Layout3[A, B, C]) All() Range {
	return firstPartRange(l.name, l.a, errors.Join(checkPart(2, l.b), checkPart(3, l.c)))
}

func (n name) all() Range {
	if n.err != nil {
		return Range{err: n.err}
	}
	if n.prefix == "" {
		return Range{to: string(reservedFirst), set: true}
	}
	return prefixRange(n.prefix)
}

func firstPartRange[A any](n name, first Part[A], others error) Range {
	if err := errors.Join(checkPart(1, first), others); err != nil {
		return Range{err: err}
	}
	r := n.all()
	if n.prefix == "" && r.err == nil && first.width > 0 {
		r.from, r.to = first.low()+separator, first.high()+afterSeparator
	}
	return r
}

// prefixed is the range of the keys that begin with s, which ends in the separator.
func prefixRange(s string) Range {
	return Range{from: s, to: strings.TrimSuffix(s, separator) + afterSeparator, set: true}
}

// prefix is the range of what begins as it was written; rest are the faults of the parts that follow.
func (w *writer) prefix(rest ...error) Range {
	if err := errors.Join(append(rest, w.err)...); err != nil {
		return Range{err: err}
	}
	return prefixRange(string(w.b))
}

// Prefix is the range of all keys whose first part is a, and of no others.
func (l Layout2[A, B]) Prefix(a A) Range {
	w := l.name.newWriter()
	writePart(w, l.a, a, true)
	return w.prefix(checkPart(2, l.b))
}

// Prefix1 is the range of all keys whose first part is a, and of no others.
func (l Layout3[A, B, C]) Prefix1(a A) Range {
	w := l.name.newWriter()
	writePart(w, l.a, a, true)
	return w.prefix(checkPart(2, l.b), checkPart(3, l.c))
}

// Prefix2 is the range of all keys whose first two parts are a and b, and of no others.
func (l Layout3[A, B, C]) Prefix2(a A, b B) Range {
	w := l.name.newWriter()
	writePart(w, l.a, a, true)
	writePart(w, l.b, b, true)
	return w.prefix(checkPart(3, l.c))
}

// Between is the range of the keys from lo to hi, both included, in the order of the values; swapped bounds are an error.
// For text it follows the order that the part promises.
func (l Layout1[A]) Between(lo, hi A) Range {
	return closedBetween(l.All(), l.a.desc, l.lowerBound(lo), l.Of(hi))
}

// AtLeast is the range of lo and all greater values.
func (l Layout1[A]) AtLeast(lo A) Range { return halfOpen(l.All(), !l.a.desc, l.lowerBound(lo)) }

// least is Of for a lower bound, which the empty text can be although it is no key.
func (l Layout1[A]) lowerBound(a A) Enc {
	if l.name.prefix == "" && l.a.prefixes && l.a.check() == nil {
		if b, err := l.a.append(nil, a); err == nil && len(b) == 0 {
			return Enc{set: true}
		}
	}
	return l.Of(a)
}

// AtMost is the range of hi and all smaller values.
func (l Layout1[A]) AtMost(hi A) Range { return halfOpen(l.All(), l.a.desc, l.Of(hi)) }

// Between is the range of the keys with first part a and second part from lo to hi, both included.
func (l Layout2[A, B]) Between(a A, lo, hi B) Range {
	return closedBetween(l.Prefix(a), l.b.desc, l.Of(a, lo), l.Of(a, hi))
}

// AtLeast is the range of the keys with first part a and second part lo or greater.
func (l Layout2[A, B]) AtLeast(a A, lo B) Range { return halfOpen(l.Prefix(a), !l.b.desc, l.Of(a, lo)) }

// AtMost is the range of the keys with first part a and second part hi or smaller.
func (l Layout2[A, B]) AtMost(a A, hi B) Range { return halfOpen(l.Prefix(a), l.b.desc, l.Of(a, hi)) }

// Between is the range of the keys with first parts a and b and third part from lo to hi, both included.
func (l Layout3[A, B, C]) Between(a A, b B, lo, hi C) Range {
	return closedBetween(l.Prefix2(a, b), l.c.desc, l.Of(a, b, lo), l.Of(a, b, hi))
}

// AtLeast is the range of the keys with first parts a and b and third part lo or greater.
func (l Layout3[A, B, C]) AtLeast(a A, b B, lo C) Range {
	return halfOpen(l.Prefix2(a, b), !l.c.desc, l.Of(a, b, lo))
}

// AtMost is the range of the keys with first parts a and b and third part hi or smaller.
func (l Layout3[A, B, C]) AtMost(a A, b B, hi C) Range {
	return halfOpen(l.Prefix2(a, b), l.c.desc, l.Of(a, b, hi))
}

// Starting is the range of all texts that begin with a: email_a to email_b holds every address that begins with an a. It
// serves Text, Ordered, their folded forms and Bytes; for other parts it is an error. Of folded text it is a beginning as
// folding leaves it: é is one character, which does not begin with e.
func (l Layout1[A]) Starting(a A) Range {
	if !l.a.prefixes {
		return Range{err: ofPart(1, l.a, &KeyError{Reason: "has no prefixes: only text and bytes have"})}
	}
	w := l.name.newWriter()
	writePart(w, l.a, a, false)
	if w.err != nil {
		return Range{err: w.err}
	}
	if string(w.b) == l.name.prefix {
		return l.All()
	}
	return startingWith(string(w.b))
}

// beginning is the range of what begins with s.
func startingWith(s string) Range {
	end := []byte(s)
	end[len(end)-1]++ // below 'z' and '|' there is always a next character that may stand in a bound
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

// oneSide cuts the range of a whole layout or prefix at one key.
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

// Meets reports whether two ranges may have a key in common. It looks at their bounds alone, and at the library's rows, which
// a range of [RawBetween] leaves out.
func (r Range) Overlaps(other Range) bool {
	if !r.set || !other.set {
		return false
	}
	before := func(a, b Range) bool { // all of a sorts before all of b
		return a.to != "" && (Compare(a.to, b.from) < 0 || a.to == b.from && !a.closed)
	}
	for _, a := range r.intervals() {
		for _, b := range other.intervals() {
			if !before(a, b) && !before(b, a) {
				return true
			}
		}
	}
	return false
}

// pieces are the intervals of a range that the library's rows split.
func (r Range) intervals() []Range {
	if !r.SpansReserved() {
		return []Range{r}
	}
	below, behind := r, r
	below.to, behind.from = string(reservedFirst), FirstAboveReserved
	return []Range{below, behind}
}
