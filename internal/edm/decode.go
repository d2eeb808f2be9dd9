package edm

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// Decode sets the fields of v, a zero struct of the codec's type, from the entity that the reader
// read last. Properties without a field go to the map of unknown columns if the type has one,
// except for system properties.
func (p *Codec) Decode(r *Reader, v reflect.Value) error {
	x, own := &r.value, !p.composed
	for i := range r.members {
		m := &r.members[i]
		t, known := r.propertyOf(p, m)
		if !known {
			own = own && string(m.name) == reserved.OperationID
			if err := p.decodeExtra(r, m, v); err != nil {
				return err
			}
			continue
		}
		f := &p.fields[t.field]
		if f.form == composite || f.form == chunks {
			continue
		}
		if err := r.readOwn(m, x); err != nil {
			return err
		}
		own = own && x.Kind == f.storedKind()
		if x.Kind == Absent || f.scalar.isEmptyText(x) {
			continue
		}
		fv := f.valueIn(v)
		if f.form == elements {
			fv = elementAt(fv, t.sub)
		}
		if !f.scalar.set(fv, x) {
			return f.mismatch(f.names[t.sub], fv, x)
		}
	}
	r.shape.teach()
	if own {
		r.own = p
	}
	if !p.composed {
		return nil
	}
	if err := p.decodeChunks(r, v); err != nil {
		return err
	}
	return p.decodeComposites(r, v)
}

// propertyOf returns the field of a member.
func (r *Reader) propertyOf(p *Codec, m *member) (propertyOf, bool) {
	if m.at == notSeen {
		of, known := p.byName[string(m.name)]
		return of, known
	}
	s := &r.shape.all[m.at]
	if s.codec == p {
		return s.of, s.known
	}
	of, known := p.byName[string(m.name)]
	if !r.shape.shared {
		s.codec, s.of, s.known = p, of, known
	}
	return of, known
}

// valueIn returns the field in a struct.
func (f *field) valueIn(v reflect.Value) reflect.Value {
	if len(f.path) == 1 {
		return v.Field(f.path[0])
	}
	return v.FieldByIndex(f.path)
}

// elementAt returns the i-th element of a list, which it extends if necessary.
func elementAt(list reflect.Value, i int) reflect.Value {
	if n := i + 1 - list.Len(); n > 0 {
		list.Set(reflect.AppendSlice(list, reflect.MakeSlice(list.Type(), n, n)))
	}
	return list.Index(i)
}

// SetElement sets an element of a list, which it extends if necessary.
func SetElement(list reflect.Value, i int, v reflect.Value) { elementAt(list, i).Set(v) }

func (f *field) mismatch(name string, v reflect.Value, x *Value) error {
	e := &errs.DecodeError{Field: name, Reason: fmt.Sprintf("the %v does not fit the field's type %v", x.Kind, v.Type())}
	if f.scalar.wants != "" && x.Kind == f.scalar.kind {
		e.Reason = fmt.Sprintf("the %v is not %s that fits the field's type %v, as the option of its tag requires", x.Kind, f.scalar.wants, v.Type())
	}
	if f.scalar.fail != nil {
		if e.Err = f.scalar.fail(v, x); e.Err != nil {
			e.Reason = fmt.Sprintf("the field's type %v refuses a text of %d bytes", v.Type(), len(x.S))
		}
	}
	return e
}

func (p *Codec) decodeExtra(r *Reader, m *member, v reflect.Value) error {
	if m.column == nil && string(m.name) == reserved.Parts && m.tok.kind != 'n' {
		return &errs.DecodeError{Field: reserved.Parts, Reason: "says that the entity has parts, which this handle does not read; give the fields their parts by tags, or set Schema.Parts"}
	}
	if p.extra == nil || IsSystem(string(m.name)) {
		return nil
	}
	x := &r.value
	if err := r.readOwn(m, x); err != nil || x.Kind == Absent {
		return err
	}
	columns := v.FieldByIndex(p.extra)
	if columns.IsNil() {
		columns.Set(reflect.MakeMap(columns.Type()))
	}
	columns.Interface().(map[string]any)[r.name(m)] = x.Any()
	return nil
}

