package odata

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// Member is a name and its value in a JSON object. The value is a string, json.Number, bool or nil.
type Member struct {
	Name  string
	Value any
}

// plain reads a JSON object of the frequent form, in which no text has escapes. It stops at the first byte of another form.
type plain struct {
	rest []byte
	ok   bool
}

// parsePlain reads the members of an object as ParseObject does. ok is false if the object is invalid or has another form.
func parsePlain(body []byte) (members []Member, ok bool) {
	p := plain{rest: body, ok: true}
	p.take('{')
	for first := true; p.ok && p.next() != '}'; first = false {
		if !first {
			p.take(',')
		}
		name := p.text()
		p.take(':')
		members = append(members, Member{name, p.value()})
	}
	p.take('}')
	p.next()
	return members, len(p.rest) == 0 && p.ok
}

// next skips space, and returns the byte that follows, or 0 at the end.
func (p *plain) next() byte {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
	if len(p.rest) == 0 {
		return 0
	}
	return p.rest[0]
}

func (p *plain) take(c byte) {
	if p.next() != c {
		p.ok = false
		return
	}
	p.rest = p.rest[1:]
}

func (p *plain) text() string {
	p.take('"')
	end := bytes.IndexByte(p.rest, '"')
	if end < 0 || !p.ok {
		p.ok = false
		return ""
	}
	text := p.rest[:end]
	for _, c := range text {
		p.ok = p.ok && c >= ' ' && c != '\\'
	}
	p.rest = p.rest[end+1:]
	return string(text)
}

// number matches a JSON number.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (p *plain) value() any {
	switch p.next() {
	case '"':
		return p.text()
	case 0:
		p.ok = false
		return nil
	}
	end := bytes.IndexAny(p.rest, ",} \t\r\n")
	if end < 0 {
		p.ok = false
		return nil
	}
	word := string(p.rest[:end])
	p.rest = p.rest[end:]
	switch word {
	case "true":
		return true
	case "false":
		return false
	case "null":
		return nil
	}
	p.ok = p.ok && number.MatchString(word)
	return json.Number(word)
}
