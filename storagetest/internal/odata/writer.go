package odata

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf16"
)

// Writer writes JSON as the service does: in ASCII, without blanks.
type Writer struct {
	bytes.Buffer
	needsComma bool // a member precedes
}

// Open begins an object.
func (w *Writer) Open() {
	w.WriteByte('{')
	w.needsComma = false
}

// Close ends an object.
func (w *Writer) Close() {
	w.WriteByte('}')
	w.needsComma = true
}

// Key writes the name of a member. The caller writes its value.
func (w *Writer) Key(name string) {
	if w.needsComma {
		w.WriteByte(',')
	}
	w.needsComma = true
	w.text(name)
	w.WriteByte(':')
}

// Member writes a member with a text.
func (w *Writer) Member(name, value string) {
	w.Key(name)
	w.text(value)
}

// text writes a string.
func (w *Writer) text(s string) {
	const hex = "0123456789abcdef"
	unit := func(u uint16) {
		w.WriteString(`\u`)
		for shift := 12; shift >= 0; shift -= 4 {
			w.WriteByte(hex[u>>shift&15])
		}
	}
	w.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"', r == '\\':
			w.WriteByte('\\')
			w.WriteRune(r)
		case r == '\n':
			w.WriteString(`\n`)
		case r == '\r':
			w.WriteString(`\r`)
		case r == '\t':
			w.WriteString(`\t`)
		case r == '\b':
			w.WriteString(`\b`)
		case r == '\f':
			w.WriteString(`\f`)
		case r >= ' ' && r < 0x7F:
			w.WriteByte(byte(r))
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			unit(uint16(high))
			unit(uint16(low))
		default:
			unit(uint16(r))
		}
	}
	w.WriteByte('"')
}

// Property writes a property, and the annotation that its type needs at level l.
func (w *Writer) Property(p Property, l Level) {
	annotate := l != NoMetadata && p.Type != String && p.Type != Int32 && p.Type != Boolean
	f, isDouble := p.Value.(float64)
	special := isDouble && (math.IsNaN(f) || math.IsInf(f, 0))
	if annotate && (!isDouble || special) {
		w.Member(p.Name+"@odata.type", string(p.Type))
	}
	w.Key(p.Name)
	switch v := p.Value.(type) {
	case string:
		w.text(v)
	case int32:
		w.WriteString(strconv.Itoa(int(v)))
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int64:
		w.text(strconv.FormatInt(v, 10))
	case []byte:
		w.text(base64.StdEncoding.EncodeToString(v))
	case float64:
		switch {
		case math.IsNaN(v):
			w.text("NaN")
		case special:
			w.text(map[bool]string{true: "Infinity", false: "-Infinity"}[v > 0])
		default:
			w.WriteString(formatDouble(v))
		}
	case time.Time:
		w.text(FormatTime(v))
	}
}
