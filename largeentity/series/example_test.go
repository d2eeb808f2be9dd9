package series_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// newVisits returns an empty series in a service in memory. A program takes its account from package account.
func newVisits(slots series.Slots) *series.Series[int64] {
	store := aztablekit.Open(storagetest.New(nil), "company", nil)
	visits := series.New[int64](store, "visits", slots, nil)
	check(store.Ensure(context.Background()))
	return visits
}

// The hours of a day in one entity.
func Example() {
	ctx := context.Background()
	page := keys.Text()
	home := newVisits(series.Every(time.Hour, nil)).In(page.PartitionKey("home"))

	morning := time.Date(2014, 7, 31, 7, 15, 0, 0, time.UTC)
	check(home.Set(ctx, morning, 17))
	sum, err := home.Add(ctx, morning, 1)
	check(err)
	fmt.Println("H07:", sum)

	day, err := home.Read(ctx, morning)
	check(err)
	for _, v := range day[6:9] {
		fmt.Println(v.From.Format("15:04"), v.Value, v.Present)
	}
	// Output:
	// H07: 18
	// 06:00 0 false
	// 07:00 18 true
	// 08:00 0 false
}

// Values of several days. Absent slots are yielded, too.
func ExampleSeries_Between() {
	ctx := context.Background()
	visits := newVisits(series.Days(nil))
	monday := time.Date(2014, 7, 28, 0, 0, 0, 0, time.UTC)
	check(visits.SetAll(ctx, maps.All(map[time.Time]int64{
		monday:                  12,
		monday.AddDate(0, 0, 1): 0,
		monday.AddDate(0, 0, 3): 9,
	})))
	for v, err := range visits.Between(ctx, monday, monday.AddDate(0, 0, 4)) {
		check(err)
		if v.Present {
			fmt.Println(v.Period, v.Name, v.Value)
		} else {
			fmt.Println(v.Period, v.Name, "absent")
		}
	}
	// Output:
	// 2014 D0728 12
	// 2014 D0729 0
	// 2014 D0730 absent
	// 2014 D0731 9
}

// A program counts in memory, and stores the counts of a while together.
func ExampleSeries_AddAll() {
	ctx := context.Background()
	visits := newVisits(series.Every(time.Hour, nil))
	counts := map[time.Time]int64{}
	start := time.Date(2014, 7, 31, 22, 0, 0, 0, time.UTC)
	for i := range 100 { // one visit every 2 minutes
		counts[start.Add(time.Duration(2*i)*time.Minute).Truncate(time.Hour)]++
	}
	check(visits.AddAll(ctx, maps.All(counts)))
	for v, err := range visits.Between(ctx, start, start.Add(4*time.Hour)) {
		check(err)
		fmt.Println(v.Period, v.Name, v.Value)
	}
	// Output:
	// 2014-07-31 H22 30
	// 2014-07-31 H23 30
	// 2014-08-01 H00 30
	// 2014-08-01 H01 10
}

// The outcome of an exact increment is known, or can be resolved.
func ExampleSeries_Exact() {
	ctx := context.Background()
	visits := newVisits(series.Every(time.Hour, nil)).Exact()
	at := time.Date(2014, 7, 31, 7, 0, 0, 0, time.UTC)
	sum, err := visits.Add(ctx, at, 1)
	var unknown *table.UnknownError
	if errors.As(err, &unknown) {
		done, err := unknown.Resolve(ctx)
		check(err)
		if !done {
			sum, err = visits.Add(ctx, at, 1)
			check(err)
		}
	}
	fmt.Println(sum)
	// Output: 1
}

// Several series in one partition.
func ExampleSeries_Of() {
	ctx := context.Background()
	dept := keys.Text()
	empid := keys.Digits[int](6).Named("empid")
	sales := newVisits(series.Every(time.Hour, nil)).In(dept.PartitionKey("Sales"))
	at := time.Date(2014, 7, 31, 7, 0, 0, 0, time.UTC)
	check(sales.Of(empid.RowKey(223)).Set(ctx, at, 17)) // RowKey empid_000223_2014-07-31
	check(sales.Of(empid.RowKey(300)).Set(ctx, at, 9))
	day, err := sales.Of(empid.RowKey(223)).Read(ctx, at)
	check(err)
	fmt.Println(day[7].Value)
	// Output: 17
}

// The entities of old days are deleted as a whole.
func ExampleSeries_Delete() {
	ctx := context.Background()
	visits := newVisits(series.Every(time.Hour, nil))
	today := time.Date(2014, 7, 31, 12, 0, 0, 0, time.UTC)
	for i := range 10 {
		check(visits.Set(ctx, today.AddDate(0, 0, -i), 1))
	}
	result, err := visits.Delete(ctx, time.Time{}, today.AddDate(0, 0, -6), nil)
	check(err)
	fmt.Println(result.Changed)
	// Output: 3
}

// A day of 25 hours. The repeated hour has a slot of its own.
func ExampleSlots_All() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(err)
	all, err := series.Every(time.Hour, berlin).All(time.Date(2014, 10, 26, 12, 0, 0, 0, berlin))
	check(err)
	for _, slot := range all[1:5] {
		fmt.Println(slot.Name, slot.From.Format("15:04 MST"))
	}
	fmt.Println(len(all))
	// Output:
	// H01 01:00 CEST
	// H02 02:00 CEST
	// H03 02:00 CET
	// H04 03:00 CET
	// 25
}

// At returns how the slot of a time is stored, and when it begins and ends.
func ExampleSlots_At() {
	slots := series.Every(5*time.Minute, nil)
	slot, err := slots.At(time.Date(2014, 7, 31, 14, 37, 0, 0, time.UTC))
	check(err)
	fmt.Println(slot.Period, slot.Name)
	fmt.Println(slot.From.Format(time.TimeOnly), slot.To.Format(time.TimeOnly))
	// Output:
	// 2014-07-31 T1435
	// 14:35:00 14:40:00
}

// The shifts of a day.
func ExampleNamed() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	check(err)
	shifts := series.Named(berlin, map[string]time.Duration{"Night": 0, "Early": 6 * time.Hour, "Late": 14 * time.Hour})
	slot, err := shifts.At(time.Date(2014, 7, 31, 13, 59, 0, 0, berlin))
	check(err)
	fmt.Println(slot.Period, slot.Name)
	// Output: 2014-07-31 Early
}

// The counts of all pages, but for the last year.
func ExampleSeries_Prune() {
	ctx := context.Background()
	visits := newVisits(series.Days(nil))
	today := time.Date(2014, 7, 31, 12, 0, 0, 0, time.UTC)
	for _, page := range []string{"about", "home"} {
		of := visits.In(keys.RawPartition(page))
		check(errors.Join(of.Set(ctx, today, 1), of.Set(ctx, today.AddDate(-2, 0, 0), 1)))
	}
	result, err := visits.Prune(ctx, keys.PartitionRange{}, today.AddDate(-1, 0, 0), nil)
	check(err)
	fmt.Println(result.Changed)
	// Output: 2
}
