package odata

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Member is a name and its value in a JSON object. The value is a string, json.Number, bool or nil.
type Member struct {
	Name  string
	Value any
}

// plain reads a JSON object of the frequent form, in which no text has escapes. It stops at the first byte of another form. The values
// are parts of the body's text.
type plain struct {
	rest string
	ok   bool
}

// parsePlain reads the members of an object as ParseObject does. ok is false if the object is invalid or has another form.
func parsePlain(body []byte) (members []Member, ok bool) {
	p := plain{rest: string(body), ok: true}
	p.take('{')
	for first := true; p.ok && p.next() != '}'; first = false {
		if !first {
			p.take(',')
		}
		name := p.text()
		p.take(':')
		if members == nil {
			members = make([]Member, 0, 8)
		}
		members = append(members, Member{name, p.value()})
	}
	p.take('}')
	p.next()
	return members, len(p.rest) == 0 && p.ok
}

// next skips space, and returns the byte that follows, or 0 at the end.
func (p *plain) next() byte {
	for i := range len(p.rest) {
		switch c := p.rest[i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			p.rest = p.rest[i:]
			return c
		}
	}
	p.rest = ""
	return 0
}

func (p *plain) take(c byte) {
	if p.next() != c || p.rest == "" {
		p.ok = false
		return
	}
	p.rest = p.rest[1:]
}

func (p *plain) text() string {
	p.take('"')
	end := strings.IndexByte(p.rest, '"')
	if end < 0 || !p.ok {
		p.ok = false
		return ""
	}
	text := p.rest[:end]
	for i := range len(text) {
		p.ok = p.ok && text[i] >= ' ' && text[i] != '\\'
	}
	p.rest = p.rest[end+1:]
	return text
}

// number matches a JSON number.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// isNumber reports whether s is a JSON number.
func isNumber(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || s[0] == '0' {
			return number.MatchString(s)
		}
	}
	return s != ""
}

func (p *plain) value() any {
	switch p.next() {
	case '"':
		return p.text()
	case 0:
		p.ok = false
		return nil
	}
	end := strings.IndexAny(p.rest, ",} \t\r\n")
	if end < 0 {
		p.ok = false
		return nil
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	switch word {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	p.ok = p.ok && isNumber(word)
	return json.Number(word)
}
