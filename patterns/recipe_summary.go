package main

import (
	"context"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var summary = recipe{
	name:  "summary",
	title: "Count and add up a group in one row",
	guide: []string{"G10"},
	problem: `The service neither counts nor adds: how many work in a team, and what they earn, is read from all of their rows. A
		summary keeps that in one row for each team, changed in the transaction of each employee, so that it is exact at every
		instant. All writers of a team share its row: that is its price, and its limit.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Team       string
			Salary     int64 // in cents
		}
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
		salary := table.FieldOf(func(e *Employee) *int64 { return &e.Salary })
		teams := index.NewSummary("team", keys.Tuple1(keys.Text()), func(e *Employee) (string, bool) { return e.Team, true },
			&index.SummaryOptions[Employee]{Measures: []index.Measure[Employee]{
				{Name: "Salary", Of: func(e *Employee) (int64, bool) { return e.Salary, e.Salary > 0 }},
			}})
		plain, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		staff, err := index.Attach(plain, nil, teams)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		var last *table.Entity[Employee]
		if err := r.Do("four are hired: each reads the summary of her team, and writes it with herself", func() error {
			for _, e := range []Employee{
				{"Sales", 1, "North", 400_000}, {"Sales", 2, "North", 650_000}, {"Sales", 3, "South", 510_000}, {"Sales", 4, "North", 480_000},
			} {
				if last, err = staff.Insert(ctx, &e); err != nil {
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
			r.Answer("%s: %d, who earn %d cents in all, from %d to %d", g.Value, g.Count, s.Sum, s.Min, s.Max)
		}
		if err := r.Do("team North", func() error {
			g, err := teams.Get(ctx, staff, sales, "North")
			if err == nil {
				show(g)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("all teams", func() error {
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
		if err := r.Do("somebody in the middle gets more: the summary is read, and written with the employee", func() error {
			return staff.Merge(ctx, last, salary.Set(490_000))
		}); err != nil {
			return err
		}
		if err := r.Do("who earns the least leaves: the next is found by reading the department, 1 request for each 1,000 rows", func() error {
			return staff.DeleteAny(ctx, keys.At(sales, empid.Of(1)))
		}); err != nil {
			return err
		}
		if err := r.Do("team North", func() error {
			g, err := teams.Get(ctx, staff, sales, "North")
			if err == nil {
				show(g)
			}
			return err
		}); err != nil {
			return err
		}
		return r.Naive("team North: all rows of the department are read, 1 request for each 1,000, and those of the team added up", func() error {
			n, sum := 0, int64(0)
			var least, most int64
			team := table.FieldOf(func(e *Employee) *string { return &e.Team })
			for e, err := range plain.List(ctx, table.Query[Employee]{Partition: sales, Where: team.Eq("North")}) {
				if err != nil {
					return err
				}
				if n++; n == 1 {
					least = e.Value.Salary
				}
				sum, least, most = sum+e.Value.Salary, min(least, e.Value.Salary), max(most, e.Value.Salary)
			}
			r.Answer("%d, who earn %d cents in all, from %d to %d", n, sum, least, most)
			return nil
		})
	},
}
