package main

import (
	"context"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var summary = recipe{
	name:        "summary",
	title:       "Count and add up a group in one row",
	guide:       []string{"G10"},
	related:     []string{"denormalization", "index-entities", "materialized-view"},
	consistency: "strong",
	measured:    []string{"get the summary of team North"},
	naiveGrows:  "1 per 1,000 rows",
	problem: `The service cannot count or add: to find how many employees a team has and how much they earn, a program reads all
		their rows. A summary contains these numbers in one row for each team. The write of an employee updates this row in the
		same transaction, so the summary is exact at any time. The cost is that all writers of a team compete for its row.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Team       string
			Salary     int64 // in cents
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		salary := table.FieldOf(func(e *Employee) *int64 { return &e.Salary })
		teams := index.NewSummary("team", keys.Text(), func(e *Employee) (string, bool) { return e.Team, true },
			nil, index.Measure[Employee]{Name: "Salary", Of: func(e *Employee) (int64, bool) { return e.Salary, e.Salary > 0 }})
		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		staff, err := index.Attach(base, teams)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		var fourth *table.Entity[Employee] // the last one that is inserted
		if err := r.Do("insert four employees: each write reads the summary of the team, and writes it with the employee", func() error {
			for _, e := range []Employee{
				{"Sales", 1, "North", 400_000}, {"Sales", 2, "North", 650_000}, {"Sales", 3, "South", 510_000}, {"Sales", 4, "North", 480_000},
			} {
				if fourth, err = staff.Insert(ctx, &e); err != nil {
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
		sales := dept.Of("Sales")
		show := func(g *index.Group[string]) {
			s := g.Measures["Salary"]
			r.Answer("team %s: members: %d; salaries in cents: %d in all, from %d to %d", g.Value, g.Count, s.Sum, s.Min, s.Max)
		}
		if err := r.Do("get the summary of team North", func() error {
			g, err := teams.Get(ctx, staff, sales, "North")
			if err == nil {
				show(g)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("list the summaries of all teams", func() error {
			for g, err := range teams.All(ctx, staff, sales) {
				if err != nil {
					return err
				}
				show(g)
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("raise a salary that is neither the lowest nor the highest: read the summary, and write it with the employee", func() error {
			return staff.Merge(ctx, fourth, salary.Set(490_000))
		}); err != nil {
			return err
		}
		if err := r.Do("delete the employee with the lowest salary: read the department to find the next lowest, 1 request for each 1,000 rows", func() error {
			return staff.DeleteAny(ctx, keys.At(sales, empid.Of(1)))
		}); err != nil {
			return err
		}
		if err := r.Do("get the summary of team North", func() error {
			g, err := teams.Get(ctx, staff, sales, "North")
			if err == nil {
				show(g)
			}
			return err
		}); err != nil {
			return err
		}
		return r.Naive("read all rows of the department, 1 request for each 1,000, and add up team North", func() error {
			n, sum := 0, int64(0)
			var lowest, highest int64
			team := table.FieldOf(func(e *Employee) *string { return &e.Team })
			for e, err := range base.List(ctx, table.Query[Employee]{Partition: sales, Where: team.Eq("North")}) {
				if err != nil {
					return err
				}
				if n++; n == 1 {
					lowest = e.Value.Salary
				}
				sum, lowest, highest = sum+e.Value.Salary, min(lowest, e.Value.Salary), max(highest, e.Value.Salary)
			}
			r.Answer("team North: members: %d; salaries in cents: %d in all, from %d to %d", n, sum, lowest, highest)
			return nil
		})
	},
}
