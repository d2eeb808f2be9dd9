package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var pointQuery = recipe{
	name:  "point-query",
	title: "Read one entity by both of its keys",
	guide: []string{"G01", "G40"},
	problem: `Table storage has a single index, over PartitionKey and RowKey. A look-up that gives both is answered from it at
		once, whatever the size of the table; every other look-up reads rows to throw them away.`,
	run: func(ctx context.Context, r *Run) error {
		// The department is the PartitionKey and the number is the RowKey: the type holds them as plain fields.
		type Employee struct {
			Department string
			ID         int
			FirstName  string
			LastName   string
			Age        int32
			Email      string
		}
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](8))
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
		employees := []Employee{
			{"Marketing", 1, "Don", "Hall", 34, "donh@contoso.com"},
			{"Marketing", 2, "Jun", "Cao", 47, "junc@contoso.com"},
			{"Sales", 10, "Ken", "Kwok", 23, "kenk@contoso.com"},
			{"Sales", 123, "Jessy", "Jones", 44, "jonesj@contoso.com"},
		}
		err = r.Do("store four employees", func() error {
			for i := range employees {
				if _, err := staff.Insert(ctx, &employees[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		key := keys.At(dept.Of("Sales"), empid.Of(123))
		ex, err := staff.Explain(table.Query[Employee]{Partition: key.Partition(), Rows: keys.Point(key.Row())})
		if err != nil {
			return err
		}
		return r.Ask("employee 123 of Sales", ex, func() error {
			e, err := staff.Get(ctx, key)
			if err != nil {
				return err
			}
			r.Answer("%s %s, %d, %s", e.Value.FirstName, e.Value.LastName, e.Value.Age, e.Value.Email)
			return nil
		})
	},
}
