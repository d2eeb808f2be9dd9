package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var severalPoints = recipe{
	name:  "several-points",
	title: "Several rows by key, without 'or'",
	guide: []string{"G05"},
	problem: `A filter RowKey eq 'a' or RowKey eq 'b' looks like two point queries and is a partition scan: the service reads
		every row of the partition. Conditions on keys are therefore no conditions here: 'or' over them does not compile. Each
		row is a point query of its own, and ten are under way at a time.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
		}
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](6))
		staff, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		for id, name := range []string{"Hall", "Cao", "Kwok", "Jones", "Smith", "Weber"} {
			if _, err := staff.Insert(ctx, &Employee{"Sales", id, name}); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		ids := []int{1, 4}
		point := table.Query[Employee]{Partition: dept.Of("Sales"), Rows: keys.Point(empid.Of(ids[0]))}
		ex, err := staff.Explain(point)
		if err != nil {
			return err
		}
		if err := r.Ask("employees 1 and 4 of 6", ex, func() error {
			var wanted []keys.Key
			for _, id := range ids {
				wanted = append(wanted, keys.At(dept.Of("Sales"), empid.Of(id)))
			}
			for e, err := range staff.GetMany(ctx, wanted...) {
				if err != nil {
					return err
				}
				r.Answer("%d %s", e.Value.ID, e.Value.LastName)
			}
			return nil
		}); err != nil {
			return err
		}
		stats := new(table.Stats)
		return r.Naive("what 'or' makes the service read", func() error {
			for _, err := range staff.List(ctx, table.Query[Employee]{Partition: dept.Of("Sales"), Stats: stats}) {
				if err != nil {
					return err
				}
			}
			r.Answer("%d rows read for %d wanted; in a large partition, page after page", stats.Rows, len(ids))
			return nil
		})
	},
}
