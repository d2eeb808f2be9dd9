package indexentities

import (
	"context"
	"errors"
	"iter"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "index-entities",
	Title:       "List the members of a group, in one row or in a row for each",
	Guide:       []string{"G23"},
	Related:     []string{"index-entities-elsewhere", "compound-keys", "several-types", "entity-types", "summary"},
	Consistency: "strong",
	Measured:    []string{"get all employees called Jones, from the member rows"},
	NaiveGrows:  "1 per 1,000 rows",
	Problem: `Many employees have the same last name. The guide stores their IDs in one index entity for each name. Each write
		of an employee reads this entity, changes it, and writes it by its ETag in the same transaction; after a conflict, the
		write starts again. All writers of a name compete for that row, and its size is limited to 1 MiB. An index with one row
		for each member has neither limit: writes need not read it, and one range query lists the members. The recipe shows
		both; use a row for each member.`,
	Kept: "indexentities",
	Run: func(ctx context.Context, r *recipe.Run) error {
		const sales = "Sales"
		staff := Open(r.Account(), r.StoreOptions("company", "staff"))

		// The guide's list, in a table of its own.
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })
		lists := index.NewLists("name", keys.Text(), func(e *Employee) (string, bool) { return e.LastName, true }, &index.ListOptions{Property: "EmployeeIDs"})
		guide := aztablekit.Open(r.Account(), "guide", r.StoreOptions("guide", "listed"))
		listed := aztablekit.Table(guide, "listed", dept, empid, lists)
		if err := errors.Join(r.Ensure(ctx, staff), r.Ensure(ctx, guide)); err != nil {
			return err
		}

		var cao *table.Entity[Employee] // the last one that is inserted
		insert := func(t *table.Table[Employee]) func() error {
			return func() (err error) {
				for _, e := range []Employee{{Department: sales, ID: 152, LastName: "Jones"}, {Department: sales, ID: 223, LastName: "Jones"}, {Department: sales, ID: 300, LastName: "Cao"}} {
					if cao, err = t.Insert(ctx, &e); err != nil {
						return err
					}
				}
				return nil
			}
		}
		rename := func(t *table.Table[Employee]) func() error {
			return func() error {
				cao.Value.LastName = "Jones"
				return t.Replace(ctx, cao)
			}
		}
		show := func(list iter.Seq2[*table.Entity[Employee], error]) error {
			for e, err := range list {
				if err != nil {
					return err
				}
				r.Answer("%d %s", e.Value.ID, e.Value.LastName)
			}
			return nil
		}
		for _, step := range []struct {
			what   string
			run    func() error
			stored string
		}{
			{"insert three employees: each write stores the employee and a member row, and reads nothing", insert(staff.Employees), "staff"},
			{"list the keys of all employees called Jones, from the member rows", func() error {
				for k, err := range staff.Keys(ctx, sales, "Jones") {
					if err != nil {
						return err
					}
					r.Answer("%s", k.RowKey())
				}
				return nil
			}, ""},
			{"get all employees called Jones, from the member rows", func() error { return show(staff.List(ctx, sales, "Jones")) }, ""},
			{"rename Cao to Jones with member rows: write three rows in one transaction, and read none", rename(staff.Employees), "staff"},
			{"insert three employees with the guide's list: each write reads the list of the name, and writes the employee and the list", insert(listed), "listed"},
			{"list the keys of all employees called Jones, from the list", func() error {
				all, err := lists.Keys(ctx, listed, dept.Of(sales), "Jones")
				for _, k := range all {
					r.Answer("%s", k.RowKey())
				}
				return err
			}, ""},
			{"get all employees called Jones, from the list", func() error { return show(lists.List(ctx, listed, dept.Of(sales), "Jones")) }, ""},
			{"rename Cao to Jones with the list: read both lists, and write the employee and both lists in one transaction", rename(listed), "listed"},
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
		lastName := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		return r.Naive("find all employees called Jones by a filter, which reads all rows of the department, 1 request for each 1,000", func() error {
			return show(staff.Employees.List(ctx, table.Query[Employee]{Partition: dept.Of(sales), Where: lastName.Eq("Jones")}))
		})
	},
}
