package table_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// The service carries out a delete, and no response comes back. The row is gone: did we delete it, or somebody else? The intent
// tells.
func ExampleTable_Exact() {
	ctx := context.Background()
	account := storagetest.New(nil)
	staff := employeesOf(account).Exact()
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	first := len(account.Requests()) + 1
	account.SetFaults(storagetest.AtRequest(first, storagetest.LostReply()))

	fmt.Println(staff.Delete(ctx, jones))
	for _, row := range account.Rows("staff") {
		fmt.Println(row.RowKey[:3], row.Get("State"))
	}
	// A day later, they are swept.
	n, err := staff.SweepCommitRecords(ctx)
	fmt.Println(n, err)
	// Output:
	// <nil>
	// ~i| done
	// ~i| done
	// 0 <nil>
}

// The network is gone for longer than the caller can wait. What has become of the write is found out later.
func ExampleUnknownError() {
	account := storagetest.New(nil)
	staff := employeesOf(account).Exact()
	jones, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
	check(err)

	account.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.HangAfter() })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	err = staff.Merge(ctx, jones, age.Set(45))
	var unknown *table.UnknownError
	fmt.Println(errors.Is(err, table.ErrUnknownOutcome), errors.As(err, &unknown))

	account.SetFaults(nil)
	done, err := unknown.Resolve(context.Background())
	fmt.Println(done, err, jones.Value.Age) // the entity is as it was stored

	// Another program needs the names alone.
	record, err := staff.CommitRecords().Resolve(context.Background(), keys.Raw(unknown.Partition), unknown.Op)
	fmt.Println(record.State, err)
	// Output:
	// true true
	// true <nil> 45
	// done <nil>
}

// CommitRecords are found by the time of their writes, and swept when they can serve no more.
func ExampleCommitRecords_Sweep() {
	ctx := context.Background()
	staff := sales(nil).Exact()
	check(staff.DeleteAny(ctx, employeeKey("Sales", 1)))
	records := staff.CommitRecords()
	for record, err := range records.List(ctx, keys.Raw("Sales"), time.Now().Add(time.Minute)) {
		check(err)
		fmt.Println(record.State, len(record.Effects))
	}
	n, err := records.Sweep(ctx, keys.Raw("Sales")) // it is younger than 25 hours
	fmt.Println(n, err)
	// Output:
	// done 0
	// 0 <nil>
}
