package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/internal/reserved"
)

// span is an interval of encoded keys.
type span struct {
	from, to string // to is "" if there is no upper bound
	closed   bool   // to belongs to the range
	family   string // if set, the range contains only this key and the keys that begin with below
	below    string
	raw      bool // the range contains keys of any characters, except for keys of the library's rows
	set      bool
	err      error
}

// RowRange is a range of RowKeys: from a first key up to a last key, or up to a bound outside of
// it. Its zero value is an unset range.
type RowRange struct{ span }

// PartitionRange is a range of PartitionKeys. Its zero value is an unset range.
type PartitionRange struct{ span }

// Behind returns the keys of the range that are greater than k, to continue work that has come to
// k: of all keys if the range is unset. Errors, returned by the method that uses the range: those
// of k and of the range.
func (r PartitionRange) Behind(k PartitionKey) PartitionRange {
	return PartitionRange{r.rest(k.encoded)}
}

// Intersect returns the keys that are in both ranges, which may be none. Errors, returned by the
// method that uses the range: those of the two ranges.
//
//	empid.AtLeast(100).Intersect(empid.Before(200))
func (r RowRange) Intersect(other RowRange) RowRange { return RowRange{r.intersect(other.span)} }

// Intersect is [RowRange.Intersect].
func (r PartitionRange) Intersect(other PartitionRange) PartitionRange {
	return PartitionRange{r.intersect(other.span)}
}

func (r span) rest(k encoded) span {
	s, err := k.Result()
	if err != nil {
		return span{err: err}
	}
	if !r.IsSet() {
		r = rawBetween("", "")
	}
	return r.intersect(span{from: s + firstUnit, set: true})
}

func (r span) intersect(other span) span {
	for _, one := range []span{r, other} {
		if err := (encoded{set: one.set, err: one.err}).Err(); err != nil {
			return span{err: err}
		}
	}
	switch {
	case r.IsPoint():
		return r.ifIn(other)
	case other.IsPoint():
		return other.ifIn(r)
	}
	both := span{from: r.from, to: r.to, closed: r.closed, raw: r.raw || other.raw, set: true}
	switch {
	case r.family == "", other.family != "" && strings.HasPrefix(other.family, r.below):
		both.family, both.below = other.family, other.below
	case other.family == "", r.family == other.family, strings.HasPrefix(r.family, other.below):
		both.family, both.below = r.family, r.below
	default:
		return span{from: firstUnit, to: firstUnit, set: true}
	}
	if Compare(other.from, both.from) > 0 {
		both.from = other.from
	}
	if n := Compare(other.to, both.to); other.to != "" && (both.to == "" || n < 0 || n == 0 && !other.closed) {
		both.to, both.closed = other.to, other.closed
	}
	if both.raw && strings.HasPrefix(both.from, string(reservedFirst)) { // a bound does not lie inside the keys of the library's rows
		both.from = reserved.FirstAbove
	}
	if both.raw && strings.HasPrefix(both.to, string(reservedFirst)) {
		both.to, both.closed = string(reservedFirst), false
	}
	if both.to != "" && Compare(both.from, both.to) > 0 {
		both.to, both.closed = both.from, false
	}
	return both
}

// ifIn returns the range of a single key if another range contains it, and else an empty range.
func (r span) ifIn(other span) span {
	if other.Contains(r.from) {
		return r
	}
	return span{from: firstUnit, to: firstUnit, set: true}
}

// LogValue returns the text of String, for slog.
func (r span) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalJSON returns the text of String as a JSON string.
func (r span) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }

// Bounds returns the lower bound and the upper bound, "" for no bound, and whether the upper bound
// belongs to the range.
func (r span) Bounds() (from, to string, closed bool) { return r.from, r.to, r.closed }

// SpansReserved reports whether the range contains keys below and above the keys of the library's
// rows, which begin with ~. The range does not contain the keys between them.
func (r span) SpansReserved() bool {
	return r.raw && r.from < string(reservedFirst) && (r.to == "" || r.to > string(reservedFirst))
}

