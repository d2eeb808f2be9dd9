package keys

import (
	"strings"
	"unicode/utf8"
)

// Compare compares two encoded keys by their UTF-16 code units, as the service does, and returns -1, 0 or 1. The order is that of
// Go's strings, except that characters beyond U+FFFF sort below U+E000 to U+FFFF.
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

// previousChar returns the character that sorts directly before c, by UTF-16 code units. ok is false for the first character of
// keys.
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

// lastUnit is the last character in the service's order.
const lastUnit = "\uffff"
