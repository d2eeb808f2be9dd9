package storagetest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// member is one name with its value in a JSON object: a string, json.Number, bool or nil.
type member struct {
	name  string
	value any
}

// parseObject reads a JSON object of plain values, in order. Text must be UTF-8, and its escapes whole characters.
func parseObject(body []byte) ([]member, bool) {
	if !utf8.Valid(body) || loneSurrogate(body) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var out []member
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
		out = append(out, member{name.(string), value})
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	_, err := d.Token()
	return out, err == io.EOF
}

// loneSurrogate tells whether an escape stands for half a character.
func loneSurrogate(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 || i+1 >= len(body) {
			return false
		}
		body = body[i:]
		r, n := escape(body)
		body = body[n:]
		if !utf16.IsSurrogate(r) {
			continue
		}
		low, n := escape(body)
		if utf16.DecodeRune(r, low) == utf8.RuneError {
			return true
		}
		body = body[n:]
	}
}

// escape reads an escape that body begins with: the code unit of \uXXXX, or 0 for another.
func escape(body []byte) (rune, int) {
	if len(body) < 6 || body[0] != '\\' || body[1] != 'u' {
		return 0, min(2, len(body))
	}
	u, err := strconv.ParseUint(string(body[2:6]), 16, 16)
	if err != nil {
		return 0, 2
	}
	return rune(u), 6
}

// parseEntity reads the body of a write.
func parseEntity(body []byte) (e entity, keys [2]*string, err *failure) {
	members, ok := parseObject(body)
	if !ok {
		return e, keys, errInput
	}
	annotated, seen := map[string]Type{}, make(map[string]bool, len(members))
	for _, m := range members {
		if seen[m.name] {
			return e, keys, errInput
		}
		seen[m.name] = true
		name, isType := strings.CutSuffix(m.name, "@odata.type")
		if !isType || name == "" {
			continue
		}
		text, ok := m.value.(string)
		if !ok {
			return e, keys, errInput
		}
		annotated[name] = Type(text)
	}
	for _, m := range members {
		switch {
		case strings.HasPrefix(m.name, "odata."), m.name == "Timestamp":
			delete(annotated, m.name)
			continue // the service's own, whatever a client says of them
		case strings.Contains(m.name, "@"):
			continue
		}
		t, isAnnotated := annotated[m.name]
		delete(annotated, m.name)
		if m.name == "PartitionKey" || m.name == "RowKey" {
			s, ok := m.value.(string)
			if !ok || isAnnotated && t != String {
				return e, keys, errInput
			}
			i := 0
			if m.name == "RowKey" {
				i = 1
			}
			keys[i] = &s
			continue
		}
		p, err := property(m, t, isAnnotated)
		if err != nil {
			return e, keys, err
		}
		if p.Value != nil {
			e.props = append(e.props, p)
		}
	}
	for name := range annotated {
		if name != "Timestamp" {
			return e, keys, errInput // a type without its value
		}
	}
	return e, keys, nil
}

// property types a value by its annotation, or without one as JSON shows it.
func property(m member, t Type, annotated bool) (Property, *failure) {
	p := Property{Name: m.name, Type: t}
	if m.value == nil {
		return p, nil
	}
	ok, inRange := true, true
	switch v := m.value.(type) {
	case bool:
		ok = !annotated || t == Boolean
		p.Type, p.Value = Boolean, v
	case string:
		if !annotated {
			p.Type = String
		}
		p.Value, ok, inRange = parseText(p.Type, v)
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 32)
		switch {
		case !annotated && err == nil:
			p.Type, p.Value = Int32, int32(n)
		case !annotated:
			p.Type = Double
			p.Value, ok = parseDouble(v.String())
		case t == Double:
			p.Value, ok = parseDouble(v.String())
		case t == Int32 && err == nil:
			p.Value = int32(n)
		case t == Int64 && err == nil:
			p.Value = n
		default: // of the rest, a larger Int64 has been a double on its way, and may have lost digits
			ok = false
		}
	}
	switch {
	case !ok && p.Type == Int64:
		return p, errProcessing
	case !ok:
		return p, errInput
	case !inRange:
		return p, errRange
	}
	return p, nil
}

// level is how much metadata an answer carries.
type level string

const (
	none    level = "nometadata"
	minimal level = "minimalmetadata"
	full    level = "fullmetadata"
)

// contentType is what an answer in JSON calls itself.
func (l level) contentType() string {
	return "application/json;odata=" + string(l) + ";streaming=true;charset=utf-8"
}

// writer writes JSON as the service does: ASCII, without blanks.
type writer struct {
	bytes.Buffer
	more bool // a member precedes
}

func (w *writer) key(name string) {
	if w.more {
		w.WriteByte(',')
	}
	w.more = true
	w.text(name)
	w.WriteByte(':')
}

func (w *writer) member(name, value string) {
	w.key(name)
	w.text(value)
}

func (w *writer) text(s string) {
	const hex = "0123456789abcdef"
	unit := func(u uint16) {
		w.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			w.WriteByte(hex[u>>shift&15])
		}
	}
	w.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			w.WriteByte('\\')
			w.WriteRune(r)
		case r == '\n':
			w.WriteString(`\n`)
		case r == '\r':
			w.WriteString(`\r`)
		case r == '\t':
			w.WriteString(`\t`)
		case r == '\b':
			w.WriteString(`\b`)
		case r == '\f':
			w.WriteString(`\f`)
		case r >= ' ' && r < 0x7F:
			w.WriteByte(byte(r))
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			unit(uint16(high))
			unit(uint16(low))
		default:
			unit(uint16(r))
		}
	}
	w.WriteByte('"')
}

// property writes a property with its annotation, if its type and the level want one.
func (w *writer) property(p Property, l level) {
	annotate := l != none && p.Type != String && p.Type != Int32 && p.Type != Boolean
	f, isDouble := p.Value.(float64)
	special := isDouble && (math.IsNaN(f) || math.IsInf(f, 0))
	if annotate && (!isDouble || special) {
		w.member(p.Name+"@odata.type", string(p.Type))
	}
	w.key(p.Name)
	switch v := p.Value.(type) {
	case string:
		w.text(v)
	case int32:
		w.WriteString(strconv.Itoa(int(v)))
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int64:
		w.text(strconv.FormatInt(v, 10))
	case []byte:
		w.text(base64.StdEncoding.EncodeToString(v))
	case float64:
		switch {
		case math.IsNaN(v):
			w.text("NaN")
		case special:
			w.text(map[bool]string{true: "Infinity", false: "-Infinity"}[v > 0])
		default:
			w.WriteString(formatDouble(v))
		}
	case time.Time:
		w.text(formatTime(v))
	}
}
