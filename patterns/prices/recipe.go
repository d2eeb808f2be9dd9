package prices

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "one-at-a-time",
	Title:       "A job that several programs begin, once a day",
	Guide:       []string{recipe.Beyond},
	Related:     []string{"leader", "optimistic", "once"},
	Consistency: "strong",
	Measured:    []string{"program 2 begins when program 1 is done"},
	Problem: `Three machines begin the same job at two o'clock, and it is to be done once. A lease lets one of them in: it is renewed while the job runs, and the others get an error at once.
		A machine that comes when the job is done is stopped by the row of the day, which is stored together with the result. A machine may also sleep, since it was suspended or it waited for
		memory, and wake when another one has done the job. It does not know yet, and stores what it has computed. So each transaction requires the row of its holder in the partition (the
		guard), which the next holder deletes: storage refuses what the sleeper sends. The guard takes no request.`,
	Kept: "prices",
	Run: func(ctx context.Context, r *recipe.Run) error {
		one, two := Open(r.Account(), "program 1", r.StoreOptions("prices", "prices", "leases")), Open(r.Account(), "program 2", r.StoreOptions("prices"))
		if err := errors.Join(r.Ensure(ctx, one), r.Ensure(ctx, two)); err != nil {
			return err
		}
		bread := func(cents int64) func(context.Context) ([]Price, error) {
			return func(context.Context) ([]Price, error) {
				r.Answer("computes that bread is %d", cents)
				return []Price{{Market: "Bern", Item: "bread", Cents: cents}}, nil
			}
		}
		var sleeper *recipe.Child
		defer func() {
			if sleeper != nil { // a step has failed
				_ = errors.Join(sleeper.Resume(), sleeper.Stop())
			}
		}()
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"program 1 begins: it takes the lease of the market, enters its partition, looks for the day, computes, and stores the prices and the day", func() error {
				return one.Compute(ctx, "Bern", "2026-11-28", bread(100))
			}},
			{"program 2 begins when program 1 is done", func() error { return two.Compute(ctx, "Bern", "2026-11-28", bread(101)) }},
			{"on the next day program 1 begins, here a process of its own, whose requests are not counted", func() (err error) {
				if sleeper, err = r.StartChild(ctx, r.Prefix()); err != nil {
					return err
				}
				line, err := sleeper.Next()
				r.Answer("%s", line)
				return err
			}},
			{"program 2 begins meanwhile", func() error { return r.Held(two.Compute(ctx, "Bern", "2026-11-29", bread(120))) }},
			{"program 1 falls asleep in the middle of its work (SIGSTOP), and its lease ends; program 2 begins again", func() error {
				if err := sleeper.Pause(); err != nil {
					return err
				}
				time.Sleep(8 * time.Second)
				return two.Compute(ctx, "Bern", "2026-11-29", bread(120))
			}},
			{"program 1 wakes (SIGCONT), and stores what it has computed, without a look at its context: storage refuses it", func() error {
				if err := sleeper.Resume(); err != nil {
					return err
				}
				line, err := sleeper.Next()
				r.Answer("%s", line)
				if err == nil {
					err = sleeper.End()
					sleeper = nil
				}
				return err
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := errors.Join(r.Stored(ctx, "prices"), r.Library(ctx, "prices", "Bern")); err != nil {
			return err
		}
		err := r.Naive("without the row of the day and the guard: program 1 stores the old price over the newer one", func() error {
			_, err := one.Table.Upsert(ctx, &Price{Market: "Bern", Item: "bread", Cents: 101}, table.ReplaceExisting)
			return err
		})
		return errors.Join(err, r.Stored(ctx, "prices"))
	},
	// Program 1 on the next day. It goes on when its lease is lost.
	Child: func(ctx context.Context, r *recipe.Run, words []string) error {
		p := Open(r.Account(), "program 1", &aztablekit.Options{Prefix: words[0]})
		err := p.Compute(ctx, "Bern", "2026-11-29", func(ctx context.Context) ([]Price, error) {
			r.Answer("program 1 computes that bread is 101")
			<-ctx.Done()
			return []Price{{Market: "Bern", Item: "bread", Cents: 101}}, nil
		})
		return r.Refused(err, lease.ErrLost)
	},
}
