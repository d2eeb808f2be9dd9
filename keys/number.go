package keys

import (
	"fmt"
	"math"
	"strconv"
)

// Integer is any integer type, including defined types.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

const decimal = "0123456789"

// Uint encodes an unsigned number, padded with zeros to width digits (1 to 20): 000123. A number with more digits is an error.
func Uint(width int) Part[uint64] { return Digits[uint64](width) }

// Digits is [Uint] for any integer type: Digits[EmployeeID](6). A negative number is an error; see [Int].
func Digits[I Integer](width int) Part[I] {
	name := fmt.Sprintf("digits(%d)", width)
	if width < 1 || width > 20 {
		return brokenPart[I](name, "must have a width of 1 to 20")
	}
	return Part[I]{
		name: name, width: width, alphabet: sameAlphabet(decimal),
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

// Int encodes a signed number of at most width digits (1 to 19). With a width of 2, 42 becomes 042, and -1 becomes -98: the digits
// of a negative number are inverted, so that all numbers sort.
func Int[I Integer](width int) Part[I] {
	name := fmt.Sprintf("int(%d)", width)
	if width < 1 || width > 19 {
		return brokenPart[I](name, "must have a width of 1 to 19")
	}
	nines := uint64(math.Pow10(width)) - 1 // powers of ten are exact up to 10^22
	return Part[I]{
		name: name, width: width + 1,
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

// Float encodes a floating-point number as 16 hexadecimal digits, which sort as the numbers do, including infinities. NaN is an
// error. Minus zero becomes zero.
func Float[F ~float32 | ~float64]() Part[F] {
	const sign = 1 << 63
	return Part[F]{
		name: "float", width: 16, alphabet: sameAlphabet(hexDigits),
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
			for i := 60; i >= 0; i -= 4 {
				dst = append(dst, hexDigits[n>>i&15])
			}
			return dst, nil
		},
		parse: func(s string) (F, error) {
			fail := &KeyError{Value: s, Reason: "is not an encoded float"}
			var n uint64
			for i := range len(s) {
				h, ok := hexValue(s[i])
				if !ok {
					return 0, fail
				}
				n = n<<4 | uint64(h)
			}
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
func Bool() Part[bool] {
	return Map(Digits[int](1),
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
		}).withName("bool")
}
