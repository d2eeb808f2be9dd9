package series_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/table"
)

// TestFarTimes: a time far from the years 1 to 9999 is an error, also if the next day is more than a time.Time can be.
func TestFarTimes(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	const year1 = -62135596800 // in Unix time; time.Time counts from it
	for _, slots := range []series.Slots{series.Every(time.Hour, berlin), series.Days(nil), series.Named(berlin, map[string]time.Duration{"A": 0})} {
		for _, sec := range []int64{math.MaxInt64 + year1, math.MaxInt64, math.MinInt64 - year1, math.MinInt64, 1 << 55, -1 << 55} {
			result := make(chan error, 1)
			go func() {
				_, err := slots.At(time.Unix(sec, 0))
				result <- err
			}()
			select {
			case err := <-result:
				var ke *keys.KeyError
				if !errors.As(err, &ke) {
					t.Errorf("second %d: got error %v; want a KeyError", sec, err)
				}
			case <-time.After(20 * time.Second): // without a limit of years, At never returns
				t.Fatalf("second %d: got no result", sec)
			}
		}
	}
}

// TestDeleteOthers: Delete leaves a row alone that looks like an entity of a period, but has a number that no period has.
func TestDeleteOthers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, test := range map[string]struct {
		slots, others series.Slots
		own, other    string
	}{
		"days":    {series.Days(nil), series.Days(nil), "x", "x_2014"},
		"hours":   {series.Every(time.Hour, nil), series.Days(nil), "x", "x_2014-07-31"},
		"parts":   {series.Named(nil, map[string]time.Duration{"A": 0}), series.Days(nil), "x", "x_2014-07-31"},
		"minutes": {series.Every(time.Minute, nil), series.Days(nil), "x", "x_2014-07-31"},
	} {
		visits, s := newSeries(t, test.slots)
		noError(t, visits.Of(keys.RawRow(test.own)).Set(ctx, july, 1))
		others := open[int64](t, s, test.others, nil).Of(keys.RawRow(test.other))
		january := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
		noError(t, others.Set(ctx, january, 2))
		result, err := visits.Of(keys.RawRow(test.own)).Delete(ctx, time.Time{}, july.AddDate(3, 0, 0), nil)
		noError(t, err)
		testkit.Expect(t, name+": deleted", result.Changed, 1)
		testkit.Expect(t, name+": rows", stored(s), test.other+"_2015: D0101=2")
	}
}

// TestDeleteForeignRows: Delete leaves the rows of other programs alone whose keys begin as those of a period.
func TestDeleteForeignRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(time.Minute, nil))
	noError(t, visits.Set(ctx, july, 1))
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	rows, err := bare.NewTable(acc.Tables(), "visits", table.Schema[table.Row]{}, nil)
	noError(t, err)
	others := []string{"2014-07-31_", "2014-07-31_+1", "2014-07-31_-1", "2014-07-31_00", "2014-07-31_1", "2014-07-31_99"}
	for _, key := range others {
		_, err := rows.InsertAt(ctx, keys.At(keys.RawPartition("series"), keys.RawRow(key)), &table.Row{})
		noError(t, err)
	}
	result, err := visits.Delete(ctx, july, july.AddDate(0, 0, 1), nil)
	noError(t, err)
	testkit.Expect(t, "deleted", result.Changed, 1)
	var left []string
	for _, r := range s.Rows("visits") {
		left = append(left, r.RowKey)
	}
	testkit.Expect(t, "rows that are left", left, others)
}

// TestLongestDay: the last entities of a day that the clock repeats are read and deleted.
func TestLongestDay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	apia := zone(t, "Pacific/Apia") // the day came twice
	for _, length := range []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour} {
		slots := series.Every(length, apia)
		all, err := slots.All(time.Date(1892, 7, 4, 12, 0, 0, 0, apia))
		noError(t, err)
		visits, s := newSeries(t, slots)
		last := all[len(all)-1]
		if last.To.Sub(all[0].From) < 48*time.Hour {
			t.Fatalf("got a day of %v; want 48 hours", last.To.Sub(all[0].From))
		}
		noError(t, visits.Set(ctx, last.From, 7))
		day, err := visits.Read(ctx, last.From)
		noError(t, err)
		testkit.Expect(t, length.String()+": last slot", day[len(day)-1].Value, 7)
		result, err := visits.Delete(ctx, all[0].From, last.To, nil)
		noError(t, err)
		testkit.Expect(t, length.String()+": deleted", result.Changed, 1)
		testkit.Expect(t, length.String()+": rows", stored(s), "")
	}
}

