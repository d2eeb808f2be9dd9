package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var pointQuery = recipe{
	name:        "point-query",
	title:       "Read one entity by both keys",
	guide:       []string{"G01", "G40"},
	related:     []string{"range-query", "several-points", "compound-keys"},
	consistency: "strong",
	measured:    []string{"get employee 123"},
	problem: `Table storage has one index, over PartitionKey and RowKey. A query that gives both keys reads one row, however
		large the table is. Any other query may read rows that it does not return.`,
	run: func(ctx context.Context, r *Run) error {
		// Department is the PartitionKey and ID is the RowKey.
		type Employee struct {
			Department string
			ID         int
			FirstName  string
			LastName   string
			Age        int32
			Email      string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](8), func(e *Employee) *int { return &e.ID })
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
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
		if err := r.Do("insert four employees", func() error {
			for i := range employees {
				if _, err := staff.Insert(ctx, &employees[i]); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		key := keys.At(dept.Of("Sales"), empid.Of(123))
		ex, err := staff.Explain(table.Query[Employee]{Partition: key.Partition(), Rows: key.Row().Point()})
		if err != nil {
			return err
		}
		return r.Ask("get employee 123 of Sales", ex, func() error {
			e, err := staff.Get(ctx, key)
			if err != nil {
				return err
			}
			r.Answer("%s %s, %d, %s", e.Value.FirstName, e.Value.LastName, e.Value.Age, e.Value.Email)
			return nil
		})
	},
}
