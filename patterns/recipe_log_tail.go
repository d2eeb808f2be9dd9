package main

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/logtail"
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
	run: func(ctx context.Context, r *Run) error {
		type Claim struct {
			Employee int
			Amount   int32
		}
		dept := keys.Text()
		claims := logtail.New[Claim](&extend.Host{Tables: r.Tables()}, r.TableName("claims"), nil)
		err := claims.Err()
		if err != nil {
			return err
		}
		if err := claims.Ensure(ctx); err != nil {
			return err
		}
		sales := claims.In(dept.PartitionKey("Sales"))
		if err := r.Do("append a claim", func() error {
			_, err := sales.Append(ctx, &Claim{Employee: 223, Amount: 17})
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("append 2,400 claims, in transactions of 100", func() error {
			var all []*Claim
			for i := range 2400 {
				all = append(all, &Claim{Employee: i, Amount: int32(i)})
			}
			_, err := sales.AppendAll(ctx, all...)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("the 10 newest claims", func() error {
			n, sum := 0, int32(0)
			for claim, err := range sales.Tail(ctx, 10) {
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
			for claim, err := range sales.Follow(ctx, logtail.NewCursor("")) {
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
			for _, err := range sales.Since(ctx, time.Now().Add(-time.Hour)) {
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
