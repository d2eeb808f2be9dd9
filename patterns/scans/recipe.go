package scans

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "scans",
	Title:       "Filter a partition, and refuse a table scan",
	Guide:       []string{"G03", "G04"},
	Related:     []string{"range-query", "typed-filters", "intra-partition-index"},
	Consistency: "strong",
	Measured:    []string{"list the employees of Sales aged"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `A filter on a property that is in neither key makes the service read rows to find matches: one partition if the
		filter gives a PartitionKey, and otherwise the whole table, whatever else the filter says. A table scan is slow,
		expensive, and easily written by mistake. The library refuses to scan a table unless Query.TableScan is set.`,
	Kept: "scans",
	Run: func(ctx context.Context, r *recipe.Run) error {
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		for _, e := range []Employee{
			{Department: "Marketing", ID: 1, LastName: "Hall", Age: 34}, {Department: "Marketing", ID: 2, LastName: "Cao", Age: 47},
			{Department: "Sales", ID: 10, LastName: "Kwok", Age: 23}, {Department: "Sales", ID: 123, LastName: "Jones", Age: 44},
		} {
			if _, err := staff.Employees.Insert(ctx, &e); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		q := Aged("Sales", 40)
		show := func() error {
			for e, err := range staff.Employees.List(ctx, q) {
				if err != nil {
					return err
				}
				r.Answer("%s %d %s, %d", e.Value.Department, e.Value.ID, e.Value.LastName, e.Value.Age)
			}
			return nil
		}
		ex, err := staff.Employees.Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("list the employees of Sales aged 40 or over", ex, show); err != nil {
			return err
		}
		q.Partition = keys.PartitionKey{}
		if err := r.Do("the same query without a department", func() error {
			return r.Refused(show(), table.ErrTableScan)
		}); err != nil {
			return err
		}
		q.TableScan = true
		if ex, err = staff.Employees.Explain(q); err != nil {
			return err
		}
		return r.NaiveQuery("the same query with TableScan set", ex, show)
	},
}
