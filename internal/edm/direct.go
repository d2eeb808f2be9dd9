package edm

import (
	"encoding/base64"
	"math"
	"reflect"
	"strconv"
	"time"
)

// append appends the property of a field that is not encoded in the general way, and returns its size by the service's formula. The
// size is 0 if the property was not appended: its value is absent, long, or needs escapes.
func (d *direct) append(b []byte, v reflect.Value) ([]byte, int) {
	size := 8
	b = append(b, d.json...)
	switch d.kind {
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
	return b, size + d.size
}
