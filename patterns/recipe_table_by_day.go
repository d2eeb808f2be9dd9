package main

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/table"
)

var tableByDay = recipe{
	name:        "table-by-day",
	title:       "A table for each day: old records are deleted with their table",
	guide:       []string{"G27"},
	related:     []string{"log-tail", "bulk", "several-types"},
	consistency: "strong",
	measured:    []string{"the job drops"},
	naiveGrows:  "1 per 100 rows",
	problem: `Rows are deleted 100 at a time, and must be read before that: a million old records cost 11,000 requests. A table is
		deleted with all of its rows in 1 request. If each day has a table, a job deletes the tables past the retention. The
		service refuses the name of a deleted table for a while, so that a name is never used again, and another job makes
		the tables ahead.`,
	run: func(ctx context.Context, r *Run) error {
		type Login struct{ User int }
		today := time.Date(2014, time.July, 28, 12, 0, 0, 0, time.UTC) // a program leaves the clock out
		clock := table.Common{Now: func() time.Time { return today }}
		prefix := r.TableName("logins")
		for day := range 8 {
			r.TableName("logins" + today.AddDate(0, 0, day).Format("20060102"))
		}
		logins := logtail.NewByPeriod[Login](&extend.Host{Tables: r.Tables()}, prefix, &logtail.PeriodOptions{Common: clock, Keep: 2, Ahead: 1}, &logtail.Options{Common: clock})
		days, err := logins.Periods(), logins.Err()
		if err != nil {
			return err
		}
		if err := r.Do("each day a job makes the tables of this day and the next, and 200 users log in", func() error {
			for day := range 6 {
				if _, err := days.Create(ctx); err != nil {
					return err
				}
				var users []*Login
				for user := range 200 {
					users = append(users, &Login{1000*day + user})
				}
				if _, err := logins.AppendAll(ctx, users...); err != nil {
					return err
				}
				if day < 5 {
					today = today.AddDate(0, 0, 1)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("the 3 newest logins", func() error {
			for login, err := range logins.Tail(ctx, 3) {
				if err != nil {
					return err
				}
				r.Answer("user %d on %s", login.Value.User, login.Time.Format(time.DateOnly))
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("the logins of two days, from two tables", func() error {
			all, err := table.Collect(logins.Between(ctx, today.AddDate(0, 0, -2).Truncate(24*time.Hour), today.Truncate(24*time.Hour)))
			r.Answer("%d logins", len(all))
			return err
		}); err != nil {
			return err
		}
		drop := func(dryRun bool) error {
			old, err := days.Drop(ctx, &logtail.DropOptions{DryRun: dryRun})
			for _, p := range old {
				r.Answer("%s", p.From.Format(time.DateOnly))
			}
			return err
		}
		if err := r.Do("what the job would drop, that keeps two days before this one", func() error { return drop(true) }); err != nil {
			return err
		}
		if err := r.Do("the job drops these days", func() error { return drop(false) }); err != nil {
			return err
		}
		return r.Naive("delete one day by query", func() error {
			day := today.Truncate(24 * time.Hour)
			result, err := logins.Delete(ctx, day.AddDate(0, 0, -1), day, &table.BulkOptions{})
			r.Answer("%d logins, 100 with each request", result.Applied)
			return err
		})
	},
}
