package main

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var bulkWork = recipe{
	name:        "bulk",
	title:       "Write and delete many entities",
	guide:       []string{"G13", "G49"},
	related:     []string{"smooth-burst", "parallel", "table-by-day"},
	consistency: "by part",
	measured:    []string{"upsert 600"},
	problem: `A transaction takes at most 100 operations of one partition, but input often is a stream in any order. Bulk
		reads ahead in the stream, groups the operations by partition, and sends several transactions at the same time. If the work stops early,
		ResumeAt is the index at which to resume. table.BulkDelete deletes the results of a query in the same way.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Age        int32
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
		age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, &table.Options{BlindWrites: true}) // no entity has derived rows, so writes need not read the row first
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		// In a program, the operations come from a file, a queue or another table.
		employees := func(yield func(table.Op, error) bool) {
			for i := range 600 {
				e := &Employee{[]string{"Finance", "Marketing", "Sales"}[i%3], i, int32(20 + i%45)}
				if !yield(staff.UpsertOp(e, table.ReplaceExisting), nil) {
					return
				}
			}
		}
		show := func(b table.BulkResult) {
			r.Answer("applied: %d; missing: %d; skipped: %d; resume at %d", b.Applied, b.Missing, b.Skipped, b.ResumeAt)
		}
		if err := r.Do("upsert 600 employees of three departments, in alternating order", func() error {
			result, err := table.Bulk(ctx, employees, nil)
			show(result)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("delete the employees of Sales aged 60 or over", func() error {
			q := table.Query[Employee]{Partition: dept.Of("Sales"), Where: age.Ge(60)}
			result, err := table.BulkDelete(ctx, staff, q, nil)
			show(result)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("delete employees 0 to 299, of whom some are deleted already", func() error {
			result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
				for i := range 300 {
					k := keys.At(dept.Of([]string{"Finance", "Marketing", "Sales"}[i%3]), empid.Of(i))
					if !yield(staff.DeleteAnyOp(k), nil) {
						return
					}
				}
			}, nil)
			show(result)
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
