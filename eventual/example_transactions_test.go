package eventual_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// A worker finishes the moves of programs that have crashed.
func ExampleTransactions() {
	ctx := context.Background()
	acc := storagetest.New(nil)
	base, err := table.New(acc.Tables(), "staff", employees, nil)
	check(err)
	check(base.Ensure(ctx))
	queue, poison := acc.Queue("staff-notifications"), acc.Queue("staff-poison")
	out, err := eventual.NewOutbox(queue, nil)
	check(err)
	check(out.Ensure(ctx))
	staff, err := eventual.WithOutbox(base, out)
	check(err)
	e, err := staff.Insert(ctx, &Employee{"Sales", 223, "Jones"})
	check(err)
	e.Value.Department = "Marketing"
	check(staff.Move(ctx, e))

	w, err := eventual.NewWorker(queue, poison, []eventual.Handler{eventual.Transactions(staff)}, nil)
	check(err)
	check(w.Ensure(ctx))
	check(w.Drain(ctx))
	fmt.Println(e.Key, w.Stats().Completed)
	// Output: ('Marketing','empid_000223') 1
}
