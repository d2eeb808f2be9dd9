package teams

import (
	"context"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "summary",
	Title:       "Count and add up a group in one row",
	Guide:       []string{"G10"},
	Related:     []string{"denormalization", "index-entities", "materialized-view"},
	Consistency: "strong",
	Measured:    []string{"get the summary of team North"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `The service cannot count or add: to find how many employees a team has and how much they earn, a program reads all
		their rows. A summary contains these numbers in one row for each team. The write of an employee updates this row in the
		same transaction, so the summary is exact at any time. The cost is that all writers of a team compete for its row.`,
	Kept: "teams",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		salary := table.FieldOf(func(e *Employee) *int64 { return &e.Salary })
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		var fourth *table.Entity[Employee] // the last one that is inserted
		show := func(g *index.Group[string]) {
			s := g.Measures["Salary"]
			r.Answer("team %s: members: %d; salaries in cents: %d in all, from %d to %d", g.Value, g.Count, s.Sum, s.Min, s.Max)
		}
		north := func() error {
			g, err := staff.Team(ctx, sales, "North")
			if err == nil {
				show(g)
			}
			return err
		}
		for _, step := range []struct {
			what   string
			run    func() error
			stored string
		}{
			{"insert four employees: each write reads the summary of the team, and writes it with the employee", func() (err error) {
				for _, e := range []Employee{
					{Department: sales, ID: 1, Team: "North", Salary: 400_000}, {Department: sales, ID: 2, Team: "North", Salary: 650_000},
					{Department: sales, ID: 3, Team: "South", Salary: 510_000}, {Department: sales, ID: 4, Team: "North", Salary: 480_000},
				} {
					if fourth, err = staff.Employees.Insert(ctx, &e); err != nil {
						return err
					}
				}
				return nil
			}, "staff"},
			{"get the summary of team North", north, ""},
			{"list the summaries of all teams", func() error {
				for g, err := range staff.Teams(ctx, sales) {
					if err != nil {
						return err
					}
					show(g)
				}
				return nil
			}, ""},
			{"raise a salary that is neither the lowest nor the highest: read the summary, and write it with the employee", func() error {
				return staff.Employees.Merge(ctx, fourth, salary.Set(490_000))
			}, ""},
			{"delete the employee with the lowest salary: read the department to find the next lowest, 1 request for each 1,000 rows", func() error {
				return staff.Employees.DeleteAny(ctx, staff.Employees.Key(Employee{Department: sales, ID: 1}))
			}, ""},
			{"get the summary of team North", north, ""},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
			if step.stored != "" {
				if err := r.Stored(ctx, step.stored); err != nil {
					return err
				}
			}
		}
		return r.Naive("read all rows of the department, 1 request for each 1,000, and add up team North", func() error {
			n, sum := 0, int64(0)
			var lowest, highest int64
			team := table.FieldOf(func(e *Employee) *string { return &e.Team })
			for e, err := range staff.Employees.List(ctx, table.Query[Employee]{Partition: fourth.Key.Partition(), Where: team.Eq("North")}) {
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
