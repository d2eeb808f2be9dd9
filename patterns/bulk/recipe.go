package bulk

import (
	"context"
	"fmt"
	"iter"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "bulk",
	Title:       "Write and delete many entities",
	Guide:       []string{"G13", "G49"},
	Related:     []string{"smooth-burst", "parallel", "table-by-day"},
	Consistency: "by part",
	Measured:    []string{"upsert 600"},
	Problem: `A transaction takes at most 100 operations of one partition, but input often is a stream in any order. Bulk
		reads ahead in the stream, groups the operations by partition, and sends several transactions at the same time. If the work stops early,
		the same stream goes on at the Token of the result. table.BulkDelete deletes the results of a query in the same way.`,
	Kept: "bulk",
	Run: func(ctx context.Context, r *recipe.Run) error {
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		// In a program, the employees come from a file, a queue or another table.
		employees := func(n int) iter.Seq2[Employee, error] {
			return func(yield func(Employee, error) bool) {
				for i := range n {
					if !yield(Employee{Department: []string{"Finance", "Marketing", "Sales"}[i%3], ID: i, Age: int32(20 + i%45)}, nil) {
						return
					}
				}
			}
		}
		for _, step := range []struct {
			what string
			run  func() (table.Progress, error)
		}{
			{"upsert 600 employees of three departments, in alternating order", func() (table.Progress, error) { return staff.Import(ctx, employees(600)) }},
			{"delete the employees of Sales aged 60 or over", func() (table.Progress, error) {
				return staff.Retire(ctx, "Sales", 60)
			}},
			{"delete employees 0 to 299, of whom some are deleted already", func() (table.Progress, error) { return staff.Remove(ctx, employees(300)) }},
		} {
			if err := r.Do(step.what, func() error {
				result, err := step.run()
				r.Answer("operations: %d; applied: %d; missing: %d; skipped: %d", result.Rows, result.Changed, result.Counts["missing"], result.Skipped)
				return err
			}); err != nil {
				return err
			}
		}
		return r.Naive("600 upserts, one by one", func() error {
			for i := range 600 {
				e := Employee{Department: fmt.Sprint("D", i%3), ID: i, Age: 30}
				if _, err := staff.Employees.Upsert(ctx, &e, table.ReplaceExisting); err != nil {
					return err
				}
			}
			return nil
		})
	},
}
