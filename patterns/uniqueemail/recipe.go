package uniqueemail

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "unique-email",
	Title:       "An e-mail address that is unique in the company, for logins",
	Guide:       []string{"G21"},
	Related:     []string{"intra-partition-index", "inter-partition-index", "move-department"},
	Consistency: "strong",
	Measured:    []string{"log in"},
	Problem: `Employees are stored by department, and log in by e-mail address. The address must belong to one employee of the
		company, whatever the department, but no transaction of the service covers two partitions. A unique index stores a small row
		for each address, in a partition of its own, and writes it together with the employee: it prepares the row of the address, commits
		in the department, and finishes the row. If a program crashes in between, other programs see from the commit record in
		the department whether the employee has the address.`,
	Kept: "uniqueemail",
	Run: func(ctx context.Context, r *recipe.Run) error {
		staff := Open(r.Account(), r.StoreOptions("company", "staff", "staffemail"))
		if err := r.Ensure(ctx, staff); err != nil {
			return err
		}
		if err := r.Do("hire employee 223 of Sales: prepare the row of the address, commit, finish, and end the record and the message", func() error {
			return staff.Hire(ctx, Employee{Department: "Sales", ID: 223, Email: "jonesj@contoso.com"})
		}); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staffemail"); err != nil {
			return err
		}
		logIn := func(address string) func() error {
			return func() error {
				e, err := staff.LogIn(ctx, address)
				switch {
				case errors.Is(err, table.ErrNotFound):
					r.Answer("no employee has the address %s", address)
					return nil
				case err != nil:
					return err
				}
				r.Answer("%s belongs to employee %d of %s", address, e.ID, e.Department)
				return nil
			}
		}
		if err := r.Do("log in: read the row of the address, and the employee", logIn("JonesJ@Contoso.com")); err != nil {
			return err
		}
		if err := r.Do("an employee of Marketing wants the same address", func() error {
			return r.Refused(staff.Hire(ctx, Employee{Department: "Marketing", ID: 300, Email: "JonesJ@contoso.com"}), ErrTaken)
		}); err != nil {
			return err
		}
		if err := r.Do("employee 223 changes the address: the old row and the new one are in two partitions", func() error {
			return staff.ChangeAddress(ctx, "Sales", 223, "jones@contoso.com")
		}); err != nil {
			return err
		}
		if err := r.Do("the new address logs in at once", logIn("jones@contoso.com")); err != nil {
			return err
		}
		if err := r.Do("and the old one does not", logIn("jonesj@contoso.com")); err != nil {
			return err
		}
		return r.Do("a worker has nothing to do: it would finish the two writes if their programs had crashed", func() error {
			return staff.Drain(ctx)
		})
	},
}
