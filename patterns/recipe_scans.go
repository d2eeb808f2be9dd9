package main

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var partitionScan = recipe{
	name:  "scans",
	title: "Filter a partition; refuse to scan the table",
	guide: []string{"G03", "G04"},
	problem: `A filter on a property that is not in the key is answered by reading: with a PartitionKey that partition, without
		one the whole table, however much else the filter says. The second is slow, costs by the row, and is easily written by
		mistake.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Age        int32
		}
		age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })
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
		for _, e := range []Employee{{"Marketing", 1, "Hall", 34}, {"Marketing", 2, "Cao", 47}, {"Sales", 10, "Kwok", 23}, {"Sales", 123, "Jones", 44}} {
			if _, err := staff.Insert(ctx, &e); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		q := table.Query[Employee]{Partition: dept.Of("Sales"), Where: age.Ge(40)}
		show := func() error {
			for e, err := range staff.List(ctx, q) {
				if err != nil {
					return err
				}
				r.Answer("%s %d %s, %d", e.Value.Department, e.Value.ID, e.Value.LastName, e.Value.Age)
			}
			return nil
		}
		ex, err := staff.Explain(q)
		if err != nil {
			return err
		}
		if err := r.Ask("who in Sales is 40 or older", ex, show); err != nil {
			return err
		}
		q.Partition = keys.Enc{}
		if err := r.Do("the same without a department", func() error {
			err := show()
			if !errors.Is(err, table.ErrTableScan) {
				return err
			}
			r.Answer("refused before anything was sent: %v", table.ErrTableScan)
			return nil
		}); err != nil {
			return err
		}
		q.TableScan = true
		if ex, err = staff.Explain(q); err != nil {
			return err
		}
		return r.Ask("the same, meant", ex, show)
	},
}
