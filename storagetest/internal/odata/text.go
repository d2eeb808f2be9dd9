package odata

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Units returns the number of UTF-16 code units of s, in which the service's limits on text are stated.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// CompareText compares texts by UTF-16 code unit, which is the service's order of keys.
func CompareText(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) || n == len(b) || a[n] < 0xEE && b[n] < 0xEE { // the bytes of UTF-8 have the order of the characters up to U+DFFF
		return strings.Compare(a[n:], b[n:])
	}
	return compareCharacters(a, b)
}

func compareCharacters(a, b string) int {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			// The surrogates of characters beyond U+FFFF sort below U+E000 to U+FFFF.
			if (ra > 0xFFFF) != (rb > 0xFFFF) {
				if ra > 0xFFFF {
					ra = 0xD800
				} else {
					rb = 0xD800
				}
			}
			if ra < rb {
				return -1
			}
			return 1
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) - len(b)
}

// CutQuoted reads a quoted text, in which a doubled quote stands for a quote. It returns the text and the remainder of s.
func CutQuoted(s string) (text, rest string, ok bool) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "'") {
		return "", "", false
	}
	end := strings.IndexByte(s[1:], '\'') + 1
	if end > 0 && !strings.HasPrefix(s[end+1:], "'") {
		return s[1:end], s[end+1:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte('\'')
			i++
		default:
			return b.String(), s[i+1:], true
		}
	}
	return "", "", false
}

var identifier = regexp.MustCompile(`^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}\p{Cf}]*$`)

// IsIdentifier reports whether s can be the name of a property.
func IsIdentifier(s string) bool {
	for i := range len(s) {
		letter := s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || s[i] == '_'
		if !letter && (i == 0 || s[i] < '0' || s[i] > '9') {
			return identifier.MatchString(s)
		}
	}
	return s != ""
}
