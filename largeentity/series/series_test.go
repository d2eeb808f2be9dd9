package series_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

var (
	page = keys.Text()
	july = time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)
)

// open returns a series in a service.
func open[V series.Number](t testing.TB, s account.Transport, slots series.Slots, o *series.Options) *series.Series[V] {
	t.Helper()
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	visits := series.New[V](&host.Host{Tables: acc.Tables()}, "visits", slots, o)
	err = visits.Err()
	noError(t, err)
	noError(t, visits.Ensure(context.Background()))
	return visits
}

// newSeries returns a series of counts in an empty service.
func newSeries(t testing.TB, slots series.Slots) (*series.Series[int64], *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	visits := open[int64](t, s, slots, nil)
	s.Count()
	return visits, s
}

// text returns the present slots of a list, and how many are absent, as "H07=17 H09=3, 22 absent".
func text[V series.Number](t testing.TB, list iter.Seq2[series.Value[V], error]) string {
	t.Helper()
	var present []string
	absent := 0
	for v, err := range list {
		noError(t, err)
		switch {
		case v.Present:
			present = append(present, fmt.Sprintf("%s=%v", v.Name, v.Value))
		case v.Value != 0:
			t.Errorf("absent slot %v: got value %v; want 0", v.Slot, v.Value)
		default:
			absent++
		}
	}
	return fmt.Sprintf("%s, %d absent", strings.Join(present, " "), absent)
}

// stored returns the rows of the service, without operation IDs.
func stored(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("visits") {
		row := r.RowKey + ":"
		for _, p := range r.Properties {
			if p.Name != "_op" {
				row += fmt.Sprintf(" %s=%v", p.Name, r.Get(p.Name))
			}
		}
		all = append(all, row)
	}
	return strings.Join(all, "; ")
}

// TestSet: a value is stored in 1 request, whether the entity exists or not, and zero is not absent. A period is read in 1 request.
func TestSet(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(time.Hour, nil))
	noError(t, visits.Set(ctx, july.Add(9*time.Hour+59*time.Minute), 3))
	noError(t, visits.Set(ctx, july.Add(7*time.Hour), 17)) // late
	noError(t, visits.Set(ctx, july.Add(8*time.Hour), 0))
	noError(t, visits.Set(ctx, july.Add(9*time.Hour), 4)) // again
	testkit.Expect(t, "requests", s.Count().String(), "4 insert-or-merge")
	day, err := visits.Read(ctx, july.Add(23*time.Hour))
	noError(t, err)
	testkit.Expect(t, "requests", s.Count().String(), "1 query")
	testkit.Expect(t, "slots", len(day), 24)
	testkit.Expect(t, "day", text(t, visits.Between(ctx, july, july.AddDate(0, 0, 1))), "H07=17 H08=0 H09=4, 21 absent")
	testkit.Expect(t, "rows", stored(s), "2014-07-31: H07=17 H08=0 H09=4")
	other, err := visits.Read(ctx, july.AddDate(0, 0, 1))
	noError(t, err)
	testkit.Expect(t, "slots of a day without an entity", len(other), 24)
	testkit.Expect(t, "the first of them", other[0].Present, false)
}

// TestKeys: where the entities are, by partition and by key.
func TestKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Days(nil))
	home := visits.In(page.PartitionKey("home"))
	for _, one := range []*series.Series[int64]{visits, home, home.Of(keys.RawRow("a")), home.Of(keys.RawRow("a_2014")), visits.Of(keys.RawRow("a"))} {
		noError(t, one.Set(ctx, july, 1))
		noError(t, one.Set(ctx, july.AddDate(0, -6, 0), 2))
		testkit.Expect(t, "year", text(t, one.Between(ctx, july.AddDate(-1, 0, 0), july.AddDate(0, 0, 1))), "D0131=2 D0731=1, 364 absent")
	}
	var got []string
	for _, r := range s.Rows("visits") {
		got = append(got, r.PartitionKey+"/"+r.RowKey)
	}
	testkit.Expect(t, "keys", got, []string{"home/2014", "home/2014_01", "home/a_2014", "home/a_2014_01", "home/a_2014_2014", "home/a_2014_2014_01",
		"series/2014", "series/2014_01", "series/a_2014", "series/a_2014_01"})
}

// TestLongKey: the longest RowKey of a period can be read, too.
func TestLongKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, _ := newSeries(t, series.Every(time.Hour, nil))
	long := visits.Of(keys.RawRow(strings.Repeat("a", 501)))
	noError(t, long.Set(ctx, july, 1))
	testkit.Expect(t, "slots", text(t, long.Between(ctx, july, july.Add(2*time.Hour))), "H00=1, 1 absent")
}