// decodeChunks sets each field that is stored in pieces.
func (p *Codec) decodeChunks(r *Reader, v reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if f.form != chunks {
			continue
		}
		pieces, last := make([]Value, len(f.names)), -1
		for j := range r.members {
			m := &r.members[j]
			t, known := p.byName[string(m.name)]
			if !known || t.field != i {
				continue
			}
			if err := r.read(m, &pieces[t.sub]); err != nil {
				return err
			}
			if pieces[t.sub].Kind != Absent {
				last = max(last, t.sub)
			}
		}
		if last < 0 {
			continue
		}
		whole, err := join(f.scalar.kind, f.names, pieces[:last+1])
		if err != nil {
			return err
		}
		fv := v.FieldByIndex(f.path)
		if last == 0 {
			whole = whole.owned()
		}
		if !f.scalar.set(fv, &whole) {
			return f.mismatch(f.name, fv, &whole)
		}
	}
	return nil
}

// decodeComposites sets each composite field of which at least one property is present.
func (p *Codec) decodeComposites(r *Reader, v reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		if f.form != composite {
			continue
		}
		values, present := make([]any, len(f.names)), false
		for j := range r.members {
			m := &r.members[j]
			if t, ok := p.byName[string(m.name)]; !ok || t.field != i {
				continue
			}
			x := &r.value
			if err := r.readOwn(m, x); err != nil {
				return err
			}
			values[p.byName[string(m.name)].sub] = x.Any()
			present = present || x.Kind != Absent
		}
		if !present {
			continue
		}
		if err := v.FieldByIndex(f.path).Addr().Interface().(Composite).SetPropertyValues(values); err != nil {
			return &errs.DecodeError{Field: f.name, Reason: "cannot be read from its properties", Err: err}
		}
	}
	return nil
}

// Stored returns the content of the entity.
func (e Entity) Stored() Stored { return Stored{JSON: e.JSON, Columns: e.Columns} }

// Own notes whether all of the content is the codec's own. r has read it, and p has decoded it.
func (s Stored) Own(p *Codec, r *Reader) Stored {
	s.own = nil
	if r.own == p {
		s.own = p
	}
	return s
}

// reader returns a reader of the entity.
func (j JSON) reader() *Reader {
	switch {
	case j.response == nil:
		return NewReader([]byte(j.text))
	case j.text == "":
		return NewReader(j.response)
	}
	b := make([]byte, 0, j.Len())
	b = append(append(b, j.response[:len(j.response)-1]...), j.text...)
	return NewReader(append(b, '}'))
}

// Open returns a reader that has read the entity. The keys are for an entity that is known by its
// columns.
func (s Stored) Open(partitionKey, rowKey string) (*Reader, Entity, error) {
	if s.JSON.Len() > 0 {
		r := s.JSON.reader()
		in, err := r.One()
		return r, in, err
	}
	e := Entity{PartitionKey: partitionKey, RowKey: rowKey}
	return ReadColumns(e, s.Columns), e, nil
}

// ReadColumns returns a reader that has read an entity of these columns.
func ReadColumns(e Entity, columns []Column) *Reader {
	r := NewReader(nil)
	r.entity = e
	for i := range columns {
		from := len(r.scratch)
		r.scratch = append(r.scratch, columns[i].Name...)
		r.members = append(r.members, member{name: r.scratch[from:len(r.scratch):len(r.scratch)], at: notSeen, column: &columns[i]})
	}
	return r
}

// Decoded returns the columns.
func (s Stored) Decoded() ([]Column, error) {
	if s.Columns != nil || s.JSON.Len() == 0 {
		return s.Columns, nil
	}
	r, _, err := s.Open("", "")
	if err != nil {
		return nil, err
	}
	return r.Columns()
}

// Overlay returns the stored entity with the columns in set in place of its own: what a merge makes
// of a row. Those in except are left out, and room is counted for reserve, if it is a column.
// Errors: *LimitError if the entity becomes too large.
func (s Stored) Overlay(partitionKey, rowKey string, set []Column, reserve Column, except ...string) (Stored, error) {
	old, err := s.Decoded()
	if err != nil {
		return Stored{}, err
	}
	w := NewWriter(partitionKey, rowKey, len(old)+len(set)+1)
	for _, c := range old {
		if !slices.ContainsFunc(set, func(s Column) bool { return s.Name == c.Name }) && !slices.Contains(except, c.Name) {
			w.PutColumn(c)
		}
	}
	for _, c := range set {
		w.PutColumn(c)
	}
	if reserve.Name != "" {
		w.Reserve(reserve)
	}
	body, err := w.Finish()
	return Stored{Columns: body.Columns()}, err
}

