package main

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var replaceOrMerge = recipe{
	name:  "replace-merge",
	title: "Replace or merge, update or upsert",
	guide: []string{"G46"},
	problem: `Four writes look alike and differ in what they delete. Replace makes the row what the value is; merge sets some
		properties and leaves the others. Each comes for a row that must exist, and as an upsert for one that may. A program
		with an older type must not delete the columns that a newer one has added.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Age        *int32 // nil is absent
		}
		type Newer struct {
			Department string
			ID         int
			LastName   string
			Age        *int32
			Badge      int64
		}
		last := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](6))
		staff, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, &table.Options{BlindWrites: true}) // no row has derived rows, so none need be read before it is written
		if err != nil {
			return err
		}
		newer, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Newer]{
			Partition: keys.Bind1(dept, func(e *Newer) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Newer) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		age := int32(44)
		if _, err := newer.Insert(ctx, &Newer{"Sales", 1, "Jones", &age, 4711}); err != nil {
			return err
		}
		key := keys.At(dept.Of("Sales"), empid.Of(1))
		for _, s := range []struct {
			what string
			do   func() error
		}{
			{"merge sets the name alone, and needs no read", func() error { return staff.MergeAny(ctx, key, last.Set("Smith")) }},
			{"replace by the older type: the age goes, the badge that it does not know stays", func() error {
				e, err := staff.Get(ctx, key)
				if err != nil {
					return err
				}
				e.Value.Age = nil
				return staff.Replace(ctx, e)
			}},
			{"insert-or-merge adds the age again", func() error {
				_, err := staff.Upsert(ctx, &Employee{"Sales", 1, "Smith", &age}, table.MergeExisting)
				return err
			}},
			{"insert-or-replace makes the row what the value is, badge and all gone", func() error {
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
