package main

import (
	"context"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var projection = recipe{
	name:        "projection",
	title:       "Read only the properties that you need",
	guide:       []string{"G09", "G43"},
	related:     []string{"intra-partition-index", "typed-filters", "wide-entity"},
	consistency: "strong",
	measured:    []string{"list the names"},
	problem: `A query returns all properties of each entity unless it selects some, and a page of whole entities can exceed a
		megabyte. Here a narrower Go type selects the properties: the service sends only its fields.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			FirstName  string
			LastName   string
			CV         string
		}
		type Name struct {
			LastName string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{
			Partition: dept,
			Row:       empid,
		}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		for id, name := range []string{"Hall", "Cao", "Kwok"} {
			if _, err := staff.Insert(ctx, &Employee{"Sales", id, "F.", name, strings.Repeat("long story, ", 2000)}); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		names, err := table.ViewOf[Name](staff)
		if err != nil {
			return err
		}
		q := table.Query[Employee]{Partition: dept.Of("Sales")}
		ex, err := names.Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("list the names of Sales without the CVs", ex, func() error {
			for n, err := range names.List(ctx, q) {
				if err != nil {
					return err
				}
				id, err := empid.Decode(n.Key.Row())
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
			for e, err := range staff.List(ctx, q) {
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
