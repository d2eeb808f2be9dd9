package edm

import (
	"fmt"
	"math"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Kind is an EDM type.
type Kind uint8

// The types of properties. Absent is the kind of a missing property and of null.
const (
	Absent Kind = iota
	String
	Int32
	Int64
	Double
	Bool
	DateTime
	Guid
	Binary
)

var kindNames = [...]string{"absent", "Edm.String", "Edm.Int32", "Edm.Int64", "Edm.Double", "Edm.Boolean", "Edm.DateTime", "Edm.Guid", "Edm.Binary"}

// roomOf is how many bytes the JSON of a value of each kind has at most, besides the bytes of a text.
var roomOf = [...]int{String: 2, Int32: 11, Int64: 22, Double: 25, Bool: 5, DateTime: 30, Guid: 38, Binary: 2}

func (k Kind) String() string { return kindNames[k] }

// kindOf returns the kind of an annotation, and Absent for an unknown annotation.
func kindOf(typ []byte) Kind {
	for k := String; k <= Binary; k++ {
		if string(typ) == kindNames[k] {
			return k
		}
	}
	return Absent
}

// Value is the value of a property. The kind determines which field contains it.
type Value struct {
	Kind Kind
	I    int64 // Int32, Int64, Bool (0 or 1)
	F    float64
	S    string
	B    []byte
	T    time.Time
	G    [16]byte
}

// Any returns the value as string, int32, int64, float64, bool, time.Time, [16]byte, []byte, or nil.
func (v Value) Any() any {
	switch v.Kind {
	case String:
		return v.S
	case Int32:
		return int32(v.I)
	case Int64:
		return v.I
	case Double:
		return v.F
	case Bool:
		return v.I != 0
	case DateTime:
		return v.T
	case Guid:
		return v.G
	case Binary:
		return v.B
	}
	return nil
}

// asNumber returns a whole number as an Int32 or an Int64, and v itself if it is no whole number or does not fit.
func (v Value) asNumber(k Kind) Value {
	n := v.I
	switch v.Kind {
	case Int32, Int64:
	case Double:
		if v.F < math.MinInt64 || v.F >= math.MaxInt64 || v.F != math.Trunc(v.F) { // as a float64, MaxInt64 is one more
			return v
		}
		n = int64(v.F)
	default:
		return v
	}
	if k == Int32 && n != int64(int32(n)) {
		return v
	}
	return Value{Kind: k, I: n}
}

// maxWhole is the greatest number up to which a Double has each whole number.
const maxWhole = 1 << 53

// Whole returns a whole number of any type of numbers. ok is false for other values, and for a Double that may have been rounded.
func (v Value) Whole() (n int64, ok bool) {
	switch v.Kind {
	case Int32, Int64:
		return v.I, true
	case Double:
		if math.Abs(v.F) <= maxWhole && v.F == math.Trunc(v.F) {
			return int64(v.F), true
		}
	}
	return 0, false
}

// ValueOf is the inverse of Any. It also accepts an int, the type of a literal in code, as an Int64, and the types of the SDK.
func ValueOf(x any) (Value, error) {
	switch x := x.(type) {
	case nil:
		return Value{}, nil
	case string:
		return Value{Kind: String, S: x}, nil
	case int32:
		return Value{Kind: Int32, I: int64(x)}, nil
	case int64:
		return Value{Kind: Int64, I: x}, nil
	case int:
		return Value{Kind: Int64, I: int64(x)}, nil
	case float64:
		return Value{Kind: Double, F: x}, nil
	case bool:
		return boolValue(x), nil
	case time.Time:
		return timeValue(x), nil
	case [16]byte:
		return Value{Kind: Guid, G: x}, nil
	case []byte:
		return binaryValue(x), nil
	case aztables.EDMInt64:
		return Value{Kind: Int64, I: int64(x)}, nil
	case aztables.EDMDateTime:
		return timeValue(time.Time(x)), nil
	case aztables.EDMGUID:
		return guidValue(string(x))
	case aztables.EDMBinary:
		return binaryValue(x), nil
	}
	return Value{}, fmt.Errorf("the type %T cannot be stored; use string, int32, int64, int, float64, bool, time.Time, [16]byte or []byte", x)
}

func boolValue(b bool) Value {
	v := Value{Kind: Bool}
	if b {
		v.I = 1
	}
	return v
}

// binaryValue returns an absent value for nil, and an empty Binary for an empty slice.
func binaryValue(b []byte) Value {
	if b == nil {
		return Value{}
	}
	return Value{Kind: Binary, B: append([]byte{}, b...)} // the caller may change b before it is sent
}

// timeValue returns a time in UTC, truncated to the service's steps of 100 ns, and an absent value for the zero time.
func timeValue(t time.Time) Value {
	if t.IsZero() {
		return Value{}
	}
	t = t.UTC().Round(0) // without the monotonic clock, as it is read back
	return Value{Kind: DateTime, T: t.Add(-time.Duration(t.Nanosecond() % 100))}
}

// Same reports whether two values are equal. NaN equals NaN, and −0 equals 0.
func Same(a, b Value) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Double:
		return a.F == b.F || a.F != a.F && b.F != b.F
	case DateTime:
		return a.T.Equal(b.T)
	case Binary:
		return string(a.B) == string(b.B)
	}
	return a.I == b.I && a.S == b.S && a.G == b.G
}

// guidValue returns the value of an EDMGUID, absent for the empty text.
func guidValue(s string) (Value, error) {
	if s == "" {
		return Value{}, nil
	}
	g, ok := parseGUID([]byte(s))
	if !ok {
		return Value{}, fmt.Errorf("a text of %d characters is not a GUID; a GUID has 32 hexadecimal digits in groups of 8-4-4-4-12", len(s))
	}
	return Value{Kind: Guid, G: g}, nil
}

// owned returns the value with memory of its own.
func (v Value) owned() Value {
	if v.Kind == Binary {
		v.B = append([]byte{}, v.B...)
	}
	return v
}

// parseGUID parses 8-4-4-4-12 hexadecimal digits of either case.
func parseGUID(text []byte) (g [16]byte, ok bool) {
	if len(text) != 36 {
		return g, false
	}
	n := 0
	for i, c := range text {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return g, false
			}
			continue
		}
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return g, false
		}
		g[n/2] = g[n/2]<<4 | c
		n++
	}
	return g, true
}

func appendGUID(b []byte, g [16]byte) []byte {
	const digits = "0123456789abcdef"
	for i, c := range g {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, digits[c>>4], digits[c&15])
	}
	return b
}
