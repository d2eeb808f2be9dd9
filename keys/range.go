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

// Range is an interval of encoded keys, from a first key up to a last key or up to a bound outside the interval. Its
// zero value is an unset range.
type Range struct {
	from, to string // to is "" if there is no upper bound
	closed   bool   // to belongs to the range
	family   string // if set, the range contains only this key and the keys that begin with below
	below    string
	raw      bool // the range contains keys of any characters, except for keys of the library's rows
	set      bool
	err      error
}

// LogValue returns the text of String, for slog.
func (r Range) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalJSON returns the text of String as a JSON string.
func (r Range) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }

// Bounds returns the lower bound and the upper bound, "" for no bound, and whether the upper bound belongs to the range.
func (r Range) Bounds() (from, to string, closed bool) { return r.from, r.to, r.closed }

// SpansReserved reports whether the range contains keys below and above the keys of the library's rows, which begin with ~. The
// range does not contain the keys between them.
func (r Range) SpansReserved() bool {
	return r.raw && r.from < string(reservedFirst) && (r.to == "" || r.to > string(reservedFirst))
}

// Inclusive returns the bounds of the range as keys that belong to the range, "" for no bound. A shared access signature needs such
// bounds. If the range has an exclusive upper bound, last sorts below the bound and above every key in the range, except for keys
// that begin with last. Errors (*KeyError): a family, since foreign keys lie between its keys; a range that [Range.SpansReserved];
// an empty range; and a range with the empty key as last, which would mean no bound.
func (r Range) Inclusive() (first, last string, err error) {
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

func (r Range) interval() (first, last string, err error) {
	switch {
	case r.err != nil || !r.set:
		return "", "", errors.Join(r.err, Enc{set: r.set}.Err())
	case r.family != "":
		return "", "", &KeyError{Value: r.family, Reason: "has a family, which is not an interval: foreign keys lie between its keys"}
	case r.closed:
		return r.from, r.to, nil
	case r.SpansReserved():
		return "", "", &KeyError{Value: r.from, Reason: "begins a range that spans the library's rows, so that the range is not an interval; end it at ~ (keys.RawBetween(from, \"~\")), or begin it at U+00A0"}
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
func (r Range) IsSet() bool { return r.set || r.err != nil }

// Err returns a *KeyError for an invalid range.
func (r Range) Err() error { return r.err }

// IsPoint reports whether r contains exactly one key.
func (r Range) IsPoint() bool { return r.set && r.closed && r.from == r.to }

// Point returns the key of a range of exactly one key, and an unset key for any other range.
func (r Range) Point() Enc {
	if !r.IsPoint() {
		return Enc{}
	}
	return Enc{text: r.from, set: true}
}

// Contains reports whether r contains the encoded key s.
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

// String returns the range in the form [empid_000100, empid_000199], with ) for an exclusive bound.
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

// Point returns the range of a single key.
func Point(e Enc) Range {
	s, err := e.Result()
	if err != nil {
		return Range{err: err}
	}
	return Range{from: s, to: s, closed: true, set: true}
}

// Family returns the range of a key and of all keys that extend it by further components: an employee and all her reviews, 000123 and
// 000123_2012. It does not contain other keys with the same prefix, such as 0001234. Those that sort before the separator are read
// by a query, which then drops them.
func Family(e Enc) Range {
	s, err := e.Result()
	if err != nil {
		return Range{err: err}
	}
	return Range{from: s, to: s + afterSeparator, family: s, below: s + e.end + separator, set: true}
}

// RawBetween returns the half-open range of the keys from ≤ key < to, for keys without a layout, in the service's order
// ([Compare]). An empty from or to means no bound. The range never contains keys of the library's rows, which begin with ~, even if
// they lie between the bounds: keys with a first character above ~, such as Öblarn, sort after them. A bound must be valid UTF-8
// without control characters; it may be ~, but not begin with ~ otherwise.
func RawBetween(from, to string) Range {
	for _, s := range []string{from, to} {
		switch {
		case !utf8.ValidString(s) || strings.ContainsFunc(s, isControl):
			return Range{err: &KeyError{Value: s, Reason: "contains a control character or is not valid UTF-8"}}
		case strings.HasPrefix(s, string(reservedFirst)) && s != string(reservedFirst):
			return Range{err: &KeyError{Value: s, Reason: "begins with ~, which is reserved for the library's rows; use ~ alone or U+00A0, the first character behind it that keys may begin with"}}
		}
	}
	if to != "" && Compare(from, to) > 0 {
		return Range{err: swappedBounds(from, to)}
	}
	// A bound does not lie inside the keys of the library's rows.
	if from == string(reservedFirst) && to != from {
		from = reserved.FirstAbove
	}
	if to == reserved.FirstAbove && from != to {
		to = string(reservedFirst)
	}
	return Range{from: from, to: to, set: true, raw: true}
}

// swappedBounds returns a *KeyError for a range whose lower bound sorts after the upper bound.
func swappedBounds(from, to string) error {
	return &KeyError{Value: from, Reason: fmt.Sprintf("sorts after %q: the bounds are swapped", to)}
}

// Overlaps reports whether two ranges may have a key in common. It compares only their bounds, and excludes the library's rows from
// a range of [RawBetween].
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

// intervals returns the intervals of a range: two if the range spans the library's rows.
func (r Range) intervals() []Range {
	if !r.SpansReserved() {
		return []Range{r}
	}
	below, behind := r, r
	below.to, behind.from = string(reservedFirst), reserved.FirstAbove
	return []Range{below, behind}
}

// StoredBetween returns the half-open range of the keys from ≤ key < to, including keys of the library's rows. It checks nothing.
func StoredBetween(from, to string) Range { return Range{from: from, to: to, set: true} }
