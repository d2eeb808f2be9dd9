package keys

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/internal/ticks"
)

// Integer is any integer type, including defined types.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

const decimal = "0123456789"

// Digits encodes a number that is not negative, padded with zeros to width digits (1 to 20): 000123. A number with more digits is an
// error, as is a negative one; see [Int].
func Digits[I Integer](width int) Component[I] {
	name := fmt.Sprintf("digits(%d)", width)
	if width < 1 || width > 20 {
		return brokenComponent[I](name, "must have a width of 1 to 20")
	}
	return Component[I]{
		spelling: name, width: width, alphabet: sameAlphabet(decimal),
		append: func(dst []byte, v I) ([]byte, error) {
			if v < 0 {
				return dst, &KeyError{Value: fmt.Sprint(v), Reason: "is negative"}
			}
			return appendPadded(dst, uint64(v), width)
		},
		parse: func(s string) (I, error) {
			n, err := parseDigits(s)
			v := I(n)
			if err != nil || v < 0 || uint64(v) != n {
				return 0, &KeyError{Value: s, Reason: fmt.Sprintf("is not a number of %d digits, or exceeds its Go type", width)}
			}
			return v, nil
		},
	}
}

func appendPadded(dst []byte, n uint64, width int) ([]byte, error) {
	var buf [20]byte
	s := strconv.AppendUint(buf[:0], n, 10)
	if len(s) > width {
		return dst, &KeyError{Value: string(s), Reason: "has too many digits", Length: len(s), Limit: width}
	}
	for range width - len(s) {
		dst = append(dst, '0')
	}
	return append(dst, s...), nil
}

func parseDigits(s string) (uint64, error) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseUint(s, 10, 64)
}

// Int encodes a signed number of at most width digits (1 to 19). With a width of 2, 42 becomes 042,
// and -1 becomes -98: the digits of a negative number are inverted, so that all numbers sort.
func Int[I Integer](width int) Component[I] {
	name := fmt.Sprintf("int(%d)", width)
	if width < 1 || width > 19 {
		return brokenComponent[I](name, "must have a width of 1 to 19")
	}
	nines := uint64(math.Pow10(width)) - 1 // powers of ten are exact up to 10^22
	return Component[I]{
		spelling: name, width: width + 1,
		alphabet: func(i int) string {
			if i == 0 {
				return "-0"
			}
			return decimal
		},
		append: func(dst []byte, v I) ([]byte, error) {
			if v >= 0 {
				return appendPadded(append(dst, '0'), uint64(v), width)
			}
			abs := -uint64(v) // two's complement, so that the smallest number does not overflow
			if abs > nines {
				return dst, &KeyError{Value: fmt.Sprint(v), Reason: "has too many digits", Length: len(strconv.FormatUint(abs, 10)), Limit: width}
			}
			return appendPadded(append(dst, '-'), nines-abs, width)
		},
		parse: func(s string) (I, error) {
			fail := &KeyError{Value: s, Reason: fmt.Sprintf("is not a signed number of %d digits, or exceeds its Go type", width)}
			n, err := parseDigits(s[1:])
			if err != nil {
				return 0, fail
			}
			v := I(n)
			if s[0] == '-' {
				n = nines - n
				v = -I(n)
				if v >= 0 || -uint64(v) != n {
					return 0, fail
				}
				return v, nil
			}
			if s[0] != '0' || v < 0 || uint64(v) != n {
				return 0, fail
			}
			return v, nil
		},
	}
}

// Float encodes a floating-point number as 16 hexadecimal digits, which sort as the numbers do,
// including infinities. NaN is an error. Minus zero becomes zero.
func Float[F ~float32 | ~float64]() Component[F] {
	const sign = 1 << 63
	return Component[F]{
		spelling: "float", width: 16, alphabet: sameAlphabet(hexDigits),
		append: func(dst []byte, v F) ([]byte, error) {
			if v != v {
				return dst, &KeyError{Value: "NaN", Reason: "has no order"}
			}
			n := math.Float64bits(float64(v) + 0) // + 0 changes -0 to 0
			if n&sign != 0 {
				n = ^n
			} else {
				n |= sign
			}
			return hex.AppendEncode(dst, binary.BigEndian.AppendUint64(nil, n)), nil
		},
		parse: func(s string) (F, error) {
			fail := &KeyError{Value: s, Reason: "is not an encoded float"}
			b, ok := parseHex(s)
			if !ok || len(b) != 8 {
				return 0, fail
			}
			n := binary.BigEndian.Uint64(b)
			if n&sign != 0 {
				n &^= sign
			} else {
				n = ^n
			}
			f := math.Float64frombits(n)
			if math.IsNaN(f) || n == sign || float64(F(f)) != f {
				return 0, fail
			}
			return F(f), nil
		},
	}
}

// Bool encodes false as 0 and true as 1.
func Bool() Component[bool] {
	p := Map(Digits[int](1),
		func(b bool) int {
			if b {
				return 1
			}
			return 0
		},
		func(n int) (bool, error) {
			if n > 1 {
				return false, fmt.Errorf("is neither 0 nor 1")
			}
			return n == 1, nil
		})
	p.spelling = "bool"
	return p
}

