package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var replaceOrMerge = recipe{
	name:        "replace-merge",
	title:       "Choose between replace, merge and upsert",
	guide:       []string{"G46"},
	related:     []string{"optimistic", "data-series", "wide-entity"},
	consistency: "strong",
	measured:    []string{"Merge sets"},
	problem: `Four kinds of writes look alike and differ in the properties that they delete. Replace makes the row equal to the
		value; Merge sets some properties and keeps the rest. Both fail if the row does not exist; as an Upsert, both insert it.
		A program with an older type must not delete the properties that a newer program has added.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Age        *int32 // nil: the row has no such property
		}
		type NewerEmployee struct {
			Department string
			ID         int
			LastName   string
			Age        *int32
			Badge      int64
		}
		last := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		dept := keys.Text()
		empid := keys.Digits[int](6)
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{
			Partition: keys.Partition(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Row(empid, func(e *Employee) *int { return &e.ID }),
		}, &table.Options{BlindWrites: true}) // no entity has derived rows, so writes need not read the row first
		if err != nil {
			return err
		}
		newer, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[NewerEmployee]{
			Partition: keys.Partition(dept, func(e *NewerEmployee) *string { return &e.Department }),
			Row:       keys.Row(empid, func(e *NewerEmployee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		age := int32(44)
		if _, err := newer.Insert(ctx, &NewerEmployee{"Sales", 1, "Jones", &age, 4711}); err != nil {
			return err
		}
		key := keys.At(dept.PartitionKey("Sales"), empid.RowKey(1))
		for _, s := range []struct {
			what string
			do   func() error
		}{
			{"Merge sets the last name only, and reads nothing", func() error { return staff.MergeAny(ctx, key, last.Set("Smith")) }},
			{"Replace by a program with the older type deletes Age, and keeps Badge, which this type does not have", func() error {
				e, err := staff.Get(ctx, key)
				if err != nil {
					return err
				}
				e.Value.Age = nil
				return staff.Replace(ctx, e)
			}},
			{"Upsert with MergeExisting adds Age again", func() error {
				_, err := staff.Upsert(ctx, &Employee{"Sales", 1, "Smith", &age}, table.MergeExisting)
				return err
			}},
			{"Upsert with ReplaceExisting makes the row equal to the value: Age and Badge are deleted", func() error {
				_, err := staff.Upsert(ctx, &Employee{"Sales", 1, "Weber", nil}, table.ReplaceExisting)
				return err
			}},
		} {
			if err := r.Do(s.what, s.do); err != nil {
				return err
			}
			if err := r.Stored(ctx, "staff"); err != nil {
				return err
			}
		}
		return nil
	},
}
