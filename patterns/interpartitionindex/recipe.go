package interpartitionindex

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "inter-partition-index",
	Title:       "Find an employee by e-mail address in the whole company",
	Guide:       []string{"G21"},
	Related:     []string{"search-index", "intra-partition-index", "several-types", "entity-types", "unique-email"},
	Consistency: "eventual",
	Measured:    []string{"find jonesj@contoso.com without"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `An index in the partition of its employees finds an address only if the department is known, and shares the
		2,000 rows a second of the partition. Here the copies are in other partitions, one for each address, of a table of their
		own. No transaction covers two partitions: each write stores a commit record in its own transaction, and a worker then
		makes the copies follow the employee, whatever crashes or is repeated. The pointers by hire year are in other partitions of
		the table itself, and need no worker: each is stored before its employee, who names it, and deleted when the employee names it no more. A copy that is out of date becomes a tombstone (~ in _sys), which look-ups leave out; it is deleted a day
		later.`,
	Kept: "interpartitionindex",
	Run: func(ctx context.Context, r *recipe.Run) error {
		lastName := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })
		staff := Open(r.Account(), r.StoreOptions("company", "staff", "emails"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		show := func(list iter.Seq2[*table.Entity[Employee], error]) error {
			for e, err := range list {
				if err != nil {
					return err
				}
				r.Answer("%s %d %s, %s", e.Value.Department, e.Value.ID, e.Value.LastName, e.Value.Email)
			}
			return nil
		}
		find := func(address string) error {
			e, err := staff.ByEmail(ctx, address)
			if errors.Is(err, table.ErrNotFound) {
				r.Answer("%s: not found", address)
				return nil
			}
			if err == nil {
				r.Answer("%s: %s %d %s", address, e.Value.Department, e.Value.ID, e.Value.LastName)
			}
			return err
		}
		work := func() error { return staff.Drain(ctx) }
		for _, step := range []struct {
			what   string
			run    func() error
			stored string
		}{
			{"insert an employee: put a hidden notification, and once a day a note of the partition; write the employee and a commit record; make the notification visible", func() (err error) {
				jones, err = staff.Employees.Insert(ctx, &Employee{Department: "Sales", ID: 223, LastName: "Jones", Email: "JonesJ@contoso.com", Hired: 2021})
				return err
			}, ""},
			{"the worker reads the commit record, the employee and the copy, writes the copy, and marks the record as done", work, "emails"},
			{"find jonesj@contoso.com without the department", func() error { return find("jonesj@contoso.com") }, ""},
			{"change the address", func() error { return staff.Employees.Merge(ctx, jones, email.Set("smithj@contoso.com")) }, ""},
			{"until the worker has run, the old address finds her", func() error { return errors.Join(find("jonesj@contoso.com"), find("smithj@contoso.com")) }, ""},
			{"the worker writes the new copy, and a tombstone over the old one", work, "emails"},
			{"now the new address finds her", func() error { return errors.Join(find("jonesj@contoso.com"), find("smithj@contoso.com")) }, ""},
			{"change the name", func() error { return staff.Employees.Merge(ctx, jones, lastName.Set("Smith")) }, ""},
			{"the worker changes the copy; the pointer by year stays as it is", work, "staff"},
			{"list who was hired from 2020 to 2022 in Sales: read the pointers, and then each employee", func() error {
				return show(staff.HiredBetween(ctx, "Sales", 2020, 2022))
			}, ""},
			{"another program inserts an employee without this library; Verify finds and adds the missing rows", func() error {
				brown := `{"PartitionKey":"Marketing","RowKey":"empid_000152","LastName":"Brown","Email":"brownb@contoso.com","Hired":"2019","Hired@odata.type":"Edm.Int64"}`
				if _, err := r.Table("staff").AddEntity(ctx, []byte(brown), nil); err != nil {
					return err
				}
				report, err := staff.Repair(ctx, nil)
				r.Answer("%d missing rows, %d repaired", report.Counts[verify.Missing], report.Changed)
				return err
			}, "emails"},
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
		return r.Naive("find smithj@contoso.com by a filter, which reads the whole table, 1 request for each 1,000 rows", func() error {
			return show(staff.Employees.List(ctx, table.Query[Employee]{TableScan: true, Where: email.Eq("smithj@contoso.com")}))
		})
	},
}
