package eventual_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
)

// Each employee with a new name gets a badge, also if the writer or a worker crashes.
func ExampleOn() {
	ctx := context.Background()
	print := eventual.On("badge", badgeDue, func(_ context.Context, j eventual.Job, b Badge) error {
		fmt.Println("badge:", b.ID, b.Name, "of", j.Key.RowKey())
		return nil
	})
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(company, "staff", department, empid, print)
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &Employee{"Sales", 1, "Jones"})
	check(err)
	check(company.Drain(ctx)) // a server calls Run
	// Output: badge: 1 Jones of empid_000001
}
