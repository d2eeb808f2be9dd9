// Package stored reads the properties of the library's own rows. Another program may have stored the rows, or copies of them, with other
// types: an import turns text of digits into a number, and an Int64 into an Int32 or a Double. A property of another type is a
// *table.DecodeError, so that no damaged row reads as empty.
package stored

import (
	"fmt"
	"math"
	"time"

	"github.com/aztablekit/aztablekit/table"
)

// Text returns a property of text, "" if it is absent.
func Text(row *table.Row, name string) (string, error) { return value[string](row, name) }

// Bool returns a property that is true or false, false if it is absent.
func Bool(row *table.Row, name string) (bool, error) { return value[bool](row, name) }

// Time returns a time, zero if it is absent.
func Time(row *table.Row, name string) (time.Time, error) { return value[time.Time](row, name) }

func value[V any](row *table.Row, name string) (v V, err error) {
	x, found := row.Get(name)
	if !found {
		return v, nil
	}
	v, is := x.(V)
	if !is {
		return v, wrongType(row, name, fmt.Sprintf("a %T", v))
	}
	return v, nil
}

// maxWhole is the greatest number up to which a Double has each whole number.
const maxWhole = 1 << 53

// Whole returns a whole number of any type of numbers. An absent property is a *table.DecodeError, too.
func Whole(row *table.Row, name string) (int64, error) {
	x, found := row.Get(name)
	switch x := x.(type) {
	case int64:
		return x, nil
	case int32:
		return int64(x), nil
	case float64:
		if x == math.Trunc(x) && math.Abs(x) <= maxWhole {
			return int64(x), nil
		}
	}
	if !found {
		return 0, &table.DecodeError{Field: name, Reason: fmt.Sprintf("is missing in the row %v", row.Key)}
	}
	return 0, wrongType(row, name, "a whole number")
}

func wrongType(row *table.Row, name, want string) error {
	return &table.DecodeError{Field: name, Reason: fmt.Sprintf("of the row %v is %s, and not %s: another program has stored it", row.Key, row.Type(name), want)}
}
