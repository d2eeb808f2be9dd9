package edm

import (
	"fmt"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// The limits of an entity ('Understanding the Table service data model').
const (
	maxProperties  = 252
	maxEntity      = 1 << 20
	maxStringUnits = 32 << 10
	maxBinary      = 64 << 10
)

// The service's range of DateTime.
var (
	minTime = time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_900, time.UTC)
)

// CheckValue applies the limits of a single property.
func CheckValue(name string, v Value) error {
	switch v.Kind {
	case String:
		if !utf8.ValidString(v.S) {
			return &ValueError{Field: name, Reason: "the text is not valid UTF-8"}
		}
		if len(v.S) > maxStringUnits { // a character has no more units than bytes
			if n := utf16Units(v.S); n > maxStringUnits {
				return &LimitError{Field: name, Limit: "UTF-16 units", Got: n, Max: maxStringUnits}
			}
		}
	case Binary:
		if n := len(v.B); n > maxBinary {
			return &LimitError{Field: name, Limit: "bytes", Got: n, Max: maxBinary}
		}
	case DateTime:
		if v.T.Before(minTime) || v.T.After(maxTime) {
			return &ValueError{Field: name, Reason: fmt.Sprintf("the time %s is outside 1601-01-01 to 9999-12-31", v.T.Format(time.RFC3339))}
		}
	}
	return nil
}

// size is what a value counts for in the service's formula.
func storedSize(v Value) int {
	switch v.Kind {
	case String:
		return 4 + 2*utf16Units(v.S)
	case Binary:
		return 4 + len(v.B)
	case Guid:
		return 16
	case Int32:
		return 4
	case Bool:
		return 1
	}
	return 8
}

// units is the length of valid UTF-8 in UTF-16 code units, which is how the service counts.
func utf16Units(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