// Inclusive returns the bounds of the range as keys that belong to the range, "" for no bound. A
// shared access signature needs such bounds. If the range has an exclusive upper bound, last sorts
// below the bound and above every key in the range, except for keys that begin with last. Errors
// (*KeyError): a family, since foreign keys lie between its keys; a range that
// [RowRange.SpansReserved]; an empty range; and a range with the empty key as last, which would
// mean no bound.
func (r span) Inclusive() (first, last string, err error) {
	first, last, err = r.interval()
	switch {
	case err != nil:
		return "", "", err
	case last == "" && r.raw && r.to == "":
		return first, "", nil
	case last == "":
		return "", "", &KeyError{Reason: "is empty, which cannot be the last key of a range"}
	case Compare(first, last) > 0:
		return "", "", &KeyError{Value: first, Reason: fmt.Sprintf("begins an empty range: no key lies below %q", r.to)}
	}
	return first, last, nil
}

func (r span) interval() (first, last string, err error) {
	switch {
	case r.err != nil || !r.set:
		return "", "", errors.Join(r.err, encoded{set: r.set}.Err())
	case r.family != "":
		return "", "", &KeyError{Value: r.family, Reason: "has a family, which is not an interval: foreign keys lie between its keys"}
	case r.closed:
		return r.from, r.to, nil
	case r.SpansReserved():
		return "", "", &KeyError{Value: r.from, Reason: "begins a range that spans the library's rows, so that the range is not an interval; end it at ~ (keys.RawRows(from, \"~\")), or begin it at U+00A0"}
	case r.to == "" && r.raw:
		return r.from, "", nil
	}
	// Keys of layouts contain only ASCII below ~. Raw keys contain any character.
	to, highest := r.to, string(reservedFirst)
	if r.raw {
		highest = lastUnit
	}
	if to == "" {
		to = string(reservedFirst)
	}
	end, size := utf8.DecodeLastRuneInString(to)
	stem := to[:len(to)-size]
	for c, ok := previousChar(end); ok; c, ok = previousChar(c) { // every key that begins with stem and c is below the bound
		if !isControl(c) && !strings.ContainsRune(forbidden, c) {
			return r.from, stem + string(c) + highest, nil
		}
	}
	if stem != "" {
		return r.from, stem, nil
	}
	return "", "", &KeyError{Value: to, Reason: "is an upper bound below which there is no last key"}
}

// IsSet reports whether a layout or a function of this package made r, with or without an error.
func (r span) IsSet() bool { return r.set || r.err != nil }

// Err returns a *KeyError for an invalid range.
func (r span) Err() error { return r.err }

// IsEmpty reports whether r contains no key, as the intersection of two ranges may.
func (r span) IsEmpty() bool { return r.set && !r.closed && r.to != "" && r.from == r.to }

// IsPoint reports whether r contains exactly one key.
func (r span) IsPoint() bool { return r.set && r.closed && r.from == r.to }

