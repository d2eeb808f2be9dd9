package edm

import (
	"math"
	"strconv"
	"strings"
)

// Literal writes a value as it stands in a filter. Doubles are written out in full with a decimal point, for an exponent is
// not understood everywhere.
func Literal(name string, v Value) (string, error) {
	if err := CheckValue(name, v); err != nil {
		return "", err
	}
	switch v.Kind {
	case String:
		return Quote(v.S), nil
	case Int32:
		return strconv.FormatInt(v.I, 10), nil
	case Int64:
		return strconv.FormatInt(v.I, 10) + "L", nil
	case Double:
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			return "", &ValueError{Field: name, Reason: "a filter cannot compare with NaN or an infinity"}
		}
		s := strconv.FormatFloat(v.F, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s, nil
	case Bool:
		return strconv.FormatBool(v.I != 0), nil
	case DateTime:
		return "datetime'" + v.T.Format(dateTime) + "'", nil
	case Guid:
		return "guid'" + string(appendGUID(nil, v.G)) + "'", nil
	case Binary:
		const digits = "0123456789abcdef"
		b := []byte("X'")
		for _, c := range v.B {
			b = append(b, digits[c>>4], digits[c&15])
		}
		return string(append(b, '\'')), nil
	}
	return "", &ValueError{Field: name, Reason: "a filter cannot compare with an absent value (nil, zero time)"}
}

// Quote writes a text as it stands in a filter: whatever it holds, it stays a text.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
