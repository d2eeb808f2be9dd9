package keys

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const upperHex = "0123456789ABCDEF"

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// Text is text that stays readable: letters, digits and @ . - + stand for themselves (jonesj@contoso.com), every other
// byte of the text's UTF-8 becomes = and two hexadecimal digits. Any string can be encoded, invalid UTF-8 included.
//
// Its order is that of the bytes as long as texts consist of the characters that stand for themselves and the part is the
// last of its layout. Before another part it is not in order where one text begins with another, because the separator _
// sorts above digits and capitals. Where order matters, use [Ordered].
func Text() Part[string] { return TextOf[string]() }

// TextOf is [Text] for the user's own string type.
func TextOf[S ~string]() Part[S] {
	return escapedPart[S]("text", "", func(c byte) (byte, bool) { return '=', !alnum(c) && strings.IndexByte("@.-+", c) < 0 })
}

// Ordered is text in the order of its bytes, which is the order of its code points, also before other parts and whatever
// it holds. Letters and digits stand for themselves; every other byte is escaped by one of - : ^ | and two hexadecimal
// digits. Where something follows, ! ends the text.
func Ordered() Part[string] { return OrderedOf[string]() }

// OrderedOf is [Ordered] for the user's own string type.
func OrderedOf[S ~string]() Part[S] {
	// Each escape sorts inside the interval of the bytes that it stands for: - < 0..9 < : < A..Z < ^ < a..z < |. The
	// terminator ! sorts below all of them, so that a text comes before those that it begins.
	return escapedPart[S]("ordered", "!", func(c byte) (byte, bool) {
		switch {
		case alnum(c):
			return 0, false
		case c < '0':
			return '-', true
		case c < 'A':
			return ':', true
		case c < 'a':
			return '^', true
		}
		return '|', true
	})
}

// escaped makes a text part from a rule that names the escape character of a byte, if the byte needs one.
func escapedPart[S ~string](name, end string, rule func(byte) (byte, bool)) Part[S] {
	return Part[S]{
		name: name, end: end, prefixes: true,
		append: func(dst []byte, v S) ([]byte, error) {
			for i := range len(v) {
				if esc, ok := rule(v[i]); ok {
					dst = append(dst, esc, upperHex[v[i]>>4], upperHex[v[i]&15])
				} else {
					dst = append(dst, v[i])
				}
			}
			return dst, nil
		},
		parse: func(s string) (S, error) {
			b := make([]byte, 0, len(s))
			for i := 0; i < len(s); i++ {
				if _, must := rule(s[i]); !must {
					b = append(b, s[i])
					continue
				}
				if i+2 >= len(s) {
					return "", &KeyError{Value: s, Reason: "ends inside an escape"}
				}
				hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
				c := byte(hi<<4 | lo)
				if esc, ok := rule(c); hi < 0 || lo < 0 || !ok || esc != s[i] {
					return "", &KeyError{Value: s, Reason: fmt.Sprintf("holds %q, which is no escape of this part", s[i:i+3])}
				}
				b = append(b, c)
				i += 2
			}
			return S(b), nil
		},
	}
}

// Bytes is a binary value as lower-case hexadecimal digits, in the order of the bytes.
func Bytes() Part[[]byte] {
	return Part[[]byte]{
		name: "bytes", end: "!", prefixes: true,
		append: func(dst []byte, v []byte) ([]byte, error) {
			for _, c := range v {
				dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
			}
			return dst, nil
		},
		parse: func(s string) ([]byte, error) {
			fail := &KeyError{Value: s, Reason: "is not a row of lower-case hexadecimal digits"}
			if len(s)%2 != 0 {
				return nil, fail
			}
			b := make([]byte, 0, len(s)/2)
			for i := 0; i < len(s); i += 2 {
				hi, ok1 := hexValue(s[i])
				lo, ok2 := hexValue(s[i+1])
				if !ok1 || !ok2 {
					return nil, fail
				}
				b = append(b, hi<<4|lo)
			}
			return b, nil
		},
	}
}

