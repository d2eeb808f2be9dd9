package main

import (
	"context"
	"iter"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var indexEntities = recipe{
	name:  "index-entities",
	title: "List the employees of a last name: a list, and a row for each member",
	guide: []string{"G23"},
	problem: `Many employees have one last name. The guide keeps their ids in one index entity for each name: it is read, changed
		and written by its ETag, in the transaction of the employee, and everything begins again where somebody else was faster.
		All writers of a name meet at that row, and 1 MiB is its end. A row for each member has neither limit, needs no reading
		before writing, and one range query lists it. Both are shown here side by side; use the second.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
		}
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
		name := func(e *Employee) (string, bool) { return e.LastName, true }
		// The guide's list, and a row for each member.
		lists := index.NewLists("name", keys.Tuple1(keys.Text()), name, &index.ListOptions{Property: "EmployeeIDs"})
		members := index.New("last", keys.Tuple1(keys.Text()), name, &index.Options[Employee]{Pointer: true})

		plain, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		staff, err := index.Attach(plain, nil, lists, members)
		if err != nil {
			return err
		}
		if err := staff.Ensure(ctx); err != nil {
			return err
		}
		if err := r.Do("three are hired: each reads the list of her name, and writes it with herself and a row for her as a member", func() error {
			for _, e := range []Employee{{"Sales", 152, "Jones"}, {"Sales", 223, "Jones"}, {"Sales", 300, "Cao"}} {
				if err := insert(ctx, staff, &e); err != nil {
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
		if err := r.Do("the ids of all Joneses, from the list", func() error {
			all, err := lists.Keys(ctx, staff, sales, "Jones")
			for _, k := range all {
				r.Answer("%s", k.RowKey())
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("the Joneses themselves, by the list", func() error { return show(lists.List(ctx, staff, sales, "Jones")) }); err != nil {
			return err
		}
		if err := r.Do("the ids of all Joneses, from the members", func() error {
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
		if err := r.Do("the Joneses themselves, by the members", func() error { return show(members.List(ctx, staff, sales, "Jones")) }); err != nil {
			return err
		}

		// Each way by itself: what a change costs.
		for _, way := range []struct {
			table, what string
			definition  index.Definition[Employee]
		}{
			{"listed", "Cao becomes a Jones, with lists: both are read, and the three rows written in one transaction", lists},
			{"members", "the same with members: three rows in one transaction, and none is read", members},
		} {
			plain, err := table.New(r.Tables(), r.Table(way.table), table.Schema[Employee]{
				Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
				Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
			}, nil)
			if err != nil {
				return err
			}
			one, err := index.Attach(plain, nil, way.definition)
			if err != nil {
				return err
			}
			if err := one.Ensure(ctx); err != nil {
				return err
			}
			if err := insert(ctx, one, &Employee{"Sales", 152, "Jones"}); err != nil {
				return err
			}
			cao, err := one.Insert(ctx, &Employee{"Sales", 300, "Cao"})
			if err != nil {
				return err
			}
			if err := r.Do(way.what, func() error {
				cao.Value.LastName = "Jones"
				return one.Replace(ctx, cao)
			}); err != nil {
				return err
			}
			if err := r.Stored(ctx, way.table); err != nil {
				return err
			}
		}
		lastName := table.FieldOf(func(e *Employee) *string { return &e.LastName })
		return r.Naive("all Joneses: a filter, which reads all rows of the department, 1 request for each 1,000", func() error {
			return show(plain.List(ctx, table.Query[Employee]{Partition: sales, Where: lastName.Eq("Jones")}))
		})
	},
}
