package main

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/patterns/prices"
	"github.com/aztablekit/aztablekit/table"
)

var oneAtATime = recipe{
	name:        "one-at-a-time",
	title:       "One program at a time, also when it was asleep",
	guide:       []string{"G10"},
	related:     []string{"leader", "optimistic", "quota"},
	consistency: "strong",
	measured:    []string{"program 1 stores a price"},
	problem: `One program at a time computes the prices of a market, and stores them whatever was there before. A lock that ends is not enough: the
		program may sleep, since its machine was suspended or it waited for memory, and it wakes when the lock is over and another program has stored newer
		prices. It does not know yet, and stores the old ones. With a lease whose holder enters the partition, each transaction requires the row of its holder
		there (the guard), and the next holder deletes it: storage refuses what the sleeper sends. It takes no request.`,
	kept: "prices",
	run: func(ctx context.Context, r *Run) error {
		now := time.Now()
		o := r.StoreOptions("prices", "prices", "leases")
		o.Common.Now = func() time.Time { return now } // both clocks of program 1 stand still, as those of a suspended machine may
		one, two := prices.Open(r.Account(), "program 1", o), prices.Open(r.Account(), "program 2", r.StoreOptions("prices"))
		if err := errors.Join(r.Ensure(ctx, one), r.Ensure(ctx, two)); err != nil {
			return err
		}
		bread := func(cents int64) prices.Price { return prices.Price{Market: "Bern", Item: "bread", Cents: cents} }
		var first, second *prices.Session
		for _, step := range []struct {
			what string
			run  func() (err error)
		}{
			{"program 1 takes the lease of a market, and enters its partition", func() (err error) {
				first, err = one.Begin(ctx, "Bern")
				return err
			}},
			{"program 2 wants to begin, too", func() error {
				_, err := two.Begin(ctx, "Bern")
				return r.Refused(err, lease.ErrHeld)
			}},
			{"program 1 stores a price: the transaction merges nothing into its guard", func() error { return first.Set(ctx, bread(100)) }},
			{"program 1 falls asleep, and its lease ends; program 2 takes it, and enters", func() (err error) {
				time.Sleep(7 * time.Second)
				second, err = two.Begin(ctx, "Bern")
				return err
			}},
			{"program 2 stores a newer price", func() error { return second.Set(ctx, bread(120)) }},
			{"program 1 wakes and stores what it has computed: storage refuses it", func() error {
				return r.Refused(first.Set(ctx, bread(101)), lease.ErrLost)
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := errors.Join(r.Stored(ctx, "prices"), r.Library(ctx, "prices", "Bern")); err != nil {
			return err
		}
		err := r.Naive("without the guard: program 1 stores the old price over the newer one", func() error {
			p := bread(101)
			_, err := one.Table.Upsert(ctx, &p, table.ReplaceExisting)
			return err
		})
		return errors.Join(err, r.Stored(ctx, "prices"))
	},
}