// TestBetween: the slots that begin in a range, in order, with those of days without an entity, in 1 request.
func TestBetween(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(5*time.Minute, nil))
	for i := range 5 {
		noError(t, visits.Set(ctx, july.AddDate(0, 0, 2*i).Add(13*time.Hour), int64(i)))
		noError(t, visits.Set(ctx, july.AddDate(0, 0, 2*i).Add(4*time.Minute), int64(10*i)))
	}
	s.Count()
	h := func(n float64) time.Time { return july.Add(time.Duration(n * float64(time.Hour))) }
	for _, c := range []struct {
		name     string
		from, to time.Time
		want     string
		requests string
	}{
		{"all", h(0), h(24 * 9), "T0000=0 T1300=0 T0000=10 T1300=1 T0000=20 T1300=2 T0000=30 T1300=3 T0000=40 T1300=4, 2582 absent", "1 query"},
		{"begins inside a slot", h(0.01), h(13.01), "T1300=0, 155 absent", "1 query"},
		{"ends at a slot", h(0), h(13), "T0000=0, 155 absent", "1 query"},
		{"inside a slot", h(0.01), h(0.02), ", 0 absent", "1 query"},
		{"without entities", h(24), h(48), ", 288 absent", "1 query"},
		{"empty", h(1), h(1), ", 0 absent", "none"},
		{"reversed", h(2), h(1), ", 0 absent", "none"},
	} {
		testkit.Expect(t, c.name, text(t, visits.Between(ctx, c.from, c.to)), c.want)
		testkit.Expect(t, c.name+": requests", s.Count().String(), c.requests)
	}
	n := 0
	for range visits.Between(ctx, h(0), h(24)) {
		if n++; n == 3 {
			break
		}
	}
	testkit.Expect(t, "slots before the loop is left", n, 3)
	testkit.Expect(t, "rows", strings.Join(strings.Split(stored(s), "; ")[:2], "; "), "2014-07-31: T0000=0; 2014-07-31_01: T1300=0")
}

// TestSetAll: many values are stored in 1 request for each 100 entities, all or nothing.
func TestSetAll(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(time.Hour, nil))
	values := func(days int) iter.Seq2[time.Time, int64] {
		return func(yield func(time.Time, int64) bool) {
			for i := range 24 * days {
				if !yield(july.Add(time.Duration(i)*time.Hour), int64(i)) {
					return
				}
			}
		}
	}
	noError(t, visits.SetAll(ctx, values(0)))
	testkit.Expect(t, "requests of no values", s.Count().String(), "none")
	noError(t, visits.SetAll(ctx, values(1)))
	testkit.Expect(t, "requests of 1 day", s.Count().String(), "1 transaction")
	noError(t, visits.SetAll(ctx, values(100)))
	testkit.Expect(t, "requests of 100 days", s.Count().String(), "1 transaction")
	noError(t, visits.SetAll(ctx, values(101)))
	testkit.Expect(t, "requests of 101 days", s.Count().String(), "2 transaction")
	noError(t, visits.Exact().SetAll(ctx, values(99)))
	testkit.Expect(t, "requests of 99 days with Exact", s.Count().String(), "1 transaction")
	n, sum := int64(0), int64(0)
	for v, err := range visits.Between(ctx, july, july.AddDate(0, 0, 101)) {
		noError(t, err)
		n++
		sum += v.Value
	}
	testkit.Expect(t, "slots", n, 2424)
	testkit.Expect(t, "sum", sum, n*(n-1)/2)
	noError(t, visits.SetAll(ctx, maps.All(map[time.Time]int64{july: 5, july.Add(time.Hour): 6})))
	testkit.Expect(t, "day", text(t, visits.Between(ctx, july, july.Add(3*time.Hour))), "H00=5 H01=6 H02=2, 0 absent")
	s.Count()
	err := visits.SetAll(ctx, maps.All(map[time.Time]int64{july: 5, july.Add(time.Minute): 6}))
	var ve *table.ValueError
	if !errors.As(err, &ve) || ve.Field != "H00" {
		t.Errorf("two values of one slot: got error %v; want a ValueError of H00", err)
	}
	testkit.Expect(t, "requests of a refused call", s.Count().String(), "none")
}

