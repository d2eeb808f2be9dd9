package dataseries

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "data-series",
	Title:       "The hourly counts of a day in one row",
	Guide:       []string{"G28"},
	Related:     []string{"large-entity", "replace-merge", "wide-entity", "optimistic"},
	Consistency: "strong",
	Measured:    []string{"the chart of the day"},
	Problem: `If each hourly count is a row, a chart of a day reads 24 rows, and that of a month 720. A row has up to 252 properties, so a
		day fits into one row with a property for each hour. A count is stored by a merge of its property, which needs no read and
		leaves the other hours alone. Package series finds the row and the property of a time, also on days of 23 and 25 hours.`,
	Kept: "dataseries",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const home = "home"
		site := Open(r.Account(), r.StoreOptions("site", "visits"))
		if err := r.Ensure(ctx, site); err != nil {
			return err
		}
		day := time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)
		if err := r.Do("store the count of an hour, in a row that does not exist yet", func() error {
			return site.Set(ctx, home, day.Add(7*time.Hour), 17)
		}); err != nil {
			return err
		}
		if err := r.Do("count one more visit at 07:15", func() error {
			sum, err := site.Add(ctx, home, day.Add(7*time.Hour+15*time.Minute), 1)
			r.Answer("%d visits from 07:00 to 08:00", sum)
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "visits"); err != nil {
			return err
		}
		counts := map[time.Time]int64{}
		for hour, n := range []int64{4, 2, 1, 0, 1, 3, 9, 18, 31, 38, 35, 33, 40, 36, 30, 29, 27, 30, 38, 44, 41, 25} {
			counts[day.Add(time.Duration(hour)*time.Hour)] = n
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"store the counts of 22 hours; those of the last 2 are still to come", func() error { return site.SetAll(ctx, home, counts) }},
			{"the chart of the day", func() error {
				values, err := site.Day(ctx, home, day)
				for _, v := range values {
					bar := "(absent)"
					if v.Present {
						bar = fmt.Sprintf("%3d %s", v.Value, strings.Repeat("█", int(v.Value)))
					}
					r.Answer("%s %s", v.From.Format("15:04"), strings.TrimRight(bar, " "))
				}
				return err
			}},
			{"the visits of a month, most of whose days have no row", func() error {
				slots, sum := 0, int64(0)
				for v, err := range site.Between(ctx, home, day.AddDate(0, 0, -30), day.AddDate(0, 0, 1)) {
					if err != nil {
						return err
					}
					slots++
					sum += v.Value
				}
				r.Answer("%d visits in %d hours", sum, slots)
				return nil
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		type Hour struct {
			Page  string
			From  time.Time
			Count int64
		}
		page := keys.Partition(keys.Text(), func(h *Hour) *string { return &h.Page })
		from := keys.Row(keys.Time(), func(h *Hour) *time.Time { return &h.From })
		naive := aztablekit.Open(r.Account(), "naive", r.StoreOptions("naive", "hours"))
		hours := aztablekit.Table(naive, "hours", page, from, &aztablekit.Settings[Hour]{Options: table.Options{BlindWrites: true}})
		if err := r.Ensure(ctx, naive); err != nil {
			return err
		}
		return r.Naive("a row for each hour of the day", func() error {
			for at, n := range counts {
				if _, err := hours.Upsert(ctx, &Hour{home, at, n}, table.ReplaceExisting); err != nil {
					return err
				}
			}
			n, err := hours.Count(ctx, table.Query[Hour]{Partition: page.Of(home)})
			r.Answer("%d rows are read and billed for one chart", n)
			return err
		})
	},
}
