package tablebyday

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "table-by-day",
	Title:       "A table for each day: old records are deleted with their table",
	Guide:       []string{"G27"},
	Related:     []string{"log-tail", "bulk", "several-types"},
	Consistency: "strong",
	Measured:    []string{"the work of the day"},
	NaiveGrows:  "1 per 100 rows",
	Problem: `Rows are deleted 100 at a time, and must be read before that: a million old records cost 11,000 requests. A table is
		deleted with all of its rows in 1 request. If each day has a table, the store's work of each day deletes the tables past the
		retention. The service refuses the name of a deleted table for a while, so that a name is never used again, and that work also
		makes the tables ahead.`,
	Kept: "tablebyday",
	Run: func(ctx context.Context, r *recipe.Run) error {
		today := time.Date(2014, time.July, 28, 12, 0, 0, 0, time.UTC) // a program leaves the clock out
		o := r.StoreOptions("site", "logins")
		o.Now = func() time.Time { return today }
		for day := range 7 {
			r.TableName("logins" + today.AddDate(0, 0, day).Format("20060102"))
		}
		site := Open(r.Account(), o)
		days := func(all []logtail.Period, err error) error {
			for _, p := range all {
				r.Answer("%s", p.From.Format(time.DateOnly))
			}
			return err
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"each day the program starts, Ensure makes the tables of this day and the next, and 200 users log in", func() error {
				for day := range 6 {
					if day > 0 {
						today = today.AddDate(0, 0, 1)
					}
					if err := site.Ensure(ctx); err != nil {
						return err
					}
					var users []*Login
					for user := range 200 {
						users = append(users, &Login{User: 1000*day + user})
					}
					if err := site.LogIn(ctx, users...); err != nil {
						return err
					}
				}
				return nil
			}},
			{"the 3 newest logins", func() error {
				for login, err := range site.Newest(ctx, 3) {
					if err != nil {
						return err
					}
					r.Answer("user %d on %s", login.Value.User, login.Time.Format(time.DateOnly))
				}
				return nil
			}},
			{"the logins of two days, from two tables", func() error {
				all, err := table.Collect(site.Between(ctx, today.AddDate(0, 0, -2).Truncate(24*time.Hour), today.Truncate(24*time.Hour)))
				r.Answer("%d logins", len(all))
				return err
			}},
			{"what the work of a day would drop: the log keeps two days before this one", func() error { return days(site.Due(ctx)) }},
			{"the work of the day drops these days, and makes the tables that do not exist yet", func() error { return site.RunDaily(ctx) }},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return r.Naive("delete one day by query", func() error {
			day := today.Truncate(24 * time.Hour)
			result, err := site.Logins.Delete(ctx, day.AddDate(0, 0, -1), day, nil)
			r.Answer("%d logins, 100 with each request", result.Changed)
			return err
		})
	},
}
