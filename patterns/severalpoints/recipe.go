package severalpoints

import (
	"context"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "several-points",
	Title:       "Read several rows by key, without 'or'",
	Guide:       []string{"G05"},
	Related:     []string{"point-query", "parallel"},
	Consistency: "by part",
	Measured:    []string{"get employees 1 and 4"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `The filter RowKey eq 'a' or RowKey eq 'b' looks like two point queries, but the service executes it as a partition
		scan and reads every row of the partition. The library has no 'or' over keys: such a condition does not compile. GetMany
		sends one point query for each key, up to ten at a time.`,
	Kept: "severalpoints",
	Run: func(ctx context.Context, r *recipe.Run) error {
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		for id, name := range []string{"Hall", "Cao", "Kwok", "Jones", "Smith", "Weber"} {
			if _, err := staff.Employees.Insert(ctx, &Employee{Department: "Sales", ID: id, LastName: name}); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		first := staff.Employees.Key(Employee{Department: "Sales", ID: 1})
		ex, err := staff.Employees.Explain(table.Query[Employee]{Partition: first.Partition(), Rows: first.Row().Point()})
		if err != nil {
			return err
		}
		if err := r.Ask("get employees 1 and 4", ex, func() error {
			for e, err := range staff.Numbered(ctx, "Sales", 1, 4) {
				if err != nil {
					return err
				}
				r.Answer("%d %s", e.Value.ID, e.Value.LastName)
			}
			return nil
		}); err != nil {
			return err
		}
		stats := new(table.Stats)
		return r.Naive("the partition scan that 'or' would be", func() error {
			for _, err := range staff.Employees.List(ctx, table.Query[Employee]{Partition: first.Partition(), Stats: stats}) {
				if err != nil {
					return err
				}
			}
			r.Answer("%d rows read to find 2; a large partition takes many pages", stats.Rows)
			return nil
		})
	},
}
