package edm

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
)

// Body is an entity that can be sent: its keys and properties, within the limits of the service. It is encoded once, by Append.
type Body struct {
	PartitionKey, RowKey string
	Columns              []Column

	// Length is the number of bytes of the JSON in a transaction, at most. The SDK escapes there what HTML may take for its own; the
	// library does not.
	Length int
}

// Writer collects the properties of one entity, and checks the limits of the service. The first error stays, and Finish returns it.
type Writer struct {
	body        Body
	head        rowSize         // the only row of most entities
	parts       []rowSize       // part 1 first
	numberTypes map[string]Kind // types of numbers that stay as they are stored
	err         error
}

// rowSize is the size of one row of an entity.
type rowSize struct {
	count int // of properties
	bytes int // by the service's formula, which counts names and types
}

// NewWriter begins an entity with its keys, and with room for so many properties.
func NewWriter(partitionKey, rowKey string, room int) *Writer {
	w := &Writer{body: Body{PartitionKey: partitionKey, RowKey: rowKey, Columns: make([]Column, 0, room)}}
	// 4 bytes and two for each character of the keys: the size of an entity without properties.
	w.head.bytes = 4 + 2*(utf16Units(partitionKey)+utf16Units(rowKey))
	w.body.Length = w.lengthOfKeys()
	return w
}

// lengthOfKeys is the number of bytes of the JSON of a row without properties.
func (w *Writer) lengthOfKeys() int {
	return len(`{"":"","":""}`) + len(PartitionKey) + textLength(w.body.PartitionKey) + len(RowKey) + textLength(w.body.RowKey)
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
		if n := utf16Units(w.body.RowKey) + unitsOfMark; n > maxKeyUnits {
			w.Fail(&LimitError{Field: RowKey, Limit: "UTF-16 units of the RowKey of a part, which is 3 longer than the entity's", Got: n, Max: maxKeyUnits})
		}
		row.count, row.bytes = 1, 4+2*(utf16Units(w.body.PartitionKey)+utf16Units(w.body.RowKey))+bytesOfPart
		w.body.Length += w.lengthOfKeys() + lengthOfPart
	}
	return row
}

// Finish returns the entity, or the first error: of a property, of the number of properties, or of the size.
func (w *Writer) Finish() (Body, error) {
	if w.err != nil {
		return Body{}, w.err
	}
	err := w.head.check("an entity")
	for i := range w.parts {
		if err == nil {
			err = w.parts[i].check(fmt.Sprintf("part %d of an entity", i+1))
		}
	}
	if length := w.body.Length; err == nil && len(w.parts) > 0 && length > maxWide {
		err = &LimitError{Limit: "bytes of the JSON of an entity with parts, which is stored in one transaction; store its large values in blobs (package largeentity)", Got: length, Max: maxWide}
	}
	if err != nil {
		return Body{}, err
	}
	return w.body, nil
}

// check returns the error of a row that is too large.
func (r rowSize) check(of string) error {
	switch {
	case r.count > maxProperties:
		return &LimitError{Limit: "properties in " + of + ", system properties included", Got: r.count, Max: maxProperties}
	case r.bytes > maxEntity:
		return &LimitError{Limit: "bytes in " + of + ", by the service's formula", Got: r.bytes, Max: maxEntity}
	}
	return nil
}

// Fail keeps err as the entity's error, unless there is one.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Put adds a property; an absent value adds nothing. The name has been checked, or was read from the service.
func (w *Writer) Put(name string, v Value) { w.putIn(0, name, v) }

// putIn is Put for a property of a field, in a part.
func (w *Writer) putIn(part uint8, name string, v Value) {
	if k, ok := w.numberTypes[name]; ok {
		v = v.asNumber(k)
	}
	w.PutColumn(Column{Name: name, Value: v, Part: part})
}

// PutColumn is Put for a property with its part.
func (w *Writer) PutColumn(c Column) {
	if c.Value.Kind == Absent || w.err != nil {
		return
	}
	if err := CheckValue(c.Name, c.Value); err != nil {
		w.Fail(err)
		return
	}
	w.body.Columns = append(w.body.Columns, c)
	w.Reserve(c)
}

// Reserve counts a property of the size of c, which the caller of Append adds.
func (w *Writer) Reserve(c Column) {
	row := w.row(c.Part)
	row.count++
	row.bytes += 8 + 2*utf16Units(c.Name) + storedSize(c.Value)
	w.body.Length += c.length()
}

