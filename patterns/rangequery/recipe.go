package rangequery

import (
	"context"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "range-query",
	Title:       "Read a range of rows",
	Guide:       []string{"G02", "G06"},
	Related:     []string{"point-query", "sorted-keys", "scans"},
	Consistency: "strong",
	Measured:    []string{"list employees 100 to 199"},
	Problem: `The rows of a partition are sorted by RowKey, so a query for a range of RowKeys reads only the rows of that range.
		RowKeys are text: numbers are in order only if they have leading zeros (000123, not 123).`,
	Kept: "rangequery",
	Run: func(ctx context.Context, r *recipe.Run) error {
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		for id, name := range map[int]string{9: "Hall", 99: "Cao", 100: "Kwok", 123: "Jones", 199: "Smith", 200: "Weber"} {
			if _, err := staff.Employees.Insert(ctx, &Employee{Department: "Sales", ID: id, LastName: name}); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		q := Numbers("Sales", 100, 199)
		ex, err := staff.Employees.Explain(q)
		if err != nil {
			return err
		}
		return r.Ask("list employees 100 to 199 of Sales", ex, func() error {
			for e, err := range staff.Employees.List(ctx, q) {
				if err != nil {
					return err
				}
				r.Answer("%d %s", e.Value.ID, e.Value.LastName)
			}
			return nil
		})
	},
}
