package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var compoundKeys = recipe{
	name:        "compound-keys",
	title:       "Build and parse keys of several parts",
	guide:       []string{"G08"},
	related:     []string{"reviews", "sorted-keys", "intra-partition-index"},
	consistency: "strong",
	measured:    []string{"list all reviews"},
	problem: `Related rows are neighbours if their keys begin alike: 000123_2012 is the review of employee 123 for 2012. Keys
		that are joined by hand go wrong: the prefix 123 also finds 1234, and a separator inside a value breaks parsing. A
		layout of package keys pads and escapes each part, so that a prefix finds only the keys that begin with these parts, and
		every key can be parsed.`,
	run: func(ctx context.Context, r *Run) error {
		type Review struct {
			Department string
			ID, Year   int
			Rating     int32
		}
		dept := keys.Partition(keys.Text(), func(v *Review) *string { return &v.Department })
		reviews := keys.Row2(keys.Digits[int](6), keys.Digits[int](4), func(v *Review) (*int, *int) { return &v.ID, &v.Year })
		ratings, err := table.New(r.Tables(), r.TableName("reviews"), table.Schema[Review]{Partition: dept, Row: reviews}, nil)
		if err != nil {
			return err
		}
		if err := ratings.Ensure(ctx); err != nil {
			return err
		}
		for _, v := range []Review{{"R&D", 123, 2010, 4}, {"R&D", 123, 2011, 5}, {"R&D", 123, 2012, 4}, {"R&D", 1234, 2012, 2}, {"Sales_EU", 123, 2012, 3}} {
			if _, err := ratings.Insert(ctx, &v); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "reviews"); err != nil {
			return err
		}
		for _, c := range []struct {
			what string
			rows keys.RowRange
		}{
			{"list all reviews of employee 123", reviews.Under(123).All()},
			{"list her reviews of 2011 and 2012", reviews.Under(123).Between(2011, 2012)},
		} {
			q := table.Query[Review]{Partition: dept.Of("R&D"), Rows: c.rows}
			ex, err := ratings.Explain(q)
			if err != nil {
				return err
			}
			if err := r.Ask(c.what, ex, func() error {
				for e, err := range ratings.List(ctx, q) {
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
