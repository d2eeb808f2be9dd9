package series_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/table"
)

var noError = testkit.NoError

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	noError(t, err)
	return loc
}

// local returns the first instant at which the clock of a zone shows a time, for times that exist.
func local(t testing.TB, name, at string) time.Time {
	t.Helper()
	parsed, err := time.ParseInLocation(time.DateTime, at, zone(t, name))
	noError(t, err)
	return parsed
}

// TestLocalDays: the slots of local days on which the clock is set.
func TestLocalDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, day string
		slots     int
		last      string
		length    time.Duration // of the last
	}{
		{"UTC", "2014-07-31", 24, "H23", time.Hour},
		{"Europe/Berlin", "2014-07-31", 24, "H23", time.Hour},
		{"Europe/Berlin", "2014-03-30", 23, "H22", time.Hour},
		{"Europe/Berlin", "2014-10-26", 25, "H24", time.Hour},
		{"America/New_York", "2014-03-09", 23, "H22", time.Hour},
		{"America/New_York", "2014-11-02", 25, "H24", time.Hour},
		{"Australia/Lord_Howe", "2014-04-06", 25, "H24", 30 * time.Minute}, // 24.5 hours
		{"Australia/Lord_Howe", "2014-10-05", 24, "H23", 30 * time.Minute}, // 23.5 hours
		{"America/Sao_Paulo", "2018-11-04", 23, "H22", time.Hour},          // began at 01:00
		{"America/Sao_Paulo", "2018-02-17", 25, "H24", time.Hour},          // at 24:00 the clock was set back to 23:00
		{"America/St_Johns", "2010-11-06", 24, "H23", time.Hour},
		{"America/St_Johns", "2010-11-07", 25, "H24", time.Hour}, // at 00:01 the clock was set back to 23:01 of the day before
		{"Pacific/Apia", "2011-12-29", 24, "H23", time.Hour},     // the next day was the 31st
		{"Pacific/Apia", "2011-12-31", 24, "H23", time.Hour},
		{"Pacific/Apia", "1892-07-04", 48, "H47", time.Hour}, // the day came twice
	} {
		t.Run(c.zone+" "+c.day, func(t *testing.T) {
			t.Parallel()
			all, err := series.Every(time.Hour, zone(t, c.zone)).All(local(t, c.zone, c.day+" 12:00:00"))
			noError(t, err)
			last := all[len(all)-1]
			testkit.Expect(t, "slots", len(all), c.slots)
			testkit.Expect(t, "period", all[0].Period, c.day)
			testkit.Expect(t, "last", last.Name, c.last)
			testkit.Expect(t, "length of the last", last.To.Sub(last.From), c.length)
		})
	}
}

