package reviews

import (
	"context"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "reviews",
	Title:       "Read an employee and all her reviews in one query",
	Guide:       []string{"G25", "G08"},
	Related:     []string{"compound-keys", "several-types", "entity-types", "inter-partition-index"},
	Consistency: "strong",
	Measured:    []string{"list employee 123 and her"},
	Problem: `If reviews have a table of their own, an employee and her reviews take two queries, and no transaction covers both
		tables. Here the reviews are in the employee's partition, and their RowKeys begin with the employee's own (000123,
		000123_2012). One range query reads the employee with her reviews, and one transaction writes them.`,
	Kept: "reviews",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		if err := r.Do("insert two employees and three reviews in one transaction", func() error {
			return staff.Import(ctx, []Employee{
				{Department: sales, ID: 123, LastName: "Jones", Rating: 4},
				{Department: sales, ID: 124, LastName: "Smith", Rating: 3},
			}, []Review{
				{Department: sales, ID: 123, Year: 2011, Rating: 5, Text: "A very good year"},
				{Department: sales, ID: 123, Year: 2012, Rating: 4, Text: "A good year"},
				{Department: sales, ID: 124, Year: 2012, Rating: 3, Text: "A year"},
			})
		}); err != nil {
			return err
		}
		reader, err := table.NewMixed(staff.Employees, staff.Reviews)
		if err != nil {
			return err
		}
		ex, err := reader.Rows().Explain(Query(sales, 123))
		if err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		if err := r.Ask("list employee 123 and her reviews, each row as its own type", ex, func() error {
			e, all, err := staff.Get(ctx, sales, 123)
			if err != nil {
				return err
			}
			jones = e
			r.Answer("employee %s: rating %d", e.Value.LastName, e.Value.Rating)
			for _, v := range all {
				r.Answer("review of %d: rating %d, %q", v.Year, v.Rating, v.Text)
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("insert a review and change the employee's rating in one transaction", func() error {
			return staff.Review(ctx, jones, 2013, 5, "Her best year")
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Naive("one table for each type", func() error {
			if _, err := staff.Employees.Get(ctx, jones.Key); err != nil {
				return err
			}
			q := Query(sales, 123)
			n, err := staff.Reviews.Count(ctx, table.Query[Review]{Partition: q.Partition, Rows: q.Rows})
			r.Answer("one query for the employee, another for her %d reviews, and no transaction over both tables", n)
			return err
		})
	},
}
