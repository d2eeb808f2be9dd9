package ratelimit

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "rate-limit",
	Title:       "A rate limit for each user",
	Guide:       []string{recipe.Beyond},
	Related:     []string{"sessions", "quota", "optimistic"},
	Consistency: "strong",
	Measured:    []string{"use the limit"},
	Problem: `A user may send three requests in a window of time, over all machines of a service. A counter in memory counts for one machine, and a counter in a table must
		begin again with each window: a program that waits until the old row was deleted refuses users who may go on. Here the window is an entity that ends. When it is over it is not there, and the next use
		begins a new window in its place.`,
	Kept: "ratelimit",
	Run: func(ctx context.Context, r *recipe.Run) error {
		limit := Open(r.Account(), r.StoreOptions("limits", "windows"), 3, 6*time.Second)
		if err := r.Ensure(ctx, limit); err != nil {
			return err
		}
		use := func() error { return limit.Use(ctx, "ann") }
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"begin a window", use},
			{"use the limit", use},
			{"use it a third time", use},
			{"use it a fourth time", func() error { return r.Refused(use(), ErrFull) }},
			{"use it in the next window: the last one is over, and goes", func() error {
				time.Sleep(7500 * time.Millisecond)
				return use()
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "windows"); err != nil {
			return err
		}
		return r.Naive("count in a row without a condition: two programs that read 2 both store 3", func() error {
			e, err := limit.Windows.Get(ctx, limit.Windows.Key(Window{User: "ann"}))
			if err != nil {
				return err
			}
			e.Value.Used++
			return errors.Join(limit.Windows.ReplaceAny(ctx, e))
		})
	},
}
