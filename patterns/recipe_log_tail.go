package main

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/patterns/claims"
)

var logTail = recipe{
	name:        "log-tail",
	title:       "The newest records first: the 10 newest expense claims",
	guide:       []string{"G26"},
	related:     []string{"spread-log", "sorted-keys", "table-by-day", "log-data-in-blobs"},
	consistency: "strong",
	measured:    []string{"the 10 newest"},
	naiveGrows:  "1 per 1,000 rows",
	problem: `A query returns rows in the ascending order of their keys, and the service cannot sort. If the RowKey is the inverted
		ticks of the time, the newest record of a partition is its first row, and the n newest records are 1 request. Package
		logtail makes such keys, also where two records have one time, and reads the times back from them.`,
	kept: "claims",
	run: func(ctx context.Context, r *Run) error {
		const sales = "Sales"
		company := claims.Open(r.Account(), r.StoreOptions("company", "claims"))
		if err := r.Ensure(ctx, company); err != nil {
			return err
		}
		if err := r.Do("append a claim", func() error {
			return company.Append(ctx, sales, &claims.Claim{Employee: 223, Amount: 17})
		}); err != nil {
			return err
		}
		if err := r.Do("append 2,400 claims, in transactions of 100", func() error {
			var all []*claims.Claim
			for i := range 2400 {
				all = append(all, &claims.Claim{Employee: i, Amount: int32(i)})
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