// TestNames: the period and the name of the slot of a time.
func TestNames(t *testing.T) {
	t.Parallel()
	shifts := func(zone *time.Location) series.Slots {
		return series.Named(zone, map[string]time.Duration{"Night": 0, "Gap": 2 * time.Hour, "Early": 3 * time.Hour, "Late": 14 * time.Hour})
	}
	every := func(d time.Duration) func(*time.Location) series.Slots {
		return func(zone *time.Location) series.Slots { return series.Every(d, zone) }
	}
	for _, c := range []struct {
		name, zone string
		slots      func(*time.Location) series.Slots
		at         string // in UTC
		want       string // period, name and local times
	}{
		{"hour", "UTC", hours, "2014-07-31 07:59:59", "2014-07-31 H07 07:00 08:00"},
		{"before the repeated hour", "Europe/Berlin", hours, "2014-10-26 00:30:00", "2014-10-26 H02 02:00 02:00"},
		{"repeated hour", "Europe/Berlin", hours, "2014-10-26 01:30:00", "2014-10-26 H03 02:00 03:00"},
		{"after the repeated hour", "Europe/Berlin", hours, "2014-10-26 02:30:00", "2014-10-26 H04 03:00 04:00"},
		{"after the lost hour", "Europe/Berlin", hours, "2014-03-30 01:30:00", "2014-03-30 H02 03:00 04:00"},
		{"no midnight", "America/Sao_Paulo", hours, "2018-11-04 03:00:00", "2018-11-04 H00 01:00 02:00"},
		{"the day before goes on", "America/St_Johns", hours, "2010-11-07 02:30:00", "2010-11-07 H00 00:00 00:00"},
		{"zone west of UTC", "America/New_York", series.Days, "2015-01-01 04:59:59", "2014 D1231 00:00 00:00"},
		{"end of a leap year", "Europe/Berlin", hours, "2044-12-31 11:00:00", "2044-12-31 H12 12:00 13:00"},
		{"night after a leap year", "Europe/Berlin", series.Days, "2044-12-31 23:00:00", "2045 D0101 00:00 00:00"},
		{"leap day", "UTC", series.Days, "2016-02-29 12:00:00", "2016 D0229 00:00 00:00"},
		{"day after a skipped one", "Pacific/Apia", series.Days, "2011-12-30 10:00:00", "2011 D1231 00:00 00:00"},
		{"5 minutes", "UTC", every(5 * time.Minute), "2014-07-31 14:37:00", "2014-07-31 T1435 14:35 14:40"},
		{"10 seconds", "UTC", every(10 * time.Second), "2014-07-31 14:37:19", "2014-07-31 T143710 14:37 14:37"},
		{"4 hours", "Europe/Berlin", every(4 * time.Hour), "2014-10-26 22:30:00", "2014-10-26 T2400 23:00 00:00"},
		{"1 day", "Europe/Berlin", every(24 * time.Hour), "2014-10-26 22:30:00", "2014-10-26 T2400 23:00 00:00"},
		{"part", "Europe/Berlin", shifts, "2014-07-31 11:00:00", "2014-07-31 Early 03:00 14:00"},
		{"last part", "Europe/Berlin", shifts, "2014-07-31 12:00:00", "2014-07-31 Late 14:00 00:00"},
		{"lost part", "Europe/Berlin", shifts, "2014-03-30 01:00:00", "2014-03-30 Early 03:00 14:00"},
		{"repeated part", "Europe/Berlin", shifts, "2014-10-26 01:59:00", "2014-10-26 Gap 02:00 03:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			slots := c.slots(zone(t, c.zone))
			got, err := slots.At(local(t, "UTC", c.at))
			noError(t, err)
			testkit.Expect(t, "slot", fmt.Sprint(got.Period, " ", got.Name, " ", got.From.Format("15:04"), " ", got.To.Format("15:04")), c.want)
		})
	}
}

