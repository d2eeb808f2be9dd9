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

// Text encodes text readably: letters, digits and @ . - + are unchanged (jonesj@contoso.com), and every other byte of the UTF-8
// becomes = and two hexadecimal digits. Any string can be encoded, including invalid UTF-8.
//
// Text sorts by its bytes only if it contains no other characters and is the last part of its layout. Before another part the order
// is lost if one text is a prefix of another, because the separator _ sorts above digits and capitals. If the order matters, use
// [Ordered].
func Text() Part[string] { return TextOf[string]() }

// TextOf is [Text] for any string type.
func TextOf[S ~string]() Part[S] {
	return escapedPart[S]("text", "", func(c byte) (byte, bool) { return '=', !alnum(c) && strings.IndexByte("@.-+", c) < 0 })
}

// Ordered encodes text that sorts by its bytes, and so by its code points, whatever it contains and also before other parts.
// Letters and digits are unchanged. Every other byte becomes one of - : ^ | and two hexadecimal digits. Before another part, ! ends
// the text.
func Ordered() Part[string] { return OrderedOf[string]() }

// OrderedOf is [Ordered] for any string type.
func OrderedOf[S ~string]() Part[S] {
	// Each escape character sorts where the bytes that it replaces sort: - < 0..9 < : < A..Z < ^ < a..z < |. The terminator ! sorts
	// below all of them, so that a text sorts before the texts of which it is a prefix.
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

// escapedPart returns a text part. rule returns the escape character of a byte, and whether the byte needs one.
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
					return "", &KeyError{Value: s, Reason: fmt.Sprintf("contains %q, which is not an escape of this part", s[i:i+3])}
				}
				b = append(b, c)
				i += 2
			}
			return S(b), nil
		},
	}
}

// Bytes encodes a binary value as lower-case hexadecimal digits, which sort as the bytes do.
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
			fail := &KeyError{Value: s, Reason: "does not consist of pairs of lower-case hexadecimal digits"}
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

// UUID encodes a UUID of any type over [16]byte as 36 characters in lower case, which sort as its bytes do.
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

// Enum encodes one of the given names, which contain only characters that [Text] does not change. Any other value is an error.
// Names sort as Text does.
func Enum[S ~string](values ...S) Part[S] {
	p := TextOf[S]().withName("enum")
	known := slices.Clone(values)
	for _, v := range known {
		if b, _ := p.append(nil, v); string(b) != string(v) || v == "" {
			return brokenPart[S]("enum", fmt.Sprintf("has the name %q; a name may contain only letters, digits and @ . - +", v))
		}
	}
	if len(known) == 0 {
		return brokenPart[S]("enum", "has no names; Enum requires at least one")
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

// Fold makes a text part ignore case and the different forms of a character in Unicode (full case folding, NFC), so that a look-up
// of jonesj@contoso.com finds JonesJ@Contoso.com. Decode returns the folded text, not the original, so that a two-way binding is an
// error.
func Fold[S ~string](p Part[S]) Part[S] {
	write := p.append
	p.err = p.check()
	p.name = "fold(" + p.name + ")"
	p.lossy = "the original text cannot be decoded from folded text"
	p.append = func(dst []byte, v S) ([]byte, error) {
		return write(dst, S(norm.NFC.String(cases.Fold().String(strings.Map(cherokee, norm.NFC.String(string(v)))))))
	}
	return p
}

// cherokee returns the capital of a small Cherokee letter, to which Unicode folds it. cases.Fold exchanges capitals and small
// letters of this script.
func cherokee(r rune) rune {
	switch {
	case r >= 0xab70 && r <= 0xabbf:
		return r - 0xab70 + 0x13a0
	case r >= 0x13f8 && r <= 0x13fd:
		return r - 8
	}
	return r
}

// Spread encodes a value as the number of a bucket, 0 to n-1, padded to the width of n-1. The number is a hash (FNV-1a) of the
// encoding by p: a value is always in the same bucket, and many values spread evenly, so that no partition gets hot. To visit all
// buckets, build the same keys with Digits[int] of that width. n is 2 to 10,000. Changing n moves existing values. A value cannot
// be decoded from its bucket, so that a two-way binding is an error.
func Spread[A any](p Part[A], n int) Part[A] {
	name := fmt.Sprintf("spread(%s, %d)", p.name, n)
	if p.err = p.check(); p.err != nil {
		return p
	}
	if n < 2 || n > 10_000 {
		return brokenPart[A](name, "must have 2 to 10,000 buckets")
	}
	width := len(fmt.Sprint(n - 1))
	lossy := "a value cannot be decoded from its bucket"
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
