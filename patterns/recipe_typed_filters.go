package main

import (
	"context"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var typedFilters = recipe{
	name:        "typed-filters",
	title:       "Write filters without filter strings",
	guide:       []string{"G41"},
	related:     []string{"scans", "projection", "entity-types"},
	consistency: "strong",
	measured:    []string{"find a name that contains"},
	problem: `Filters are text, and text that is joined by hand goes wrong: a quote in a name changes the query, a number
		without its type suffix matches the wrong rows or none, and a local time is read as UTC. Here the compiler checks
		conditions on fields, and the library writes the filter.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Age        int32
			Salary     float64
			Hired      time.Time
			Badge      int64
		}
		last := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		age := table.FieldOf(func(e *Employee) *int32 { return &e.Age })
		salary := table.FieldOf(func(e *Employee) *float64 { return &e.Salary })
		hired := table.FieldOf(func(e *Employee) *time.Time { return &e.Hired })
		badge := table.FieldOf(func(e *Employee) *int64 { return &e.Badge })

		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID })
		staff, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		spring := time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
		for _, e := range []Employee{
			{"Sales", 1, "O'Brien", 44, 5000, spring.AddDate(-3, 0, 0), 1 << 40},
			{"Sales", 2, "Jones", 29, 4200.5, spring.AddDate(0, 1, 0), 1<<40 + 1},
			{"Sales", 3, "Müller", 51, 6100, spring.AddDate(0, 2, 0), 1<<40 + 2},
		} {
			if _, err := staff.Insert(ctx, &e); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		for _, c := range []struct {
			what  string
			where table.Cond[Employee]
		}{
			{"find a name that contains a quote", last.Eq("O'Brien")},
			{"search for a name that looks like a filter", last.Eq("x' or PartitionKey ne 'z")},
			{"find employees who are over 40 and earn at least 6000, or who have badge 2^40 + 1", table.Or(table.And(age.Gt(40), salary.Ge(6000)), badge.Eq(1<<40+1))},
			{"find employees hired since spring, except Jones", table.And(hired.Ge(spring), table.Not(last.Eq("Jones")))},
		} {
			q := table.Query[Employee]{Partition: dept.Of("Sales"), Where: c.where}
			ex, err := staff.Explain(q)
			if err != nil {
				return err
			}
			if err := r.Ask(c.what, ex, func() error {
				n := 0
				for e, err := range staff.List(ctx, q) {
					if err != nil {
						return err
					}
					n++
					r.Answer("%d %s", e.Value.ID, e.Value.LastName)
				}
				if n == 0 {
					r.Answer("no employee")
				}
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	},
}
