package entitytypes

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "entity-types",
	Title:       "Store several types in one table, and change their form",
	Guide:       []string{"G47"},
	Related:     []string{"several-types", "reviews", "replace-merge"},
	Consistency: "strong",
	Measured:    []string{"list each row"},
	Problem: `A table has no schema: employees, contractors and future types share it. A reader must know the type of each row.
		An older program must not damage what a newer program has written. A new form of a type must not make old rows
		unreadable. Here each row contains its type (_type) and version (_v). A reader gets each row as its own type, upgrades
		old versions, and gets rows of unknown types as table.Row.`,
	Kept: "entitytypes",
	Run: func(ctx context.Context, r *recipe.Run) error {
		type OldEmployee struct {
			Department string
			ID         int
			Name       string
		}
		const sales = "Sales"

		// Last year's program.
		options := r.StoreOptions("company", "staff")
		company := aztablekit.Open(r.Account(), "company", options)
		old := aztablekit.Table(company, "staff", keys.Partition(keys.Text(), func(e *OldEmployee) *string { return &e.Department }),
			keys.Row(keys.Digits[int](6), func(e *OldEmployee) *int { return &e.ID }),
			&aztablekit.Settings[OldEmployee]{Schema: table.Schema[OldEmployee]{Type: "employee"}})
		if err := r.Ensure(ctx, company); err != nil {
			return err
		}
		for _, e := range []OldEmployee{{sales, 1, "Jessy Jones"}, {sales, 2, "Kim Smith"}} {
			if _, err := old.Insert(ctx, &e); err != nil {
				return err
			}
		}

		// This year's program: the name has two properties, and another type has RowKeys of the
		// same form.
		staff := Open(r.Account(), options)
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		reader, err := staff.Reader()
		if err != nil {
			return err
		}
		robot := table.Row{Key: old.Key(OldEmployee{Department: sales, ID: 4})}
		if err := robot.Set("Model", "R2"); err != nil {
			return err
		}
		if _, err := reader.Rows().Insert(ctx, &robot); err != nil {
			return err
		}
		cao := Contractor{Department: sales, ID: 3, Name: "Cao", Agency: "Contoso"}
		if _, err := staff.Contractors.Insert(ctx, &cao); err != nil {
			return err
		}
		if err := r.Do("the new program changes an old row, and so upgrades it", func() error {
			jones := staff.Employees.Key(Employee{Department: sales, ID: 1})
			_, err := staff.Employees.Update(ctx, jones, func(e *Employee) error { e.Last = "Johnson"; return nil })
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		ex, err := reader.Rows().Explain(Query(sales))
		if err != nil {
			return err
		}
		if err := r.Ask("list each row as its own type", ex, func() error {
			all, err := staff.List(ctx, sales)
			for _, e := range all.Employees {
				r.Answer("employee %d: %s, %s", e.ID, e.Last, e.First)
			}
			for _, c := range all.Contractors {
				r.Answer("contractor %d: %s of %s", c.ID, c.Name, c.Agency)
			}
			for _, row := range all.Others {
				model, _ := row.Get("Model")
				r.Answer("row of an unknown type: model %v", model)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("add a badge to each row, whatever its type", func() error {
			return staff.SetBadges(ctx, sales, 1000)
		}); err != nil {
			return err
		}
		if err := r.Do("a program that does not know badges changes a contractor, and keeps the badge", func() error {
			_, err := staff.Contractors.Update(ctx, staff.Contractors.Key(cao), func(c *Contractor) error { c.Agency = "Fabrikam"; return nil })
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Do("last year's program refuses to read this year's row", func() error {
			_, err := old.Get(ctx, old.Key(OldEmployee{Department: sales, ID: 1}))
			var newer *table.VersionError
			if !errors.As(err, &newer) {
				return fmt.Errorf("got error %v, want a VersionError", err)
			}
			r.Answer("refused: %v", newer)
			return nil
		})
	},
}
