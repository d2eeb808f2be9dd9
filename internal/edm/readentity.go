package edm

import (
	"bytes"
	"slices"
)

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
	r.entity.JSON = JSON{response: r.b}
	return r.entity, nil
}

// Page reads a response of the form {"value":[…]} and calls f after each entity. It stops if f returns false.
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

// readName reads the name of a member up to its value, and adds the member to the shape with an annotation in front of it. An
// annotation is read with its value.
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

// takeAnnotation takes the annotation in front of a member, if it has one, and returns where it begins.
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

// checkKeys checks that the entity has keys. An object without keys is not an entity but an error or the response of a proxy, since
// every query asks for both keys.
func (r *Reader) checkKeys() error {
	switch {
	case !r.hasPartitionKey:
		return &DecodeError{Field: PartitionKey, Reason: "is missing, so the response is not an entity"}
	case !r.hasRowKey:
		return &DecodeError{Field: RowKey, Reason: "is missing, so the response is not an entity"}
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
		return nil, &DecodeError{Field: string(m.name), Reason: "is not a string"}
	}
	scratch := len(r.scratch)
	text, err := r.unquoted(&m.tok)
	r.scratch = r.scratch[:scratch]
	if err != nil {
		return nil, ofProperty(m.name, err)
	}
	return text, nil
}
