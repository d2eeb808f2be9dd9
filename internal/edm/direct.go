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

// putDirect is put for a field whose scalar is direct. It reports whether the value was written: one that is absent, long, or needs
// escapes was not.
func (w *Writer) putDirect(f *field, v reflect.Value) bool {
	l, size := &f.labels[0], 8
	b := append(w.body.json, l.json...)
	switch l.kind {
	case String:
		s := v.String()
		if len(s) > largeValue || !isSimple(s) {
			return false
		}
		b, size = append(append(append(b, '"'), s...), '"'), 4+2*len(s)
	case Int32:
		b, size = strconv.AppendInt(b, v.Int(), 10), 4
	case Int64:
		b = append(strconv.AppendInt(append(b, '"'), v.Int(), 10), '"')
	case Double:
		x := v.Float()
		if !(math.Abs(x) <= math.MaxFloat64) {
			return false
		}
		b = appendNumber(b, x)
	case Bool:
		b, size = strconv.AppendBool(b, v.Bool()), 1
	case DateTime:
		t := v.Addr().Interface().(*time.Time).UTC()
		if year := t.Year(); year <= minTime.Year() || year >= maxTime.Year() {
			return false
		}
		b = append(appendTime(append(b, '"'), t), '"')
	case Guid:
		b, size = append(appendGUID(append(b, '"'), [16]byte(v.Bytes())), '"'), 16
	case Binary:
		x := v.Bytes()
		if x == nil || len(x) > largeValue {
			return false
		}
		b, size = append(base64.StdEncoding.AppendEncode(append(b, '"'), x), '"'), 4+len(x)
	}
	w.body.json = b
	w.count++
	w.head.count++
	w.head.bytes += size + 8 + 2*l.units
	return true
}
