package odata

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseValue parses the text of an annotated value. ok is false if the text is not of type t; inRange is false if the value is
// outside the range of t.
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
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		return b, err == nil, true
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

// formatDouble formats a double as .NET does: 15 digits if they are sufficient, otherwise 17, always with a point or an exponent,
// so that a whole number remains a double.
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

// parseTime parses a DateTime. The service stores units of 100 ns, and no time before the year 1601.
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
