package odata

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseObject reads the members of a JSON object in order. Values are not nested, text is UTF-8, and escapes are whole characters.
func ParseObject(body []byte) ([]Member, bool) {
	if !utf8.Valid(body) || loneSurrogate(body) {
		return nil, false
	}
	if members, ok := parsePlain(body); ok {
		return members, true
	}
	return parseGeneral(body)
}

// parseGeneral reads the members of an object of any form.
func parseGeneral(body []byte) ([]Member, bool) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []Member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, false
		}
		value, err := d.Token()
		if err != nil {
			return nil, false
		}
		if _, nested := value.(json.Delim); nested {
			return nil, false
		}
		out = append(out, Member{name.(string), value})
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	_, err := d.Token()
	return out, err == io.EOF
}

// loneSurrogate reports whether an escape is half a character.
func loneSurrogate(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 || i+1 >= len(body) {
			return false
		}
		body = body[i:]
		r, n := unescape(body)
		body = body[n:]
		if !utf16.IsSurrogate(r) {
			continue
		}
		low, n := unescape(body)
		if utf16.DecodeRune(r, low) == utf8.RuneError {
			return true
		}
		body = body[n:]
	}
}

// unescape reads the escape at the start of body. It returns the code unit of \uXXXX, or 0 for another escape, and the escape's
// length.
func unescape(body []byte) (rune, int) {
	if len(body) < 6 || body[0] != '\\' || body[1] != 'u' {
		return 0, min(2, len(body))
	}
	u, err := strconv.ParseUint(string(body[2:6]), 16, 16)
	if err != nil {
		return 0, 2
	}
	return rune(u), 6
}
