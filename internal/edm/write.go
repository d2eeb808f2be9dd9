package edm

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// The limits of an entity ('Understanding the Table service data model').
const (
	maxProperties  = 252
	maxEntity      = 1 << 20
	maxStringUnits = 32 << 10
	maxBinary      = 64 << 10
)

// The service's range of DateTime.
var (
	minTime = time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_900, time.UTC)
)

// Body is an entity that can be sent: its keys and properties, within the limits of the service. It is encoded once, by Append.
type Body struct {
	PartitionKey, RowKey string
	Columns              []Column

	// Length is the number of bytes of the JSON in a transaction. The SDK escapes there what HTML may take for its own.
	Length int
}

// Writer collects the properties of one entity, and checks the limits of the service. The first error stays, and Finish returns it.
type Writer struct {
	body  Body
	count int             // of properties
	size  int             // by the service's formula, which counts names and types
	keep  map[string]Kind // types of numbers that stay as they are stored
	err   error
}

// NewWriter begins an entity with its keys, and with room for so many properties.
func NewWriter(partitionKey, rowKey string, room int) *Writer {
	w := &Writer{body: Body{PartitionKey: partitionKey, RowKey: rowKey, Columns: make([]Column, 0, room)}}
	// 4 bytes and two for each character of the keys: the size of an entity without properties.
	w.size = 4 + 2*(units(partitionKey)+units(rowKey))
	w.body.Length = len(`{"":"","":""}`) + len(PartitionKey) + textLength(partitionKey) + len(RowKey) + textLength(rowKey)
	return w
}

// Finish returns the entity, or the first error: of a property, of the number of properties, or of the size.
func (w *Writer) Finish() (Body, error) {
	switch {
	case w.err != nil:
		return Body{}, w.err
	case w.count > maxProperties:
		return Body{}, &LimitError{Limit: "properties of an entity, those of the library included", Got: w.count, Max: maxProperties}
	case w.size > maxEntity:
		return Body{}, &LimitError{Limit: "bytes of an entity, by the service's formula", Got: w.size, Max: maxEntity}
	}
	return w.body, nil
}

// Fail keeps err as the entity's error, unless there is one.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Put adds a property; an absent value adds nothing. The name has been checked, or was read from the service.
func (w *Writer) Put(name string, v Value) {
	if v.Kind == Absent || w.err != nil {
		return
	}
	if k, ok := w.keep[name]; ok {
		v = v.as(k)
	}
	if err := CheckValue(name, v); err != nil {
		w.Fail(err)
		return
	}
	c := Column{name, v}
	w.body.Columns = append(w.body.Columns, c)
	w.Reserve(c)
}

// Reserve counts a property of the size of c, which the caller of Append adds.
func (w *Writer) Reserve(c Column) {
	w.count++
	w.size += 8 + 2*units(c.Name) + size(c.Value)
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
	b = appendName(append(b, ',', '"'), c.Name)
	if c.Value.Kind.annotated() {
		b = append(b, annotation+`":"`...)
		b = append(b, kindNames[c.Value.Kind]...)
		b = appendName(append(b, `","`...), c.Name)
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

// CheckValue applies the limits of a single property.
func CheckValue(name string, v Value) error {
	switch v.Kind {
	case String:
		if !utf8.ValidString(v.S) {
			return &ValueError{Field: name, Reason: "the text is not valid UTF-8"}
		}
		if len(v.S) > maxStringUnits { // a character has no more units than bytes
			if n := units(v.S); n > maxStringUnits {
				return &LimitError{Field: name, Limit: "UTF-16 units", Got: n, Max: maxStringUnits}
			}
		}
	case Binary:
		if n := len(v.B); n > maxBinary {
			return &LimitError{Field: name, Limit: "bytes", Got: n, Max: maxBinary}
		}
	case DateTime:
		if v.T.Before(minTime) || v.T.After(maxTime) {
			return &ValueError{Field: name, Reason: fmt.Sprintf("the time %s is outside 1601-01-01 to 9999-12-31", v.T.Format(time.RFC3339))}
		}
	}
	return nil
}

// size is what a value counts for in the service's formula.
func size(v Value) int {
	switch v.Kind {
	case String:
		return 4 + 2*units(v.S)
	case Binary:
		return 4 + len(v.B)
	case Guid:
		return 16
	case Int32:
		return 4
	case Bool:
		return 1
	}
	return 8
}

// appendJSON writes a value without its annotation.
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
		return strconv.AppendFloat(b, v.F, 'g', -1, 64)
	case Bool:
		return strconv.AppendBool(b, v.I != 0)
	case DateTime:
		b = v.T.AppendFormat(append(b, '"'), dateTime)
	case Guid:
		b = appendGuid(append(b, '"'), v.G)
	case Binary:
		b = base64.StdEncoding.AppendEncode(append(b, '"'), v.B)
	}
	return append(b, '"')
}

// dateTime is the service's own form: up to seven digits, trailing zeros trimmed.
const dateTime = "2006-01-02T15:04:05.9999999Z"

func appendGuid(b []byte, g [16]byte) []byte {
	const digits = "0123456789abcdef"
	for i, c := range g {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, digits[c>>4], digits[c&15])
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(appendName(append(b, '"'), s), '"')
}

// appendName writes a text without its quotes.
func appendName(b []byte, s string) []byte {
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
