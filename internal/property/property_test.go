package property_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/property"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestTypes reads a property of each type as each type.
func TestTypes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	// What Text, Whole, Bool and Time return for the property, nil for an error.
	for name, c := range map[string]struct{ stored, text, whole, flag, time any }{
		"text":             {"a", "a", nil, nil, nil},
		"digits":           {"12", "12", nil, nil, nil},
		"Int32":            {int32(12), nil, int64(12), nil, nil},
		"Int64":            {int64(math.MaxInt64), nil, int64(math.MaxInt64), nil, nil},
		"whole Double":     {-12.0, nil, int64(-12), nil, nil},
		"greatest Double":  {float64(1 << 53), nil, int64(1 << 53), nil, nil},
		"too large Double": {float64(1<<53 + 2), nil, nil, nil, nil},
		"Double":           {12.5, nil, nil, nil, nil},
		"NaN":              {math.NaN(), nil, nil, nil, nil},
		"infinite":         {math.Inf(-1), nil, nil, nil, nil},
		"Boolean":          {true, nil, nil, true, nil},
		"DateTime":         {at, nil, nil, nil, at},
		"Binary":           {[]byte("12"), nil, nil, nil, nil},
		"no property":      {nil, "", nil, false, time.Time{}},
	} {
		row := &table.Row{Key: keys.At(keys.RawPartition("p"), keys.RawRow("r"))}
		if err := row.Set("X", c.stored); err != nil {
			t.Fatal(err)
		}
		text, err1 := property.Text(row, "X")
		whole, err2 := property.Whole(row, "X")
		flag, err3 := property.Bool(row, "X")
		when, err4 := property.Time(row, "X")
		for _, r := range []struct {
			as        string
			got, want any
			err       error
		}{{"Text", text, c.text, err1}, {"Whole", whole, c.whole, err2}, {"Bool", flag, c.flag, err3}, {"Time", when, c.time, err4}} {
			var de *table.DecodeError
			switch is := errors.As(r.err, &de); {
			case r.want == nil && !is:
				t.Errorf("%s of %s: got error %v; want a *DecodeError", r.as, name, r.err)
			case r.want == nil:
				testkit.Expect(t, r.as+" of "+name+": field", de.Field, "X")
			case r.err != nil || r.got != r.want:
				t.Errorf("%s of %s: got %v, %v; want %v", r.as, name, r.got, r.err, r.want)
			}
		}
	}
}
