package edm

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// Reader reads entities out of a reply, one after another, and reuses its memory between them. What it returns does not
// refer to that memory, but for Raw.
type Reader struct {
	scanner
	entity  Entity
	members []member
	notes   []note
	scratch []byte
	lastPK  string

	// The first room for members, notes and scratch: most entities need no more.
	room struct {
		members [24]member
		notes   [4]note
		scratch [96]byte
	}
}

// Entity is what every entity has.
type Entity struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Raw                  []byte // the entity's JSON, a part of the reply
}

// member is a property as it stands in the reply, before anybody has said what it should be.
type member struct {
	name []byte
	typ  []byte // its annotation, or nil
	tok  token
}

// note is an annotation whose property has not come yet.
type note struct{ name, typ []byte }

// NewReader reads the reply b.
func NewReader(b []byte) *Reader {
	r := &Reader{scanner: scanner{b: b}}
	r.members, r.notes, r.scratch = r.room.members[:0], r.room.notes[:0], r.room.scratch[:0]
	return r
}

// One reads a reply that is a single entity.
func (r *Reader) One() (Entity, error) {
	if err := r.readEntity(); err != nil {
		return Entity{}, err
	}
	if r.peek() != 0 || r.i < len(r.b) {
		return Entity{}, r.fail("something after the entity")
	}
	return r.entity, nil
}

// Page reads a reply of the form {"value":[…]} and calls f after each entity; it stops where f returns false.
func (r *Reader) Page(f func(Entity) bool) error {
	if err := r.expect('{'); err != nil {
		return err
	}
	seen := false
	for {
		t, err := r.text()
		if err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		if !seen && string(r.b[t.from:t.to]) == "value" {
			seen = true
			if stopped, err := r.list(f); stopped || err != nil {
				return err
			}
		} else if _, err := r.next(0); err != nil {
			return err
		}
		more, err := r.more('}')
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if !seen {
		return r.fail("no list of entities")
	}
	if r.peek() != 0 || r.i < len(r.b) {
		return r.fail("something after the list")
	}
	return nil
}

func (r *Reader) list(f func(Entity) bool) (stopped bool, err error) {
	if err := r.expect('['); err != nil {
		return false, err
	}
	if r.peek() == ']' {
		r.i++
		return false, nil
	}
	for {
		if err := r.readEntity(); err != nil {
			return false, err
		}
		if !f(r.entity) {
			return true, nil
		}
		if more, err := r.more(']'); !more {
			return false, err
		}
	}
}

// readEntity collects the members of an object. Annotations may stand before or after their property.
func (r *Reader) readEntity() error {
	r.members, r.notes, r.scratch = r.members[:0], r.notes[:0], r.scratch[:0]
	r.entity = Entity{}
	if err := r.expect('{'); err != nil {
		return err
	}
	from := r.i - 1
	if r.peek() == '}' {
		r.i++
	} else {
		for {
			if err := r.readMember(); err != nil {
				return err
			}
			more, err := r.more('}')
			if err != nil {
				return err
			}
			if !more {
				break
			}
		}
	}
	for _, n := range r.notes {
		for i := range r.members {
			if bytes.Equal(r.members[i].name, n.name) {
				r.members[i].typ = n.typ
			}
		}
	}
	r.entity.Raw = r.b[from:r.i:r.i]
	return r.takeKeys()
}

func (r *Reader) readMember() error {
	name, err := r.text()
	if err != nil {
		return err
	}
	m := member{}
	if m.name, err = r.unquoted(name); err != nil {
		return err
	}
	if err := r.expect(':'); err != nil {
		return err
	}
	if m.tok, err = r.next(0); err != nil {
		return err
	}
	if of, ok := bytes.CutSuffix(m.name, []byte(annotation)); ok {
		if m.tok.kind != '"' {
			return r.fail("an annotation that is no string")
		}
		typ, err := r.unquoted(m.tok)
		if err != nil {
			return err
		}
		r.notes = append(r.notes, note{of, typ})
		return nil
	}
	if n := len(r.notes); n > 0 && bytes.Equal(r.notes[n-1].name, m.name) {
		m.typ = r.notes[n-1].typ
		r.notes = r.notes[:n-1]
	}
	r.members = append(r.members, m)
	return nil
}

// unquoted is unquote into the reader's memory.
func (r *Reader) unquoted(t token) ([]byte, error) {
	if !t.escaped {
		return unquote(r.b, t, nil)
	}
	n := len(r.scratch)
	text, err := unquote(r.b, t, r.scratch)
	if err != nil {
		return nil, err
	}
	r.scratch = text
	return text[n:len(text):len(text)], nil
}

// takeKeys moves what is not a property of the entity's own out of the members.
func (r *Reader) takeKeys() (err error) {
	own := r.members[:0]
	for _, m := range r.members {
		switch string(m.name) {
		case PartitionKey:
			if r.entity.PartitionKey, err = r.key(m, r.lastPK); err == nil {
				r.lastPK = r.entity.PartitionKey
			}
		case RowKey:
			r.entity.RowKey, err = r.key(m, "")
		case "odata.etag":
			r.entity.ETag, err = r.key(m, "")
		case Timestamp:
			if m.typ == nil {
				m.typ = []byte("Edm.DateTime") // the service annotates it only on full metadata
			}
			var v Value
			if v, err = r.value(m); err == nil {
				r.entity.Timestamp = v.T
			}
		default:
			if !bytes.HasPrefix(m.name, []byte("odata.")) {
				own = append(own, m)
			}
		}
		if err != nil {
			return err
		}
	}
	r.members = own
	return nil
}

// key reads a text of the entity itself; most often it is the last entity's.
func (r *Reader) key(m member, last string) (string, error) {
	if m.tok.kind == 'n' {
		return "", nil
	}
	if m.tok.kind != '"' {
		return "", &DecodeError{Field: string(m.name), Reason: "is not a string"}
	}
	text, err := r.unquoted(m.tok)
	if err != nil {
		return "", inField(m.name, err)
	}
	if string(text) == last {
		return last, nil
	}
	return string(text), nil
}

// inField says of which property a DecodeError speaks.
func inField(name []byte, err error) error {
	var de *DecodeError
	if errors.As(err, &de) && de.Field == "" {
		return &DecodeError{Field: string(name), Reason: de.Reason}
	}
	return err
}

// value reads a member by its annotation, or by its form if it has none.
func (r *Reader) value(m member) (Value, error) {
	v, err := r.parse(m)
	if err != nil {
		return Value{}, inField(m.name, err)
	}
	return v, nil
}

func (r *Reader) parse(m member) (Value, error) {
	fail := func() (Value, error) {
		return Value{}, &DecodeError{Reason: fmt.Sprintf("%.60q is no %s", r.b[m.tok.from:m.tok.to], m.typ)}
	}
	text := r.b[m.tok.from:m.tok.to]
	switch m.tok.kind {
	case 'n':
		return Value{}, nil
	case '{', '[':
		return Value{}, &DecodeError{Reason: "is an object or a list, which no property can be"}
	case '"':
		var err error
		if text, err = r.unquoted(m.tok); err != nil {
			return Value{}, err
		}
	}
	if m.typ == nil {
		return untyped(m.tok.kind, text)
	}
	isText := m.tok.kind == '"'
	switch string(m.typ) {
	case "Edm.String":
		if isText {
			return Value{Kind: String, S: string(text)}, nil
		}
	case "Edm.Int32":
		if n, ok := integer(text); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
			return Value{Kind: Int32, I: n}, nil
		}
	case "Edm.Int64":
		if n, ok := integer(text); ok {
			return Value{Kind: Int64, I: n}, nil
		}
	case "Edm.Double":
		if f, ok := double(text); ok {
			return Value{Kind: Double, F: f}, nil
		}
	case "Edm.Boolean":
		if s := string(bytes.ToLower(text)); s == "true" || s == "false" {
			return boolean(s == "true"), nil
		}
	case "Edm.DateTime":
		if t, ok := dateTimeOf(text); isText && ok {
			return Value{Kind: DateTime, T: t}, nil
		}
	case "Edm.Guid":
		if g, ok := guid(text); isText && ok {
			return Value{Kind: Guid, G: g}, nil
		}
	case "Edm.Binary":
		b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		if n, err := base64.StdEncoding.Strict().Decode(b, text); isText && err == nil {
			return Value{Kind: Binary, B: b[:n]}, nil
		}
	default:
		return Value{}, &DecodeError{Reason: fmt.Sprintf("has the unknown type %.60q", m.typ)}
	}
	return fail()
}

