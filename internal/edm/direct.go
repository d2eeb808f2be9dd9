package edm

import (
	"encoding/base64"
	"math"
	"reflect"
	"strconv"
	"time"
)

// This file encodes the most frequent fields straight into the JSON of a writer that keeps no columns.

// isDirect reports whether fields can be encoded straight into the JSON.
func (w *Writer) isDirect() bool { return !w.body.kept && w.numberTypes == nil && w.err == nil }

// encodeDirect encodes the fields of v.
func (p *Plan) encodeDirect(w *Writer, v reflect.Value) {
	b, row := w.body.json, &w.head
	for i := range p.fields {
		f := &p.fields[i]
		switch {
		case f.form == bound:
			continue
		case f.direct:
			if longer, size := appendDirect(b, &f.labels[0], v.Field(f.path[0])); size > 0 {
				b = longer
				w.count++
				row.count++
				row.bytes += size
				continue
			}
		}
		w.body.json = b
		f.encode(w, f.of(v))
		b = w.body.json
	}
	w.body.json = b
}

// appendDirect appends the property of a field that is direct, and returns its size by the service's formula. The size is 0 if the
// property was not appended: its value is absent, long, or needs escapes.
func appendDirect(b []byte, l *label, v reflect.Value) ([]byte, int) {
	size := 8
	b = append(b, l.json...)
	switch l.kind {
	case String:
		s := v.String()
		if len(s) > largeValue || !isSimple(s) {
			return nil, 0
		}
		b, size = append(append(append(b, '"'), s...), '"'), 4+2*len(s)
	case Int32:
		b, size = strconv.AppendInt(b, v.Int(), 10), 4
	case Int64:
		b = append(strconv.AppendInt(append(b, '"'), v.Int(), 10), '"')
	case Double:
		x := v.Float()
		if !(math.Abs(x) <= math.MaxFloat64) {
			return nil, 0
		}
		b = appendNumber(b, x)
	case Bool:
		b, size = strconv.AppendBool(b, v.Bool()), 1
	case DateTime:
		t := v.Addr().Interface().(*time.Time)
		if s := t.Unix(); s <= minTime.Unix() || s >= maxTime.Unix() {
			return nil, 0
		}
		b = append(appendTime(append(b, '"'), t.UTC()), '"')
	case Guid:
		b, size = append(appendGUID(append(b, '"'), [16]byte(v.Bytes())), '"'), 16
	case Binary:
		x := v.Bytes()
		if x == nil || len(x) > largeValue {
			return nil, 0
		}
		b, size = append(base64.StdEncoding.AppendEncode(append(b, '"'), x), '"'), 4+len(x)
	}
	return b, size + 8 + 2*l.units
}
