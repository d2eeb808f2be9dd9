package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var compoundKeys = recipe{
	name:  "compound-keys",
	title: "Keys of several parts, parsed without doubt",
	guide: []string{"G08"},
	problem: `Related rows belong next to each other, so their keys begin alike: 000123_2012 is the review of employee 123 for
		2012. Built by hand, such keys leak: the prefix 123 also finds 1234, and a separator inside a text breaks parsing. A
		layout pads and escapes its parts, so that a prefix finds just what it says and every key can be read back.`,
	run: func(ctx context.Context, r *Run) error {
		type Review struct {
			Department string
			ID, Year   int
			Rating     int32
		}
		dept := keys.Tuple1(keys.Text())
		reviews := keys.Tuple2(keys.Digits[int](6), keys.Digits[int](4))
		tab, err := table.New(r.Tables(), r.Table("reviews"), table.Schema[Review]{
			Partition: keys.Bind1(dept, func(v *Review) *string { return &v.Department }),
			Row:       keys.Bind2(reviews, func(v *Review) (*int, *int) { return &v.ID, &v.Year }),
		}, nil)
		if err != nil {
			return err
		}
		if err := tab.Ensure(ctx); err != nil {
			return err
		}
		for _, v := range []Review{{"R&D", 123, 2010, 4}, {"R&D", 123, 2011, 5}, {"R&D", 123, 2012, 4}, {"R&D", 1234, 2012, 2}, {"Sales_EU", 123, 2012, 3}} {
			if _, err := tab.Insert(ctx, &v); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "reviews"); err != nil {
			return err
		}
		for _, c := range []struct {
			what string
			rows keys.Range
		}{
			{"all reviews of employee 123, and nobody else's", reviews.Prefix(123)},
			{"those of 2011 and 2012", reviews.Between(123, 2011, 2012)},
		} {
			q := table.Query[Review]{Partition: dept.Of("R&D"), Rows: c.rows}
			ex, err := tab.Explain(q)
			if err != nil {
				return err
			}
			if err := r.Ask(c.what, ex, func() error {
				for e, err := range tab.List(ctx, q) {
					if err != nil {
						return err
					}
					r.Answer("employee %d in %d: %d", e.Value.ID, e.Value.Year, e.Value.Rating)
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	},
}