// open returns a reader that has read the stored entity, which is the same for all properties of
// the writer; nil for an error.
func (w *Writer) open(stored Stored) *Reader {
	if w.stored == nil && w.err == nil {
		r, _, err := stored.Open(w.body.PartitionKey, w.body.RowKey)
		if err != nil {
			w.Fail(err)
			return nil
		}
		w.stored = r
	}
	return w.stored
}

// storedNumberTypes returns the types of numbers in a stored entity that differ from the types of
// their fields, nil for none.
func (p *Codec) storedNumberTypes(w *Writer, stored Stored) (types map[string]Kind) {
	if !stored.Known() || stored.own == p {
		return nil
	}
	r := w.open(stored)
	if r == nil {
		return nil
	}
	composites := false
	for i := range r.members {
		m, x := &r.members[i], &r.value
		t, known := p.byName[string(m.name)]
		if !known || p.fields[t.field].scalar.declared || m.column == nil && m.tok.kind != '0' && m.kind != Int64 {
			continue
		}
		if err := r.read(m, x); err != nil || x.Kind != Int32 && (x.Kind != Int64 || m.typ == nil && m.column == nil) || x.Kind == p.fields[t.field].storedKind() {
			continue // an emulator returns a large whole double without a decimal point
		}
		if types == nil {
			types = map[string]Kind{}
		}
		types[string(m.name)] = x.Kind
		composites = composites || p.fields[t.field].form == composite
	}
	if composites {
		p.dropChosenTypes(r, types)
	}
	return types
}

// dropChosenTypes removes the types that a composite field chose itself. Such a type is part of the
// field's value, and no other program chose it. A composite field chose a type if it returns the
// same type for the stored properties.
func (p *Codec) dropChosenTypes(r *Reader, types map[string]Kind) {
	stored := reflect.New(p.Type).Elem()
	if p.decodeComposites(r, stored) != nil {
		return
	}
	for i := range p.fields {
		f := &p.fields[i]
		if f.form != composite {
			continue
		}
		values, err := stored.FieldByIndex(f.path).Addr().Interface().(Composite).PropertyValues()
		if err != nil || len(values) != len(f.names) {
			continue
		}
		for j, name := range f.names {
			if x, err := ValueOf(values[j]); err == nil && x.Kind == types[name] {
				delete(types, name)
			}
		}
	}
}

// PutUnknown copies from a stored entity the properties without a field: unknown columns and system
// properties, without the operation ID and the names in except. It does not copy unknown columns if
// the type has a map for them, since the map replaces them.
func (p *Codec) PutUnknown(w *Writer, stored Stored, except ...string) {
	if !stored.Known() || stored.own == p {
		return
	}
	r := w.open(stored)
	if r == nil {
		return
	}
	for i := range r.members {
		m := &r.members[i]
		if _, known := p.byName[string(m.name)]; known || p.extra != nil && !IsSystem(string(m.name)) || string(m.name) == reserved.OperationID || slices.Contains(except, string(m.name)) {
			continue
		}
		if err := r.read(m, &r.value); err != nil {
			w.Fail(err)
			return
		}
		w.PutColumn(Column{Name: r.name(m), Value: r.value, Part: m.part()})
	}
}

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
	return &Ending{c, string(append(c.append(make([]byte, 0, 96)), '}'))}
}

func (c *Column) append(b []byte) []byte {
	if c.json != nil {
		return append(b, c.json...)
	}
	return appendJSON(appendName(b, c.Name, c.Value.Kind), &c.Value)
}

// Columns returns the properties of the entity that the reader read last, in the order of the
// response.
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

// Property returns the value of a property of the entity that the reader read last, absent if there
// is none.
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

// Each calls f with the properties of the entity that the reader read last, in the order of the
// response. f must not keep v, which the reader uses again.
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

// chunksOf returns a long text or []byte in chunks. All chunks but the last are full, and the last
// is not, so that a missing chunk shows. A text is not cut inside a character: a full chunk may be
// a unit shorter. An absent value has no chunks.
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

// join returns the value of chunks of a kind, the last of which is there. names are their
// properties.
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

// isEmptyText reports whether a field that is stored as text has no value. Empty bytes are a value.
func (s *scalar) isEmptyText(x *Value) bool {
	return s.plain != nil && x.Kind == String && x.S == "" && s.plain.kind != Binary
}

// SetTimestamp sets the Timestamp of an aztables.Entity that v, a struct of the codec's type,
// embeds.
func (p *Codec) SetTimestamp(v reflect.Value, t time.Time) {
	if p.timestamp != nil {
		v.FieldByIndex(p.timestamp).Set(reflect.ValueOf(aztables.EDMDateTime(t)))
	}
}
