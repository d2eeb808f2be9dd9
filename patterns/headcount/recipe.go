package headcount

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "parallel",
	Title:       "Work on all partitions at the same time",
	Guide:       []string{"G49"},
	Related:     []string{"several-points", "bulk", "spread-log"},
	Consistency: "by part",
	Measured:    []string{"count the employees aged 60"},
	Problem: `A table scan reads one partition after another, at most 1,000 rows in each request. The service can serve
		partitions from different machines, so a program that works on several partitions at the same time is faster. Partitions
		lists the PartitionKeys: it jumps from each partition to the next without reading the rows in between.`,
	Kept: "headcount",
	Run: func(ctx context.Context, r *recipe.Run) error {
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		if err := r.Do("insert 100 employees into each of four departments: four transactions at the same time", func() error {
			departments := []string{"Finance", "Marketing", "Sales", "Support"}
			errs := make([]error, len(departments))
			var wg sync.WaitGroup
			for i, d := range departments {
				wg.Go(func() {
					var all []Employee
					for id := range 100 {
						all = append(all, Employee{Department: d, ID: id, Age: int32(20 + (id+len(d))%45)})
					}
					errs[i] = staff.Hire(ctx, all...)
				})
			}
			wg.Wait()
			return errors.Join(errs...)
		}); err != nil {
			return err
		}
		if err := r.Do("list the departments", func() error {
			for name, err := range staff.Departments(ctx) {
				if err != nil {
					return err
				}
				r.Answer("%s", name)
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("count the employees aged 60 or over in all departments at the same time", func() error {
			found, err := staff.Count(ctx, 60)
			for _, d := range slices.Sorted(maps.Keys(found)) {
				r.Answer("%s: %d", d, found[d])
			}
			return err
		}); err != nil {
			return err
		}
		return r.Naive("a table scan, in pages of up to 10 employees, one after another", func() error {
			age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })
			n := 0
			for _, err := range staff.Employees.List(ctx, table.Query[Employee]{TableScan: true, Where: age.Ge(60), PageSize: 10}) {
				if err != nil {
					return err
				}
				n++
			}
			r.Answer("%d found; the service reads every row of the table", n)
			return nil
		})
	},
}
