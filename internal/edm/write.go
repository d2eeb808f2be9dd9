package edm

import (
	"encoding/base64"
	"math"
	"strconv"
)

// Writer builds the JSON body of an entity and computes the size of the entity by the service's formula, from names and types.
// Finish returns the first error.
type Writer struct {
	b           []byte
	count       int
	size        int
	numberTypes map[string]Kind // types of numbers that keep the type of their stored property
	err         error
}

// NewWriter returns a Writer that appends to b and has written the keys.
func NewWriter(b []byte, partitionKey, rowKey string) *Writer {
	if b == nil {
		b = make([]byte, 0, 512)
	}
	w := &Writer{b: append(b, `{"`+PartitionKey+`":`...)}
	w.b = appendString(w.b, partitionKey)
	w.b = append(w.b, `,"`+RowKey+`":`...)
	w.b = appendString(w.b, rowKey)
	// An entity without properties has 4 bytes and 2 for each UTF-16 unit of its keys.
	w.size = 4 + 2*(utf16Units(partitionKey)+utf16Units(rowKey))
	return w
}

// Finish returns the body, or the first error: of a property, or of the number of properties or the size of the entity.
func (w *Writer) Finish() ([]byte, error) {
	switch {
	case w.err != nil:
		return nil, w.err
	case w.count > maxProperties:
		return nil, &LimitError{Limit: "properties in an entity, system properties included", Got: w.count, Max: maxProperties}
	case w.size > maxEntity:
		return nil, &LimitError{Limit: "bytes in an entity, by the service's formula", Got: w.size, Max: maxEntity}
	}
	return append(w.b, '}'), nil
}

// Fail makes err the error of Finish, unless there is one already.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Put writes a property. An absent value writes nothing. The caller has checked the name, or read it from the service.
func (w *Writer) Put(name string, v Value) {
	if v.Kind == Absent || w.err != nil {
		return
	}
	if k, ok := w.numberTypes[name]; ok {
		v = v.asNumber(k)
	}
	if err := CheckValue(name, v); err != nil {
		w.Fail(err)
		return
	}
	w.b = appendEscaped(append(w.b, ',', '"'), name)
	if v.Kind != String && v.Kind != Int32 && v.Kind != Bool {
		w.b = append(w.b, annotation+`":"`...)
		w.b = append(w.b, kindNames[v.Kind]...)
		w.b = appendEscaped(append(w.b, `","`...), name)
	}
	w.b = append(w.b, `":`...)
	w.b = appendJSON(w.b, v)
	w.count++
	w.size += 8 + 2*utf16Units(name) + storedSize(v)
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
		return strconv.AppendFloat(b, v.F, 'g', -1, 64)
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
func (w *Writer) PutAny(name string, value any) {
	x, err := ValueOf(value)
	if err != nil {
		w.Fail(&ValueError{Field: name, Reason: err.Error()})
		return
	}
	w.Put(name, x)
}
