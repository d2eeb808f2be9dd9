package series_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/table"
)

// TestForeignRows: properties and rows that the series does not know are left out and stay. A value of another type is an error.
func TestForeignRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(time.Hour, nil))
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	rows, err := bare.NewTable(acc.Tables(), "visits", table.Schema[table.Row]{}, nil)
	noError(t, err)
	put := func(key string, properties map[string]any) {
		t.Helper()
		row := &table.Row{}
		for name, x := range properties {
			noError(t, row.Set(name, x))
		}
		_, err := baretest.UpsertAt(ctx, rows, keys.At(keys.RawPartition("series"), keys.RawRow(key)), row, table.MergeExisting)
		noError(t, err)
	}
	put("2014-07-31", map[string]any{"H03": int64(3), "H04": int32(4), "H24": "no slot of this day", "Comment": "of the operator", "h05": true})
	for _, other := range []string{"2014-07-30_", "2014-07-31_00", "2014-07-31_1", "2014-07-31_01", "2014-07-31_x", "2014-07-31_-1", "2014-07-31_+1", "2014-07-32", "2014-7-31", "20140731", "2014-07-31_2014-07-31", "empid_000223_2014-07-31"} {
		put(other, map[string]any{"H03": int64(99), "H05": "text"})
	}
	month := func() string { return text(t, visits.Between(ctx, july.AddDate(0, 0, -1), july.AddDate(0, 0, 2))) }
	testkit.Expect(t, "slots", month(), "H03=3 H04=4, 70 absent")
	_, err = visits.Add(ctx, july.Add(3*time.Hour), 1)
	noError(t, err)
	_, err = visits.Add(ctx, july.Add(4*time.Hour), 1<<40)
	noError(t, err)
	testkit.Expect(t, "slots", month(), "H03=4 H04=1099511627780, 70 absent")
	row, err := tabledoor.GetRow(ctx, rows, keys.At(keys.RawPartition("series"), keys.RawRow("2014-07-31")))
	noError(t, err)
	comment, _ := row.Get("Comment")
	testkit.Expect(t, "a property of others", comment, any("of the operator"))
	for name, x := range map[string]any{"text": "17", "double": 17.0, "bool": true, "time": july, "guid": [16]byte{1}, "binary": []byte{1}} {
		put("2014-08-05", map[string]any{"H05": x})
		at := july.AddDate(0, 0, 5).Add(5 * time.Hour)
		_, err1 := visits.Read(ctx, at)
		s.Count()
		_, err2 := visits.Add(ctx, at, 1)
		testkit.Expect(t, name+": requests", s.Count().String(), "1 get")
		for i, err := range []error{err1, err2} {
			var de *table.DecodeError
			if !errors.As(err, &de) || de.Field != "H05" {
				t.Errorf("%s, call %d: got error %v; want a DecodeError of H05", name, i+1, err)
			}
		}
	}
	narrow := open[int32](t, s, series.Every(time.Hour, nil), nil)
	_, err = narrow.Read(ctx, july)
	testkit.Expect(t, "error", err.Error(), "table: Read visits('series','2014-07-31'): property H04 is 1099511627780, which no int32 is")
	put("2014-08-06", map[string]any{"H00": int64(math.MaxInt64)})
	if day, err := open[float64](t, s, series.Every(time.Hour, nil), nil).Read(ctx, july.AddDate(0, 0, 6)); err == nil {
		t.Errorf("MaxInt64 as a float64: got %v; want an error", day[0])
	}
}
