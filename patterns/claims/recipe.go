package claims

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "log-tail",
	Title:       "The newest records first: the 10 newest expense claims",
	Guide:       []string{"G26"},
	Related:     []string{"spread-log", "sorted-keys", "table-by-day", "log-data-in-blobs"},
	Consistency: "strong",
	Measured:    []string{"the 10 newest"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `A query returns rows in the ascending order of their keys, and the service cannot sort. If the RowKey is the inverted
		ticks of the time, the newest record of a partition is its first row, and the n newest records are 1 request. Package
		logtail makes such keys, also where two records have one time, and reads the times back from them.`,
	Kept: "claims",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		company := Open(r.Account(), r.StoreOptions("company", "claims"))
		if err := r.Ensure(ctx, company); err != nil {
			return err
		}
		if err := r.Do("append a claim", func() error {
			return company.Append(ctx, sales, &Claim{Employee: 223, Amount: 17})
		}); err != nil {
			return err
		}
		if err := r.Do("append 2,400 claims, in transactions of 100", func() error {
			var all []*Claim
			for i := range 2400 {
				all = append(all, &Claim{Employee: i, Amount: int32(i)})
			}
			return company.Append(ctx, sales, all...)
		}); err != nil {
			return err
		}
		if err := r.Do("the 10 newest claims", func() error {
			n, sum := 0, int32(0)
			for claim, err := range company.Newest(ctx, sales, 10) {
				if err != nil {
					return err
				}
				n++
				sum += claim.Value.Amount
			}
			r.Answer("%d claims, %d in all", n, sum)
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("follow the log from its beginning, and stop after 2,401 claims", func() error {
			n := 0
			for claim, err := range company.Follow(ctx, sales, logtail.NewCursor("", time.Time{})) {
				if err != nil {
					return err
				}
				if n == 0 {
					r.Answer("the oldest claim is of employee %d", claim.Value.Employee)
				}
				if n++; n == 2401 {
					break
				}
			}
			return nil
		}); err != nil {
			return err
		}
		return r.Naive("read all claims of the hour, and keep the newest", func() error {
			n := 0
			for _, err := range company.Since(ctx, sales, time.Now().Add(-time.Hour)) {
				if err != nil {
					return err
				}
				n++
			}
			r.Answer("%d claims are read for 10", n)
			return nil
		})
	},
}
