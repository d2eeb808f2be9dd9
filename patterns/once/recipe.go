package once

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "once",
	Title:       "An idempotency key for HTTP handlers",
	Guide:       []string{recipe.Beyond},
	Related:     []string{"one-at-a-time", "sessions", "workers"},
	Consistency: "strong",
	Measured:    []string{"send the order again"},
	Problem: `A client that gets no response sends its order again, and must not have ordered twice. So it sends a key with the order, and the handler stores its
		response under the key. Two requests with one key may come at the same time, and the first program may have slept for so long that a second one has done the work. Here a lease lets one request of a customer
		work at a time, its guard refuses what a program stores that was asleep, and the response ends after a day.`,
	Kept: "once",
	Run: func(ctx context.Context, r *recipe.Run) error {
		o := Open(r.Account(), r.StoreOptions("once", "responses", "leases"))
		if err := r.Ensure(ctx, o); err != nil {
			return err
		}
		orders := 0
		order := func(ctx context.Context, key string, meanwhile func() error) error {
			answer, err := o.Do(ctx, "Acme", key, func(context.Context) (int, string, []table.Op, error) {
				orders++
				return 201, fmt.Sprint("order ", orders), nil, meanwhile()
			})
			if err == nil {
				r.Answer("%d %s", answer.Status, answer.Body)
			}
			return err
		}
		alone := func() error { return nil }
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"send an order: no response under its key, so take the lease, enter, look again, work, and store the response", func() error { return order(ctx, "7f3a", alone) }},
			{"send the order again: the response of the first", func() error { return order(ctx, "7f3a", alone) }},
			{"send another order, and the same at the same time", func() error {
				return order(ctx, "91bc", func() error { return r.Held(order(ctx, "91bc", alone)) })
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := errors.Join(r.Stored(ctx, "responses"), r.Library(ctx, "responses", "Acme")); err != nil {
			return err
		}
		return r.Naive("send the order again without a key: it is an order more", func() error {
			return order(ctx, "without", alone)
		})
	},
}
