package main

import (
	"context"
	"strings"

	kept "github.com/aztablekit/aztablekit/patterns/projection"
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
	kept: "projection",
	run: func(ctx context.Context, r *Run) error {
		staff := kept.Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		for id, name := range []string{"Hall", "Cao", "Kwok"} {
			e := kept.Employee{Department: "Sales", ID: id, FirstName: "F.", LastName: name, CV: strings.Repeat("long story, ", 2000)}
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
		q := kept.Members("Sales")
		ex, err := names.Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("list the names of Sales without the CVs", ex, func() error {
			for n, err := range names.List(ctx, q) {
				if err != nil {
					return err
				}
				id, err := kept.ID(n.Key)
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
