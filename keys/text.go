package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const upperHex = "0123456789ABCDEF"

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// Text encodes text readably: letters and digits of ASCII and @ . - + are unchanged
// (jonesj@contoso.com). Every other character up to z becomes = and two hexadecimal digits, and
// every character above z takes 3 to 5 characters; see [Ordered]. Any string can be encoded,
// including invalid UTF-8.
//
// Text sorts by its code points only if it contains no characters that become =, and is the last
// component of its layout. Before another component the order is lost if one text is a prefix of
// another, because the separator _ sorts above digits and capitals. If the order matters, use
// [Ordered].
//
//go:noinline
func Text() Component[string] { return TextOf[string]() }

// TextOf is [Text] for any string type.
func TextOf[S ~string]() Component[S] {
	return escapedComponent[S]("text", "", func(c byte) (byte, bool) { return '=', !alnum(c) && strings.IndexByte("@.-+", c) < 0 })
}

// Ordered encodes text that sorts by its code points, also before other components: for UTF-8, that is the order of its bytes. Bytes that
// are not UTF-8 sort after all characters. Letters and digits of ASCII are unchanged. Every other character up to z becomes one of
// - : ^ and two hexadecimal digits. Before another component, ! ends the text.
//
// Characters above z become one of { | } and 2 to 4 of the characters 0-9, A-Z and a-z, as a number
// to the base of 62:
//
//   - { and 2 digits up to U+0F7E: Latin with accents, Greek, Cyrillic, Hebrew, Arabic, the scripts
//     of India, Thai, Lao
//   - | and 3 digits up to U+3B276: Vietnamese, other scripts, Chinese, Japanese, Korean,
//     typographic marks, emoji
//   - } and 4 digits above, and for bytes that are not UTF-8
//
//go:noinline
func Ordered() Component[string] { return OrderedOf[string]() }

// OrderedOf is [Ordered] for any string type.
func OrderedOf[S ~string]() Component[S] {
	// Each escape character sorts where the characters that it replaces sort: - < 0..9 < : < A..Z <
	// ^ < a..z < { < | < }. The terminator ! sorts below all of them, so that a text sorts before
	// the texts of which it is a prefix.
	return escapedComponent[S]("ordered", "!", func(c byte) (byte, bool) {
		switch {
		case alnum(c):
			return 0, false
		case c < '0':
			return '-', true
		case c < 'A':
			return ':', true
		}
		return '^', true
	})
}

// escapedComponent returns a text component. rule returns the escape character of a byte up to z,
// and whether the byte needs one.
func escapedComponent[S ~string](name, end string, rule func(byte) (byte, bool)) Component[S] {
	escapes := new([firstWide]byte) // of the bytes, 0 for none
	for c := range escapes {
		if esc, ok := rule(byte(c)); ok {
			escapes[c] = esc
		}
	}
	return Component[S]{
		spelling: name, end: end, prefixes: true,
		verbatim: func(v S) (string, bool) {
			for i := range len(v) {
				if v[i] >= firstWide || escapes[v[i]] != 0 {
					return "", false
				}
			}
			return string(v), true
		},
		append: func(dst []byte, v S) ([]byte, error) { return appendText(dst, string(v), escapes), nil },
		parse: func(s string) (S, error) {
			v, err := parseText(s, escapes)
			return S(v), err
		},
	}
}

