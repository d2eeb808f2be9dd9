package odata

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
)

// parseValue parses the text of an annotated value. ok is false if the text is not of type t;
// inRange is false if the value is outside the range of t.
func parseValue(t Type, s string) (v any, ok, inRange bool) {
	switch t {
	case String:
		return s, true, true
	case Int32:
		n, err := strconv.ParseInt(s, 10, 32)
		return int32(n), err == nil, true
	case Int64:
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil, true
	case Boolean:
		switch strings.ToLower(s) {
		case "true", "1":
			return true, true, true
		case "false", "0":
			return false, true, true
		}
	case Double:
		f, ok := parseDouble(s)
		return f, ok, true
	case DateTime:
		return parseTime(s)
	case GUID:
		s = strings.ToLower(s)
		return s, isGUID(s), true
	case Binary:
		b, ok := protocol.DecodeBase64(s)
		return b, ok, true
	}
	return nil, false, true
}

// parseDouble parses a double as the service writes and accepts it.
func parseDouble(s string) (float64, bool) {
	switch s {
	case "NaN":
		return math.NaN(), true
	case "Infinity", "INF":
		return math.Inf(1), true
	case "-Infinity", "-INF":
		return math.Inf(-1), true
	}
	if s == "" || strings.Trim(s, "0123456789+-.eE") != "" {
		return 0, false // Go also parses hexadecimals, underscores and other spellings of infinity
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// formatDouble formats a double as .NET does: 15 digits if they are sufficient, otherwise 17,
// always with a point or an exponent, so that a whole number remains a double.
func formatDouble(f float64) string {
	digits := 15
	s := strconv.FormatFloat(f, 'E', digits-1, 64)
	if back, _ := strconv.ParseFloat(s, 64); back != f {
		digits = 17
		s = strconv.FormatFloat(f, 'E', digits-1, 64)
	}
	mantissa, exponent, _ := strings.Cut(s, "E")
	e, _ := strconv.Atoi(exponent)
	if f != 0 && (e >= digits || e < -4) {
		if strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		sign := "+"
		if e < 0 {
			sign, e = "-", -e
		}
		if e < 10 {
			sign += "0"
		}
		return mantissa + "E" + sign + strconv.Itoa(e)
	}
	rounded, _ := strconv.ParseFloat(s, 64)
	if rounded == 0 {
		rounded = 0 // the service drops the sign of zero
	}
	s = strconv.FormatFloat(math.Abs(rounded), 'f', max(digits-1-e, 1), 64)
	s = strings.TrimRight(s, "0")
	if strings.HasSuffix(s, ".") {
		s += "0"
	}
	if rounded < 0 {
		s = "-" + s
	}
	return s
}

// parseTime parses a DateTime. The service stores units of 100 ns, and no time before the year
// 1601.
func parseTime(s string) (v any, ok, inRange bool) {
	layout := "2006-01-02T15:04:05"
	rest := strings.TrimLeft(s, "0123456789-T:.")
	if rest != "" {
		layout += "Z07:00"
	}
	if i := strings.IndexByte(s, '.'); i >= 0 {
		n := len(s) - i - 1 - len(rest)
		if n < 1 || n > 7 {
			return nil, false, true
		}
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		// Seconds are optional.
		if t, err = time.Parse(strings.Replace(layout, ":05", "", 1), s); err != nil {
			return nil, false, true
		}
	}
	t = t.UTC()
	return t, true, t.Year() >= 1601 && t.Year() <= 9999
}

// FormatTime formats a time with as many digits as necessary.
func FormatTime(t time.Time) string { return string(AppendTime(make([]byte, 0, 28), t, ":")) }

// AppendTime appends a time as FormatTime does, with another colon.
func AppendTime(b []byte, t time.Time, colon string) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	if year < 0 || year > 9999 {
		return append(b, strings.ReplaceAll(t.Format("2006-01-02T15:04:05.9999999Z"), ":", colon)...)
	}
	b = append(two(append(two(append(two(two(b, year/100), year%100), '-'), int(month)), '-'), day), 'T')
	b = append(two(append(two(append(two(b, hour), colon...), minute), colon...), second), '.')
	for ticks, unit := t.Nanosecond()/100, 1_000_000; ticks > 0; unit /= 10 {
		b = append(b, '0'+byte(ticks/unit))
		ticks %= unit
	}
	return append(bytes.TrimSuffix(b, []byte(".")), 'Z')
}

// two appends two digits.
func two(b []byte, n int) []byte { return append(b, '0'+byte(n/10), '0'+byte(n%10)) }

// isGUID reports whether s is a GUID in lower case.
func isGUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range s {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if !strings.ContainsRune("0123456789abcdef", c) {
				return false
			}
		}
	}
	return true
}

// Units returns the number of UTF-16 code units of s, in which the service's limits on text are
// stated.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// CompareText compares texts by UTF-16 code unit, which is the service's order of keys.
func CompareText(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) || n == len(b) || a[n] < 0xEE && b[n] < 0xEE { // the bytes of UTF-8 have the order of the characters up to U+DFFF
		return strings.Compare(a[n:], b[n:])
	}
	return compareCharacters(a, b)
}

func compareCharacters(a, b string) int {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			// The surrogates of characters beyond U+FFFF sort below U+E000 to U+FFFF.
			if (ra > 0xFFFF) != (rb > 0xFFFF) {
				if ra > 0xFFFF {
					ra = 0xD800
				} else {
					rb = 0xD800
				}
			}
			if ra < rb {
				return -1
			}
			return 1
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) - len(b)
}

// CutQuoted reads a quoted text, in which a doubled quote stands for a quote. It returns the text
// and the remainder of s.
func CutQuoted(s string) (text, rest string, ok bool) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "'") {
		return "", "", false
	}
	end := strings.IndexByte(s[1:], '\'') + 1
	if end > 0 && !strings.HasPrefix(s[end+1:], "'") {
		return s[1:end], s[end+1:], true
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte('\'')
			i++
		default:
			return b.String(), s[i+1:], true
		}
	}
	return "", "", false
}

var identifier = regexp.MustCompile(`^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}\p{Cf}]*$`)

// IsIdentifier reports whether s can be the name of a property.
func IsIdentifier(s string) bool {
	for i := range len(s) {
		letter := s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || s[i] == '_'
		if !letter && (i == 0 || s[i] < '0' || s[i] > '9') {
			return identifier.MatchString(s)
		}
	}
	return s != ""
}

// Type is a type of OData values.
type Type string

// The types of values. JSON needs no annotation for the first four.
const (
	String   Type = "Edm.String"
	Int32    Type = "Edm.Int32"
	Boolean  Type = "Edm.Boolean"
	Double   Type = "Edm.Double"
	Int64    Type = "Edm.Int64"
	DateTime Type = "Edm.DateTime"
	GUID     Type = "Edm.Guid"
	Binary   Type = "Edm.Binary"
)

// Property is a named value: a string (also for GUID, in lower case), int32, bool, float64, int64,
// time.Time or []byte.
type Property struct {
	Name  string
	Type  Type
	Value any
}