// TestWrongSlots: wrong slots, and slots that do not exist, are typed errors that name the limit.
func TestWrongSlots(t *testing.T) {
	t.Parallel()
	now := time.Date(2014, 3, 30, 12, 0, 0, 0, time.UTC)
	many := map[string]time.Duration{}
	for i := range 251 {
		many[fmt.Sprintf("P%d", i)] = time.Duration(i) * time.Minute
	}
	at := func(s series.Slots) error { _, err := s.At(now); return err }
	h := time.Hour
	for _, c := range []struct {
		name string
		err  error
		text string
	}{
		{"zero", at(series.Slots{}), "series.Slots is the zero value; use Every, Days or Named"},
		{"7 hours", at(series.Every(7*h, nil)), "Every.length is 7h0m0s; it must be whole seconds and divide 24 hours into equal slots"},
		{"parts of a second", at(series.Every(500*time.Millisecond, nil)), "Every.length is 500ms; it must be whole seconds and divide 24 hours into equal slots"},
		{"negative", at(series.Every(-h, nil)), "Every.length is -1h0m0s; it must be whole seconds and divide 24 hours into equal slots"},
		{"2 days", at(series.Every(48*h, nil)), "Every.length is 48h0m0s; it must be whole seconds and divide 24 hours into equal slots"},
		{"seconds", at(series.Every(time.Second, nil)), "Every.length has 86400 slots in a day; at most 10000 are allowed"},
		{"no time zone", at(series.Every(time.Hour, time.FixedZone("Berlin", 3*24*3600))), "Slots.zone is Berlin, 72h0m0s from UTC; at most 48h0m0s are possible"},
		{"no time zone of days", at(series.Days(time.FixedZone("Berlin", -3*24*3600))), "Slots.zone is Berlin, -72h0m0s from UTC; at most 48h0m0s are possible"},
		{"no slots", at(series.Named(nil, nil)), "Named.slots must begin with a slot from 0"},
		{"late first slot", at(series.Named(nil, map[string]time.Duration{"A": h})), "Named.slots must begin with a slot from 0"},
		{"slots that begin together", at(series.Named(nil, map[string]time.Duration{"A": 0, "B": 0})), "Named.slots: slot B begins at 0s; a slot must begin after the one before it, and before 24 hours"},
		{"slot after the day", at(series.Named(nil, map[string]time.Duration{"A": 0, "B": 24 * h})), "Named.slots: slot B begins at 24h0m0s; a slot must begin after the one before it, and before 24 hours"},
		{"wrong name", at(series.Named(nil, map[string]time.Duration{"A-B": 0})), `property "A-B": a name may contain letters, digits and _, and must not begin with a digit; '-' is at byte 1`},
		{"reserved name", at(series.Named(nil, map[string]time.Duration{"_op": 0})), `property "_op": the library reserves the names _op _life _ix _type _v _sys _parts _part _tx _end`},
		{"name of the service", at(series.Named(nil, map[string]time.Duration{"RowKey": 0})), `property "RowKey": the service reserves the name`},
		{"many slots", at(series.Named(nil, many)), "Named.slots has 251 slots of a day; at most 250 are allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var ve *table.ValueError
			var le *table.LimitError
			if !errors.As(c.err, &ve) && !errors.As(c.err, &le) {
				t.Fatalf("got %v; want a typed error", c.err)
			}
			testkit.Expect(t, "error", c.err.Error(), c.text)
		})
	}
}

// TestYears: times outside the years that keys can have are refused, by the local date.
func TestYears(t *testing.T) {
	t.Parallel()
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, slots := range []func(*time.Location) series.Slots{hours, series.Days} {
		for _, c := range []struct {
			zone string
			at   time.Time
			fits bool
		}{
			{"UTC", time.Time{}, true}, {"UTC", time.Time{}.Add(-1), false}, {"UTC", last, true}, {"UTC", last.Add(time.Second), false},
			{"Asia/Tokyo", last, false}, {"Asia/Tokyo", time.Time{}.Add(-time.Hour), true}, {"America/New_York", time.Time{}, false},
			{"America/New_York", last.Add(time.Hour), true},
		} {
			_, err := slots(zone(t, c.zone)).At(c.at)
			var ke *keys.KeyError
			if fits := err == nil; fits != c.fits || !fits && !errors.As(err, &ke) {
				t.Errorf("%v in %s: got error %v; want none: %v", c.at, c.zone, err, c.fits)
			}
		}
	}
}

var fuzzZones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo", "America/St_Johns",
	"America/Juneau", "Asia/Manila", "Africa/Monrovia", "Antarctica/Troll", "Africa/Casablanca", "Pacific/Kwajalein", "Asia/Kathmandu", "Asia/Gaza"}

// fuzzSlots returns kinds of slots.
func fuzzSlots(zone *time.Location) []series.Slots {
	return []series.Slots{
		series.Every(time.Hour, zone), series.Days(zone), series.Every(5*time.Minute, zone), series.Every(40*time.Second, zone), series.Every(6*time.Hour, zone),
		series.Named(zone, map[string]time.Duration{"Night": 0, "A": time.Minute, "B": 2*time.Hour + 30*time.Minute, "C": 23*time.Hour + 30*time.Minute}),
	}
}

