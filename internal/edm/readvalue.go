package edm

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
)

// ofProperty adds the name of the property to a DecodeError.
func ofProperty(name []byte, err error) error {
	var de *DecodeError
	if errors.As(err, &de) && de.Field == "" {
		return &DecodeError{Field: string(name), Reason: de.Reason}
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
		return &DecodeError{Reason: "is an object or a list, which the service does not store"}
	case '"':
		if !m.tok.plain {
			scratch := len(r.scratch)
			var err error
			text, err = r.unquoted(&m.tok)
			if r.scratch = r.scratch[:scratch]; err != nil {
				return err
			}
		}
	}
	if m.typ == nil && m.kind == Absent {
		return r.parseUntyped(&m.tok, text, v)
	}
	isText, ok := m.tok.kind == '"', false
	switch v.Kind = m.kind; m.kind {
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
		v.B, ok = r.parseBinary(text)
		ok = ok && isText
	default:
		return &DecodeError{Reason: fmt.Sprintf("has the unknown type %.60q", m.typ)}
	}
	if !ok {
		return &DecodeError{Reason: fmt.Sprintf("has a value of %d bytes that is not a valid %v", m.tok.to-m.tok.from, m.kind)}
	}
	return nil
}

// parseBinary returns the bytes of a text of base64.
func (r *Reader) parseBinary(text []byte) ([]byte, bool) {
	b := r.memory.room(base64.StdEncoding.DecodedLen(len(text)))
	n, err := strictBase64.Decode(b, text)
	return b[:n:n], err == nil
}

var strictBase64 = base64.StdEncoding.Strict()

// readOwn is read for a value of a field, which the caller may change: it shares no memory with the columns of the entity.
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
		return &DecodeError{Reason: "has a number that is neither an Int64 nor a Double"}
	}
	return nil
}