// Compare compares two encoded keys by their UTF-16 code units, as the service does, and returns
// -1, 0 or 1. The order is that of Go's strings, except that characters beyond U+FFFF sort below
// U+E000 to U+FFFF.
func Compare(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n-- // to the beginning of the first different character
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

// previousChar returns the character that sorts directly before c, by UTF-16 code units. ok is
// false for the first character of keys.
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

// firstUnit is the first character in the service's order that a key may contain, and lastUnit the
// last.
const (
	firstUnit = " "
	lastUnit  = "\uffff"
)

// ticksOf returns a time in ticks.
func ticksOf(t time.Time) (int64, error) {
	n, ok := ticks.Of(t)
	if !ok {
		return 0, &KeyError{Value: t.UTC().Format(time.RFC3339), Reason: "is outside the years 1 to 9999"}
	}
	return n, nil
}

// Time encodes a time as 19 digits of .NET ticks, oldest first. It truncates to 100 ns and decodes
// times in UTC. For newest first, as in the design guide's log tail pattern, use Desc(Time()): the
// digits are then DateTime.MaxValue.Ticks - t.Ticks.
func Time() Component[time.Time] {
	p := ticksComponent("time", func(n int64) int64 { return n })
	p.inverse = func() Component[time.Time] {
		d := ticksComponent("desc(time)", func(n int64) int64 { return ticks.Max - n })
		d.desc, d.inverse = true, Time
		return d
	}
	return p
}

// ticksComponent returns a component of ticks, or of inverted ticks: turn is its own inverse.
func ticksComponent(name string, turn func(int64) int64) Component[time.Time] {
	const width = 19
	return Component[time.Time]{
		spelling: name, width: width, alphabet: sameAlphabet(decimal),
		append: func(dst []byte, t time.Time) ([]byte, error) {
			n, err := ticksOf(t)
			if err != nil {
				return dst, err
			}
			return appendPadded(dst, uint64(turn(n)), width)
		},
		parse: func(s string) (time.Time, error) {
			n, err := parseDigits(s)
			if err != nil || n > uint64(ticks.Max) {
				return time.Time{}, &KeyError{Value: s, Reason: "is not a number of ticks of the years 1 to 9999"}
			}
			return ticks.Time(turn(int64(n))), nil
		},
	}
}

// Date encodes a day: 2014-07-31. A time other than midnight in UTC is an error, since its time of
// day would be lost; t.UTC().Truncate(24*time.Hour) is midnight.
func Date() Component[time.Time] {
	return Component[time.Time]{
		spelling: "date", width: len(time.DateOnly),
		alphabet: func(i int) string {
			if i == 4 || i == 7 {
				return "-"
			}
			return decimal
		},
		append: func(dst []byte, t time.Time) ([]byte, error) {
			u := t.UTC()
			if _, err := ticksOf(u); err != nil {
				return dst, err
			}
			if !u.Equal(time.Date(u.Year(), u.Month(), u.Day(), 0, 0, 0, 0, time.UTC)) {
				return dst, &KeyError{Value: u.Format(time.RFC3339Nano), Reason: "is not midnight in UTC, and Date would lose its time of day"}
			}
			return u.AppendFormat(dst, time.DateOnly), nil
		},
		parse: func(s string) (time.Time, error) {
			t, err := time.Parse(time.DateOnly, s)
			if err != nil || t.Year() < 1 {
				return time.Time{}, &KeyError{Value: s, Reason: "is not a date such as 2014-07-31"}
			}
			return t, nil
		},
	}
}

const hexDigits = "0123456789abcdef"

// Bytes encodes a binary value as lower-case hexadecimal digits, which sort as the bytes do.
func Bytes() Component[[]byte] {
	return Component[[]byte]{
		spelling: "bytes", end: "!", prefixes: true,
		append: func(dst []byte, v []byte) ([]byte, error) {
			return hex.AppendEncode(dst, v), nil
		},
		parse: func(s string) ([]byte, error) {
			b, ok := parseHex(s)
			if !ok {
				return nil, &KeyError{Value: s, Reason: "does not consist of pairs of lower-case hexadecimal digits"}
			}
			return b, nil
		},
	}
}

// parseHex parses pairs of lower-case hexadecimal digits.
func parseHex(s string) ([]byte, bool) {
	b, err := hex.DecodeString(s)
	return b, err == nil && s == strings.ToLower(s)
}

// UUID encodes a UUID of any type over [16]byte as 36 characters in lower case, which sort as its
// bytes do.
func UUID[U ~[16]byte]() Component[U] {
	dash := func(i int) bool { return i == 8 || i == 13 || i == 18 || i == 23 }
	return Component[U]{
		spelling: "uuid", width: 36,
		alphabet: func(i int) string {
			if dash(i) {
				return "-"
			}
			return hexDigits
		},
		append: func(dst []byte, v U) ([]byte, error) {
			for i, c := range v {
				if i == 4 || i == 6 || i == 8 || i == 10 {
					dst = append(dst, '-')
				}
				dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
			}
			return dst, nil
		},
		parse: func(s string) (u U, err error) {
			fail := s != strings.ToLower(s) || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-'
			at := 0
			for _, part := range [...]string{s[:8], s[9:13], s[14:18], s[19:23], s[24:]} {
				n, err := hex.Decode(u[at:], []byte(part))
				at, fail = at+n, fail || err != nil
			}
			if fail {
				return u, &KeyError{Value: s, Reason: "is not a UUID in lower case"}
			}
			return u, nil
		},
	}
}
