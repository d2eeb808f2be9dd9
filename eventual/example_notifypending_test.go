package eventual_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// A job notifies workers again after the queue was cleared, and resumes where the call before ended.
func ExampleOutbox_NotifyPending() {
	ctx := context.Background()
	acc := storagetest.New(nil)
	base, err := table.New(acc.Tables(), "staff", employees, nil)
	check(err)
	check(base.Ensure(ctx))
	queue := acc.Queue("staff-notifications")
	out, err := eventual.NewOutbox(queue, nil)
	check(err)
	check(out.Ensure(ctx))
	staff, err := eventual.WithOutbox(base, out, badges)
	check(err)
	for id := range 3 {
		_, err = staff.Insert(ctx, &Employee{"Sales", id, "Jones"})
		check(err)
	}
	_, err = queue.ClearMessages(ctx, nil)
	check(err)

	o := eventual.NotifyOptions{Max: 2, Grace: -1} // a program leaves Grace at its default
	for {
		r, err := out.NotifyPending(ctx, staff, &o)
		check(err)
		fmt.Println(r.Sent, "sent; done:", r.Token == "")
		if o.Token = r.Token; o.Token == "" {
			break
		}
	}
	// Output:
	// 2 sent; done: false
	// 1 sent; done: true
}
