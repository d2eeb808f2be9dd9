package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var severalPoints = recipe{
	name:        "several-points",
	title:       "Read several rows by key, without 'or'",
	guide:       []string{"G05"},
	related:     []string{"point-query", "parallel"},
	consistency: "by part",
	measured:    []string{"get employees 1 and 4"},
	naiveGrows:  "1 per 1,000 rows",
	problem: `The filter RowKey eq 'a' or RowKey eq 'b' looks like two point queries, but the service executes it as a partition
		scan and reads every row of the partition. The library has no 'or' over keys: such a condition does not compile. GetMany
		sends one point query for each key, up to ten at a time.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
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
		point := table.Query[Employee]{Partition: dept.Of("Sales"), Rows: empid.Of(ids[0]).Point()}
		ex, err := staff.Explain(point)
		if err != nil {
			return err
		}
		if err := r.Ask("get employees 1 and 4", ex, func() error {
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
		return r.Naive("the partition scan that 'or' would be", func() error {
			for _, err := range staff.List(ctx, table.Query[Employee]{Partition: dept.Of("Sales"), Stats: stats}) {
				if err != nil {
					return err
				}
			}
			r.Answer("%d rows read to find %d; a large partition takes many pages", stats.Rows, len(ids))
			return nil
		})
	},
}
