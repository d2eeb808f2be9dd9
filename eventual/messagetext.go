package eventual

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf16"
)

// maxMessage is the limit of a queue for the encoded text of a message, in bytes ('Put Message').
const maxMessage = 64 << 10

// plainText decodes the text of a message that another client has encoded in base64, as the clients of other languages do by
// default.
func plainText(text string) string {
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") {
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(b)
		}
	}
	return text
}

// asciiJSON escapes each character beyond ASCII, because some services cut a text between the bytes of a character.
func asciiJSON(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80 && r != 0x7F:
			b.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// encodedLength returns the length of a text in the XML of a request, including 100 bytes for the elements around the text.
func encodedLength(s string) int {
	n := len(s) + 100
	for i := range len(s) {
		switch s[i] {
		case '"', '\'', '&', '\n', '\r', '\t':
			n += 4
		case '<', '>':
			n += 3
		}
	}
	return n
}
