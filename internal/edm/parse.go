package edm

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// parseUntyped parses a value without an annotation: its form determines its type.
func parseUntyped(kind byte, text []byte) (Value, error) {
	switch kind {
	case '"':
		return Value{Kind: String, S: string(text)}, nil
	case 't', 'f':
		return boolValue(kind == 't'), nil
	}
	if bytes.ContainsAny(text, ".eE") {
		if f, ok := parseDouble(text); ok {
			return Value{Kind: Double, F: f}, nil
		}
	} else if n, ok := parseInteger(text); ok {
		if n >= math.MinInt32 && n <= math.MaxInt32 {
			return Value{Kind: Int32, I: n}, nil
		}
		return Value{Kind: Int64, I: n}, nil
	} else if f, ok := parseDouble(text); ok { // a whole double without a decimal point, too large for an Int64
		return Value{Kind: Double, F: f}, nil
	}
	return Value{}, &DecodeError{Reason: "has a number that is neither an Int64 nor a Double"}
}

func parseInteger(text []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil && text[0] != '+'
}

func parseDouble(text []byte) (float64, bool) {
	switch string(text) {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false // ParseFloat accepts forms that the service does not
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// parseTime parses the service's form of a time and all other forms of RFC 3339.
func parseTime(text []byte) (time.Time, bool) {
	if n := len(text); n >= len("2006-01-02T15:04:05Z") && text[n-1] == 'Z' {
		if t, ok := parsePlainTime(text); ok {
			return t, true
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	return t.UTC(), err == nil
}

// parsePlainTime parses 2006-01-02T15:04:05Z with up to nine fractional digits.
func parsePlainTime(b []byte) (t time.Time, ok bool) {
	number := func(from, to int) (n int) {
		for _, c := range b[from:to] {
			if c < '0' || c > '9' {
				ok = false
			}
			n = n*10 + int(c-'0')
		}
		return n
	}
	ok = b[4] == '-' && b[7] == '-' && b[10] == 'T' && b[13] == ':' && b[16] == ':'
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	nano := 0
	if digits := len(b) - len("2006-01-02T15:04:05.Z"); digits >= 0 {
		ok = ok && b[19] == '.' && digits >= 1 && digits <= 9
		if !ok {
			return t, false
		}
		nano = number(20, 20+digits)
		for range 9 - digits {
			nano *= 10
		}
	}
	if !ok || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, nano, time.UTC)
	return t, t.Day() == day // time.Date turns 31 April into 1 May
}
