package keys

import (
	"fmt"
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
//
//go:noinline
func Text() Part[string] { return TextOf[string]() }

// TextOf is [Text] for any string type.
func TextOf[S ~string]() Part[S] {
	return escapedPart[S]("text", "", func(c byte) (byte, bool) { return '=', !alnum(c) && strings.IndexByte("@.-+", c) < 0 })
}

// Ordered encodes text that sorts by its bytes, and so by its code points, whatever it contains and also before other parts.
// Letters and digits are unchanged. Every other byte becomes one of - : ^ | and two hexadecimal digits. Before another part, ! ends
// the text.
//
//go:noinline
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
	escapes := new([256]byte) // of the bytes, 0 for none
	for c := range escapes {
		if esc, ok := rule(byte(c)); ok {
			escapes[c] = esc
		}
	}
	return Part[S]{
		name: name, end: end, prefixes: true,
		plain: func(v S) (string, bool) {
			for i := range len(v) {
				if escapes[v[i]] != 0 {
					return "", false
				}
			}
			return string(v), true
		},
		append: func(dst []byte, v S) ([]byte, error) {
			for i := range len(v) {
				if esc := escapes[v[i]]; esc != 0 {
					dst = append(dst, esc, upperHex[v[i]>>4], upperHex[v[i]&15])
				} else {
					dst = append(dst, v[i])
				}
			}
			return dst, nil
		},
		parse: func(s string) (S, error) {
			escaped := 0
			for escaped < len(s) && escapes[s[escaped]] == 0 {
				escaped++
			}
			if escaped == len(s) {
				return S(s), nil
			}
			b := append(make([]byte, 0, len(s)), s[:escaped]...)
			for i := escaped; i < len(s); i++ {
				if escapes[s[i]] == 0 {
					b = append(b, s[i])
					continue
				}
				if i+2 >= len(s) {
					return "", &KeyError{Value: s, Reason: "ends inside an escape"}
				}
				hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
				c := byte(hi<<4 | lo)
				if hi < 0 || lo < 0 || escapes[c] == 0 || escapes[c] != s[i] {
					return "", &KeyError{Value: s, Reason: fmt.Sprintf("contains %q, which is not an escape of this part", s[i:i+3])}
				}
				b = append(b, c)
				i += 2
			}
			return S(b), nil
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
	p.plain, p.append = nil, func(dst []byte, v S) ([]byte, error) {
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
	p.plain, p.append = nil, func(dst []byte, v S) ([]byte, error) {
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
