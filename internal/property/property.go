// Package property reads the properties of the library's own rows. Another program may have stored
// the rows, or copies of them, with other types: an import turns text of digits into a number, and
// an Int64 into an Int32 or a Double. A property of another type is a *table.DecodeError, so that
// no damaged row reads as empty.
package property

import (
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/table"
)

// Text returns a property of text, "" if it is absent.
func Text(row *table.Row, name string) (string, error) { return value[string](row, name, edm.String) }

// Bool returns a property that is true or false, false if it is absent.
func Bool(row *table.Row, name string) (bool, error) { return value[bool](row, name, edm.Bool) }

// Time returns a time, zero if it is absent.
func Time(row *table.Row, name string) (time.Time, error) {
	return value[time.Time](row, name, edm.DateTime)
}

func value[V any](row *table.Row, name string, want edm.Kind) (v V, err error) {
	x, found := row.Get(name)
	if !found {
		return v, nil
	}
	v, is := x.(V)
	if !is {
		return v, wrongType(row, name, want.String())
	}
	return v, nil
}

// Whole returns a whole number of any type of numbers. An absent property is a *table.DecodeError,
// too.
func Whole(row *table.Row, name string) (int64, error) {
	v := stored.Find((*stored.Row)(row).Columns(), name)
	if n, is := v.Whole(); is {
		return n, nil
	}
	if v.Kind == edm.Absent {
		return 0, &table.DecodeError{Field: name, Reason: fmt.Sprintf("is missing in the row %v", row.Key)}
	}
	return 0, wrongType(row, name, "an exact whole number")
}

func wrongType(row *table.Row, name, want string) error {
	reason := fmt.Sprintf("is %s in the row %v, not %s: another program has stored it", row.Type(name), row.Key, want)
	return &table.DecodeError{Field: name, Reason: reason}
}
