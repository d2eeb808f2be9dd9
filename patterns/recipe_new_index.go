package main

import (
	"context"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var newIndex = recipe{
	name:  "new-index",
	title: "Give a table in use an index, check it, and let it go",
	guide: []string{"G20"},
	problem: `A new index knows nothing of the rows that are there, and while they are read and copied others write. First a look
		whether there can be such an index; then a release whose writers keep it and that nobody reads; then one pass over the
		table; then the look-ups. The same pass finds and repairs what other programs have broken, and clears an index away.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Email      string
		}
		dept := keys.Tuple1(keys.Text())
		empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })
		plain, err := table.New(r.Tables(), r.Table("staff"), table.Schema[Employee]{
			Partition: keys.Bind1(dept, func(e *Employee) *string { return &e.Department }),
			Row:       keys.Bind1(empid, func(e *Employee) *int { return &e.ID }),
		}, nil)
		if err != nil {
			return err
		}
		if err := plain.Ensure(ctx); err != nil {
			return err
		}
		// Each release of the program has its own definition.
		release := func(key func(*Employee) (string, bool), writeOnly bool) (*index.Index[Employee, string], *table.Table[Employee], error) {
			byEmail := index.New("email", keys.Tuple1(keys.Fold(keys.Text())), key, &index.Options[Employee]{Unique: index.InPartition, WriteOnly: writeOnly})
			staff, err := index.Attach(plain, nil, byEmail)
			return byEmail, staff, err
		}
		address := func(e *Employee) (string, bool) { return e.Email, e.Email != "" }
		sales := dept.Of("Sales")
		if err := r.Do("a table that has been in use for years", func() error {
			for _, e := range []Employee{{"Sales", 1, "ann@contoso.com"}, {"Sales", 2, "bob@contoso.com"}, {"Sales", 3, "Bob@contoso.com"}} {
				if _, err := plain.Insert(ctx, &e); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		verify := func(staff *table.Table[Employee], repair bool) error {
			report, err := verify.Run(ctx, staff, &verify.Options{Partition: sales, Repair: repair, Fault: func(f verify.Fault) {
				if f.Kind == verify.Conflict {
					r.Answer("%s of %s: in conflict with %s", f.Row.RowKey(), f.Entity.RowKey(), f.Owner.RowKey())
				}
			}})
			if err == nil {
				r.Answer("%d employees, %d rows of the index; wrong: %v, repaired: %d", report.Entities, report.Rows, report.Faults, report.Repaired)
			}
			return err
		}
		_, staff, err := release(address, true)
		if err != nil {
			return err
		}
		if err := r.Do("could addresses be unique? A report writes nothing", func() error { return verify(staff, false) }); err != nil {
			return err
		}
		if err := r.Do("they are not, so that is put right", func() error {
			return plain.MergeAny(ctx, keys.At(sales, empid.Of(3)), email.Set("bobby@contoso.com"))
		}); err != nil {
			return err
		}
		if err := r.Do("released with WriteOnly: whoever is hired now is in the index", func() error {
			_, err := staff.Insert(ctx, &Employee{"Sales", 4, "dan@contoso.com"})
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("the others are written by Verify, in transactions of up to 100 operations, each by its ETag", func() error { return verify(staff, true) }); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		byEmail, staff, err := release(address, false)
		if err != nil {
			return err
		}
		if err := r.Do("released for reading: who is bob@contoso.com?", func() error {
			e, err := byEmail.Get(ctx, staff, sales, "bob@contoso.com")
			if err == nil {
				r.Answer("%d", e.Value.ID)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("another program deletes a row of the index, and Verify makes it anew", func() error {
			rows, err := table.New(r.Tables(), r.Table("staff"), table.Schema[table.Row]{}, nil)
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
		if err := r.Do("let go: a release that keeps no addresses, and Verify once more. The next needs no definition", func() error {
			_, staff, err := release(func(*Employee) (string, bool) { return "", false }, true)
			if err != nil {
				return err
			}
			return verify(staff, true)
		}); err != nil {
			return err
		}
		return r.Naive("a program copies each employee that it has read, 1 request for each, and does not see who is hired meanwhile", func() error {
			rows, err := table.New(r.Tables(), r.Table("staff"), table.Schema[table.Row]{}, nil)
			if err != nil {
				return err
			}
			for e, err := range plain.List(ctx, table.Query[Employee]{Partition: sales}) {
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
