package edm

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"time"
)

// Reader reads entities out of a response, one after another, and reuses its memory between them. What it returns does not
// refer to that memory, but for Raw.
type Reader struct {
	scanner
	entity  Entity
	members []member
	notes   []annotated
	scratch []byte
	lastPK  string

	// The first room for members, notes and scratch: most entities need no more.
	room struct {
		members [24]member
		notes   [4]annotated
		scratch [96]byte
	}
}

// Entity is what every entity has.
type Entity struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Raw                  []byte // the entity's JSON, a part of the response
}

// member is a property as it stands in the response, before anybody has said what it should be.
type member struct {
	name []byte
	typ  []byte // its annotation, or nil
	tok  token
}

// note is an annotation whose property has not come yet.
type annotated struct{ name, typ []byte }

// NewReader reads the response b.
func NewReader(b []byte) *Reader {
	r := &Reader{scanner: scanner{b: b}}
	r.members, r.notes, r.scratch = r.room.members[:0], r.room.notes[:0], r.room.scratch[:0]
	return r
}

// AtEnd tells, in the function that Page calls, whether the entity is the last of the response.
func (r *Reader) AtEnd() bool { return r.peek() == ']' }

// One reads a response that is a single entity.
func (r *Reader) One() (Entity, error) {
	if err := r.readEntity(); err != nil {
		return Entity{}, err
	}
	if r.peek() != 0 || r.i < len(r.b) {
		return Entity{}, r.fail("something after the entity")
	}
	return r.entity, nil
}

// Page reads a response of the form {"value":[…]} and calls f after each entity; it stops where f returns false.
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
			if stopped, err := r.readList(f); stopped || err != nil {
				return err
			}
		} else if _, err := r.next(0); err != nil {
			return err
		}
		more, err := r.hasMore('}')
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

func (r *Reader) readList(f func(Entity) bool) (stopped bool, err error) {
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
		if more, err := r.hasMore(']'); !more {
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
			more, err := r.hasMore('}')
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
		r.notes = append(r.notes, annotated{of, typ})
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

// takeKeys moves what is not a property of the entity's own out of the members. What has no keys is no entity, such as an error
// or the answer of a proxy: every query asks for both.
func (r *Reader) takeKeys() (err error) {
	own, pk, rk := r.members[:0], false, false
	for _, m := range r.members {
		switch string(m.name) {
		case PartitionKey:
			if r.entity.PartitionKey, err = r.keyText(m, r.lastPK); err == nil {
				r.lastPK = r.entity.PartitionKey
			}
			pk = m.tok.kind == '"'
		case RowKey:
			r.entity.RowKey, err = r.keyText(m, "")
			rk = m.tok.kind == '"'
		case "odata.etag":
			r.entity.ETag, err = r.keyText(m, "")
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
	switch {
	case !pk:
		return &DecodeError{Field: PartitionKey, Reason: "is missing, so this is no entity"}
	case !rk:
		return &DecodeError{Field: RowKey, Reason: "is missing, so this is no entity"}
	}
	return nil
}

// key reads a text of the entity itself; most often it is the last entity's.
func (r *Reader) keyText(m member, last string) (string, error) {
	if m.tok.kind == 'n' {
		return "", nil
	}
	if m.tok.kind != '"' {
		return "", &DecodeError{Field: string(m.name), Reason: "is not a string"}
	}
	text, err := r.unquoted(m.tok)
	if err != nil {
		return "", ofProperty(m.name, err)
	}
	if string(text) == last {
		return last, nil
	}
	return string(text), nil
}

// inField says of which property a DecodeError speaks.
func ofProperty(name []byte, err error) error {
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
		return Value{}, ofProperty(m.name, err)
	}
	return v, nil
}

func (r *Reader) parse(m member) (Value, error) {
	fail := func() (Value, error) {
		return Value{}, &DecodeError{Reason: fmt.Sprintf("what stands there, %d bytes, is no %s", m.tok.to-m.tok.from, m.typ)}
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
		return parseUntyped(m.tok.kind, text)
	}
	isText := m.tok.kind == '"'
	switch string(m.typ) {
	case "Edm.String":
		if isText {
			return Value{Kind: String, S: string(text)}, nil
		}
	case "Edm.Int32":
		if n, ok := parseInteger(text); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
			return Value{Kind: Int32, I: n}, nil
		}
	case "Edm.Int64":
		if n, ok := parseInteger(text); ok {
			return Value{Kind: Int64, I: n}, nil
		}
	case "Edm.Double":
		if f, ok := parseDouble(text); ok {
			return Value{Kind: Double, F: f}, nil
		}
	case "Edm.Boolean":
		if s := string(bytes.ToLower(text)); s == "true" || s == "false" {
			return boolValue(s == "true"), nil
		}
	case "Edm.DateTime":
		if t, ok := parseTime(text); isText && ok {
			return Value{Kind: DateTime, T: t}, nil
		}
	case "Edm.Guid":
		if g, ok := parseGUID(text); isText && ok {
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
