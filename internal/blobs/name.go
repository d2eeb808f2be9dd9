package blobs

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxName is the most characters of a blob's name, in UTF-16 code units ('Naming and referencing containers, blobs, and metadata').
const MaxName = 1024

// NameLength returns the number of UTF-16 code units of a name.
func NameLength(name string) int { return len(utf16.Encode([]rune(name))) }

// mark begins an escaped byte of a segment.
const mark = '~'

// plain reports whether a character of a key, with the next width bytes at i, stays as it is in the name of a blob. Slashes, percent
// signs and the like have a meaning in addresses, control characters have none in XML, and a dot or a space at an end of a segment
// is lost by some programs.
func plain(key string, i, width int, c rune) bool {
	switch {
	case c < ' ', c >= 0x7f && c <= 0x9f, c == utf8.RuneError && width < 3, c == 0xfffe, c == 0xffff, strings.ContainsRune(`~/\%?#"<>|*:&`, c):
		return false
	case c == '.' || c == ' ':
		return i > 0 && i+width < len(key)
	}
	return true
}

// Escape returns a key as a segment of a blob's name. Different keys have different segments, and a segment contains no slash. Most
// characters are unchanged; each byte of the others becomes ~ and two digits. The empty key becomes ~.
func Escape(key string) string {
	if key == "" {
		return string(mark)
	}
	var b strings.Builder
	for i := 0; i < len(key); {
		c, width := utf8.DecodeRuneInString(key[i:])
		if plain(key, i, width, c) {
			b.WriteString(key[i : i+width])
		} else {
			for j := range width {
				fmt.Fprintf(&b, "%c%02x", mark, key[i+j])
			}
		}
		i += width
	}
	return b.String()
}

// Unescape returns the key of a segment. ok is false for a segment that [Escape] does not return.
func Unescape(segment string) (key string, ok bool) {
	if segment == string(mark) {
		return "", true
	}
	parts := strings.Split(segment, string(mark))
	for i, part := range parts[1:] {
		if len(part) < 2 {
			return "", false
		}
		c, err := hex.DecodeString(part[:2])
		if err != nil {
			return "", false
		}
		parts[i+1] = string(c) + part[2:]
	}
	key = strings.Join(parts, "")
	return key, Escape(key) == segment
}
