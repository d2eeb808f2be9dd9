package main

import (
	"context"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

var newIndex = recipe{
	name:        "new-index",
	title:       "Add an index to a table in use, check it, and remove it",
	guide:       []string{"G20"},
	related:     []string{"intra-partition-index", "inter-partition-index", "lost-notifications"},
	consistency: "strong",
	measured:    []string{"Verify with Repair adds"},
	naiveGrows:  "1 per row",
	problem: `A new index has no rows for the entities that exist already, and other programs write while it is filled. Four
		steps are safe. Verify reports whether the index is possible. A first release updates the index but does not read it
		(WriteOnly). Verify with Repair adds the missing rows. The next release reads the index. Verify also finds and repairs
		rows that other programs have damaged, and deletes the rows of an index that is no longer used.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Email      string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })
		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		if err := base.Ensure(ctx); err != nil {
			return err
		}
		// release returns the definition of one release of the program, and a handle with it.
		release := func(key func(*Employee) (string, bool), writeOnly bool) (*index.Index[Employee, string], *table.Table[Employee], error) {
			byEmail := index.New("email", keys.Fold(keys.Text()), key, &index.Options{Unique: true, WriteOnly: writeOnly})
			staff, err := index.Attach(base, byEmail)
			return byEmail, staff, err
		}
		address := func(e *Employee) (string, bool) { return e.Email, e.Email != "" }
		sales := dept.Of("Sales")
		if err := r.Do("insert three employees without an index", func() error {
			for _, e := range []Employee{{"Sales", 1, "ann@contoso.com"}, {"Sales", 2, "bob@contoso.com"}, {"Sales", 3, "Bob@contoso.com"}} {
				if _, err := base.Insert(ctx, &e); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		verify := func(staff *table.Table[Employee], repair bool) error {
			report, err := verify.Run(ctx, staff, &verify.Options{Partition: sales, Repair: repair, Fault: func(f verify.Fault) {
				if f.Kind == verify.DuplicateValue {
					r.Answer("%s of %s conflicts with %s", f.Row.RowKey(), f.Entity.RowKey(), f.Owner.RowKey())
				}
			}})
			if err == nil {
				r.Answer("employees: %d; index rows found: %d; faults: %v; repaired: %d", report.Entities, report.Rows, report.Faults, report.Repaired)
			}
			return err
		}
		_, staff, err := release(address, true)
		if err != nil {
			return err
		}
		if err := r.Do("report whether addresses can be unique; Verify without Repair writes nothing", func() error { return verify(staff, false) }); err != nil {
			return err
		}
		if err := r.Do("two employees have the same address, so change one of them", func() error {
			return base.MergeAny(ctx, keys.At(sales, empid.Of(3)), email.Set("bobby@contoso.com"))
		}); err != nil {
			return err
		}
		if err := r.Do("release the index with WriteOnly, and insert an employee: the write adds the index row", func() error {
			_, err := staff.Insert(ctx, &Employee{"Sales", 4, "dan@contoso.com"})
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("Verify with Repair adds the other rows, in transactions of up to 100 operations, each by its ETag", func() error { return verify(staff, true) }); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		byEmail, staff, err := release(address, false)
		if err != nil {
			return err
		}
		if err := r.Do("release the index for reading, and find bob@contoso.com", func() error {
			e, err := byEmail.Get(ctx, staff, sales, "bob@contoso.com")
			if err == nil {
				r.Answer("employee %d", e.Value.ID)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("another program deletes an index row, and Verify adds it again", func() error {
			rows, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[table.Row]{}, nil)
			if err != nil {
				return err
			}
			if err := rows.DeleteAny(ctx, keys.Stored("Sales", "email_ann@contoso.com")); err != nil {
				return err
			}
			return verify(staff, true)
		}); err != nil {
			return err
		}
		if err := r.Do("stop using the index: release a key function that returns false, and Verify deletes the rows; later releases need no definition", func() error {
			_, staff, err := release(func(*Employee) (string, bool) { return "", false }, true)
			if err != nil {
				return err
			}
			return verify(staff, true)
		}); err != nil {
			return err
		}
		return r.Naive("read all employees and write one copy of each, 1 request for each copy; employees inserted meanwhile are missed", func() error {
			rows, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[table.Row]{}, nil)
			if err != nil {
				return err
			}
			for e, err := range base.List(ctx, table.Query[Employee]{Partition: sales}) {
				if err != nil {
					return err
				}
				row := &table.Row{}
				if err := row.Set("Email", e.Value.Email); err != nil {
					return err
				}
				if _, err := rows.UpsertAt(ctx, keys.Stored("Sales", "address_"+e.Value.Email), row, table.ReplaceExisting); err != nil {
					return err
				}
			}
			return nil
		})
	},
}
