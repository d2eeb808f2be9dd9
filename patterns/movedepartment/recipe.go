package movedepartment

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
	"github.com/aztablekit/aztablekit/table"
)

// Recipe tells the story of the pattern, step by step.
var Recipe = recipe.Recipe{
	Name:        "move-department",
	Title:       "An employee changes department, which is the PartitionKey",
	Guide:       []string{"G21", "G20"},
	Related:     []string{"unique-email", "large-entity", "archive", "intra-partition-index"},
	Consistency: "strong",
	Measured:    []string{"Jones goes to Marketing"},
	Problem: `The PartitionKey of an entity cannot change, and a transaction of the service covers one partition. A program that inserts the
		employee in the new department and then deletes the old row may crash in between: the employee is in both departments. Move prepares
		the new rows, commits in the old department, and finishes the new rows. Every reader of the library sees the employee in one
		department, by key, by index and in lists. If the program crashes, the next program that reads the employee finishes the move or
		rolls it back. A value of package largeentity is copied first, by Store.Copy.`,
	Kept: "movedepartment",
	Run: func(ctx context.Context, r *recipe.Run) error {
		brown := Employee{Department: "Sales", ID: 100, LastName: "Brown", Email: "brownb@contoso.com"}
		o := r.StoreOptions("company", "staff")
		o.Common.Retry.ConflictWait = -1 // do not give a program that moves an employee the time to end
		staff := Open(r.Account(), o)
		crashing, crash := context.WithCancel(ctx)
		defer crash()
		acc, err := r.CrashingAccount(2, crash)
		if err != nil {
			return err
		}
		crashes := Open(acc, o)
		if err := errors.Join(r.Ensure(ctx, staff), r.Ensure(ctx, crashes)); err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		find := func(address string) func() error {
			return func() error {
				for _, d := range []string{"Sales", "Marketing"} {
					switch e, err := staff.ByEmail(ctx, d, address); {
					case errors.Is(err, table.ErrNotFound):
						r.Answer("%s: not there", d)
					case err != nil:
						return err
					default:
						r.Answer("%s: %d %s", d, e.Value.ID, e.Value.LastName)
					}
				}
				return nil
			}
		}
		list := func() error {
			for _, d := range []string{"Sales", "Marketing"} {
				for e, err := range staff.List(ctx, d) {
					if err != nil {
						return err
					}
					r.Answer("%s: %d %s", d, e.Value.ID, e.Value.LastName)
				}
			}
			return nil
		}
		for _, step := range []struct {
			what   string
			run    func() error
			stored string
		}{
			{"insert two employees of Sales", func() (err error) {
				if jones, err = staff.Employees.Insert(ctx, &Employee{Department: "Sales", ID: 223, LastName: "Jones", Email: "jonesj@contoso.com"}); err != nil {
					return err
				}
				_, err = staff.Employees.Insert(ctx, &brown)
				return err
			}, ""},
			{"find jonesj@contoso.com", find("jonesj@contoso.com"), ""},
			{"Jones goes to Marketing: prepare there, commit in Sales, finish, and end the record and the message", func() error {
				return staff.Move(ctx, jones, "Marketing")
			}, ""},
			{"find jonesj@contoso.com: the rows of the indexes have moved with the employee", find("jonesj@contoso.com"), "staff"},
			{"a worker has nothing to do: it would finish the move if its program had crashed", func() error { return staff.Drain(ctx) }, ""},
			{"a program moves Brown; it commits, and crashes before it finishes", func() error {
				e, err := crashes.Get(crashing, "Sales", 100)
				if err != nil {
					return err
				}
				return crashes.Move(crashing, e, "Marketing")
			}, ""},
			{"list both departments: the list reads the commit record in Sales, and writes nothing", list, ""},
			{"find brownb@contoso.com: the look-up finishes the move", find("brownb@contoso.com"), ""},
			{"find it again", find("brownb@contoso.com"), ""},
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
		return r.Naive("move Brown back by an insert and a delete: after the insert, the employee is in both departments", func() error {
			if _, err := staff.Employees.Insert(ctx, &brown); err != nil {
				return err
			}
			return list()
		})
	},
}
