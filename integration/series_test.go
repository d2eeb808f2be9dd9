package integration

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/largeentity/series"
)

// newDataSeries creates a series in a fresh table.
func newDataSeries[V series.Number](e *env, slots series.Slots, o *series.Options) *series.Series[V] {
	e.Helper()
	var declared baretest.Registry
	s := series.New[V](&host.Host{Tables: e.tables, Registry: &declared}, freshName(), slots, o)
	e.must(declared.Ensure(context.Background()))
	e.counter.Take()
	return s
}

// berlinZone returns a time zone in which days have 23 to 25 hours.
func berlinZone(e testing.TB) *time.Location {
	e.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		e.Fatal(err)
	}
	return zone
}

// sumOf returns the sum of the present values of a range, and the numbers of present and of absent slots.
func sumOf[V series.Number](e *env, s *series.Series[V], from, to time.Time) (sum V, present, absent int) {
	e.Helper()
	for v, err := range s.Between(context.Background(), from, to) {
		e.must(err)
		if v.Present {
			present++
		} else {
			absent++
		}
		sum += v.Value
	}
	return sum, present, absent
}

// dataSeries: values are set, added and read by slots of local days, of whole and other numbers, in one entity of a period or
// several.
func dataSeries(e *env) {
	ctx := context.Background()
	hours := newDataSeries[float64](e, series.Every(time.Hour, berlinZone(e)), nil)
	day := time.Date(2014, 10, 26, 0, 0, 0, 0, berlinZone(e)) // of 25 hours
	e.must(hours.Set(ctx, day.Add(3*time.Hour), 2))
	e.must(hours.Set(ctx, day.Add(24*time.Hour), -0.5))
	e.wantRequests("2 insert-or-merge")
	got, err := hours.Add(ctx, day.Add(3*time.Hour), 1e300)
	e.must(err)
	if got != 2+1e300 {
		e.Errorf("Add: got %v; want 2 + 1e300", got)
	}
	e.wantRequests("1 get, 1 transaction")
	values, err := hours.Read(ctx, day)
	e.must(err)
	if last := values[len(values)-1]; len(values) != 25 || values[3].Value != 2+1e300 || last.Name != "H24" || last.Value != -0.5 {
		e.Errorf("Read: got %v; want 25 values, and -0.5 in H24", values)
	}
	e.wantRequests("1 query")
	days := newDataSeries[int64](e, series.Days(nil), nil)
	counts := map[time.Time]int64{}
	for i := range 366 {
		counts[time.Date(2016, 1, 1+i, 0, 0, 0, 0, time.UTC)] = 1 << 53
	}
	e.must(days.SetAll(ctx, maps.All(counts)))
	e.wantRequests("1 transaction")
	e.must(days.AddAll(ctx, maps.All(map[time.Time]int64{day: 1, day.AddDate(2, 0, 0): 2, day.AddDate(2, -6, 0): 3})))
	e.wantRequests("1 query, 1 transaction")
	sum, present, absent := sumOf(e, days, time.Date(2014, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC))
	e.wantRequests("1 query")
	if sum != 366<<53+6 || present != 367 || absent != 729 {
		e.Errorf("days: got sum %d of %d values, and %d absent; want %d of 367, and 729 absent", sum, present, absent, 366<<53+6)
	}
	result, err := days.Delete(ctx, time.Time{}, time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC), nil)
	e.must(err)
	if result.Changed != 3 {
		e.Errorf("Delete: got %d entities; want 3", result.Changed)
	}
}

// dataSeriesWriters: of concurrent writers of one entity, no Set and no Add is lost.
func dataSeriesWriters(e *env) {
	ctx := context.Background()
	o := &series.Options{}
	o.Retry.ConflictAttempts, o.Retry.ConflictWait = 1000, time.Millisecond
	hours := newDataSeries[int32](e, series.Every(time.Hour, nil), o)
	day := time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)
	const writers, each = 4, 8
	var wait sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wait.Go(func() {
			for i := 0; i < each && errs[w] == nil; i++ {
				if _, errs[w] = hours.Add(ctx, day, 1); errs[w] == nil {
					errs[w] = hours.Set(ctx, day.Add(time.Duration(1+w)*time.Hour), int32(i))
				}
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		e.must(err)
	}
	values, err := hours.Read(ctx, day)
	e.must(err)
	got := fmt.Sprint(values[0].Value, values[1].Value, values[2].Value, values[3].Value, values[4].Value, values[5].Present)
	if want := fmt.Sprint(writers*each, each-1, each-1, each-1, each-1, false); got != want {
		e.Errorf("values: got %s; want %s", got, want)
	}
}
