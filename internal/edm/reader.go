package edm

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"time"
)

// Reader reads the entities of a response one after another and reuses its memory between them. Only Entity.Raw refers to that
// memory.
type Reader struct {
	scanner
	entity      Entity
	members     []member
	annotations []annotated
	scratch     []byte
	lastPK      string

	// initial is the initial capacity of members, annotations and scratch, which is enough for most entities.
	initial struct {
		members     [24]member
		annotations [4]annotated
		scratch     [96]byte
	}
}

// Entity contains the properties that every entity has.
type Entity struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Raw                  []byte // the JSON of the entity, a slice of the response

	Columns []Column // in place of the JSON, of an entity that was put together of several rows
}

// member is a property of the response, before it is converted to a Value.
type member struct {
	name []byte
	typ  []byte // the annotation, or nil
	tok  token

	column *Column // of an entity that is known by its columns
}

// part returns the part of the entity in which the property is stored.
func (m *member) part() uint8 {
	if m.column == nil {
		return 0
	}
	return m.column.Part
}

// annotated is an annotation that precedes its property.
type annotated struct{ name, typ []byte }

// NewReader returns a Reader of the response b.
func NewReader(b []byte) *Reader {
	r := &Reader{scanner: scanner{b: b}}
	r.members, r.annotations, r.scratch = r.initial.members[:0], r.initial.annotations[:0], r.initial.scratch[:0]
	return r
}

// AtEnd reports, in the function that Page calls, whether the entity is the last entity of the response.
func (r *Reader) AtEnd() bool { return r.peek() == ']' }

// One reads a response of one entity.
func (r *Reader) One() (Entity, error) {
	if err := r.readEntity(); err != nil {
		return Entity{}, err
	}
	if r.peek() != 0 || r.i < len(r.b) {
		return Entity{}, r.fail("has data after the entity")
	}
	return r.entity, nil
}

// Page reads a response of the form {"value":[…]} and calls f after each entity. It stops if f returns false.
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
		return r.fail("has no list of entities")
	}
	if r.peek() != 0 || r.i < len(r.b) {
		return r.fail("has data after the list")
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

// readEntity reads the members of an object. An annotation may precede or follow its property.
func (r *Reader) readEntity() error {
	r.members, r.annotations, r.scratch = r.members[:0], r.annotations[:0], r.scratch[:0]
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
	for _, n := range r.annotations {
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
			return r.fail("has an annotation that is not a string")
		}
		typ, err := r.unquoted(m.tok)
		if err != nil {
			return err
		}
		r.annotations = append(r.annotations, annotated{of, typ})
		return nil
	}
	if n := len(r.annotations); n > 0 && bytes.Equal(r.annotations[n-1].name, m.name) {
		m.typ = r.annotations[n-1].typ
		r.annotations = r.annotations[:n-1]
	}
	r.members = append(r.members, m)
	return nil
}

// unquoted returns the text of a string token in the reader's memory.
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

// takeKeys moves the keys, the ETag, the Timestamp and annotations of the entity from the members. An object without keys is not an
// entity but an error or the response of a proxy, since every query asks for both keys.
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
				m.typ = []byte("Edm.DateTime") // the service annotates it only in full metadata
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
		return &DecodeError{Field: PartitionKey, Reason: "is missing, so the response is not an entity"}
	case !rk:
		return &DecodeError{Field: RowKey, Reason: "is missing, so the response is not an entity"}
	}
	return nil
}

// keyText returns the text of a key or an ETag. It returns last if the text is equal, which saves an allocation in lists of one
// partition.
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

// ofProperty adds the name of the property to a DecodeError.
func ofProperty(name []byte, err error) error {
	var de *DecodeError
	if errors.As(err, &de) && de.Field == "" {
		return &DecodeError{Field: string(name), Reason: de.Reason}
	}
	return err
}

// value returns the value of a member, by its annotation if it has one, and by its form otherwise.
func (r *Reader) value(m member) (Value, error) {
	if m.column != nil {
		return m.column.Value, nil
	}
	v, err := r.parse(m)
	if err != nil {
		return Value{}, ofProperty(m.name, err)
	}
	return v, nil
}

func (r *Reader) parse(m member) (Value, error) {
	fail := func() (Value, error) {
		return Value{}, &DecodeError{Reason: fmt.Sprintf("has a value of %d bytes that is not a valid %s", m.tok.to-m.tok.from, m.typ)}
	}
	text := r.b[m.tok.from:m.tok.to]
	switch m.tok.kind {
	case 'n':
		return Value{}, nil
	case '{', '[':
		return Value{}, &DecodeError{Reason: "is an object or a list, which the service does not store"}
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

// owned is value for a field, which the caller may change: it shares no memory with the columns of the entity.
func (r *Reader) owned(m *member) (Value, error) {
	x, err := r.value(*m)
	if m.column != nil {
		x = x.owned()
	}
	return x, err
}
