package edm

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// Reader reads the entities of a response one after another and reuses its memory between them.
// Only the JSON of a single row refers to the response.
type Reader struct {
	scanner
	entity      Entity
	from, to    int // of the entity, in the response
	members     []member
	annotations []annotated
	scratch     []byte
	lastPK      string // shared by the entities of a partition
	memory      memory
	shape       shape
	page        bool   // the response is a page
	own         *Codec // that has decoded the entity; see Stored
	value       Value  // room for one

	hasPartitionKey, hasRowKey bool // of the entity

	// initial is the initial capacity of members, annotations and scratch, which is enough for most
	// entities.
	initial struct {
		members     [16]member
		annotations [8]annotated
		scratch     [96]byte
	}
}

// Entity contains the properties that every entity has.
type Entity struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	Date                 time.Time // of the response, by the service's clock; zero if it says none
	JSON                 JSON      // of a single row, and of a row of a page if Keep was called

	Columns []Column // in place of the JSON, of an entity that was put together of several rows
}

// member is a property of the response, before it is converted to a Value.
type member struct {
	name []byte
	typ  []byte // the annotation, or nil
	kind Kind   // of the annotation
	at   int16  // in the shape, or notSeen
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
type annotated struct {
	name, typ []byte
	from      int // where it begins
}

// NewReader returns a Reader of the response b.
func NewReader(b []byte) *Reader {
	r := new(Reader)
	r.start(b)
	return r
}

// start begins to read the response b. The reader is zero.
func (r *Reader) start(b []byte) {
	r.b = b
	r.members, r.annotations, r.scratch = r.initial.members[:0], r.initial.annotations[:0], r.initial.scratch[:0]
	r.memory.size = min(len(b)/3, textPiece)
}

// Keep returns the JSON of the entity that the reader read last, which does not hold the page.
// Texts that are decoded afterwards are parts of it. It returns none for an entity that is known by
// its columns.
func (r *Reader) Keep() JSON {
	if r.entity.JSON.Len() == 0 && r.to > r.from {
		r.entity.JSON.text = r.memory.text(r.b[r.from:r.to])
	}
	return r.entity.JSON
}

// kept returns the text of a string token as a caller may keep it. unquoted is that text in the
// reader's memory.
func (r *Reader) kept(t *token, unquoted []byte) string {
	if r.entity.JSON.text == "" || t.escaped {
		return r.memory.text(unquoted)
	}
	return r.entity.JSON.text[t.from-r.from : t.to-r.from]
}

// unquoted returns the text of a string token in the reader's memory.
func (r *Reader) unquoted(t *token) ([]byte, error) {
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

// AtEnd reports, in the function that Page calls, whether the entity is the last entity of the
// response.
func (r *Reader) AtEnd() bool { return r.peek() == ']' }

// One reads a response of one entity.
func (r *Reader) One() (Entity, error) {
	if err := r.readEntity(); err != nil {
		return Entity{}, err
	}
	if r.peek() != 0 || r.i < len(r.b) {
		return Entity{}, r.fail("has data after the entity")
	}
	r.entity.JSON = JSON{response: r.b}
	return r.entity, nil
}

// Page reads a response of the form {"value":[…]} and calls f after each entity. It stops if f
// returns false.
func (r *Reader) Page(f func(Entity) bool) error {
	if err := r.expect('{'); err != nil {
		return err
	}
	r.page, r.memory.size = true, textPiece
	seen := false
	for {
		var t token
		if err := r.text(&t); err != nil {
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
		} else if err := r.next(&t, 0); err != nil {
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
	r.members, r.annotations, r.scratch, r.shape.next = r.members[:0], r.annotations[:0], r.scratch[:0], 0
	r.entity, r.hasPartitionKey, r.hasRowKey, r.own = Entity{}, false, false, nil
	if err := r.expect('{'); err != nil {
		return err
	}
	r.from, r.to = r.i-1, 0
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
			if m := &r.members[i]; bytes.Equal(m.name, n.name) {
				m.typ, m.kind = n.typ, kindOf(n.typ)
			}
		}
	}
	r.to = r.i
	return r.checkKeys()
}

func (r *Reader) readMember() (err error) {
	r.peek()
	n := len(r.members)
	if n == cap(r.members) {
		r.members = slices.Grow(r.members, n)
	}
	m, what := &r.members[:n+1][n], property
	if s := r.shape.find(r.b[r.i:]); s != nil {
		r.i += len(s.raw)
		m.name, m.typ, m.kind, m.at, what = s.name, s.typ, s.kind, int16(r.shape.next-1), s.role
	} else if what, err = r.readName(m); err != nil || what == typeOf {
		return err
	}
	if err = r.next(&m.tok, 0); err != nil {
		return err
	}
	if what == property {
		r.members = r.members[:n+1]
		return nil
	}
	return r.take(what, m)
}

// readName reads the name of a member up to its value, and adds the member to the shape with an
// annotation in front of it. An annotation is read with its value.
func (r *Reader) readName(m *member) (what role, err error) {
	from := r.i
	*m = member{at: notSeen}
	var name token
	if err := r.text(&name); err != nil {
		return what, err
	}
	if m.name, err = r.unquoted(&name); err != nil {
		return what, err
	}
	if err := r.expect(':'); err != nil {
		return what, err
	}
	if of, ok := bytes.CutSuffix(m.name, []byte(annotation)); ok {
		return typeOf, r.readAnnotation(of, from)
	}
	if at, ok := r.takeAnnotation(m); ok {
		from = at
	}
	r.peek()
	what = roleOf(m.name)
	if (r.page || r.shape.of != nil) && !name.escaped {
		m.at = r.shape.add(seen{raw: r.b[from:r.i], name: m.name, typ: m.typ, kind: m.kind, role: what})
	}
	return what, nil
}

// readAnnotation reads the value of an annotation that begins at from.
func (r *Reader) readAnnotation(of []byte, from int) error {
	var tok token
	if err := r.next(&tok, 0); err != nil {
		return err
	}
	if tok.kind != '"' {
		return r.fail("has an annotation that is not a string")
	}
	typ, err := r.unquoted(&tok)
	if err != nil {
		return err
	}
	r.annotations = append(r.annotations, annotated{of, typ, from})
	return nil
}

// takeAnnotation takes the annotation in front of a member, if it has one, and returns where it
// begins.
func (r *Reader) takeAnnotation(m *member) (from int, ok bool) {
	n := len(r.annotations)
	if n == 0 || !bytes.Equal(r.annotations[n-1].name, m.name) {
		return 0, false
	}
	a := r.annotations[n-1]
	r.annotations = r.annotations[:n-1]
	m.typ, m.kind = a.typ, kindOf(a.typ)
	return a.from, true
}

// take takes a key, the ETag or the Timestamp of the entity.
func (r *Reader) take(what role, m *member) (err error) {
	switch what {
	case partitionKey:
		var text []byte
		if text, err = r.keyText(m); string(text) != r.lastPK {
			r.lastPK = string(text)
		}
		r.entity.PartitionKey, r.hasPartitionKey = r.lastPK, m.tok.kind == '"'
	case rowKey:
		r.entity.RowKey, err = r.ownKeyText(m)
		r.hasRowKey = m.tok.kind == '"'
	case etag:
		r.entity.ETag, err = r.ownKeyText(m)
	case timestamp:
		if m.typ == nil {
			m.kind = DateTime // the service annotates it only in full metadata
		}
		if err = r.read(m, &r.value); err == nil {
			r.entity.Timestamp = r.value.T
		}
	}
	return err
}

// checkKeys checks that the entity has keys. An object without keys is not an entity but an error
// or the response of a proxy, since every query asks for both keys.
func (r *Reader) checkKeys() error {
	switch {
	case !r.hasPartitionKey:
		return &errs.DecodeError{Field: PartitionKey, Reason: "is missing, so the response is not an entity"}
	case !r.hasRowKey:
		return &errs.DecodeError{Field: RowKey, Reason: "is missing, so the response is not an entity"}
	}
	return nil
}

// ownKeyText is keyText as a caller may keep it.
func (r *Reader) ownKeyText(m *member) (string, error) {
	text, err := r.keyText(m)
	return r.memory.text(text), err
}

// keyText returns the text of a key or an ETag, in the reader's memory.
func (r *Reader) keyText(m *member) ([]byte, error) {
	if m.tok.kind == 'n' {
		return nil, nil
	}
	if m.tok.kind != '"' {
		return nil, &errs.DecodeError{Field: string(m.name), Reason: "is not a string"}
	}
	scratch := len(r.scratch)
	text, err := r.unquoted(&m.tok)
	r.scratch = r.scratch[:scratch]
	if err != nil {
		return nil, ofProperty(m.name, err)
	}
	return text, nil
}

// ofProperty adds the name of the property to a DecodeError.
func ofProperty(name []byte, err error) error {
	var de *errs.DecodeError
	if errors.As(err, &de) && de.Field == "" {
		return &errs.DecodeError{Field: string(name), Reason: de.Reason}
	}
	return err
}

// read sets v to the value of a member, by its annotation if it has one, and by its form otherwise.
func (r *Reader) read(m *member, v *Value) error {
	if m.column != nil {
		*v = m.column.Value
		return nil
	}
	*v = Value{}
	if err := r.parse(m, v); err != nil {
		*v = Value{}
		return ofProperty(m.name, err)
	}
	return nil
}

// parse sets v, which is absent.
func (r *Reader) parse(m *member, v *Value) error {
	text := r.b[m.tok.from:m.tok.to]
	switch m.tok.kind {
	case 'n':
		return nil
	case '{', '[':
		return &errs.DecodeError{Reason: "is an object or a list, which the service does not store"}
	case '"':
		if !m.tok.plain {
			scratch := len(r.scratch)
			var err error
			text, err = r.unquoted(&m.tok)
			r.scratch = r.scratch[:scratch]
			if err != nil {
				return err
			}
		}
	}
	if m.typ == nil && m.kind == Absent {
		return r.parseUntyped(&m.tok, text, v)
	}
	isText, ok := m.tok.kind == '"', false
	v.Kind = m.kind
	switch m.kind {
	case String:
		if ok = isText; ok {
			v.S = r.kept(&m.tok, text)
		}
	case Int32:
		v.I, ok = parseInteger(text)
		ok = ok && v.I >= math.MinInt32 && v.I <= math.MaxInt32
	case Int64:
		v.I, ok = parseInteger(text)
	case Double:
		v.F, ok = parseDouble(text)
	case Bool:
		s := string(bytes.ToLower(text))
		*v, ok = boolValue(s == "true"), s == "true" || s == "false"
	case DateTime:
		v.T, ok = ParseTime(text)
		ok = ok && isText
	case Guid:
		v.G, ok = parseGUID(text)
		ok = ok && isText
	case Binary:
		b := r.memory.room(base64.StdEncoding.DecodedLen(len(text)))
		n, err := strictBase64.Decode(b, text)
		v.B, ok = b[:n:n], err == nil && isText
	default:
		return &errs.DecodeError{Reason: fmt.Sprintf("has the unknown type %.60q", m.typ)}
	}
	if !ok {
		return &errs.DecodeError{Reason: fmt.Sprintf("has a value of %d bytes that is not a valid %v", m.tok.to-m.tok.from, m.kind)}
	}
	return nil
}

var strictBase64 = base64.StdEncoding.Strict()

// readOwn is read for a value of a field, which the caller may change: it shares no memory with the
// columns of the entity.
func (r *Reader) readOwn(m *member, v *Value) error {
	err := r.read(m, v)
	if m.column != nil {
		*v = v.owned()
	}
	return err
}

// parseUntyped parses a value without an annotation: its form determines its type.
func (r *Reader) parseUntyped(t *token, text []byte, v *Value) error {
	switch t.kind {
	case '"':
		v.Kind, v.S = String, r.kept(t, text)
		return nil
	case 't', 'f':
		*v = boolValue(t.kind == 't')
		return nil
	}
	var ok bool
	if !t.plain {
		v.Kind = Double
		v.F, ok = parseDouble(text)
	} else if v.I, ok = parseInteger(text); ok {
		v.Kind = Int64
		if v.I >= math.MinInt32 && v.I <= math.MaxInt32 {
			v.Kind = Int32
		}
	} else { // a whole double without a decimal point, too large for an Int64
		v.Kind, v.I = Double, 0
		v.F, ok = parseDouble(text)
	}
	if !ok {
		return &errs.DecodeError{Reason: "has a number that is neither an Int64 nor a Double"}
	}
	return nil
}

// The limits of an entity that Storable accepts. They are far below the service's limits, so that
// it needs no closer look.
const (
	smallJSON     = 16 << 10 // bytes
	fewProperties = 200
)

// Storable reports whether the entity that the reader read last can be stored again as it is: it is
// small, and its values can be read and are within the limits of the service. p is the codec that
// decodes the entity, so Storable only reads the values of other properties. Storable returns false
// for an entity that needs a closer look.
func (r *Reader) Storable(p *Codec) bool {
	if len(r.members) > fewProperties || r.to-r.from > smallJSON {
		return false
	}
	for i := range r.members {
		m := &r.members[i]
		if m.column != nil || m.kind == DateTime && m.tok.kind != 'n' && !r.isUsualDate(&m.tok) {
			return false
		}
		if _, known := r.propertyOf(p, m); !known && r.read(m, &r.value) != nil {
			return false
		}
	}
	return true
}

// isUsualDate reports whether a date is in the years that lie in the service's range as a whole.
func (r *Reader) isUsualDate(t *token) bool {
	const year = 4
	if t.to-t.from < year {
		return false
	}
	text := string(r.b[t.from : t.from+year])
	return text > "1601" && text < "9999"
}
