package main

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var indexEntities = recipe{
	name:        "index-entities",
	title:       "List the members of a group, in one row or in a row for each",
	guide:       []string{"G23"},
	related:     []string{"index-entities-elsewhere", "compound-keys", "several-types", "entity-types", "summary"},
	consistency: "strong",
	measured:    []string{"get all employees called Jones, from the list"},
	naiveGrows:  "1 per 1,000 rows",
	problem: `Many employees have the same last name. The guide stores their IDs in one index entity for each name. Each write
		of an employee reads this entity, changes it, and writes it by its ETag in the same transaction; after a conflict, the
		write starts again. All writers of a name compete for that row, and its size is limited to 1 MiB. An index with one row
		for each member has neither limit: writes need not read it, and one range query lists the members. The recipe shows
		both; use the second.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		name := func(e *Employee) (string, bool) { return e.LastName, true }
		// The guide's list, and one row for each member.
		lists := index.NewLists("name", keys.Text(), name, &index.ListOptions{Property: "EmployeeIDs"})
		members := index.New("last", keys.Text(), name, &index.Options{Pointer: true})

		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		staff, err := index.Attach(base, lists, members)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if err := r.Do("insert three employees: each write reads the list of the name, and writes the employee, the list and a member row", func() error {
			for _, e := range []Employee{{"Sales", 152, "Jones"}, {"Sales", 223, "Jones"}, {"Sales", 300, "Cao"}} {
				if _, err := staff.Insert(ctx, &e); err != nil {
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
		show := func(list iter.Seq2[*table.Entity[Employee], error]) error {
			for e, err := range list {
				if err != nil {
					return err
				}
				r.Answer("%d %s", e.Value.ID, e.Value.LastName)
			}
			return nil
		}
		if err := r.Do("list the keys of all employees called Jones, from the list", func() error {
			all, err := lists.Keys(ctx, staff, sales, "Jones")
			for _, k := range all {
				r.Answer("%s", k.RowKey())
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("get all employees called Jones, from the list", func() error { return show(lists.List(ctx, staff, sales, "Jones")) }); err != nil {
			return err
		}
		if err := r.Do("list the keys of all employees called Jones, from the member rows", func() error {
			for k, err := range members.Keys(ctx, staff, table.Query[Employee]{Partition: sales, Rows: members.Value("Jones")}) {
				if err != nil {
					return err
				}
				r.Answer("%s", k.RowKey())
			}
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("get all employees called Jones, from the member rows", func() error { return show(members.List(ctx, staff, sales, "Jones")) }); err != nil {
			return err
		}

		// The requests of a change, with each definition alone.
		for _, alone := range []struct {
			table, what string
			definition  index.Definition[Employee]
		}{
			{"listed", "rename Cao to Jones with the list: read both lists, and write the employee and both lists in one transaction", lists},
			{"members", "rename Cao to Jones with member rows: write three rows in one transaction, and read none", members},
		} {
			base, err := table.New(r.Tables(), r.TableName(alone.table), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
			if err != nil {
				return err
			}
			staff, err := index.Attach(base, alone.definition)
			if err != nil {
				return err
			}
			if err := staff.Ensure(ctx); err != nil {
				return err
			}
			if _, err := staff.Insert(ctx, &Employee{"Sales", 152, "Jones"}); err != nil {
				return err
			}
			cao, err := staff.Insert(ctx, &Employee{"Sales", 300, "Cao"})
			if err != nil {
				return err
			}
			if err := r.Do(alone.what, func() error {
				cao.Value.LastName = "Jones"
				return staff.Replace(ctx, cao)
			}); err != nil {
				return err
			}
			if err := r.Stored(ctx, alone.table); err != nil {
				return err
			}
		}
		lastName := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		return r.Naive("find all employees called Jones by a filter, which reads all rows of the department, 1 request for each 1,000", func() error {
			return show(base.List(ctx, table.Query[Employee]{Partition: sales, Where: lastName.Eq("Jones")}))
		})
	},
}
