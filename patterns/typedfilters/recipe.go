package typedfilters

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "typed-filters",
	Title:       "Write filters without filter strings",
	Guide:       []string{"G41"},
	Related:     []string{"scans", "projection", "entity-types"},
	Consistency: "strong",
	Measured:    []string{"find a name that contains"},
	Problem: `Filters are text, and text that is joined by hand goes wrong: a quote in a name changes the query, a number
		without its type suffix matches the wrong rows or none, and a local time is read as UTC. Here the compiler checks
		conditions on fields, and the library writes the filter.`,
	Kept: "typedfilters",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		spring := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
		for _, e := range []Employee{
			{Department: sales, ID: 1, LastName: "O'Brien", Age: 44, Salary: 5000, Hired: spring.AddDate(-3, 0, 0), Badge: 1 << 40},
			{Department: sales, ID: 2, LastName: "Jones", Age: 29, Salary: 4200.5, Hired: spring.AddDate(0, 1, 0), Badge: 1<<40 + 1},
			{Department: sales, ID: 3, LastName: "Müller", Age: 51, Salary: 6100, Hired: spring.AddDate(0, 2, 0), Badge: 1<<40 + 2},
		} {
			if _, err := staff.Employees.Insert(ctx, &e); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		for _, c := range []struct {
			what string
			q    table.Query[Employee]
		}{
			{"find a name that contains a quote", Named(sales, "O'Brien")},
			{"search for a name that looks like a filter", Named(sales, "x' or PartitionKey ne 'z")},
			{"find employees who are over 40 and earn at least 6000, or who have badge 2^40 + 1", WellPaidOrBadge(sales, 40, 6000, 1<<40+1)},
			{"find employees hired since spring, except Jones", HiredSince(sales, spring, "Jones")},
		} {
			ex, err := staff.Employees.Explain(c.q)
			if err != nil {
				return err
			}
			if err := r.Ask(c.what, ex, func() error {
				n := 0
				for e, err := range staff.Employees.List(ctx, c.q) {
					if err != nil {
						return err
					}
					n++
					r.Answer("%d %s", e.Value.ID, e.Value.LastName)
				}
				if n == 0 {
					r.Answer("no employee")
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	},
}