// TestRange: a sum beyond the type of the values, and a value that has no sum, are refused before any write.
func TestRange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	small := open[int32](t, s, series.Every(time.Hour, nil), nil)
	large := open[float64](t, s, series.Every(time.Hour, nil), nil).Of(keys.RawRow("f"))
	noError(t, small.Set(ctx, july, math.MaxInt32))
	noError(t, large.Set(ctx, july, math.MaxFloat64))
	s.Count()
	_, err1 := small.Add(ctx, july, 1)
	_, err2 := small.Add(ctx, july.Add(time.Hour), math.MinInt32)
	noError(t, err2)
	_, err2 = small.Add(ctx, july.Add(time.Hour), -1)
	_, err3 := large.Add(ctx, july, math.MaxFloat64)
	err4 := large.Set(ctx, july, math.NaN())
	err5 := large.SetAll(ctx, maps.All(map[time.Time]float64{july: math.Inf(-1)}))
	var ve *table.ValueError
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if !errors.As(err, &ve) {
			t.Errorf("case %d: got error %v; want a ValueError", i+1, err)
		}
	}
	testkit.Expect(t, "error", err1.Error(), "table: Add visits('series','2014-07-31'): property H00 is 2147483647, and 1 more exceeds the range of int32")
	testkit.Expect(t, "error", err4.Error(), "series: Set visits: property H00 is NaN, which has no sum; a slot without a value is absent")
	testkit.Expect(t, "requests", s.Count().String(), "4 get, 1 transaction")
}

// TestTypes: the types in which values are stored.
func TestTypes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type celsius float64
	s := storagetest.New(nil)
	noError(t, open[int](t, s, series.Every(time.Hour, nil), nil).Set(ctx, july, 1))
	noError(t, open[int32](t, s, series.Every(time.Hour, nil), nil).Set(ctx, july.Add(time.Hour), 2))
	temperature := open[celsius](t, s, series.Every(time.Hour, nil), nil)
	noError(t, temperature.Set(ctx, july.Add(2*time.Hour), 3))
	delay := open[time.Duration](t, s, series.Every(time.Hour, nil), nil)
	_, err := delay.Add(ctx, july.Add(3*time.Hour), 4)
	noError(t, err)
	_, err = temperature.Add(ctx, july.Add(4*time.Hour), 0.5)
	noError(t, err)
	row := s.Rows("visits")[0]
	got := fmt.Sprintf("%T %T %T %T %T", row.Get("H00"), row.Get("H01"), row.Get("H02"), row.Get("H03"), row.Get("H04"))
	testkit.Expect(t, "types", got, "int64 int32 float64 int64 float64")
	testkit.Expect(t, "temperatures", text(t, temperature.Between(ctx, july, july.Add(5*time.Hour))), "H00=1 H01=2 H02=3 H03=4 H04=0.5, 0 absent")
	testkit.Expect(t, "numbers", text(t, open[int32](t, s, series.Every(time.Hour, nil), nil).Between(ctx, july, july.Add(2*time.Hour))), "H00=1 H01=2, 0 absent")
}

// TestWrongKeys: keys that no row can have are refused before any request.
func TestWrongKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(time.Hour, nil))
	for name, wrong := range map[string]*series.Series[int64]{
		"no partition": visits.In(keys.PartitionKey{}), "no key": visits.Of(keys.RowKey{}), "slash": visits.In(keys.RawPartition("a/b")), "slash in a row": visits.Of(keys.RawRow("a/b")),
		"library": visits.Of(keys.RawRow("~a")), "long row": visits.Of(keys.RawRow(strings.Repeat("a", 505))),
	} {
		_, err1 := wrong.Add(ctx, july, 1)
		_, err2 := wrong.Read(ctx, july)
		_, err3 := wrong.Delete(ctx, july, july.AddDate(0, 0, 1), nil)
		for i, err := range []error{wrong.Set(ctx, july, 1), err1, err2, err3} {
			var ke *keys.KeyError
			if !errors.As(err, &ke) {
				t.Errorf("%s, call %d: got error %v; want a KeyError", name, i+1, err)
			}
		}
	}
	old := time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := visits.Read(ctx, old)
	for i, err := range []error{visits.Set(ctx, old, 1), err, visits.AddAll(ctx, maps.All(map[time.Time]int64{old: 1}))} {
		var ke *keys.KeyError
		if !errors.As(err, &ke) {
			t.Errorf("year -1, call %d: got error %v; want a KeyError", i+1, err)
		}
	}
	for _, bounds := range [][2]time.Time{{{}, july}, {july, {}}} {
		for _, err := range visits.Between(ctx, bounds[0], bounds[1]) {
			var ve *table.ValueError
			if !errors.As(err, &ve) {
				t.Errorf("a zero bound: got error %v; want a ValueError", err)
			}
		}
	}
	acc, err := account.FromTransport(s, nil)
	noError(t, err)
	if err := series.New[int64](&host.Host{Tables: acc.Tables()}, "visits", series.Slots{}, nil).Err(); err == nil {
		t.Error("zero slots: got no error")
	}
	if err := series.New[int64](&host.Host{Tables: acc.Tables()}, "v", series.Every(time.Hour, nil), nil).Err(); err == nil {
		t.Error("a name of one letter: got no error")
	}
	for want, faulty := range map[string]*series.Series[int64]{
		"Slots":      series.New[int64](&host.Host{Tables: acc.Tables()}, "visits", series.Slots{}, nil),
		"table name": series.New[int64](&host.Host{Tables: acc.Tables()}, "v", series.Every(time.Hour, nil), nil),
		"s is nil":   series.New[int64](nil, "visits", series.Every(time.Hour, nil), nil),
	} {
		of := faulty.In(keys.RawPartition("p")).Of(keys.RawRow("r")).Exact()
		_, added := of.Add(ctx, july, 1)
		_, read := of.Read(ctx, july)
		_, deleted := of.Delete(ctx, july, july.AddDate(0, 0, 1), nil)
		_, listed := table.Collect(of.Between(ctx, july, july.AddDate(0, 0, 1)))
		for i, err := range []error{of.Err(), of.Ensure(ctx), of.Set(ctx, july, 1), added, read, deleted, listed} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a faulty series: method %d: got %v; want %q", i, err, want)
			}
		}
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
}