// UUID is a UUID of any type over [16]byte in its usual form of 36 characters, lower case, in the order of its bytes.
func UUID[U ~[16]byte]() Part[U] {
	dash := func(i int) bool { return i == 8 || i == 13 || i == 18 || i == 23 }
	return Part[U]{
		name: "uuid", width: 36,
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
			n := 0
			for i := range len(s) {
				if dash(i) && s[i] == '-' {
					continue
				}
				h, ok := hexValue(s[i])
				if !ok || dash(i) {
					return u, &KeyError{Value: s, Reason: "is not a UUID in lower case"}
				}
				u[n/2] = u[n/2]<<4 | h
				n++
			}
			return u, nil
		},
	}
}

// Enum is one of a few names, each made of the characters that [Text] leaves as they are. Another value is an error. The
// order is that of Text.
func Enum[S ~string](values ...S) Part[S] {
	p := TextOf[S]().withName("enum")
	known := slices.Clone(values)
	for _, v := range known {
		if b, _ := p.append(nil, v); string(b) != string(v) || v == "" {
			return brokenPart[S]("enum", fmt.Sprintf("the name %q may hold only letters, digits and @ . - +", v))
		}
	}
	if len(known) == 0 {
		return brokenPart[S]("enum", "needs at least one name")
	}
	member := func(v S) error {
		if !slices.Contains(known, v) {
			return &KeyError{Value: string(v), Reason: fmt.Sprintf("is none of %q", known)}
		}
		return nil
	}
	write, read := p.append, p.parse
	p.prefixes = false
	p.append = func(dst []byte, v S) ([]byte, error) {
		if err := member(v); err != nil {
			return dst, err
		}
		return write(dst, v)
	}
	p.parse = func(s string) (S, error) {
		v, err := read(s)
		if err == nil {
			err = member(v)
		}
		return v, err
	}
	return p
}

// Fold makes a text part blind to case and to the different ways in which Unicode writes one character (full case folding,
// NFC), so that a look-up finds JonesJ@Contoso.com under jonesj@contoso.com. What was written cannot be read back: Decode
// returns the folded text, and a two-way binding is refused.
func Fold[S ~string](p Part[S]) Part[S] {
	write := p.append
	p.err = p.check()
	p.name = "fold(" + p.name + ")"
	p.lossy = "folded text cannot be read back"
	p.append = func(dst []byte, v S) ([]byte, error) {
		return write(dst, S(norm.NFC.String(cases.Fold().String(strings.Map(cherokee, norm.NFC.String(string(v)))))))
	}
	return p
}

// cherokee gives the small letters of this script their capitals, which came first and to which Unicode folds them.
// cases.Fold exchanges the two.
func cherokee(r rune) rune {
	switch {
	case r >= 0xab70 && r <= 0xabbf:
		return r - 0xab70 + 0x13a0
	case r >= 0x13f8 && r <= 0x13fd:
		return r - 8
	}
	return r
}

// Spread is the number of a bucket, 0 to n-1, found by a hash (FNV-1a) of p's encoding: the same value is always in the
// same bucket, and many values use all buckets alike. It keeps a partition from getting hot. The number is padded to the
// width of n-1. To visit all buckets, build the same keys with Digits[int] of that width. n is 2 to 10,000, and changing it
// moves existing values. A value cannot be read back from its bucket: two-way bindings are refused.
func Spread[A any](p Part[A], n int) Part[A] {
	name := fmt.Sprintf("spread(%s, %d)", p.name, n)
	if p.err = p.check(); p.err != nil {
		return p
	}
	if n < 2 || n > 10_000 {
		return brokenPart[A](name, "the number of buckets must be 2 to 10,000")
	}
	width := len(fmt.Sprint(n - 1))
	lossy := "a value cannot be read back from its bucket"
	return Part[A]{
		name: name, width: width, alphabet: sameAlphabet(decimal), lossy: lossy,
		append: func(dst []byte, a A) ([]byte, error) {
			b, err := p.append(nil, a)
			if err != nil {
				return dst, err
			}
			h := fnv.New64a()
			h.Write(b)
			return appendPadded(dst, h.Sum64()%uint64(n), width)
		},
		parse: func(s string) (a A, err error) { return a, &KeyError{Value: s, Reason: lossy} },
	}
}