// Contains reports whether r contains the encoded key s.
func (r span) Contains(s string) bool {
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

// String returns the range in the form [empid_000100, empid_000199], with ) for an exclusive bound.
func (r span) String() string {
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

// pointOf returns the range of a single key.
func pointOf(e encoded) span {
	s, err := e.Result()
	if err != nil {
		return span{err: err}
	}
	return span{from: s, to: s, closed: true, set: true}
}

// RawRows returns the half-open range of the RowKeys from ≤ key < to, for keys without a layout, in
// the service's order ([Compare]). An empty from or to means no bound. The range never contains
// keys of the library's rows, which begin with ~, even if they lie between the bounds: keys with a
// first character above ~, such as Öblarn, sort after them. A bound must be valid UTF-8 without
// control characters; it may be ~, but not begin with ~ otherwise.
func RawRows(from, to string) RowRange { return RowRange{rawBetween(from, to)} }

// RawPartitions returns the half-open range of the PartitionKeys from ≤ key < to; see [RawRows].
func RawPartitions(from, to string) PartitionRange { return PartitionRange{rawBetween(from, to)} }

func rawBetween(from, to string) span {
	for _, s := range []string{from, to} {
		switch {
		case !utf8.ValidString(s) || strings.ContainsFunc(s, isControl):
			return span{err: &KeyError{Value: s, Reason: "contains a control character or is not valid UTF-8"}}
		case strings.HasPrefix(s, string(reservedFirst)) && s != string(reservedFirst):
			return span{err: &KeyError{Value: s, Reason: "begins with ~, which is reserved for the library's rows; use ~ alone or U+00A0, the first character behind it that keys may begin with"}}
		}
	}
	if to != "" && Compare(from, to) > 0 {
		return span{err: swappedBounds(from, to)}
	}
	// A bound does not lie inside the keys of the library's rows.
	if from == string(reservedFirst) && to != from {
		from = reserved.FirstAbove
	}
	if to == reserved.FirstAbove && from != to {
		to = string(reservedFirst)
	}
	return span{from: from, to: to, set: true, raw: true}
}

// swappedBounds returns a *KeyError for a range whose lower bound sorts after the upper bound.
func swappedBounds(from, to string) error {
	return &KeyError{Value: from, Reason: fmt.Sprintf("sorts after %q: the bounds are swapped", to)}
}

func (r span) overlaps(other span) bool {
	if !r.set || !other.set {
		return false
	}
	before := func(a, b span) bool { // all of a sorts before all of b
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

// intervals returns the intervals of a range: two if the range spans the library's rows.
func (r span) intervals() []span {
	if !r.SpansReserved() {
		return []span{r}
	}
	below, behind := r, r
	below.to, behind.from = string(reservedFirst), reserved.FirstAbove
	return []span{below, behind}
}

// ranges are the ranges of the keys of a layout by the values of one or all of its components.
type ranges[K any] struct {
	layout valueLayout[K] // of these components; its name holds what stands before them
	before int            // the number of components before them
	more   bool           // other components follow
}

//go:noinline
func (r *ranges[K]) all() span {
	if r == nil {
		return span{err: errZeroKey}
	}
	if err := r.layout.check(); err != nil {
		return span{err: err}
	}
	all := r.layout.name.allRange()
	if r.layout.name.prefix != "" || all.err != nil || r.layout.low == "" {
		return all
	}
	if r.more || r.layout.components > 1 {
		all.from, all.to = r.layout.low+separator, r.layout.high+afterSeparator
	} else {
		all.from, all.to, all.closed = r.layout.low, r.layout.high, true
	}
	return all
}

// ordered returns the range of all keys, or why an interval of values is not an interval of keys.
func (r *ranges[K]) ordered() span {
	all := r.all()
	if all.err != nil {
		return all
	}
	lost := r.layout.innerOrder
	if r.more {
		lost = r.layout.fullOrder
	}
	if lost != nil {
		return span{err: lost}
	}
	return all
}

// write writes a value behind what stands before it.
func (r *ranges[K]) write(k K, more bool) writer {
	w := r.layout.name.newWriter(r.layout.width)
	w.n = r.before
	return r.layout.write(w, k, more)
}

// valueRange returns the range of the keys of one value.
func (r *ranges[K]) valueRange(k K) span {
	if err := r.layout.check(); err != nil {
		return span{err: err}
	}
	w := r.write(k, r.more)
	if r.more {
		return w.prefix()
	}
	return pointOf(w.key())
}

// lowest is valueRange for a lower bound. The empty text is a valid bound although it is not a
// valid key.
func (r *ranges[K]) lowest(k K) span {
	if r.layout.name.prefix == "" && r.layout.prefixes && !r.more {
		if w := r.write(k, false); w.err == nil && len(w.b) == 0 {
			return span{set: true}
		}
	}
	return r.valueRange(k)
}

//go:noinline
func (r *ranges[K]) interval(lo, hi K) span {
	whole := r.ordered()
	if whole.err != nil {
		return whole
	}
	if r.layout.desc {
		lo, hi = hi, lo
	}
	from, to := r.lowest(lo), r.valueRange(hi)
	switch {
	case from.err != nil:
		return from
	case to.err != nil:
		return to
	case Compare(from.from, to.from) > 0:
		return span{err: swappedBounds(from.from, to.from)}
	}
	return span{from: from.from, to: to.to, closed: to.closed, set: true}
}

// side is a side of a value, in the order of values.
type side int

const (
	atLeast side = iota
	atMost
	below
)

//go:noinline
func (r *ranges[K]) half(s side, k K) span {
	whole := r.ordered()
	if whole.err != nil {
		return whole
	}
	at := r.lowest
	if s != atLeast {
		at = r.valueRange
	}
	v := at(k)
	switch upward := (s == atLeast) != r.layout.desc; {
	case v.err != nil:
		return v
	case upward && s == below && r.more:
		whole.from = v.to
	case upward && s == below:
		whole.from = v.to + afterSeparator // behind the rows of an index, whose keys extend the key
	case upward:
		whole.from = v.from
	case s == below:
		whole.to, whole.closed = v.from, false
	default:
		whole.to, whole.closed = v.to, v.closed
	}
	return whole
}

//go:noinline
func (r *ranges[K]) starting(k K) span {
	all := r.all()
	if all.err != nil {
		return all
	}
	if r.layout.components > 1 || !r.layout.prefixes {
		return span{err: &KeyError{Component: fmt.Sprintf("component %d", r.before+1), Reason: "has no prefixes; Starting requires a single component of text or bytes"}}
	}
	switch w := r.write(k, false); {
	case w.err != nil:
		return span{err: w.err}
	case string(w.b) == r.layout.name.prefix:
		return all
	case endsInsideCharacter(w.b):
		return span{err: &KeyError{Component: fmt.Sprintf("component %d", r.before+1), Value: string(w.b), Reason: "ends inside a character; Starting requires whole characters"}}
	default:
		return startingWith(string(w.b))
	}
}

// startingWith returns the range of the keys that begin with s.
func startingWith(s string) span {
	end := []byte(s)
	end[len(end)-1]++ // the last byte is at most z, so that the next byte is a valid character
	return span{from: s, to: string(end), set: true}
}

// RowRanges are the ranges of the RowKeys of a layout, by the values of one or all of its
// components. Texts are compared by their keys; see [Text]. Errors, returned by the method that
// uses the range (*KeyError): bounds that are swapped or cannot be encoded, and a component that
// loses its order before another one.
type RowRanges[K any] struct{ in *ranges[K] }

// All returns the range of all keys.
func (r *RowRanges[K]) All() RowRange { return RowRange{r.in.all()} }

// Between returns the range of the keys of all values from lo to hi, both included.
func (r *RowRanges[K]) Between(lo, hi K) RowRange { return RowRange{r.in.interval(lo, hi)} }

// AtLeast returns the range of the keys of lo and all greater values.
func (r *RowRanges[K]) AtLeast(lo K) RowRange { return RowRange{r.in.half(atLeast, lo)} }

// AtMost returns the range of the keys of hi and all smaller values.
func (r *RowRanges[K]) AtMost(hi K) RowRange { return RowRange{r.in.half(atMost, hi)} }

// Before returns the range of the keys of all values smaller than hi.
func (r *RowRanges[K]) Before(hi K) RowRange { return RowRange{r.in.half(below, hi)} }

// Starting returns the range of all texts that begin with k: email_a to email_b contains every
// address that begins with an a. A component other than Text, Ordered, Bytes and their folded forms
// is a *KeyError, and so is a text that ends inside a character. For folded text, k must begin with
// whole characters, too: é does not begin with e.
func (r *RowRanges[K]) Starting(k K) RowRange { return RowRange{r.in.starting(k)} }

// PartitionRanges are the ranges of the PartitionKeys of a layout; see [RowRanges].
type PartitionRanges[K any] struct{ in *ranges[K] }

// All returns the range of all keys.
func (r *PartitionRanges[K]) All() PartitionRange { return PartitionRange{r.in.all()} }

// Between is [RowRanges.Between].
func (r *PartitionRanges[K]) Between(lo, hi K) PartitionRange {
	return PartitionRange{r.in.interval(lo, hi)}
}

// AtLeast is [RowRanges.AtLeast].
func (r *PartitionRanges[K]) AtLeast(lo K) PartitionRange {
	return PartitionRange{r.in.half(atLeast, lo)}
}

// AtMost is [RowRanges.AtMost].
func (r *PartitionRanges[K]) AtMost(hi K) PartitionRange {
	return PartitionRange{r.in.half(atMost, hi)}
}

// Before is [RowRanges.Before].
func (r *PartitionRanges[K]) Before(hi K) PartitionRange { return PartitionRange{r.in.half(below, hi)} }

// Starting is [RowRanges.Starting].
func (r *PartitionRanges[K]) Starting(k K) PartitionRange { return PartitionRange{r.in.starting(k)} }
