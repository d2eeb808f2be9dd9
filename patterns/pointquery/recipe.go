package pointquery

import (
	"context"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "point-query",
	Title:       "Read one entity by both keys",
	Guide:       []string{"G01", "G40"},
	Related:     []string{"range-query", "several-points", "compound-keys"},
	Consistency: "strong",
	Measured:    []string{"get employee 123"},
	Problem: `Table storage has one index, over PartitionKey and RowKey. A query that gives both keys reads one row, however
		large the table is. Any other query may read rows that it does not return.`,
	Kept: "pointquery",
	Run: func(ctx context.Context, r *recipe.Run) error {
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		if err := r.Do("insert four employees", func() error {
			for _, e := range []Employee{
				{Department: "Marketing", ID: 1, FirstName: "Don", LastName: "Hall", Age: 34, Email: "donh@contoso.com"},
				{Department: "Marketing", ID: 2, FirstName: "Jun", LastName: "Cao", Age: 47, Email: "junc@contoso.com"},
				{Department: "Sales", ID: 10, FirstName: "Ken", LastName: "Kwok", Age: 23, Email: "kenk@contoso.com"},
				{Department: "Sales", ID: 123, FirstName: "Jessy", LastName: "Jones", Age: 44, Email: "jonesj@contoso.com"},
			} {
				if _, err := staff.Employees.Insert(ctx, &e); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		key := Key("Sales", 123)
		ex, err := staff.Employees.Explain(table.Query[Employee]{Partition: key.Partition(), Rows: key.Row().Point()})
		if err != nil {
			return err
		}
		return r.Ask("get employee 123 of Sales", ex, func() error {
			e, err := staff.Employee(ctx, "Sales", 123)
			if err != nil {
				return err
			}
			r.Answer("%s %s, %d, %s", e.Value.FirstName, e.Value.LastName, e.Value.Age, e.Value.Email)
			return nil
		})
	},
}
