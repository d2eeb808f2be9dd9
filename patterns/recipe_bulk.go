package main

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var bulk = recipe{
	name:  "bulk",
	title: "Load and delete many entities",
	guide: []string{"G13", "G49"},
	problem: `Entities come as a stream, in any order of partitions, and a transaction takes a hundred of one. The stream is read
		as far as a window allows, what belongs to one partition is sent together, and several partitions at once. Whoever stops
		half-way knows up to where everything is done. A delete by query is the same, with the rows that a query finds.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Age        int32
		}
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](6))
		age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })
		staff, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, &table.Options{BlindWrites: true}) // no row has derived rows, so none need be read before it is written
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		// A file, a queue, another table: whatever can be read one by one.
		employees := func(yield func(table.Op, error) bool) {
			for i := range 600 {
				e := &Employee{[]string{"Finance", "Marketing", "Sales"}[i%3], i, int32(20 + i%45)}
				if !yield(staff.UpsertOp(e, table.ReplaceExisting), nil) {
					return
				}
			}
		}
		if err := r.Do("600 employees of three departments, one after the other from each", func() error {
			result, err := table.Bulk(ctx, employees, nil)
			r.Answer("%+v", result)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("everybody in Sales who is 60 or older leaves", func() error {
			q := table.Query[Employee]{Partition: dept.Of("Sales"), Where: age.Ge(60)}
			result, err := staff.DeleteQuery(ctx, q, nil)
			r.Answer("%+v", result)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("employees 0 to 299 leave, of whom some have left already", func() error {
			result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
				for i := range 300 {
					k := keys.At(dept.Of([]string{"Finance", "Marketing", "Sales"}[i%3]), empid.Of(i))
					if !yield(staff.DeleteAnyOp(k), nil) {
						return
					}
				}
			}, nil)
			r.Answer("%+v", result)
			return err
		}); err != nil {
			return err
		}
		return r.Naive("600 upserts, one by one", func() error {
			for i := range 600 {
				if _, err := staff.Upsert(ctx, &Employee{fmt.Sprint("D", i%3), i, 30}, table.ReplaceExisting); err != nil {
					return err
				}
			}
			return nil
		})
	},
}
