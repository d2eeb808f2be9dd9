package edm

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"
)

// value reads a member by its annotation, or by its form if it has none.
func (r *Reader) value(m member) (Value, error) {
	v, err := r.parse(m)
	if err != nil {
		return Value{}, ofProperty(m.name, err)
	}
	return v, nil
}

func (r *Reader) parse(m member) (Value, error) {
	fail := func() (Value, error) {
		return Value{}, &DecodeError{Reason: fmt.Sprintf("what stands there, %d bytes, is no %s", m.tok.to-m.tok.from, m.typ)}
	}
	text := r.b[m.tok.from:m.tok.to]
	switch m.tok.kind {
	case 'n':
		return Value{}, nil
	case '{', '[':
		return Value{}, &DecodeError{Reason: "is an object or a list, which no property can be"}
	case '"':
		var err error
		if text, err = r.unquoted(m.tok); err != nil {
			return Value{}, err
		}
	}
	if m.typ == nil {
		return parseUntyped(m.tok.kind, text)
	}
	isText := m.tok.kind == '"'
	switch string(m.typ) {
	case "Edm.String":
		if isText {
			return Value{Kind: String, S: string(text)}, nil
		}
	case "Edm.Int32":
		if n, ok := parseInteger(text); ok && n >= math.MinInt32 && n <= math.MaxInt32 {
			return Value{Kind: Int32, I: n}, nil
		}
	case "Edm.Int64":
		if n, ok := parseInteger(text); ok {
			return Value{Kind: Int64, I: n}, nil
		}
	case "Edm.Double":
		if f, ok := parseDouble(text); ok {
			return Value{Kind: Double, F: f}, nil
		}
	case "Edm.Boolean":
		if s := string(bytes.ToLower(text)); s == "true" || s == "false" {
			return boolValue(s == "true"), nil
		}
	case "Edm.DateTime":
		if t, ok := parseTime(text); isText && ok {
			return Value{Kind: DateTime, T: t}, nil
		}
	case "Edm.Guid":
		if g, ok := parseGUID(text); isText && ok {
			return Value{Kind: Guid, G: g}, nil
		}
	case "Edm.Binary":
		b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		if n, err := base64.StdEncoding.Strict().Decode(b, text); isText && err == nil {
			return Value{Kind: Binary, B: b[:n]}, nil
		}
	default:
		return Value{}, &DecodeError{Reason: fmt.Sprintf("has the unknown type %.60q", m.typ)}
	}
	return fail()
}

// untyped is a value without annotation: its form tells its type.
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
	} else if f, ok := parseDouble(text); ok { // a whole double that lost its point, too large for an Int64
		return Value{Kind: Double, F: f}, nil
	}
	return Value{}, &DecodeError{Reason: "the number is out of range"}
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
			return 0, false // ParseFloat knows more forms than the service
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

// dateTimeOf reads the service's form of a time, and whatever else RFC 3339 allows.
func parseTime(text []byte) (time.Time, bool) {
	if n := len(text); n >= len("2006-01-02T15:04:05Z") && text[n-1] == 'Z' {
		if t, ok := parsePlainTime(text); ok {
			return t, true
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(text))
	return t.UTC(), err == nil
}

// plainTime reads 2006-01-02T15:04:05Z with up to nine digits of a fraction.
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
	return t, t.Day() == day // 31 April is no day
}

// guid reads 8-4-4-4-12 hexadecimal digits of either case.
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
