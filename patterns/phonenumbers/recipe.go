package phonenumbers

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "many-workers",
	Title:       "Work on a large table by many workers, one of which is killed",
	Guide:       []string{"G22"},
	Related:     []string{"workers", "new-index", "archive-by-query", "bulk"},
	Consistency: "eventual",
	Measured:    []string{"start the job"},
	Problem: `A table of a hundred million customers is too large for one program to rewrite: it would take days, and begin again after each
		release. A job divides the range of the keys among the workers that run anyway. Each works on a range for a minute, stores what
		it has done, and leaves the rest as two halves. A worker that is killed loses its minute: another one takes its
		range again. The work is idempotent, and each customer is counted once.`,
	Kept: "phonenumbers",
	Run: func(ctx context.Context, r *recipe.Run) error {
		customers := Open(r.Account(), nil, r.StoreOptions("customers", "customers", "customersjobs"))
		if err := r.Ensure(ctx, customers); err != nil {
			return err
		}
		const n, cities = 2000, 40
		var workers []*recipe.Child
		defer func() {
			for _, w := range workers {
				_ = w.Stop() // if a step has failed; otherwise it has stopped
			}
		}()
		load := func() error {
			_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
				for i := range n {
					c := Customer{City: fmt.Sprintf("City%02d", i%cities), ID: i, Phone: fmt.Sprintf("044 360 %02d %02d", i/100, i%100)}
					if !yield(customers.Table.InsertOp(&c), nil) {
						return
					}
				}
			}, nil)
			return err
		}
		start := func() error {
			return customers.Cleanse.Start(ctx, customers.Table, "2026", "+41", &jobs.Options{Slice: time.Second})
		}
		others := func() error {
			for range 2 {
				w, err := r.StartChild(ctx, r.Prefix(), "works")
				if err != nil {
					return err
				}
				workers = append(workers, w)
			}
			for _, w := range workers {
				if _, err := w.Next(); err != nil { // that the job is finished
					return err
				}
			}
			return nil
		}
		status := func() error {
			status, err := customers.Cleanse.Status(ctx, customers.Table, "2026")
			r.Answer("%s: %d customers, each counted once", status.State, status.Rows)
			return err
		}
		stop := func() (err error) {
			for _, w := range workers {
				if failed := w.Stop(); err == nil {
					err = failed
				}
			}
			workers = nil
			return err
		}
		look := func() error {
			wrong := 0
			for c, err := range customers.Table.List(ctx, table.Query[Customer]{TableScan: true}) {
				if err != nil {
					return err
				}
				if len(c.Value.Phone) != len("+41443600000") {
					wrong++
				}
			}
			r.Answer("numbers of another form: %d", wrong)
			return nil
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"store 2,000 customers by bulk", load},
			{"start the job: 3 requests", start},
			{"kill a worker in the middle of its range", func() error { return r.RunKilledChild(ctx, r.Prefix(), "killed") }},
			{"start two others: they take its range again, and finish the job", others},
			{"look at the job", status},
			{"stop them", stop},
			{"look at all numbers", look},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return nil
	},
	// The worker program. Its main function calls Run.
	Child: func(ctx context.Context, r *recipe.Run, words []string) error {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
		var pages atomic.Int64
		customers := Open(r.Account(), func(int) error {
			if self, err := os.FindProcess(os.Getpid()); words[1] == "killed" && pages.Add(1) == 3 && err == nil {
				return self.Kill()
			}
			return nil
		}, &aztablekit.Options{Prefix: words[0], Worker: eventual.WorkerOptions{
			Idle: 500 * time.Millisecond, Visibility: 2 * time.Second, // the recipe is in a hurry; a killed worker is missed after a minute by default
		}})
		if words[1] == "works" {
			go tellEnd(ctx, r, customers)
		}
		return customers.Run(ctx)
	},
}

// tellEnd answers when the job is not running any more.
func tellEnd(ctx context.Context, r *recipe.Run, customers *Customers) {
	for ctx.Err() == nil {
		status, err := customers.Cleanse.Status(ctx, customers.Table, "2026")
		if err == nil && status.State != jobs.Running {
			r.Answer("%s", status.State)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
