package materializedview

import (
	"context"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "materialized-view",
	Title:       "Keep a view of all partitions, with counts, in one partition",
	Guide:       []string{"G33", "G21"},
	Related:     []string{"inter-partition-index", "summary", "search-index"},
	Consistency: "eventual",
	Measured:    []string{"count the employees"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `Employees are stored in a partition for each department. To list or to count the employees of the whole company, a
		program would read all partitions. A materialized view stores what this question needs in another table, in one partition,
		with a summary by department. Each write of an employee notifies a worker, which brings the view up to date a moment
		later. The summary changes in the transaction of the view's row, so that a repeated message changes no count.`,
	Kept: "materializedview",
	Run: func(ctx context.Context, r *recipe.Run) error {
		company := Open(r.Account(), r.StoreOptions("company", "staff", "company"))
		if err := r.Ensure(ctx, company); err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		if err := r.Do("insert two employees of two departments: each write also sends a notification and shows it", func() (err error) {
			if _, err := company.Employees.Insert(ctx, &Employee{Department: "IT", ID: 7, Name: "Cao", Phone: "1234"}); err != nil {
				return err
			}
			jones, err = company.Employees.Insert(ctx, &Employee{Department: "Sales", ID: 223, Name: "Jones", Phone: "5678"})
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("a worker brings the view and its summary up to date", func() error { return company.Drain(ctx) }); err != nil {
			return err
		}
		if err := r.Stored(ctx, "company"); err != nil {
			return err
		}
		count := func() error {
			for g, err := range company.Departments(ctx) {
				if err != nil {
					return err
				}
				r.Answer("%s: %d", g.Value, g.Count)
			}
			return nil
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"change a phone number, which is not in the view: no notification", func() error {
				jones.Value.Phone = "9999"
				return company.Employees.Replace(ctx, jones)
			}},
			{"another program has inserted an employee without the view: compare the view with the entities, and repair it", func() error {
				row := `{"PartitionKey":"Sales","RowKey":"empid_000300","Name":"Kerr","Phone":"1111"}`
				if _, err := r.Table("staff").AddEntity(ctx, []byte(row), nil); err != nil {
					return err
				}
				report, err := company.Repair(ctx, nil)
				r.Answer("missing: %d; repaired: %d", report.Counts[verify.Missing], report.Changed)
				return err
			}},
			{"count the employees of each department of the company", count},
			{"Jones leaves, and the worker brings the view up to date", func() error {
				if err := company.Employees.Delete(ctx, jones); err != nil {
					return err
				}
				return company.Drain(ctx)
			}},
			{"count again", count},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		return r.Naive("read all employees of all partitions, and count them", func() error {
			counts := map[string]int{}
			for e, err := range company.Employees.List(ctx, table.Query[Employee]{TableScan: true}) {
				if err != nil {
					return err
				}
				counts[e.Value.Department]++
			}
			for _, d := range []string{"IT", "Sales"} {
				r.Answer("%s: %d", d, counts[d])
			}
			return nil
		})
	},
}
