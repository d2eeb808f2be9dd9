package main

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var moveDepartment = recipe{
	name:        "move-department",
	title:       "An employee changes department, which is the PartitionKey",
	guide:       []string{"G21", "G20"},
	related:     []string{"unique-email", "large-entity", "archive", "intra-partition-index"},
	consistency: "strong",
	measured:    []string{"Jones goes to Marketing"},
	problem: `The PartitionKey of an entity cannot change, and a transaction of the service covers one partition. A program that inserts the
		employee in the new department and then deletes the old row may crash in between: the employee is in both departments. Move prepares
		the new rows, commits in the old department, and finishes the new rows. Every reader of the library sees the employee in one
		department, by key, by index and in lists. If the program crashes, the next program that reads the employee finishes the move or
		rolls it back. A value of package largeentity is copied first, by Store.Copy.`,
	run: func(ctx context.Context, r *Run) error {
		type Employee struct {
			Department string
			ID         int
			LastName   string
			Email      string
		}
		dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
		empid := keys.Row(keys.Digits[int](6), func(e *Employee) *int { return &e.ID }).Named("empid")
		byEmail := index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) { return e.Email, true },
			&index.Options{Unique: true})
		byName := index.New("last", keys.Ordered(), func(e *Employee) (string, bool) { return e.LastName, true },
			&index.Options{Pointer: true})
		open := func(acc *account.Account) (*table.Table[Employee], error) {
			outbox, err := eventual.NewOutbox(acc.Queue(r.QueueName("staff-writes")), nil)
			if err != nil {
				return nil, err
			}
			o := &table.Options{}
			o.Retry.ConflictWait = -1 // do not give a program that moves an employee the time to end
			base, err := table.New(acc.Tables(), r.TableName("staff"), table.Schema[Employee]{Partition: dept, Row: empid}, o)
			if err != nil {
				return nil, err
			}
			indexed, err := index.Attach(base, byEmail, byName)
			if err != nil {
				return nil, err
			}
			return eventual.WithOutbox(indexed, outbox)
		}
		staff, err := open(r.Account())
		if err != nil {
			return err
		}
		worker, err := eventual.NewWorker(r.Queue("staff-writes"), r.Queue("staff-poison"), []eventual.Handler{eventual.Transactions(staff)},
			&eventual.WorkerOptions{Concurrency: 1})
		if err != nil {
			return err
		}
		if err := errors.Join(staff.Ensure(ctx), worker.Ensure(ctx)); err != nil {
			return err
		}
		var jones *table.Entity[Employee]
		if err := r.Do("insert two employees of Sales", func() (err error) {
			if jones, err = staff.Insert(ctx, &Employee{"Sales", 223, "Jones", "jonesj@contoso.com"}); err != nil {
				return err
			}
			_, err = staff.Insert(ctx, &Employee{"Sales", 100, "Brown", "brownb@contoso.com"})
			return err
		}); err != nil {
			return err
		}
		find := func(address string) func() error {
			return func() error {
				for _, d := range []string{"Sales", "Marketing"} {
					switch e, err := byEmail.Get(ctx, staff, dept.Of(d), address); {
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
				for e, err := range staff.List(ctx, table.Query[Employee]{Partition: dept.Of(d)}) {
					if err != nil {
						return err
					}
					r.Answer("%s: %d %s", d, e.Value.ID, e.Value.LastName)
				}
			}
			return nil
		}
		if err := r.Do("find jonesj@contoso.com", find("jonesj@contoso.com")); err != nil {
			return err
		}
		if err := r.Do("Jones goes to Marketing: prepare there, commit in Sales, finish, and 2 requests for the message", func() error {
			jones.Value.Department = "Marketing"
			return staff.Move(ctx, jones)
		}); err != nil {
			return err
		}
		if err := r.Do("find jonesj@contoso.com: the rows of the indexes have moved with the employee", find("jonesj@contoso.com")); err != nil {
			return err
		}
		if err := r.Stored(ctx, "staff"); err != nil {
			return err
		}
		if err := r.Do("a worker marks the commit record of the move as done", func() error { return worker.Drain(ctx) }); err != nil {
			return err
		}
		if err := r.Do("a program moves Brown; it commits, and crashes before it finishes", func() error {
			ctx, crash := context.WithCancel(ctx)
			defer crash()
			acc, err := r.CrashingAccount(2, crash)
			if err != nil {
				return err
			}
			staff, err := open(acc)
			if err != nil {
				return err
			}
			brown, err := staff.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(100)))
			if err != nil {
				return err
			}
			brown.Value.Department = "Marketing"
			return staff.Move(ctx, brown)
		}); err != nil {
			return err
		}
		if err := r.Do("list both departments: the list reads the commit record in Sales, and writes nothing", list); err != nil {
			return err
		}
		if err := r.Do("find brownb@contoso.com: the look-up finishes the move", find("brownb@contoso.com")); err != nil {
			return err
		}
		if err := r.Do("find it again", find("brownb@contoso.com")); err != nil {
			return err
		}
		return r.Naive("move Brown back by an insert and a delete: after the insert, the employee is in both departments", func() error {
			if _, err := staff.Insert(ctx, &Employee{"Sales", 100, "Brown", "brownb@contoso.com"}); err != nil {
				return err
			}
			return list()
		})
	},
}
