package smoothburst

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "smooth-burst",
	Title:       "Write a burst at a steady pace",
	Guide:       []string{"G12", "G14"},
	Related:     []string{"bulk", "spread-log"},
	Consistency: "by part",
	Measured:    []string{"write 500 readings"},
	Problem: `The service takes about 2,000 rows a second in a partition and 20,000 in an account, and answers 503 to what is more. Each refused
		request is sent for nothing, and the writes of all other programs are refused, too. Bulk writes at most
		Rate rows in a second. Without a rate, it keeps to 20,000 in all and 2,000 in each partition after the first 503. The
		service of this recipe takes 200 rows in half a second, so that the recipe is short.`,
	Kept: "smoothburst",
	Run: func(ctx context.Context, r *recipe.Run) error {
		acc, refused, err := r.LimitedAccount(200)
		if err != nil {
			return err
		}
		o := r.StoreOptions("meters", "readings")
		o.Common.Retry.Attempts = 1 // so that the refusals of the burst can be seen; a program leaves this out
		meters := Open(acc, o)
		if err := r.Ensure(ctx, meters); err != nil {
			return err
		}
		if err := r.Do("write 500 readings of a meter, at most 300 in a second", func() error {
			began := time.Now()
			result, err := meters.Record(ctx, 300, func(yield func(Reading, error) bool) {
				for i := range 500 {
					if !yield(Reading{Meter: "M1", Minute: i, Value: 20.5}, nil) {
						return
					}
				}
			})
			r.Answer("written: %d; refused transactions: %d; it took more than a second: %v", result.Changed, refused(), time.Since(began) > time.Second)
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
						v := Reading{Meter: "M1", Minute: 100*n + i, Value: 20.5}
						all = append(all, meters.Readings.UpsertOp(&v, table.ReplaceExisting))
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
