package lostnotifications

import (
	"context"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "lost-notifications",
	Title:       "Execute effects whose notifications were lost",
	Guide:       []string{"G22"},
	Related:     []string{"workers", "search-index", "archive"},
	Consistency: "eventual",
	Measured:    []string{"find the partitions"},
	Problem: `Workers learn of writes by notifications in a queue. If an operator clears or deletes the queue, or drops poison
		messages that looked like rubbish, no worker executes the effects of those writes. But the transaction of each write has
		stored its effects in a commit record. A job finds the pending commit records and notifies the workers again, while
		writers and workers keep running.`,
	Kept: "lostnotifications",
	Run: func(ctx context.Context, r *recipe.Run) error {
		mails := 0
		send := func(context.Context, string, Order) error {
			mails++
			return nil
		}
		shops := Open(r.Account(), send, r.StoreOptions("shops", "orders"))
		if err := r.Ensure(ctx, shops); err != nil {
			return err
		}
		work := func() error {
			err := shops.Drain(ctx)
			r.Answer("%d mails sent", mails)
			return err
		}
		notify := func() error {
			sent, err := shops.NotifyAll(ctx)
			r.Answer("%d notifications sent", sent)
			return err
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"insert three orders of two shops, and clear the queue", func() error {
				for _, o := range []Order{{Shop: "Bern", ID: 1}, {Shop: "Bern", ID: 2}, {Shop: "Ulm", ID: 3}} {
					if err := shops.Accept(ctx, o); err != nil {
						return err
					}
				}
				_, err := r.Queue("shops-writes").ClearMessages(ctx, nil)
				return err
			}},
			{"a worker finds no notifications", work},
			{"find the partitions, query each one for pending commit records, and send a notification for each record", notify},
			{"the worker executes the effects", work},
			{"run the job again: no commit record is pending", notify},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return nil
	},
}
