package edm

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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

// roomOf is how many bytes the JSON of a value of each kind has at most, besides the bytes of a
// text.
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

// Any returns the value as string, int32, int64, float64, bool, time.Time, [16]byte, []byte, or
// nil.
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

// asNumber returns a whole number as an Int32 or an Int64, and v itself if it is no whole number or
// does not fit.
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

// Whole returns a whole number of any type of numbers. ok is false for other values, and for a
// Double that may have been rounded.
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

// ValueOf is the inverse of Any. It also accepts an int, the type of a literal in code, as an
// Int64, and the types of the SDK.
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
		return GUIDValue(string(x))
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

// timeValue returns a time in UTC, truncated to the service's steps of 100 ns, and an absent value
// for the zero time.
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

// GUIDValue returns the value of an EDMGUID, absent for the empty text.
func GUIDValue(s string) (Value, error) {
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
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return g, false
	}
	n := 0
	for _, part := range [...][]byte{text[:8], text[9:13], text[14:18], text[19:23], text[24:]} {
		decoded, err := hex.Decode(g[n:], part)
		if err != nil {
			return g, false
		}
		n += decoded
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

// annotated reports whether the JSON of a value says its type.
func (k Kind) annotated() bool { return k != String && k != Int32 && k != Bool }

// appendName appends the JSON in front of a value of a kind.
func appendName(b []byte, name string, k Kind) []byte {
	b = appendEscaped(append(b, ',', '"'), name)
	if k.annotated() {
		b = append(b, annotation+`":"`...)
		b = append(b, kindNames[k]...)
		b = appendEscaped(append(b, `","`...), name)
	}
	return append(b, `":`...)
}

// appendJSON appends a value without its annotation.
func appendJSON(b []byte, v *Value) []byte {
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
		b = appendTime(append(b, '"'), v.T)
	case Guid:
		b = appendGUID(append(b, '"'), v.G)
	case Binary:
		b = base64.StdEncoding.AppendEncode(append(b, '"'), v.B)
	}
	return append(b, '"')
}

// appendNumber appends a number as encoding/json writes it, and so the SDK: without an exponent if
// it has up to 21 digits.
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

// appendTime appends a time in UTC from the year 0 to 9999 in the service's form: up to seven
// fractional digits, without trailing zeros.
func appendTime(b []byte, t time.Time) []byte {
	const daySeconds = 24 * 60 * 60
	year, month, day := t.Date()
	second := int(t.Unix() % daySeconds) // since midnight
	if second < 0 {
		second += daySeconds
	}
	hour, minute, second := second/3600, second/60%60, second%60
	b = appendTwo(appendTwo(b, year/100), year%100)
	b = appendTwo(append(b, '-'), int(month))
	b = appendTwo(append(b, '-'), day)
	b = appendTwo(append(b, 'T'), hour)
	b = appendTwo(append(b, ':'), minute)
	b = appendTwo(append(b, ':'), second)
	if ticks := t.Nanosecond() / 100; ticks > 0 {
		b = append(b, '.')
		for unit := 1_000_000; ticks > 0; unit /= 10 {
			b = append(b, byte('0'+ticks/unit))
			ticks %= unit
		}
	}
	return append(b, 'Z')
}

// appendTwo appends a number of two digits.
func appendTwo(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

func appendString(b []byte, s string) []byte {
	return append(appendEscaped(append(b, '"'), s), '"')
}

// appendEscaped appends a text without quotes. U+2028 and U+2029 end a line for the emulator, which
// then cannot read a transaction.
func appendEscaped(b []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isSeparator(s, i) {
			b = append(b, s[from:i]...)
			b = append(b, '\\', 'u', '2', '0', '2', '8'+s[i+2]-0xA8)
			from = i + 3
			continue
		}
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

// isSeparator reports whether the character at i is U+2028 or U+2029.
func isSeparator(s string, i int) bool {
	return s[i] == 0xE2 && i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xA8
}

// lengthOf is the number of bytes of the JSON of a text or of bytes.
func lengthOf(v *Value) int {
	if v.Kind == Binary {
		return 2 + base64.StdEncoding.EncodedLen(len(v.B))
	}
	n := 2 + len(v.S)
	for i := range len(v.S) {
		switch c := v.S[i]; {
		case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ':
			n += 5
		case isSeparator(v.S, i):
			n += 3
		}
	}
	return n
}

// surplus is by how many bytes the JSON of a text is longer if the SDK encodes it, which escapes
// what HTML may take for its own.
func surplus(s string) int {
	return 5 * (strings.Count(s, "<") + strings.Count(s, ">") + strings.Count(s, "&"))
}

// isSimple reports whether a text consists of ASCII characters that no JSON escapes.
func isSimple(s string) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(s); i += 8 {
		b := s[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 | uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		// In each of these words, a byte is 0 where w has one of its characters: w|4 makes " and &
		// alike, and w|2 makes < and > alike.
		quote, angle, backslash := (w|4*each)^'&'*each, (w|2*each)^'>'*each, w^'\\'*each
		found := w | (w-' '*each)&^w | (quote-each)&^quote | (angle-each)&^angle | (backslash-each)&^backslash
		if found&high != 0 {
			return false
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// JSON is an entity as it was read: the response of a single row, or a text of its own. Or it is
// the JSON that was sent. The zero value is none.
type JSON struct {
	response []byte
	text     string // behind a response, its last members
}

// Len returns the number of bytes, 0 if there is no JSON.
func (j JSON) Len() int { return len(j.response) + len(j.text) }

// mentions reports whether a name occurs with a quote behind it. It does not look for the quote in
// front of it: quotes are frequent.
func mentions[T string | []byte](text T, name string, index func(T, string) int) bool {
	for {
		i := index(text, name)
		if i < 0 {
			return false
		}
		text = text[i+len(name):]
		if len(text) > 0 && text[0] == '"' {
			return true
		}
	}
}

// Stored is the content of a stored entity: the JSON that was read, or the columns that were
// written. The zero value is content that is not known.
type Stored struct {
	JSON    JSON
	Columns []Column // nil if they are not decoded

	// own is a codec, or nil if nothing is known. The entity has only properties of this codec, in
	// the types of its fields, and perhaps the operation ID, and what the codec's map of unknown
	// columns contained.
	own *Codec
}

// MayHave reports whether the entity may have the system property name, which is not that of the
// operation ID.
func (s Stored) MayHave(name string) bool {
	return s.own == nil && (s.JSON.Len() == 0 || mentions(s.JSON.text, name, strings.Index) ||
		mentions(s.JSON.response, name, func(b []byte, name string) int { return bytes.Index(b, []byte(name)) }))
}

// Known reports whether the content is known.
func (s Stored) Known() bool { return s.JSON.Len() > 0 || s.Columns != nil }
