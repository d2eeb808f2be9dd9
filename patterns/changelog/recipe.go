package changelog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// crashAtMerge is a program that crashes before it marks a commit record as done: it sends nothing
// from then on.
type crashAtMerge struct {
	crashed atomic.Bool
	crash   func()
}

// Do implements policy.Policy.
func (c *crashAtMerge) Do(r *policy.Request) (*http.Response, error) {
	if r.Raw().Method == http.MethodPatch {
		c.crashed.Store(true)
		c.crash()
	}
	if c.crashed.Load() {
		return nil, errors.New("the program has crashed")
	}
	return r.Next()
}

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "change-log",
	Title:       "A log of all changes, with each change once",
	Guide:       []string{"G22", "G26"},
	Related:     []string{"log-tail", "workers", "move-department", "search-index"},
	Consistency: "eventual",
	Measured:    []string{"hire Jones", "the newest"},
	Problem: `If a program writes an entity and then appends to a log, a crash in between loses the record; in the other order, the log tells of a
		change that was never made. Here the write stores the record as an effect in its own transaction, and a worker appends it. A worker
		that crashes appends it again, so the operation ID of the write and the RowKey identify the record: AppendOnce stores it once. A move to
		another department is one change, although it deletes a row and inserts another.`,
	Kept: "changelog",
	Run: func(ctx context.Context, r *recipe.Run) error {
		o := r.StoreOptions("company", "staff", "changes")
		company := Open(r.Account(), o)
		if err := r.Ensure(ctx, company); err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		next := func() { time.Sleep(2 * time.Millisecond) } // the log has an order of milliseconds
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"hire Jones", func() (err error) {
				jones, err = company.Employees.Insert(ctx, &Employee{Department: "Sales", ID: 223, LastName: "Jones", Salary: 50_000})
				return err
			}},
			{"hire two in one transaction, which has one operation ID", func() error {
				next()
				_, err := table.Transact(ctx,
					company.Employees.InsertOp(&Employee{Department: "Sales", ID: 224, LastName: "Li", Salary: 48_000}),
					company.Employees.InsertOp(&Employee{Department: "Sales", ID: 225, LastName: "Smith", Salary: 60_000}))
				return err
			}},
			{"raise the salary: the transaction of the write contains the effect", func() error {
				next()
				jones.Value.Salary = 56_000
				return company.Employees.Replace(ctx, jones)
			}},
			{"move Jones to Marketing", func() error {
				next()
				jones.Value.Department = "Marketing"
				return company.Employees.Move(ctx, jones)
			}},
			{"a worker appends the records", func() error { return company.Drain(ctx) }},
			{"raise the salary again; a worker appends the record, and crashes", func() error {
				next()
				jones.Value.Salary = 60_000
				if err := company.Employees.Replace(ctx, jones); err != nil {
					return err
				}
				ctx, crash := context.WithCancel(ctx)
				defer crash()
				acc, err := r.Open(&crashAtMerge{crash: crash})
				if err != nil {
					return err
				}
				short := *o
				short.Worker.Visibility = time.Second // so that the notification is soon visible again
				if err := Open(acc, &short).Drain(ctx); !errors.Is(err, context.Canceled) {
					return fmt.Errorf("got %v, want a worker that has crashed", err)
				}
				return nil
			}},
			{"another worker appends the record again: the log contains it already", func() error {
				time.Sleep(1100 * time.Millisecond)
				return company.Drain(ctx)
			}},
			{"the newest changes", func() error {
				for change, err := range company.Newest(ctx, 10) {
					if err != nil {
						return err
					}
					r.Answer("%s", change.Value.What)
				}
				return nil
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return r.Naive("write the entity, crash, and append never", func() error {
			if _, err := r.Table("staff").AddEntity(ctx, []byte(`{"PartitionKey":"Sales","RowKey":"empid_000226","LastName":"Cao"}`), nil); err != nil {
				return err
			}
			r.Answer("Cao is hired, and the log does not say so")
			return nil
		})
	},
}
