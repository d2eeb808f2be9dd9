package indexentitieselsewhere

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "index-entities-elsewhere",
	Title:       "List the members of a group over all partitions, in three ways",
	Guide:       []string{"G23"},
	Related:     []string{"index-entities", "inter-partition-index", "compound-keys", "lost-notifications"},
	Consistency: "strong or eventual",
	Measured:    []string{"by option 3, who is"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `The guide has three options for the list of all employees with a last name: a blob for each name (1), an index entity in
		the partition of the employees (2), or in a table of its own, EmployeeDetails (3). Only 1 and 3 list over departments. A
		blob follows the employees by a worker. Option 3 is a pointer for each employee here, in place of a row for each name: it is there at every instant, and
		there may be any number. The recipe shows all three on the same employees.`,
	Kept: "indexentitieselsewhere",
	Run: func(ctx context.Context, r *recipe.Run) error {
		names := r.Account().Blobs().NewContainerClient(r.ContainerName("names"))
		staff := Open(r.Account(), names, r.StoreOptions("company", "staff", "EmployeeDetails"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		if err := r.Do("insert three employees of two departments, with the lists of option 2 in the same transactions", func() error {
			for _, e := range []Employee{{Department: "Marketing", ID: 152, LastName: "Jones"}, {Department: "Sales", ID: 223, LastName: "Jones"}, {Department: "Sales", ID: 300, LastName: "Cao"}} {
				if _, err := staff.Employees.Insert(ctx, &e); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		work := func() error { return staff.Drain(ctx) }
		if err := r.Do("the worker writes the blobs of option 1", work); err != nil {
			return err
		}
		if err := errors.Join(r.Stored(ctx, "staff"), r.Stored(ctx, "EmployeeDetails")); err != nil {
			return err
		}
		show := func(all []keys.Key, err error) error {
			for _, k := range all {
				r.Answer("%s", k)
			}
			return err
		}
		fromBlob := func() error {
			members, err := staff.BlobMembers(ctx, "Jones")
			if err == nil {
				r.Answer("%s", members)
			}
			return err
		}
		for _, step := range []struct {
			what string
			run  func() error
		}{
			{"by option 1, who is called Jones, from the blob", fromBlob},
			{"by option 2, who is called Jones in Sales, from the list in the partition", func() error { return show(staff.DepartmentKeys(ctx, "Sales", "Jones")) }},
			{"by option 3, who is called Jones, by the pointers of EmployeeDetails", func() error { return show(staff.Keys(ctx, "Jones")) }},
			{"rename Cao to Jones: the lists of option 2 are read, and change in the transaction", func() error {
				_, err := staff.Employees.Update(ctx, staff.Employees.Key(Employee{Department: "Sales", ID: 300}), func(e *Employee) error { e.LastName = "Jones"; return nil })
				return err
			}},
			{"the worker changes two blobs", work},
			{"option 1, once more", fromBlob},
			{"option 3, once more: get the employees, too", func() error {
				for e, err := range staff.List(ctx, "Jones") {
					if err != nil {
						return err
					}
					r.Answer("%s %d %s", e.Value.Department, e.Value.ID, e.Value.LastName)
				}
				return nil
			}},
		} {
			if err := r.Do(step.what, step.run); err != nil {
				return err
			}
		}
		lastName := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		return r.Naive("find all employees called Jones by a filter, which reads the whole table, 1 request for each 1,000 rows", func() error {
			n, err := staff.Employees.Count(ctx, table.Query[Employee]{TableScan: true, Where: lastName.Eq("Jones")})
			r.Answer("%d employees", n)
			return err
		})
	},
}
