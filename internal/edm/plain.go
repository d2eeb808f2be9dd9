package edm

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// KindNamed returns the type of a name such as Edm.Int32 or Int32, and Absent for another one.
func KindNamed(name string) Kind {
	for k := String; k <= Binary; k++ {
		if name == kindNames[k] || name != "" && name == strings.TrimPrefix(kindNames[k], "Edm.") {
			return k
		}
	}
	return Absent
}

// Plain returns a value as a text, as ParsePlain reads it: no digit of a number and no tick of a
// time is lost. Binary is base64.
func Plain(v Value) string {
	switch v.Kind {
	case String:
		return v.S
	case Guid:
		g := hex.EncodeToString(v.G[:])
		return g[:8] + "-" + g[8:12] + "-" + g[12:16] + "-" + g[16:20] + "-" + g[20:]
	case Double:
		switch {
		case math.IsNaN(v.F):
			return "NaN"
		case math.IsInf(v.F, 1):
			return "Infinity"
		case math.IsInf(v.F, -1):
			return "-Infinity"
		}
		s := strconv.FormatFloat(v.F, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s
	}
	s, _ := textOf(&v) // every value of the other types has one
	return s
}

// ParsePlain reads a value of a type from its text.
func ParsePlain(k Kind, text string) (v Value, ok bool) {
	switch k {
	case String:
		return Value{Kind: String, S: text}, true
	case Guid:
		v, err := GUIDValue(text)
		return v, err == nil && v.Kind == Guid
	case Double:
		f, ok := parseDouble([]byte(text))
		return Value{Kind: Double, F: f}, ok
	}
	v, ok = parseText(k, text)
	if k == Int32 && ok {
		v.Kind = Int32
		ok = v.I == int64(int32(v.I))
	}
	return v, ok && k != Absent
}