// TestFirstAndLastDay: the days at the ends of the time that keys can have are read and deleted, too.
func TestFirstAndLastDay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, slots := range []series.Slots{series.Every(time.Hour, nil), series.Days(nil)} {
		visits, s := newSeries(t, slots)
		for _, at := range []time.Time{{}, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)} {
			noError(t, visits.Set(ctx, at, 1))
			all, err := visits.Read(ctx, at)
			noError(t, err)
			testkit.Expect(t, "present", all[0].Present || all[len(all)-1].Present, true)
		}
		result, err := visits.Delete(ctx, time.Time{}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), nil)
		noError(t, err)
		testkit.Expect(t, "deleted", result.Changed, 2)
		testkit.Expect(t, "rows", stored(s), "")
	}
}

// TestNoTable: a table that does not exist is an error, and no period of absent slots.
func TestNoTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	acc, err := account.FromTransport(storagetest.New(nil), nil)
	noError(t, err)
	visits := series.New[int64](&host.Host{Tables: acc.Tables()}, "visits", series.Every(time.Hour, nil), nil)
	err = visits.Err()
	noError(t, err)
	_, err1 := visits.Read(ctx, july)
	_, err2 := visits.Add(ctx, july, 1)
	for i, err := range []error{err1, err2, visits.Set(ctx, july, 1)} {
		if !errors.Is(err, table.ErrNotCreated) {
			t.Errorf("call %d: got error %v; want ErrNotCreated", i+1, err)
		}
	}
}

// TestDelete: the periods that lie in a range as a whole are deleted, and no others.
func TestDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(5*time.Minute, nil))
	for i := range 4 {
		noError(t, visits.Set(ctx, july.AddDate(0, 0, i), 1))
		noError(t, visits.Set(ctx, july.AddDate(0, 0, i).Add(12*time.Hour), 1))
	}
	noError(t, visits.Of(keys.RawRow("2014-07-31")).Set(ctx, july, 1))
	s.Count()
	result, err := visits.Delete(ctx, july.Add(time.Second), july.AddDate(0, 0, 2).Add(12*time.Hour), nil)
	noError(t, err)
	testkit.Expect(t, "deleted", result.Changed, 2)
	testkit.Expect(t, "requests", s.Count().String(), "1 query, 1 transaction")
	result, err = visits.Delete(ctx, time.Time{}, july.AddDate(0, 0, 3), nil)
	noError(t, err)
	testkit.Expect(t, "deleted", result.Changed, 4)
	testkit.Expect(t, "rows", stored(s), "2014-07-31_2014-07-31: T0000=1; 2014-08-03: T0000=1; 2014-08-03_01: T1200=1")
	result, err = visits.Delete(ctx, july, july, nil)
	noError(t, err)
	testkit.Expect(t, "deleted", result.Changed, 0)
	if _, err := visits.Delete(ctx, july, time.Time{}, nil); err == nil {
		t.Error("Delete without an upper bound: got no error")
	}
}

// TestPages: a range of more than 1,000 entities is read page by page, and the slots of an entity at the end of a page are whole.
func TestPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	visits, s := newSeries(t, series.Every(5*time.Minute, nil))
	values := map[time.Time]int64{}
	for i := range 2 * 600 {
		values[july.Add(time.Duration(i)*12*time.Hour)] = 1
	}
	noError(t, visits.SetAll(ctx, maps.All(values)))
	s.Count()
	n := 0
	for v, err := range visits.Between(ctx, july, july.AddDate(0, 0, 600)) {
		noError(t, err)
		if v.Present {
			n++
		}
	}
	testkit.Expect(t, "values", n, 1200)
	testkit.Expect(t, "requests", s.Count().String(), "2 query")
}
