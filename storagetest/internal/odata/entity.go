package odata

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Entity is the body of a write. Properties without a value (null) are left out.
type Entity struct {
	PartitionKey, RowKey *string // nil: not in the body
	Properties           []Property
}

// ParseEntity reads the body of a write.
func ParseEntity(body []byte) (e Entity, f *Failure) {
	members, ok := ParseObject(body)
	if !ok {
		return e, InvalidInput
	}
	if repeats(members) {
		return e, InvalidInput
	}
	types, ok := annotations(members)
	if !ok {
		return e, InvalidInput
	}
	for _, m := range members {
		t, isAnnotated := types[m.Name]
		switch {
		case strings.HasPrefix(m.Name, "odata."), m.Name == "Timestamp": // the service sets these itself
		case strings.Contains(m.Name, "@"):
			continue
		case m.Name == "PartitionKey", m.Name == "RowKey":
			s, ok := m.Value.(string)
			if !ok || isAnnotated && t != String {
				return e, InvalidInput
			}
			e.setKey(m.Name, s)
		default:
			p, f := parseProperty(m, t, isAnnotated)
			if f != nil {
				return e, f
			}
			e.add(p, len(members))
		}
		delete(types, m.Name)
	}
	delete(types, "Timestamp")
	if len(types) > 0 { // a type without its value
		return e, InvalidInput
	}
	return e, nil
}

// annotations returns the types that members state of others, nil if there are none.
func annotations(members []Member) (types map[string]Type, ok bool) {
	for _, m := range members {
		name, isType := strings.CutSuffix(m.Name, "@odata.type")
		if !isType || name == "" {
			continue
		}
		text, ok := m.Value.(string)
		if !ok {
			return nil, false
		}
		if types == nil {
			types = map[string]Type{}
		}
		types[name] = Type(text)
	}
	return types, true
}

func (e *Entity) setKey(name, value string) {
	if name == "RowKey" {
		e.RowKey = &value
	} else {
		e.PartitionKey = &value
	}
}

// add adds a property that has a value, to at most so many.
func (e *Entity) add(p Property, most int) {
	if p.Value == nil {
		return
	}
	if e.Properties == nil {
		e.Properties = make([]Property, 0, most)
	}
	e.Properties = append(e.Properties, p)
}

// repeats reports whether two members have the same name.
func repeats(members []Member) bool {
	if len(members) > 20 {
		seen := make(map[string]bool, len(members))
		for _, m := range members {
			seen[m.Name] = true
		}
		return len(seen) < len(members)
	}
	for i, m := range members {
		if slices.ContainsFunc(members[:i], func(other Member) bool { return other.Name == m.Name }) {
			return true
		}
	}
	return false
}

// parseProperty types a value by its annotation, or else by its JSON type.
func parseProperty(m Member, t Type, annotated bool) (Property, *Failure) {
	p := Property{Name: m.Name, Type: t}
	if m.Value == nil {
		return p, nil
	}
	ok, inRange := true, true
	switch v := m.Value.(type) {
	case bool:
		ok = !annotated || t == Boolean
		p.Type, p.Value = Boolean, v
	case string:
		if !annotated {
			p.Type = String
		}
		p.Value, ok, inRange = parseValue(p.Type, v)
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
		default: // the service reads a larger Int64 as a double, which may lose digits
			ok = false
		}
	}
	switch {
	case !ok && p.Type == Int64:
		return p, ProcessingError
	case !ok:
		return p, InvalidInput
	case !inRange:
		return p, OutOfRange
	}
	return p, nil
}

// ParseObject reads the members of a JSON object in order. Values are not nested, text is UTF-8,
// and escapes are whole characters.
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

// unescape reads the escape at the start of body. It returns the code unit of \uXXXX, or 0 for
// another escape, and the escape's length.
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

// Member is a name and its value in a JSON object. The value is a string, json.Number, bool or nil.
type Member struct {
	Name  string
	Value any
}

// plain reads a JSON object of the frequent form, in which no text has escapes. It stops at the
// first byte of another form. The values are sections of the body's text.
type plain struct {
	rest string
	ok   bool
}

// parsePlain reads the members of an object as ParseObject does. ok is false if the object is
// invalid or has another form.
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

// Level is the amount of metadata in a response.
type Level string

const (
	NoMetadata      Level = "nometadata"
	MinimalMetadata Level = "minimalmetadata"
	FullMetadata    Level = "fullmetadata"
)

// ContentType returns the content type of a JSON response.
func (l Level) ContentType() string {
	return "application/json;odata=" + string(l) + ";streaming=true;charset=utf-8"
}

// ChooseLevel returns the level that a request asks for. $format takes precedence over Accept.
func ChooseLevel(accept string, query url.Values) (Level, *Failure) {
	if f := query.Get("$format"); f != "" {
		accept = f
	}
	accept = strings.ReplaceAll(accept, " ", "")
	for _, l := range []Level{NoMetadata, MinimalMetadata, FullMetadata} {
		if strings.Contains(accept, "odata="+string(l)) {
			return l, nil
		}
	}
	if accept == "" || strings.Contains(accept, "json") || strings.Contains(accept, "*/*") {
		return MinimalMetadata, nil
	}
	return MinimalMetadata, UnknownMediaType
}

// IsJSON reports whether a Content-Type is JSON.
func IsJSON(contentType string) bool {
	mime, _, _ := strings.Cut(contentType, ";")
	return strings.TrimSpace(mime) == "application/json"
}

// Writer writes JSON as the service does: in ASCII, without blanks.
type Writer struct {
	bytes.Buffer
	needsComma bool // a member precedes
}

// Open begins an object.
func (w *Writer) Open() {
	w.WriteByte('{')
	w.needsComma = false
}

// Close ends an object.
func (w *Writer) Close() {
	w.WriteByte('}')
	w.needsComma = true
}

// Key writes the name of a member. The caller writes its value.
func (w *Writer) Key(name string) {
	if w.needsComma {
		w.WriteByte(',')
	}
	w.needsComma = true
	w.text(name)
	w.WriteByte(':')
}

// Member writes a member with a text.
func (w *Writer) Member(name, value string) {
	w.Key(name)
	w.text(value)
}

// text writes a string.
func (w *Writer) text(s string) {
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

// Property writes a property, and the annotation that its type needs at level l.
func (w *Writer) Property(p Property, l Level) {
	annotate := l != NoMetadata && p.Type != String && p.Type != Int32 && p.Type != Boolean
	f, isDouble := p.Value.(float64)
	special := isDouble && (math.IsNaN(f) || math.IsInf(f, 0))
	if annotate && (!isDouble || special) {
		w.Member(p.Name+"@odata.type", string(p.Type))
	}
	w.Key(p.Name)
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
		w.text(FormatTime(v))
	}
}
