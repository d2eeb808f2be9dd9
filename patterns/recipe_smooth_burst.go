package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var smoothBurst = recipe{
	name:        "smooth-burst",
	title:       "Write a burst at a steady pace",
	guide:       []string{"G12", "G14"},
	related:     []string{"bulk", "spread-log"},
	consistency: "by part",
	measured:    []string{"write 500 readings"},
	problem: `The service takes about 2,000 rows a second in a partition and 20,000 in an account, and answers 503 to what is more. Each refused
		request is sent for nothing, and the writes of all other programs are refused, too. Bulk writes at most so many rows in a
		second: at Rate in all, and at PartitionRate in each partition. Without them, bulk keeps to 20,000 and 2,000 after the first 503. The
		service of this recipe takes 200 rows in half a second, so that the recipe is short.`,
	run: func(ctx context.Context, r *Run) error {
		type Reading struct {
			Meter  string
			Minute int
			Value  float64
		}
		meter := keys.Partition(keys.Text(), func(v *Reading) *string { return &v.Meter })
		minute := keys.Row(keys.Digits[int](5), func(v *Reading) *int { return &v.Minute })
		acc, refused, err := r.LimitedAccount(200)
		if err != nil {
			return err
		}
		o := &table.Options{BlindWrites: true}
		o.Retry.Attempts = 1 // so that the refusals of the burst can be seen; a program leaves this out
		readings, err := table.New(acc.Tables(), r.TableName("readings"), table.Schema[Reading]{Partition: meter, Row: minute}, o)
		if err != nil {
			return err
		}
		if err := readings.Ensure(ctx); err != nil {
			return err
		}
		write := func(from int) table.Op {
			return readings.UpsertOp(&Reading{"M1", from, 20.5}, table.ReplaceExisting)
		}
		if err := r.Do("write 500 readings of a meter, at most 300 in a second", func() error {
			began := time.Now()
			result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
				for i := range 500 {
					if !yield(write(i), nil) {
						return
					}
				}
			}, &table.BulkOptions{PartitionRate: 300})
			r.Answer("written: %d; refused transactions: %d; it took more than a second: %v", result.Applied, refused(), time.Since(began) > time.Second)
			return err
		}); err != nil {
			return err
		}
		time.Sleep(500 * time.Millisecond) // the service forgives
		return r.Naive("the same 500 readings, in five transactions at once", func() error {
			errs := make([]error, 5)
			var wg sync.WaitGroup
			for n := range errs {
				wg.Go(func() {
					var all []table.Op
					for i := range 100 {
						all = append(all, write(100*n+i))
					}
					_, errs[n] = table.Transact(ctx, all...)
				})
			}
			wg.Wait()
			if err := errors.Join(errs...); err == nil {
				return errors.New("the service has refused nothing")
			}
			n := refused()
			r.Answer("written: %d; refused transactions: %d", 500-100*n, n)
			return nil
		})
	},
}
