package storagetest

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Type is one of the Table service's types of values.
type Type string

// The types of values. The first four stand in JSON without an annotation.
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

// Property is one property of a row. Value is a string (also for GUID, in lower case), int32, bool, float64, int64,
// time.Time or []byte.
type Property struct {
	Name  string
	Type  Type
	Value any
}

// size is what the property counts towards an entity's limit of 1 MiB, by the documented formula.
func (p Property) size() int {
	n := 8 + 2*units(p.Name)
	switch v := p.Value.(type) {
	case string:
		if p.Type == GUID {
			return n + 16
		}
		return n + 2*units(v) + 4
	case []byte:
		return n + len(v) + 4
	case int32:
		return n + 4
	case bool:
		return n + 1
	}
	return n + 8
}

// units counts UTF-16 code units, which the service's limits on text are in.
func units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// compareText orders text by UTF-16 code unit, as the service does.
func compareText(a, b string) int {
	for a != "" && b != "" {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		if ra != rb {
			// The surrogates of what lies beyond U+FFFF sort below U+E000 to U+FFFF.
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

// parseText reads the text of an annotated value; ok is false for text that is none of the type's, and inRange for a value
// that the type cannot hold.
func parseText(t Type, s string) (v any, ok, inRange bool) {
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
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		return b, err == nil, true
	}
	return nil, false, true
}

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
		return 0, false // what Go reads beyond it: hexadecimals, underscores, other spellings of infinity
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// formatDouble writes a double as .NET does: 15 digits where they are enough, else 17, with a point or an exponent, so that
// a whole number stays a double.
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
		rounded = 0 // the sign of zero is lost
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

// parseTime reads a DateTime. The service keeps 100 ns and nothing before 1601.
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
		// Seconds may be left out.
		if t, err = time.Parse(strings.Replace(layout, ":05", "", 1), s); err != nil {
			return nil, false, true
		}
	}
	t = t.UTC()
	return t, true, t.Year() >= 1601 && t.Year() <= 9999
}

// formatTime writes a time with as many digits as it needs.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.9999999Z") }

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
