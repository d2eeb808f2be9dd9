package staffsearch

import (
	"context"
	"iter"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "intra-partition-index",
	Title:       "Find employees by e-mail address, by hire date, and by name",
	Guide:       []string{"G20", "G07", "G10"},
	Related:     []string{"inter-partition-index", "compound-keys", "several-types", "entity-types", "new-index"},
	Consistency: "strong",
	Measured:    []string{"find jonesj@"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `The service finds rows by their keys and by nothing else: to find an address, it reads the whole department. An
		index stores a copy of each employee under another RowKey, so that one request finds an address, and one range query
		lists employees in the order of the index. The copies change in the transaction of their employee, so they are never out
		of date. A write that takes the address of another employee fails.`,
	Kept: "staffsearch",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		day := func(year int, month time.Month, day int) time.Time {
			return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		}
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		if err := r.Do("hire four employees", func() error {
			return staff.Hire(ctx,
				Employee{Department: sales, ID: 100, LastName: "Brown", Email: "brownb@contoso.com", Hired: day(2019, 5, 2)},
				Employee{Department: sales, ID: 152, LastName: "Jones", Email: "jonesa@contoso.com", Hired: day(2024, 1, 15)},
				Employee{Department: sales, ID: 199, LastName: "Cao", Hired: day(2018, 11, 1)},
				Employee{Department: sales, ID: 223, LastName: "Jones", Email: "JonesJ@contoso.com", Hired: day(2021, 3, 1)})
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		show := func(list iter.Seq2[*table.Entity[Employee], error]) error {
			for e, err := range list {
				if err != nil {
					return err
				}
				r.Answer("%d %s, %s, %s", e.Value.ID, e.Value.LastName, e.Value.Email, e.Value.Hired.Format(time.DateOnly))
			}
			return nil
		}
		var jones *table.Entity[Employee]
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"find jonesj@contoso.com", func() (err error) {
				if jones, err = staff.ByEmail(ctx, sales, "jonesj@contoso.com"); err != nil {
					return err
				}
				r.Answer("%d %s", jones.Value.ID, jones.Value.LastName)
				return nil
			}},
			{"list the addresses that begin with j", func() error { return show(staff.EmailPrefix(ctx, sales, "j")) }},
			{"list employees 100 to 199", func() error { return show(staff.Numbers(ctx, sales, 100, 199)) }},
			{"list the employees hired from 2019 to 2023, in this order; these copies contain no address", func() error {
				return show(staff.HiredBetween(ctx, sales, day(2019, 1, 1), day(2023, 12, 31)))
			}},
			{"list the employees with the last name Jones: read the index, and then each employee", func() error { return show(staff.Named(ctx, sales, "Jones")) }},
			{"change the name and address of the employee found: all rows change in one transaction", func() error {
				jones.Value.LastName, jones.Value.Email = "Smith", "smithj@contoso.com"
				return staff.Save(ctx, jones)
			}},
			{"take the address of Brown", func() error {
				jones.Value.Email = "brownb@contoso.com"
				return r.Refused(staff.Save(ctx, jones), table.ErrTaken)
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		return r.Naive("find smithj@contoso.com by a filter, which reads all rows of the department, 1 request for each 1,000, and finds this spelling only", func() error {
			dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
			empid := keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
			email := table.FieldOf(func(e *Employee) *string { return &e.Email })
			reader := aztablekit.Open(r.Account(), "company", r.StoreOptions("company"))
			base := aztablekit.Table(reader, "staff", dept, empid)
			return show(base.List(ctx, table.Query[Employee]{Partition: dept.Of(sales), Where: email.Eq("smithj@contoso.com")}))
		})
	},
}
