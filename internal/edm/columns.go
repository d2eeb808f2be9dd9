package edm

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// Column is the name and the value of a property. A column is never changed, but replaced.
type Column struct {
	Name  string
	Value Value
	Part  uint8 // of a wide entity: the number of the part in which the property is stored, 0 for the head

	json    []byte // as it is sent, nil if it was not encoded
	size    int32  // by the service's formula, of an encoded column
	surplus int32  // of bytes of the JSON in a transaction, of an encoded column
}

// Same reports whether two columns have the same name and the same value, in whatever part.
func (c Column) Same(d Column) bool {
	return c.Name == d.Name && Same(c.Value, d.Value)
}

// Ending is a property that is encoded once, and appended to several entities.
type Ending struct {
	Column Column
	text   string // with the brace behind it
}

// Ending returns the property as an Ending.
func (c Column) Ending() *Ending {
	return &Ending{c, string(append(c.append(make([]byte, 0, 64)), '}'))}
}

func (c *Column) append(b []byte) []byte {
	if c.json != nil {
		return append(b, c.json...)
	}
	return appendJSON(appendName(b, c.Name, c.Value.Kind), &c.Value)
}

// Columns returns the properties of the entity that the reader read last, in the order of the response.
func (r *Reader) Columns() ([]Column, error) {
	columns := make([]Column, 0, len(r.members))
	for i := range r.members {
		m, n := &r.members[i], len(columns)
		columns = columns[:n+1]
		c := &columns[n]
		if err := r.read(m, &c.Value); err != nil {
			return nil, err
		}
		if c.Value.Kind == Absent {
			columns = columns[:n]
			continue
		}
		c.Name, c.Part = r.name(m), m.part()
	}
	return columns, nil
}

// Property returns the value of a property of the entity that the reader read last, absent if there is none.
func (r *Reader) Property(name string) (Value, error) {
	for i := range r.members {
		if m := &r.members[i]; string(m.name) == name {
			err := r.read(m, &r.value)
			return r.value, err
		}
	}
	return Value{}, nil
}

// name returns the name of a property. The entities of a page share it.
func (r *Reader) name(m *member) string {
	switch {
	case m.column != nil:
		return m.column.Name
	case m.at == notSeen:
		return r.memory.text(m.name)
	}
	s := &r.shape.all[m.at]
	if s.text == "" && !r.shape.shared {
		s.text = string(s.name)
	}
	return s.text
}

// Each calls f with the properties of the entity that the reader read last, in the order of the response. f must not keep v, which the
// reader uses again.
func (r *Reader) Each(f func(name string, v *Value)) error {
	for i := range r.members {
		m := &r.members[i]
		if err := r.read(m, &r.value); err != nil {
			return err
		}
		if r.value.Kind != Absent {
			f(r.name(m), &r.value)
		}
	}
	return nil
}

// chunkUnits is the greatest length of a chunk of a text, in UTF-16 units.
const chunkUnits = 32000

// chunksOf returns a long text or []byte in chunks. All chunks but the last are full, and the last is not, so that a missing chunk
// shows. A text is not cut inside a character: a full chunk may be a unit shorter. An absent value has no chunks.
func chunksOf(x Value) (all []Value) {
	switch x.Kind {
	case Binary:
		for len(x.B) >= maxBinary {
			all = append(all, Value{Kind: Binary, B: x.B[:maxBinary:maxBinary]})
			x.B = x.B[maxBinary:]
		}
		all = append(all, x)
	case String:
		for full := true; full; {
			var end int
			end, full = cut(x.S)
			all = append(all, Value{Kind: String, S: x.S[:end]})
			x.S = x.S[end:]
		}
	}
	return all
}

// cut returns where the first chunk of a text ends, and whether the chunk is full.
func cut(s string) (end int, full bool) {
	units := 0
	for i, r := range s {
		n := utf16.RuneLen(r)
		if units+n > chunkUnits {
			return i, true
		}
		units += n
	}
	return len(s), units >= chunkUnits-1
}

// join returns the value of chunks of a kind, the last of which is there. names are their properties.
func join(kind Kind, names []string, pieces []Value) (Value, error) {
	size := 0
	for i, x := range pieces {
		if x.Kind != kind {
			if x.Kind == Absent {
				return Value{}, &errs.DecodeError{Field: names[i], Reason: "is missing, but a later chunk of the value is there"}
			}
			return Value{}, &errs.DecodeError{Field: names[i], Reason: fmt.Sprintf("is %v; the field has chunks of %v", x.Kind, kind)}
		}
		full := len(x.B) == maxBinary
		if x.Kind == String {
			full = len(x.S) >= chunkUnits-1 && utf16Units(x.S) >= chunkUnits-1
		}
		switch isLast := i == len(pieces)-1; {
		case full && isLast:
			return Value{}, &errs.DecodeError{Field: names[i], Reason: "is a full chunk, but the chunk behind it is missing"}
		case !full && !isLast:
			return Value{}, &errs.DecodeError{Field: names[i], Reason: "is not full, but is not the last chunk of the value"}
		}
		size += len(x.B) + len(x.S)
	}
	if len(pieces) == 1 {
		return pieces[0], nil
	}
	if kind == String {
		var text strings.Builder
		text.Grow(size)
		for _, x := range pieces {
			text.WriteString(x.S)
		}
		return Value{Kind: String, S: text.String()}, nil
	}
	joined := make([]byte, 0, size)
	for _, x := range pieces {
		joined = append(joined, x.B...)
	}
	return Value{Kind: Binary, B: joined}, nil
}
