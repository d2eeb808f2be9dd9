package main

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var uniqueEmail = recipe{
	name:        "unique-email",
	title:       "An e-mail address that is unique in the company, for logins",
	guide:       []string{"G21", "G11"},
	related:     []string{"intra-partition-index", "inter-partition-index", "move-department"},
	consistency: "strong",
	measured:    []string{"log in"},
	problem: `Employees are stored by department, and log in by e-mail address. The address must belong to one employee of the
		company, whatever the department, but no transaction of the service covers two partitions. An index that is Global stores a small row
		for each address, in a partition of its own, and writes it together with the employee: it prepares the row of the address, commits
		in the department, and finishes the row. If a program crashes in between, other programs see from the commit record in
		the department whether the employee has the address.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			Email      string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		base, err := table.New(r.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, nil)
		if err != nil {
			return err
		}
		outbox, err := eventual.NewOutbox(r.Queue("staff-writes"), nil)
		if err != nil {
			return err
		}
		withOutbox, err := eventual.WithOutbox(base, outbox)
		if err != nil {
			return err
		}
		byEmail := index.NewUnique("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) {
			return e.Email, e.Email != ""
		}, &index.Options{Table: r.TableName("emails")})
		staff, err := index.Attach(withOutbox, byEmail)
		if err != nil {
			return err
		}
		worker, err := eventual.NewWorker(r.Queue("staff-writes"), r.Queue("staff-poison"), []eventual.Handler{index.Handler(staff)}, &eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(staff.Ensure(ctx), index.Ensure(ctx, staff), outbox.Ensure(ctx), worker.Ensure(ctx)); err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		if err := r.Do("insert employee 223 of Sales: prepare the row of the address, commit, finish, and 2 requests for the message", func() error {
			jones, err = staff.Insert(ctx, &Employee{"Sales", 223, "jonesj@contoso.com"})
			return err
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		if err := r.Stored(ctx, "emails"); err != nil {
			return err
		}
		logIn := func(address string) func() error {
			return func() error {
				e, err := byEmail.Get(ctx, staff, address)
				switch {
				case errors.Is(err, table.ErrNotFound):
					r.Answer("no employee has the address %s", address)
					return nil
				case err != nil:
					return err
				}
				r.Answer("%s belongs to employee %d of %s", address, e.Value.ID, e.Value.Department)
				return nil
			}
		}
		if err := r.Do("log in: read the row of the address, and the employee", logIn("JonesJ@Contoso.com")); err != nil {
			return err
		}
		if err := r.Do("an employee of Marketing wants the same address", func() error {
			_, err := staff.Insert(ctx, &Employee{"Marketing", 300, "JonesJ@contoso.com"})
			if !errors.Is(err, index.ErrTaken) {
				return errors.Join(errors.New("want ErrTaken"), err)
			}
			r.Answer("the address is taken")
			return nil
		}); err != nil {
			return err
		}
		if err := r.Do("employee 223 changes the address: the old row and the new one are in two partitions", func() error {
			jones.Value.Email = "jones@contoso.com"
			return staff.Replace(ctx, jones)
		}); err != nil {
			return err
		}
		if err := r.Do("the new address logs in at once", logIn("jones@contoso.com")); err != nil {
			return err
		}
		if err := r.Do("and the old one does not", logIn("jonesj@contoso.com")); err != nil {
			return err
		}
		return r.Do("a worker marks the commit records of the two writes; it would finish them if their programs had crashed", func() error {
			return worker.Drain(ctx)
		})
	},
}