// checkSlot checks the laws of slots at an instant: the slot contains the instant, its first and its last instant have the same
// slot, and the next slot begins where it ends.
func checkSlot(t testing.TB, slots series.Slots, at time.Time) {
	t.Helper()
	same := func(what string, got series.Slot, err error, want series.Slot) {
		t.Helper()
		if err != nil || got.Period != want.Period || got.Name != want.Name || !got.From.Equal(want.From) || !got.To.Equal(want.To) {
			t.Errorf("%v: %s: got %v, error %v; want %v", at, what, got, err, want)
		}
	}
	slot, err := slots.At(at)
	noError(t, err)
	if at.Before(slot.From) || !at.Before(slot.To) {
		t.Errorf("%v: got slot %v, which does not contain it", at, slot)
	}
	first, err := slots.At(slot.From)
	same("first instant", first, err, slot)
	last, err := slots.At(slot.To.Add(-1))
	same("last instant", last, err, slot)
	next, err := slots.At(slot.To)
	noError(t, err)
	if !next.From.Equal(slot.To) || next.Period == slot.Period && next.Name == slot.Name {
		t.Errorf("%v: got slot %v after %v; want one that begins at its end", at, next, slot)
	}
}

// checkPeriod checks that the slots of a period follow each other without gaps, and contain an instant once.
func checkPeriod(t testing.TB, slots series.Slots, at time.Time) {
	t.Helper()
	all, err := slots.All(at)
	noError(t, err)
	names, found := map[string]bool{}, 0
	for i, slot := range all {
		if i > 0 && !slot.From.Equal(all[i-1].To) || !slot.From.Before(slot.To) || names[slot.Name] || slot.Period != all[0].Period {
			t.Errorf("%v: got slot %v after %v; want another name, no gap, and a length", at, slot, all[max(i-1, 0)])
		}
		names[slot.Name] = true
		if !at.Before(slot.From) && at.Before(slot.To) {
			found++
		}
	}
	testkit.Expect(t, "slots with the instant", found, 1)
}

// TestEveryTransition: the laws of slots around each change of the clocks of some zones.
func TestEveryTransition(t *testing.T) {
	t.Parallel()
	for _, name := range testkit.Some(fuzzZones) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loc := zone(t, name)
			for i, slots := range fuzzSlots(loc) {
				n := 0
				for at := time.Date(1840, 1, 1, 0, 0, 0, 0, time.UTC); ; n++ {
					_, end := at.In(loc).ZoneBounds()
					if end.IsZero() || !end.After(at) || end.Year() > 2039 {
						break
					}
					if at = end; i > 0 && n%(5*testkit.Sample(1)) != 0 { // the others take the same instants, and some have many slots
						continue
					}
					for _, d := range []time.Duration{-25 * time.Hour, -time.Hour, -time.Minute, -1, 0, 1, time.Minute, time.Hour, 25 * time.Hour} {
						checkSlot(t, slots, end.Add(d))
					}
					checkPeriod(t, slots, end)
				}
			}
		})
	}
}

// FuzzSlots: the laws of slots at any instant.
func FuzzSlots(f *testing.F) {
	f.Add(int64(1414285200), uint8(1), uint8(0))
	f.Add(int64(1325239200), uint8(4), uint8(1))
	f.Add(int64(2366794800), uint8(1), uint8(0)) // 2044-12-31
	f.Add(int64(-62135596800), uint8(0), uint8(2))
	f.Fuzz(func(t *testing.T, unix int64, in, kind uint8) {
		at := time.Unix(unix%(1<<38), 0)
		if y := at.UTC().Year(); y < 2 || y > 9998 {
			return
		}
		all := fuzzSlots(zone(t, fuzzZones[int(in)%len(fuzzZones)]))
		slots := all[int(kind)%len(all)]
		checkSlot(t, slots, at)
		checkPeriod(t, slots, at)
	})
}

// TestHalfYears: a day is in the same entity in each year.
func TestHalfYears(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for year := 2015; year <= 2016; year++ {
		visits, s := newSeries(t, series.Days(nil))
		for _, day := range []time.Time{time.Date(year, 6, 30, 0, 0, 0, 0, time.UTC), time.Date(year, 7, 1, 0, 0, 0, 0, time.UTC)} {
			noError(t, visits.Set(ctx, day, 1))
		}
		testkit.Expect(t, "rows", stored(s), fmt.Sprintf("%d: D0630=1; %[1]d_01: D0701=1", year))
	}
}

// hours are the hours of each day.
func hours(zone *time.Location) series.Slots { return series.Every(time.Hour, zone) }
