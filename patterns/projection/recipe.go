package projection

import (
	"context"
	"strings"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "projection",
	Title:       "Read only the properties that you need",
	Guide:       []string{"G09", "G43"},
	Related:     []string{"intra-partition-index", "typed-filters", "wide-entity"},
	Consistency: "strong",
	Measured:    []string{"list the names"},
	Problem: `A query returns all properties of each entity unless it selects some, and a page of whole entities can exceed a
		megabyte. Here a narrower Go type selects the properties: the service sends only its fields.`,
	Kept: "projection",
	Run: func(ctx context.Context, r *recipe.Run) error {
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		for id, name := range []string{"Hall", "Cao", "Kwok"} {
			e := Employee{Department: "Sales", ID: id, FirstName: "F.", LastName: name, CV: strings.Repeat("long story, ", 2000)}
			if _, err := staff.Employees.Insert(ctx, &e); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		names, err := staff.Names()
		if err != nil {
			return err
		}
		q := Members("Sales")
		ex, err := names.Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("list the names of Sales without the CVs", ex, func() error {
			for n, err := range names.List(ctx, q) {
				if err != nil {
					return err
				}
				id, err := ID(n.Key)
				if err != nil {
					return err
				}
				r.Answer("%d %s", id, n.Value.LastName)
			}
			return nil
		}); err != nil {
			return err
		}
		return r.Naive("list whole entities", func() error {
			read := 0
			for e, err := range staff.Employees.List(ctx, q) {
				if err != nil {
					return err
				}
				read += len(e.Value.CV)
			}
			r.Answer("%d characters of CVs transferred, and not used", read)
			return nil
		})
	},
}