func appendText(dst []byte, v string, escapes *[firstWide]byte) []byte {
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case c >= firstWide:
			n := 0
			dst, n = appendWide(dst, v[i:])
			i += n
			continue
		case escapes[c] != 0:
			dst = append(dst, escapes[c], upperHex[c>>4], upperHex[c&15])
		default:
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// parseText returns the text that appendText has encoded.
func parseText(s string, escapes *[firstWide]byte) (string, error) {
	plain := 0
	for plain < len(s) && s[plain] < firstWide && escapes[s[plain]] == 0 {
		plain++
	}
	if plain == len(s) {
		return s, nil
	}
	b := append(make([]byte, 0, len(s)), s[:plain]...)
	invalid := false // bytes that are not UTF-8
	for i := plain; i < len(s); {
		switch c := s[i]; {
		case c >= firstWide:
			r, n, err := parseWide(s[i:])
			if err != nil {
				return "", &KeyError{Value: s, Reason: err.Error()}
			}
			if r > utf8.MaxRune {
				b, invalid = append(b, byte(r-firstByte)), true
			} else {
				b = utf8.AppendRune(b, r)
			}
			i += n
		case escapes[c] == 0:
			b = append(b, c)
			i++
		case i+2 >= len(s):
			return "", &KeyError{Value: s, Reason: "ends inside an escape"}
		default:
			hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
			if c := byte(hi<<4 | lo); hi < 0 || lo < 0 || c >= firstWide || escapes[c] != s[i] {
				return "", &KeyError{Value: s, Reason: fmt.Sprintf("contains %q, which is not an escape of this component", s[i:i+3])}
			}
			b = append(b, byte(hi<<4|lo))
			i += 3
		}
	}
	if invalid && string(appendText(nil, string(b), escapes)) != s {
		return "", &KeyError{Value: s, Reason: "contains a character as single bytes"}
	}
	return string(b), nil
}

// Characters above z are numbers: the code point, and behind all code points the bytes that are not
// UTF-8.
const (
	firstWide    = 'z' + 1
	wideDigits   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	firstOfThree = firstWide + 62*62
	firstOfFour  = firstOfThree + 62*62*62
	firstByte    = utf8.MaxRune + 1
)

// appendWide appends the first character of v, which is above z, and returns the length of the
// character.
func appendWide(dst []byte, v string) ([]byte, int) {
	r, n := utf8.DecodeRuneInString(v)
	if r == utf8.RuneError && n == 1 {
		r = firstByte + rune(v[0])
	}
	digit := func(number rune) byte { return wideDigits[number%62] }
	switch {
	case r < firstOfThree:
		r -= firstWide
		return append(dst, '{', digit(r/62), digit(r)), n
	case r < firstOfFour:
		r -= firstOfThree
		return append(dst, '|', digit(r/62/62), digit(r/62), digit(r)), n
	}
	r -= firstOfFour
	return append(dst, '}', digit(r/62/62/62), digit(r/62/62), digit(r/62), digit(r)), n
}

// endsInsideCharacter reports whether the last character of an encoded text is a byte that is not
// UTF-8.
func endsInsideCharacter(s []byte) bool {
	const length = 5
	if len(s) < length || s[len(s)-length] != '}' {
		return false
	}
	r, _, err := parseWide(string(s[len(s)-length:]))
	return err == nil && r > utf8.MaxRune
}

// parseWide returns the first character of s, which begins with one of { | }, and how many
// characters of s it takes. A number above utf8.MaxRune is firstByte and a byte.
func parseWide(s string) (r rune, n int, err error) {
	first := rune(firstWide)
	switch s[0] {
	case '{':
		n = 3
	case '|':
		n, first = 4, firstOfThree
	case '}':
		n, first = 5, firstOfFour
	default:
		return 0, 0, fmt.Errorf("contains %q, which is no escape", s[0])
	}
	if len(s) < n {
		return 0, 0, errors.New("ends inside an escape")
	}
	for i := 1; i < n; i++ {
		digit := strings.IndexByte(wideDigits, s[i])
		if digit < 0 {
			return 0, 0, fmt.Errorf("contains %q, which is no escape", s[:n])
		}
		r = r*62 + rune(digit)
	}
	r += first
	isByte := r >= firstByte+utf8.RuneSelf && r <= firstByte+0xff
	if !isByte && !utf8.ValidRune(r) {
		return 0, 0, fmt.Errorf("contains %q, which is no character", s[:n])
	}
	return r, n, nil
}

// Enum encodes one of the given names, which contain only characters that [Text] does not change.
// Any other value is an error. Names sort as Text does.
func Enum[S ~string](values ...S) Component[S] {
	p := TextOf[S]()
	p.spelling = "enum"
	known := slices.Clone(values)
	for _, v := range known {
		if b, _ := p.append(nil, v); string(b) != string(v) || v == "" {
			return brokenComponent[S]("enum", fmt.Sprintf("has the name %q; a name may contain only letters, digits and @ . - +", v))
		}
	}
	if len(known) == 0 {
		return brokenComponent[S]("enum", "has no names; Enum requires at least one")
	}
	member := func(v S) error {
		if !slices.Contains(known, v) {
			return &KeyError{Value: string(v), Reason: fmt.Sprintf("is none of %q", known)}
		}
		return nil
	}
	write, read := p.append, p.parse
	p.prefixes = false
	p.verbatim, p.append = nil, func(dst []byte, v S) ([]byte, error) {
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

// Fold makes a text component ignore case and the different forms of a character in Unicode (full
// case folding, NFC), so that a look-up of jonesj@contoso.com finds JonesJ@Contoso.com. Decode
// returns the folded text, not the original, so that [Row] and [Partition] refuse it, and [RowFunc]
// and [PartitionFunc] take it.
func Fold[S ~string](p Component[S]) Component[S] {
	write := p.append
	p.err = p.check()
	p.spelling = "fold(" + p.spelling + ")"
	p.lossy = "the original text cannot be decoded from folded text"
	p.verbatim, p.append = nil, func(dst []byte, v S) ([]byte, error) {
		return write(dst, S(norm.NFC.String(cases.Fold().String(strings.Map(cherokee, norm.NFC.String(string(v)))))))
	}
	return p
}

// cherokee returns the capital of a small Cherokee letter, to which Unicode folds it. cases.Fold
// exchanges capitals and small letters of this script.
func cherokee(r rune) rune {
	switch {
	case r >= 0xab70 && r <= 0xabbf:
		return r - 0xab70 + 0x13a0
	case r >= 0x13f8 && r <= 0x13fd:
		return r - 8
	}
	return r
}