// Append appends the JSON of the entity to b, with more properties behind its own.
func (e Body) Append(b []byte, more ...Column) []byte {
	b = append(b, `{"`+PartitionKey+`":`...)
	b = appendString(b, e.PartitionKey)
	b = append(b, `,"`+RowKey+`":`...)
	b = appendString(b, e.RowKey)
	for i := range e.Columns {
		b = appendColumn(b, &e.Columns[i])
	}
	for i := range more {
		b = appendColumn(b, &more[i])
	}
	return append(b, '}')
}

// annotated reports whether the JSON of a value says its type.
func (k Kind) annotated() bool { return k != String && k != Int32 && k != Bool }

func appendColumn(b []byte, c *Column) []byte {
	b = appendEscaped(append(b, ',', '"'), c.Name)
	if c.Value.Kind.annotated() {
		b = append(b, annotation+`":"`...)
		b = append(b, kindNames[c.Value.Kind]...)
		b = appendEscaped(append(b, `","`...), c.Name)
	}
	b = append(b, `":`...)
	return appendJSON(b, c.Value)
}

// length is the number of bytes that the column adds to Body.Length.
func (c *Column) length() int {
	name := textLength(c.Name)
	n := len(`,"":`) + name
	if c.Value.Kind.annotated() {
		n += len(annotation) + len(`":"","`) + len(kindNames[c.Value.Kind]) + name
	}
	switch c.Value.Kind {
	case String:
		return n + 2 + textLength(c.Value.S)
	case Binary:
		return n + 2 + base64.StdEncoding.EncodedLen(len(c.Value.B))
	}
	var room [64]byte
	return n + len(appendJSON(room[:0], c.Value))
}

// textLength is the number of bytes of a text in the JSON of a transaction, without its quotes.
func textLength(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			n++
		case c < 0x20, c == '<', c == '>', c == '&':
			n += 5
		case c == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xA8: // U+2028 and U+2029
			n += 3
		}
	}
	return n
}

// appendJSON appends a value without its annotation.
func appendJSON(b []byte, v Value) []byte {
	switch v.Kind {
	case String:
		return appendString(b, v.S)
	case Int32:
		return strconv.AppendInt(b, v.I, 10)
	case Int64:
		b = strconv.AppendInt(append(b, '"'), v.I, 10)
	case Double:
		switch {
		case v.F != v.F:
			return append(b, `"NaN"`...)
		case v.F > math.MaxFloat64:
			return append(b, `"Infinity"`...)
		case v.F < -math.MaxFloat64:
			return append(b, `"-Infinity"`...)
		}
		return appendNumber(b, v.F)
	case Bool:
		return strconv.AppendBool(b, v.I != 0)
	case DateTime:
		b = v.T.AppendFormat(append(b, '"'), dateTime)
	case Guid:
		b = appendGUID(append(b, '"'), v.G)
	case Binary:
		b = base64.StdEncoding.AppendEncode(append(b, '"'), v.B)
	}
	return append(b, '"')
}

// appendNumber appends a number as encoding/json writes it, and so the SDK: without an exponent if it has up to 21 digits.
func appendNumber(b []byte, f float64) []byte {
	if size := math.Abs(f); size == 0 || size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' { // e-09 to e-9
		b = append(b[:n-2], b[n-1])
	}
	return b
}

// dateTime is the service's form of a time: up to seven fractional digits, without trailing zeros.
const dateTime = "2006-01-02T15:04:05.9999999Z"

func appendString(b []byte, s string) []byte {
	return append(appendEscaped(append(b, '"'), s), '"')
}

// appendEscaped appends a text without quotes.
func appendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', "01"[c>>4], "0123456789abcdef"[c&15])
		}
		from = i + 1
	}
	return append(b, s[from:]...)
}

// PutAny is Put for a Go value of a type that ValueOf accepts.
func (w *Writer) PutAny(name string, value any) { w.putAnyIn(0, name, value) }

func (w *Writer) putAnyIn(part uint8, name string, value any) {
	x, err := ValueOf(value)
	if err != nil {
		w.Fail(&ValueError{Field: name, Reason: err.Error()})
		return
	}
	w.putIn(part, name, x)
}
