package compoundkeys

import (
	"context"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "compound-keys",
	Title:       "Build and parse keys of several parts",
	Guide:       []string{"G08"},
	Related:     []string{"reviews", "sorted-keys", "intra-partition-index"},
	Consistency: "strong",
	Measured:    []string{"list all reviews"},
	Problem: `Related rows are neighbours if their keys begin alike: 000123_2012 is the review of employee 123 for 2012. Keys
		that are joined by hand go wrong: the prefix 123 also finds 1234, and a separator inside a value breaks parsing. A
		layout of package keys pads and escapes each part, so that a prefix finds only the keys that begin with these parts, and
		every key can be parsed.`,
	Kept: "compoundkeys",
	Run: func(ctx context.Context, r *recipe.Run) error {
		company := Open(r.Account(), r.StoreOptions("company", "reviews"))
		if err := r.Ensure(ctx, company); err != nil {
			return err
		}
		for _, v := range []Review{
			{Department: "R&D", ID: 123, Year: 2010, Rating: 4},
			{Department: "R&D", ID: 123, Year: 2011, Rating: 5},
			{Department: "R&D", ID: 123, Year: 2012, Rating: 4},
			{Department: "R&D", ID: 1234, Year: 2012, Rating: 2},
			{Department: "Sales_EU", ID: 123, Year: 2012, Rating: 3},
		} {
			if _, err := company.Reviews.Insert(ctx, &v); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "reviews"); err != nil {
			return err
		}
		for _, c := range []struct {
			what string
			q    table.Query[Review]
		}{
			{"list all reviews of employee 123", Employee("R&D", 123)},
			{"list her reviews of 2011 and 2012", Years("R&D", 123, 2011, 2012)},
		} {
			ex, err := company.Reviews.Explain(c.q)
			if err != nil {
				return err
			}
			if err := r.Ask(c.what, ex, func() error {
				for e, err := range company.Reviews.List(ctx, c.q) {
					if err != nil {
						return err
					}
					r.Answer("employee %d, review of %d: rating %d", e.Value.ID, e.Value.Year, e.Value.Rating)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	},
}
