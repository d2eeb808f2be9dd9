package edm

import "time"

// Reader reads the entities of a response one after another and reuses its memory between them. Only the JSON of a single row refers to
// the response.
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
	page        bool  // the response is a page
	own         *Plan // that has decoded the entity; see Stored
	value       Value // room for one

	hasPartitionKey, hasRowKey bool // of the entity

	// initial is the initial capacity of members, annotations and scratch, which is enough for most entities.
	initial struct {
		members     [16]member
		annotations [4]annotated
		scratch     [96]byte
	}
}

// Entity contains the properties that every entity has.
type Entity struct {
	PartitionKey, RowKey string
	ETag                 string
	Timestamp            time.Time
	JSON                 JSON // of a single row, and of a row of a page if Keep was called

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

// Keep returns the JSON of the entity that the reader read last, which does not hold the page. Texts that are decoded afterwards are
// parts of it. It returns none for an entity that is known by its columns.
func (r *Reader) Keep() JSON {
	if r.entity.JSON.Len() == 0 && r.to > r.from {
		r.entity.JSON.text = r.memory.text(r.b[r.from:r.to])
	}
	return r.entity.JSON
}

// kept returns the text of a string token as a caller may keep it. unquoted is that text in the reader's memory.
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
