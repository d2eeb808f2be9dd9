package edm

import (
	"fmt"
	"sync"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// Writer encodes one entity, and checks the limits of the service. The first error stays, and
// Finish returns it.
type Writer struct {
	body        Body
	hint        int             // of the length of the JSON
	value       Value           // room for one
	scratch     []byte          // for the JSON of a property that is not written
	count       int             // of the properties
	ends        []int           // of the columns in the JSON
	large       bool            // the JSON is not written: it is made of the columns when it is sent
	length      int             // of the JSON that is not written
	surplus     int             // of bytes of the JSON in a transaction
	simpleKeys  bool            // both keys are simple; see isSimple
	head        rowSize         // the only row of most entities
	parts       []rowSize       // part 1 first
	owned       int             // so many of the count properties were encoded by the codec body.own
	stored      *Reader         // that has read the stored entity, whose columns stay
	numberTypes map[string]Kind // types of numbers that stay as they are stored
	err         error
	pool        *sync.Pool // that gets the writer back, nil for none
}

// rowSize is the size of one row of an entity.
type rowSize struct {
	count int // of properties
	bytes int // by the service's formula, which counts names and types
}

// NewWriter begins an entity with its keys, and with room for so many properties. Its columns are
// kept.
func NewWriter(partitionKey, rowKey string, room int) *Writer {
	w := new(Writer).start(partitionKey, rowKey)
	w.body.kept, w.body.columns, w.hint, w.ends = true, make([]Column, 0, room), 48*room, make([]int, 0, room)
	return w
}

// TextWriter begins an entity of the codec's type, whose columns will hardly be asked for: then
// they are decoded. Finish ends the writer.
func (p *Codec) TextWriter(partitionKey, rowKey string) *Writer {
	w, _ := p.writers.Get().(*Writer)
	if w == nil {
		w = &Writer{pool: &p.writers}
	}
	return w.start(partitionKey, rowKey)
}

func (w *Writer) start(partitionKey, rowKey string) *Writer {
	w.body.PartitionKey, w.body.RowKey = partitionKey, rowKey
	units := len(partitionKey) + len(rowKey)
	if w.simpleKeys = isSimple(partitionKey) && isSimple(rowKey); !w.simpleKeys {
		w.surplus = surplus(partitionKey) + surplus(rowKey)
		units = utf16Units(partitionKey) + utf16Units(rowKey)
	}
	// 4 bytes and two for each character of the keys: the size of an entity without properties.
	w.head.bytes = 4 + 2*units
	return w
}

// largeValue is the length of a text or of bytes that is not copied into the writer's JSON.
const largeValue = 8 << 10

// setLarge leaves the JSON to Body.Append.
func (w *Writer) setLarge() {
	if !w.large && w.body.kept {
		w.begin()
		w.large, w.length, w.body.json, w.ends = true, len(w.body.json), nil, nil
	}
}

// bytesOfKeys are the bytes of the JSON of the keys besides their texts, and a closing brace.
const bytesOfKeys = len(`{"` + PartitionKey + `":"","` + RowKey + `":""}`)

// begin writes the keys.
func (w *Writer) begin() {
	if b := &w.body; b.json == nil && !w.large {
		b.json = make([]byte, 0, w.hint+bytesOfKeys+len(b.PartitionKey)+len(b.RowKey))
		if w.simpleKeys {
			b.json = append(append(b.json, `{"`+PartitionKey+`":"`...), b.PartitionKey...)
			b.json = append(append(append(b.json, `","`+RowKey+`":"`...), b.RowKey...), '"')
		} else {
			b.json = appendKeys(b.json, b.PartitionKey, b.RowKey)
		}
		b.keysEnd = int32(len(b.json))
	}
}

// row returns the size of a part of the entity, of the head for 0.
func (w *Writer) row(part uint8) *rowSize {
	if part == 0 {
		return &w.head
	}
	for len(w.parts) < int(part) {
		w.parts = append(w.parts, rowSize{})
	}
	row := &w.parts[part-1]
	if row.count == 0 { // the first property of the part, which has a tag besides
		w.begin()
		if n := utf16Units(w.body.RowKey) + unitsOfMark; n > maxKeyUnits {
			w.Fail(&errs.LimitError{Field: RowKey, Limit: "UTF-16 units of the RowKey of a part, which is 3 longer than the entity's", Got: n, Max: maxKeyUnits})
		}
		row.count, row.bytes = 1, 4+2*(utf16Units(w.body.PartitionKey)+utf16Units(w.body.RowKey))+bytesOfPart
		w.surplus += int(w.body.keysEnd) + 1 + surplus(w.body.PartitionKey) + surplus(w.body.RowKey) + lengthOfPart
	}
	return row
}

// Finish returns the entity, or the first error: of a property, of the number of properties, or of
// the size.
func (w *Writer) Finish() (b Body, err error) {
	err = w.FinishTo(&b)
	return b, err
}

// FinishTo is Finish that sets a Body in its place.
func (w *Writer) FinishTo(to *Body) error {
	if w.err != nil {
		return w.err
	}
	w.begin()
	w.body.Length = len(w.body.json) + w.length + 1 + w.surplus
	err := w.head.check("an entity")
	for i := range w.parts {
		if err == nil {
			err = w.parts[i].check(fmt.Sprintf("part %d of an entity", i+1))
		}
	}
	if length := w.body.Length; err == nil && len(w.parts) > 0 && length > maxWide {
		err = &errs.LimitError{Limit: "bytes of the JSON of an entity with parts, which is stored in one transaction; store its large values in blobs (package largeentity)", Got: length, Max: maxWide}
	}
	if err != nil {
		return err
	}
	if b := &w.body; b.json != nil {
		b.json = append(b.json, '}')[:len(b.json)]
	}
	from := int(w.body.keysEnd)
	for i, end := range w.ends {
		w.body.columns[i].json = w.body.json[from:end:end]
		from = end
	}
	if w.count > w.owned {
		w.body.own = nil
	}
	*to = w.body
	if pool := w.pool; pool != nil {
		*w = Writer{pool: pool}
		pool.Put(w)
	}
	return nil
}

// check returns a *LimitError for a row that is too large.
func (r rowSize) check(of string) error {
	switch {
	case r.count > maxProperties:
		return &errs.LimitError{Limit: "properties in " + of + ", system properties included", Got: r.count, Max: maxProperties}
	case r.bytes > maxEntity:
		return &errs.LimitError{Limit: "bytes in " + of + ", by the service's formula", Got: r.bytes, Max: maxEntity}
	}
	return nil
}

// Fail keeps err as the entity's error, unless there is one.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Put adds a property; an absent value adds nothing. The name has been checked, or was read from
// the service.
func (w *Writer) Put(name string, v Value) { w.put(0, &label{name: name}, &v) }

// put adds a property in a part. It may change v.
func (w *Writer) put(part uint8, l *label, v *Value) {
	if v.Kind == Absent || w.err != nil {
		return
	}
	if k, ok := w.numberTypes[l.name]; ok {
		*v = v.asNumber(k)
	}
	w.begin()
	if len(v.S)+len(v.B) > largeValue {
		w.setLarge()
	}
	json, units, more := w.body.json, l.units, 0
	if w.large {
		json = w.scratch[:0]
	}
	if l.json != nil && l.kind == v.Kind {
		json = append(json, l.json...)
	} else {
		json, units = appendName(json, l.name, v.Kind), utf16Units(l.name)
		more = surplus(l.name)
		if v.Kind.annotated() {
			more *= 2
		}
	}
	size := 0
	if v.Kind == String && len(v.S) <= maxStringUnits && isSimple(v.S) {
		json = append(append(append(json, '"'), v.S...), '"')
		size = 4 + 2*len(v.S)
	} else {
		if err := CheckValue(l.name, v); err != nil {
			w.Fail(err)
			return
		}
		if v.Kind == String {
			more += surplus(v.S)
		}
		size = storedSize(v)
		if w.large && len(v.S)+len(v.B) > 0 {
			w.length += lengthOf(v)
		} else {
			json = appendJSON(json, v)
		}
	}
	if w.large {
		w.length, w.scratch = w.length+len(json), json
	} else {
		w.body.json = json
	}
	size += 8 + 2*units
	w.add(part, size, more)
	if w.body.kept {
		w.keep(Column{Name: l.name, Part: part, Value: *v, size: int32(size), surplus: int32(more)})
	}
}

// add counts a property whose JSON is written.
func (w *Writer) add(part uint8, size, surplus int) {
	w.count++
	row := w.row(part)
	row.count++
	row.bytes += size
	w.surplus += surplus
}

// keep keeps the column that was added last.
func (w *Writer) keep(c Column) {
	w.body.columns = append(w.body.columns, c)
	if !w.large {
		w.ends = append(w.ends, len(w.body.json))
	}
}

// PutColumn is Put for a property with its part.
func (w *Writer) PutColumn(c Column) {
	if c.json == nil || w.err != nil || w.numberTypes != nil {
		w.put(c.Part, &label{name: c.Name}, &c.Value)
		return
	}
	w.begin()
	if w.large {
		w.length += len(c.json)
	} else {
		w.body.json = append(w.body.json, c.json...)
	}
	w.add(c.Part, int(c.size), int(c.surplus))
	if w.body.kept {
		w.keep(c)
	}
}

// Encoded returns the column as it is sent. Its value is within the limits.
func (c Column) Encoded() Column {
	w := NewWriter("", "", 1)
	w.PutColumn(c)
	body, _ := w.Finish()
	return body.columns[0]
}

// Reserve counts a property of the size of c, which the caller of Append adds.
func (w *Writer) Reserve(c Column) {
	if c.json == nil {
		c = c.Encoded()
	}
	row := w.row(c.Part)
	row.count++
	row.bytes += int(c.size)
	w.surplus += len(c.json) + int(c.surplus)
}

func (w *Writer) putAny(part uint8, l *label, value any) {
	x, err := ValueOf(value)
	if err != nil {
		w.Fail(&errs.ValueError{Property: true, Field: l.name, Reason: err.Error()})
		return
	}
	w.put(part, l, &x)
}

// Body is an entity that can be sent: its keys and properties, within the limits of the service. It
// is encoded once, when it is made.
type Body struct {
	PartitionKey, RowKey string

	// Length is the number of bytes of the JSON in a transaction, at most. The SDK escapes there
	// what HTML may take for its own; the library does not.
	Length int

	json    []byte // without the closing brace, which is behind its end; nil if it is to be made of the columns
	keysEnd int32  // where the keys end in it
	kept    bool   // the columns are kept
	own     *Codec // see Stored
	columns []Column
}

// Columns returns the properties.
func (e *Body) Columns() []Column {
	if e.kept || e.json == nil {
		return e.columns
	}
	r := NewReader(e.JSON(nil))
	_, err := r.One()
	columns, cerr := r.Columns()
	if err != nil || cerr != nil {
		panic("edm: a body that was encoded cannot be decoded") // FuzzReader shows that it can
	}
	return columns
}

// Append appends the JSON of the entity to b, with one more property behind its own if end is not
// nil.
func (e *Body) Append(b []byte, end *Ending) []byte {
	if e.json != nil {
		b = append(b, e.json...)
	} else {
		b = appendKeys(b, e.PartitionKey, e.RowKey)
		for i := range e.columns {
			b = e.columns[i].append(b)
		}
	}
	if end != nil {
		return append(b, end.text...)
	}
	return append(b, '}')
}

// Pieces returns what Append appends, in two pieces. The caller must not change them.
func (e *Body) Pieces(end *Ending) (json []byte, rest string) {
	if e.json == nil || end == nil {
		return e.JSON(end), ""
	}
	return e.json, end.text
}

// JSON returns what Append appends. The caller must not change it.
func (e *Body) JSON(end *Ending) []byte {
	if e.json != nil && end == nil {
		n := len(e.json) + 1
		return e.json[:n:n]
	}
	room := e.Length
	if end != nil {
		room += len(end.text)
	}
	return e.Append(make([]byte, 0, room), end)
}

// WithColumns returns the entity with other columns of about the same length.
func (e Body) WithColumns(columns []Column) Body {
	e.json, e.kept, e.columns, e.own = nil, true, columns, nil
	return e
}

// Stored returns what is stored once the entity is sent, with the operation ID as its end, or
// without one.
func (e *Body) Stored(end *Ending) Stored {
	switch {
	case e.kept && end == nil:
		return Stored{Columns: append(make([]Column, 0, len(e.columns)), e.columns...)}
	case e.kept:
		return Stored{Columns: append(append(make([]Column, 0, len(e.columns)+1), e.columns...), end.Column)}
	case e.json == nil:
		return Stored{JSON: JSON{response: e.JSON(end)}}
	case end == nil:
		return Stored{JSON: JSON{response: e.JSON(nil)}, own: e.own}
	}
	return Stored{JSON: JSON{response: e.JSON(nil), text: end.text[:len(end.text)-1]}, own: e.own}
}

// WithKeys returns the entity under other keys.
func (e Body) WithKeys(partitionKey, rowKey string) Body {
	json := appendKeys(make([]byte, 0, len(e.json)+len(partitionKey)+len(rowKey)), partitionKey, rowKey)
	keysEnd := len(json)
	e.Length += keysEnd - int(e.keysEnd) + surplus(partitionKey) + surplus(rowKey) - surplus(e.PartitionKey) - surplus(e.RowKey)
	if e.json != nil {
		json = append(json, e.JSON(nil)[e.keysEnd:]...)
		e.json = json[:len(json)-1]
	}
	e.keysEnd = int32(keysEnd)
	e.PartitionKey, e.RowKey = partitionKey, rowKey
	return e
}

func appendKeys(b []byte, partitionKey, rowKey string) []byte {
	b = appendString(append(b, `{"`+PartitionKey+`":`...), partitionKey)
	return appendString(append(b, `,"`+RowKey+`":`...), rowKey)
}

// NewCopyWriter begins an entity with its keys, and with room for these columns, most of which were
// encoded. They will hardly be asked for: then they are decoded. Columns with large values are
// kept, so that these are not copied.
func NewCopyWriter(partitionKey, rowKey string, columns []Column) *Writer {
	hint := 0
	for i := range columns {
		c := &columns[i]
		value := len(c.Value.S) + len(c.Value.B)
		if value > largeValue {
			return NewWriter(partitionKey, rowKey, len(columns)+1)
		}
		hint += len(c.json)
		if c.json == nil {
			hint += len(c.Name) + value + 64
		}
	}
	w := new(Writer).start(partitionKey, rowKey)
	w.hint = hint
	return w
}

// label is the name of a property, and what is encoded of it once for all entities.
type label struct {
	name  string
	json  []byte // in front of a value of the kind; nil if it is not encoded
	kind  Kind
	units int
}
