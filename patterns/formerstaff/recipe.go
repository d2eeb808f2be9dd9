package formerstaff

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "archive",
	Title:       "Move an entity to another table, even if workers crash",
	Guide:       []string{"G22"},
	Related:     []string{"archive-directory", "search-index", "several-types", "replace-merge", "workers"},
	Consistency: "eventual",
	Measured:    []string{"request the move", "a second worker completes"},
	Problem: `Employee 456 has left and moves from the table Current to the table Archive. No transaction covers two tables. The
		guide puts a message into a queue, and a worker copies the row and deletes it. This loses changes that are made in
		between, and an old message deletes an employee who has come back. Here a write requests the move and stores a commit
		record. The worker checks the versions of the rows, and the transaction that deletes the row also records the move. In
		the rows below, ~i|OP1 is the commit record. _life is the incarnation: it distinguishes an employee from one who has
		come back, and is part of the RowKey in the archive. _sys contains the RowKey of the entity, the name of the mover, and
		the time and operation ID of the request.`,
	Kept: "formerstaff",
	Run: func(ctx context.Context, r *recipe.Run) error {
		staff := Open(r.Account(), r.StoreOptions("staff", "Current", "Archive"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		var e *table.Entity[Employee]
		if err := r.Do("insert employee 456", func() (err error) {
			e, err = staff.Current.Insert(ctx, &Employee{Department: "Sales", ID: 456, LastName: "Jones"})
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("request the move: put a hidden notification, touch the entity and store a commit record, make the notification visible", func() error {
			return staff.Archive(ctx, e)
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Library(ctx, "Current", "Sales")); err != nil {
			return err
		}
		if err := r.Do("kill a worker during the move, when 456 is in both tables", func() error { return r.RunKilledChild(ctx, r.Prefix()) }); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Stored(ctx, "Archive")); err != nil {
			return err
		}
		rename := func(name string) error {
			_, err := staff.Current.Update(ctx, e.Key, func(e *Employee) error {
				e.LastName = name
				return nil
			})
			return err
		}
		if err := r.Do("change the name of 456 before the move continues", func() error { return rename("Brown") }); err != nil {
			return err
		}
		time.Sleep(1100 * time.Millisecond) // until the notification of the killed worker is visible again
		if err := r.Do("a second worker completes the move: read the commit record, Archive and Current; write to Archive; delete from Current", func() error {
			return staff.Drain(ctx)
		}); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Records(ctx, "Current", "Sales"), r.Stored(ctx, "Archive")); err != nil {
			return err
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"find 456 in either table", func() error {
				e, archived, err := staff.Find(ctx, "Sales", 456)
				if err == nil {
					r.Answer("%s, archived: %v", e.LastName, archived)
				}
				return err
			}},
			{"restore 456 as a new incarnation", func() error { return staff.Restore(ctx, "Sales", 456) }},
			{"a worker deletes the old incarnation from Archive, and leaves a tombstone", func() error { return staff.Drain(ctx) }},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := errors.Join(r.Stored(ctx, "Current"), r.Stored(ctx, "Archive")); err != nil {
			return err
		}
		if _, err := r.Queue("moves").Create(ctx, nil); err != nil {
			return err
		}
		return r.Naive("the guide's way: message, copy, delete; a concurrent change is lost", func() error {
			return moveAsInTheGuide(ctx, r, "Sales", "empid_000456", func() error {
				r.Answer("a concurrent writer changes the name to Lost")
				return rename("Lost")
			})
		})
	},
	// The worker that is killed: after the transaction that writes to Archive, the next request
	// kills the process.
	Child: func(ctx context.Context, r *recipe.Run, words []string) error {
		acc, err := r.CrashingAccount(1, func() {
			self, err := os.FindProcess(os.Getpid())
			if err == nil && self.Kill() == nil {
				select {} // until the signal arrives
			}
		})
		if err != nil {
			return err
		}
		return Open(acc, &aztablekit.Options{Prefix: words[0], Worker: eventual.WorkerOptions{
			Concurrency: 1,
			Visibility:  time.Second, // so that the notification is soon visible again
		}}).Drain(ctx)
	},
}

// moveAsInTheGuide is the pattern of the guide: a message says what to do. A concurrent writer
// changes the entity in between.
func moveAsInTheGuide(ctx context.Context, r *recipe.Run, partition, row string, concurrent func() error) error {
	current, archived, queue := r.Table("Current"), r.Table("Archive"), r.Queue("moves")
	if _, err := queue.EnqueueMessage(ctx, "archive "+row, nil); err != nil {
		return err
	}
	got, err := queue.DequeueMessage(ctx, nil)
	if err != nil {
		return err
	}
	if len(got.Messages) != 1 {
		return fmt.Errorf("got %d messages, want 1", len(got.Messages))
	}
	read, err := current.GetEntity(ctx, partition, row, nil)
	if err != nil {
		return err
	}
	if err := concurrent(); err != nil {
		return err
	}
	if _, err := archived.AddEntity(ctx, read.Value, nil); err != nil { // the version before that change
		return err
	}
	if _, err := current.DeleteEntity(ctx, partition, row, nil); err != nil { // the version after that change
		return err
	}
	var stored aztables.EDMEntity
	if err := json.Unmarshal(read.Value, &stored); err != nil {
		return err
	}
	r.Answer("the archive contains the name %v", stored.Properties["LastName"])
	r.Answer("the guide's way takes 6 requests, and the concurrent writer 2; the library takes 3 to request a move and 7 to execute it")
	_, err = queue.DeleteMessage(ctx, *got.Messages[0].MessageID, *got.Messages[0].PopReceipt, nil)
	return err
}
