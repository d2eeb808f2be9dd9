package workers

import (
	"context"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "workers",
	Title:       "Run workers as programs of their own",
	Guide:       []string{"G22"},
	Related:     []string{"lost-notifications", "archive", "search-index"},
	Consistency: "eventual",
	Measured:    []string{"insert three parcels"},
	Problem: `A program that writes should not wait for mails, search indexes and archives. Workers execute these effects: programs
		of their own, as many as the queue needs. A platform stops a worker at any time, for a new release or because the queue
		is empty: it sends a signal, waits for some seconds, and kills the program. On the signal, the worker takes no more
		messages, returns those that it has not begun, completes the others, and ends. Another worker does the rest.`,
	Kept: "workers",
	Run: func(ctx context.Context, r *recipe.Run) error {
		shops := Open(r.Account(), nil, r.StoreOptions("shops", "parcels"))
		if err := r.Ensure(ctx, shops); err != nil {
			return err
		}
		accept := func(all ...Parcel) error {
			for _, p := range all {
				if err := shops.Accept(ctx, p); err != nil {
					return err
				}
			}
			return nil
		}
		var worker *recipe.Child
		defer func() {
			if worker != nil {
				_ = worker.Stop() // if a step has failed; otherwise it has stopped
			}
		}()
		start := func() (err error) {
			worker, err = r.StartChild(ctx, r.Prefix())
			return err
		}
		mails := func(n int) error {
			var all []string
			for range n {
				mail, err := worker.Next()
				if err != nil {
					return err
				}
				all = append(all, mail)
			}
			slices.Sort(all) // the worker executes several at a time
			for _, mail := range all {
				r.Answer("%s", mail)
			}
			return nil
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"start a worker program", start},
			{"insert three parcels: each write puts a hidden notification, commits, and makes the notification visible", func() error {
				return accept(Parcel{Shop: "Bern", ID: 1}, Parcel{Shop: "Bern", ID: 2}, Parcel{Shop: "Ulm", ID: 3})
			}},
			{"the worker sends their mails", func() error { return mails(3) }},
			{"stop the worker, as for a new release", func() error { return worker.Stop() }},
			{"insert a parcel while no worker runs", func() error { return accept(Parcel{Shop: "Bern", ID: 4}) }},
			{"start the next release of the worker: it sends the mail", func() error {
				if err := start(); err != nil {
					return err
				}
				return mails(1)
			}},
			{"stop it", func() error { return worker.Stop() }},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return nil
	},
	// The worker program. Its main function calls Work with context.Background().
	Child: func(ctx context.Context, r *recipe.Run, words []string) error {
		send := func(_ context.Context, _ string, p Parcel) error {
			r.Answer("mail for parcel %d of %s", p.ID, p.Shop)
			return nil
		}
		return Open(r.Account(), send, &aztablekit.Options{Prefix: words[0], Worker: eventual.WorkerOptions{
			Idle: 500 * time.Millisecond, // the recipe is in a hurry; the default asks an empty queue every 4 s
		}}).Work(ctx)
	},
}