// TestNoWrongRequests: values that no slot can have are refused before any request.
func TestNoWrongRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newSeries(t, series.Every(time.Hour, nil))
	visits := open[float64](t, s, series.Every(time.Hour, nil), nil)
	s.Count()
	days := func(n int, last float64) iter.Seq2[time.Time, float64] {
		values := map[time.Time]float64{july.AddDate(0, 0, n): last}
		for i := range n {
			values[july.AddDate(0, 0, i)] = 1
		}
		return maps.All(values)
	}
	_, err := visits.Add(ctx, july, math.NaN())
	for i, err := range []error{
		err, visits.Set(ctx, july, math.Inf(1)), visits.SetAll(ctx, days(150, math.NaN())), visits.AddAll(ctx, days(3, math.Inf(-1))),
		visits.AddAll(ctx, func(yield func(time.Time, float64) bool) {
			for range 2 {
				if !yield(july, math.MaxFloat64) {
					return
				}
			}
		}),
	} {
		var ve *table.ValueError
		if !errors.As(err, &ve) || ve.Field != "H00" {
			t.Errorf("call %d: got error %v; want a ValueError of H00", i+1, err)
		}
	}
	for limit, of := range map[int]*series.Series[float64]{100: visits, 99: visits.Exact()} {
		var le *table.LimitError
		if err := of.AddAll(ctx, days(limit, 1)); !errors.As(err, &le) || le.Max != limit || le.Got != limit+1 {
			t.Errorf("%d entities: got error %v; want a LimitError with the limit of %d", limit+1, err, limit)
		}
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
}

// TestPrune: Prune deletes the old entities of one series in a range of partitions, and leaves the younger ones, those of other series and
// those of other partitions.
func TestPrune(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Days(nil))
	mobile := visits.Of(keys.RawRow("mobile"))
	for _, page := range []string{"a", "b", "c"} {
		for year := range 3 {
			at := july.AddDate(year, 0, 0)
			noError(t, visits.In(keys.RawPartition(page)).Set(ctx, at, 1))
			noError(t, mobile.In(keys.RawPartition(page)).Set(ctx, at, 2))
		}
	}
	s.Count()
	pages := keys.RawPartitions("b", "")
	for _, c := range []struct {
		in      keys.PartitionRange
		before  time.Time
		deleted int
		sent    string
	}{
		{pages, july, 0, "1 query"},
		{pages, july.AddDate(1, 0, 0), 2, "1 query, 2 transaction"},
		{pages, july.AddDate(1, 0, 0), 0, "1 query"},
		{keys.PartitionRange{}, july.AddDate(2, 0, 0), 4, "1 query, 3 transaction"},
	} {
		result, err := mobile.Prune(ctx, c.in, c.before, nil)
		if sent := s.Count().String(); err != nil || result.Changed != c.deleted || sent != c.sent {
			t.Errorf("%v before %v: got %+v, %v and the requests %s; want %d deleted by %s", c.in, c.before, result, err, sent, c.deleted, c.sent)
		}
	}
	if n := len(s.Rows("visits")); n != 12 {
		t.Errorf("rows: got %d; want the 9 of the other series, and the last year of 3 partitions", n)
	}
	var ke *keys.KeyError
	if _, err := mobile.Prune(ctx, keys.RawPartitions("b", "a"), july, nil); !errors.As(err, &ke) {
		t.Errorf("bounds that are swapped: got error %v; want a *keys.KeyError", err)
	}
	var ve *table.ValueError
	if _, err := mobile.Prune(ctx, pages, time.Time{}, nil); !errors.As(err, &ve) {
		t.Errorf("no time: got error %v; want a *table.ValueError", err)
	}
}
