package main

import (
	"context"
	"errors"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

var newIndex = recipe{
	name:        "new-index",
	title:       "Add an index to a table in use, and take it out of use",
	guide:       []string{"G20"},
	related:     []string{"intra-partition-index", "inter-partition-index", "lost-notifications"},
	consistency: "strong",
	measured:    []string{"Fill waits"},
	naiveGrows:  "1 per row",
	problem: `A new index has no rows for the entities that exist already, and other programs write while it is filled, among
		them some of the release before. The table has a catalogue, a row that says which definitions all writers keep. Ensure
		names the new index there, and refuses no write. When all programs have the release, Fill refuses those that lack the
		index, waits until they have noticed, adds the missing rows, and lets look-ups begin. Retire goes the way back. Verify
		finds and repairs rows that other programs have damaged.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Email      string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		email := table.FieldOf(func(e *Employee) *string { return &e.Email })
		byEmail := index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, e.Email != "" }, &index.Options{Unique: true})
		name := r.StoreName("hr")
		brief := &aztablekit.Options{Lease: 2 * time.Second} // 66 s, but for an example
		before := aztablekit.Open(r.Account(), name, brief)
		old := aztablekit.Table(before, r.TableName("staff"), dept, empid)
		after := aztablekit.Open(r.Account(), name, brief)
		staff := aztablekit.Table(after, r.TableName("staff"), dept, empid, byEmail)
		if err := before.Ensure(ctx); err != nil {
			return err
		}
		sales := dept.Of("Sales")
		if err := r.Do("the release before inserts three employees; the first write reads the catalogue", func() error {
			for _, e := range []Employee{{"Sales", 1, "ann@contoso.com"}, {"Sales", 2, "bob@contoso.com"}, {"Sales", 3, "Bob@contoso.com"}} {
				if _, err := old.Insert(ctx, &e); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if err := after.Ensure(ctx); err != nil {
			return err
		}
		if err := r.Do("report whether addresses can be unique; a dry run writes nothing", func() error {
			report, err := after.Fill(ctx, &aztablekit.FillOptions{DryRun: true, Fault: func(f verify.Fault) {
				if f.Kind == verify.DuplicateValue {
					r.Answer("%s of %s conflicts with %s", f.Row.RowKey(), f.Entity.RowKey(), f.Owner.RowKey())
				}
			}})
			r.Answer("employees: %d; faults: %v", report.Entities, report.Faults)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("two employees have the same address, so change one of them", func() error {
			return old.MergeAny(ctx, keys.At(sales, empid.Of(3)), email.Set("bobby@contoso.com"))
		}); err != nil {
			return err
		}
		if err := r.Do("both releases write, without index rows, and look-ups are refused", func() error {
			_, err1 := staff.Insert(ctx, &Employee{"Sales", 4, "dan@contoso.com"})
			_, err2 := old.Insert(ctx, &Employee{"Sales", 5, "eve@contoso.com"})
			_, err3 := byEmail.Get(ctx, staff, sales, "bob@contoso.com")
			return errors.Join(err1, err2, r.Refused(err3, index.ErrNotReadable))
		}); err != nil {
			return err
		}
		if err := r.Do("Fill waits, and adds the rows in transactions of up to 100 operations, each entity by its ETag", func() error {
			report, err := after.Fill(ctx, nil)
			r.Answer("employees: %d; repaired: %d", report.Entities, report.Repaired)
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		if err := r.Do("find bob@contoso.com; the catalogue is read again, once a minute", func() error {
			e, err := byEmail.Get(ctx, staff, sales, "bob@contoso.com")
			if err == nil {
				r.Answer("employee %d", e.Value.ID)
			}
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("the release before cannot write any more", func() error {
			_, err := old.Insert(ctx, &Employee{"Sales", 6, "fay@contoso.com"})
			return r.Refused(err, table.ErrNotDeclared)
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
			report, err := after.Verify(ctx, &verify.Options{Repair: true})
			r.Answer("faults: %v; repaired: %d", report.Faults, report.Repaired)
			return err
		}); err != nil {
			return err
		}
		if err := r.Do("Retire waits twice, and deletes the rows; then both releases write", func() error {
			if err := after.Retire(ctx, r.TableName("staff"), "email", nil); err != nil {
				return err
			}
			_, err := old.Insert(ctx, &Employee{"Sales", 6, "fay@contoso.com"})
			return err
		}); err != nil {
			return err
		}
		return r.Naive("read all employees and write one copy of each, 1 request for each copy; employees inserted meanwhile are missed", func() error {
			rows, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[table.Row]{}, nil)
			if err != nil {
				return err
			}
			for e, err := range old.List(ctx, table.Query[Employee]{Partition: sales}) {
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
