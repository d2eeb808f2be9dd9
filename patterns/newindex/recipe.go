package newindex

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "new-index",
	Title:       "Add an index to a table in use, and take it out of use",
	Guide:       []string{"G20"},
	Related:     []string{"intra-partition-index", "inter-partition-index", "lost-notifications"},
	Consistency: "strong",
	Measured:    []string{"Fill waits"},
	NaiveGrows:  "1 per row",
	Problem: `A new index has no rows for the entities that exist already, and other programs write while it is filled, among
		them some of the release before. The table has a catalogue, a row that says which definitions all writers keep. Ensure
		names the new index there, and refuses no write. When all programs have the release, Fill refuses those that lack the
		index, waits until they have noticed, adds the missing rows, and lets look-ups begin. Retire goes the way back. Verify
		finds and repairs rows that other programs have damaged.`,
	Kept: "newindex",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })
		o := r.StoreOptions("company", "staff")
		o.CatalogueAge = 2500 * time.Millisecond // 66 s, but for an example
		staff := Open(r.Account(), o)

		// The release before, which has no index.
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
		before := aztablekit.Open(r.Account(), "company", o)
		old := aztablekit.Table(before, "staff", dept, empid)
		if err := before.Ensure(ctx); err != nil {
			return err
		}
		if err := r.Do("the release before inserts three employees; the first write reads the catalogue", func() error {
			for _, e := range []Employee{{Department: sales, ID: 1, Email: "ann@contoso.com"}, {Department: sales, ID: 2, Email: "bob@contoso.com"}, {Department: sales, ID: 3, Email: "Bob@contoso.com"}} {
				if _, err := old.Insert(ctx, &e); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		const bothWrite = "both releases write, without index rows, and look-ups are refused"
		for _, step := range []struct {
			what   string
			run    func() error
			stored string
		}{
			{"report whether addresses can be unique; a dry run writes nothing", func() error {
				duplicates, report, err := staff.Duplicates(ctx)
				for _, f := range duplicates {
					r.Answer("%s of %s conflicts with %s", f.Row.RowKey(), f.Entity.RowKey(), f.Owner.RowKey())
				}
				r.Answer("%v", report)
				return err
			}, ""},
			{"two employees have the same address, so change one of them", func() error {
				return old.MergeAny(ctx, old.Key(Employee{Department: sales, ID: 3}), email.Set("bobby@contoso.com"))
			}, ""},
			{bothWrite, func() error {
				_, err1 := staff.Employees.Insert(ctx, &Employee{Department: sales, ID: 4, Email: "dan@contoso.com"})
				_, err2 := old.Insert(ctx, &Employee{Department: sales, ID: 5, Email: "eve@contoso.com"})
				_, err3 := staff.ByEmail(ctx, sales, "bob@contoso.com")
				return errors.Join(err1, err2, r.Refused(err3, table.ErrNotReadable))
			}, ""},
			{"Fill waits, and adds the rows in transactions of up to 100 operations, each entity by its ETag", func() error {
				report, err := staff.Fill(ctx, nil)
				r.Answer("employees: %d; repaired: %d", report.Rows, report.Changed)
				return err
			}, "staff"},
			{"find bob@contoso.com; the catalogue is read again, once a minute", func() error {
				e, err := staff.ByEmail(ctx, sales, "bob@contoso.com")
				if err == nil {
					r.Answer("employee %d", e.Value.ID)
				}
				return err
			}, ""},
			{"the release before cannot write any more", func() error {
				_, err := old.Insert(ctx, &Employee{Department: sales, ID: 6, Email: "fay@contoso.com"})
				return r.Refused(err, table.ErrNotDeclared)
			}, ""},
			{"another program deletes an index row, and Verify adds it again", func() error {
				if _, err := r.Table("staff").DeleteEntity(ctx, sales, "email_ann@contoso.com", nil); err != nil {
					return err
				}
				report, err := staff.Repair(ctx, nil)
				r.Answer("%v", report)
				return err
			}, ""},
			{"Retire waits twice, and deletes the rows; then both releases write", func() error {
				if err := staff.Retire(ctx, "staff", "email", nil); err != nil {
					return err
				}
				_, err := old.Insert(ctx, &Employee{Department: sales, ID: 6, Email: "fay@contoso.com"})
				return err
			}, ""},
		} {
			if step.what == bothWrite { // on a slow service, they would read the catalogue again, after 2.5 s
				if err := errors.Join(before.Ensure(ctx), staff.Ensure(ctx)); err != nil {
					return err
				}
			}
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
			if step.stored != "" {
				if err := r.Stored(ctx, step.stored); err != nil {
					return err
				}
			}
		}
		return r.Naive("read all employees and write one copy of each, 1 request for each copy; employees inserted meanwhile are missed", func() error {
			for e, err := range old.List(ctx, table.Query[Employee]{Partition: dept.Of(sales)}) {
				if err != nil {
					return err
				}
				row, err := json.Marshal(map[string]string{"PartitionKey": sales, "RowKey": "address_" + e.Value.Email, "Email": e.Value.Email})
				if err != nil {
					return err
				}
				if _, err := r.Table("staff").AddEntity(ctx, row, nil); err != nil {
					return err
				}
			}
			return nil
		})
	},
}