// untyped is a value without annotation: its form tells its type.
func untyped(kind byte, text []byte) (Value, error) {
	switch kind {
	case '"':
		return Value{Kind: String, S: string(text)}, nil
	case 't', 'f':
		return boolean(kind == 't'), nil
	}
	if bytes.ContainsAny(text, ".eE") {
		if f, ok := double(text); ok {
			return Value{Kind: Double, F: f}, nil
		}
	} else if n, ok := integer(text); ok {
		if n >= math.MinInt32 && n <= math.MaxInt32 {
			return Value{Kind: Int32, I: n}, nil
		}
		return Value{Kind: Int64, I: n}, nil
	}
	return Value{}, &DecodeError{Reason: fmt.Sprintf("the number %.60s is out of range", text)}
}

func integer(text []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil && text[0] != '+'
}

func double(text []byte) (float64, bool) {
	switch string(text) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false // ParseFloat knows more forms than the service
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// dateTimeOf reads the service's form of a time, and whatever else RFC 3339 allows.
func dateTimeOf(text []byte) (time.Time, bool) {
	if n := len(text); n >= len("2006-01-02T15:04:05Z") && text[n-1] == 'Z' {
		if t, ok := plainTime(text); ok {
			return t, true
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	return t.UTC(), err == nil
}

// plainTime reads 2006-01-02T15:04:05Z with up to nine digits of a fraction.
func plainTime(b []byte) (t time.Time, ok bool) {
	number := func(from, to int) (n int) {
		for _, c := range b[from:to] {
			if c < '0' || c > '9' {
				ok = false
			}
			n = n*10 + int(c-'0')
		}
		return n
	}
	ok = b[4] == '-' && b[7] == '-' && b[10] == 'T' && b[13] == ':' && b[16] == ':'
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	nano := 0
	if digits := len(b) - len("2006-01-02T15:04:05.Z"); digits >= 0 {
		ok = ok && b[19] == '.' && digits >= 1 && digits <= 9
		if !ok {
			return t, false
		}
		nano = number(20, 20+digits)
		for range 9 - digits {
			nano *= 10
		}
	}
	if !ok || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
	return t, t.Day() == day // 31 April is no day
}

// guid reads 8-4-4-4-12 hexadecimal digits of either case.
func guid(text []byte) (g [16]byte, ok bool) {
	if len(text) != 36 {
		return g, false
	}
	n := 0
	for i, c := range text {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return g, false
			}
			continue
		}
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return g, false
		}
		g[n/2] = g[n/2]<<4 | c
		n++
	}
	return g, true
}
