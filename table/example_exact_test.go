package table_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// The service applies a delete, and the response is lost. The commit record proves that this write has deleted the row.
func ExampleTable_Exact() {
	ctx := context.Background()
	account := storagetest.New(nil)
	staff := employeesOf(account).Exact()
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	first := len(account.Requests()) + 1
	account.SetFaults(storagetest.AtRequest(first, storagetest.LostResponse()))

	fmt.Println(staff.Delete(ctx, jones))
	for _, row := range account.Rows("staff") {
		if row.PartitionKey == "Sales" {
			fmt.Println(row.RowKey[:3], row.Get("State"))
		}
	}
	// Commit records are swept after 25 hours.
	n, err := baretest.SweepAll(ctx, staff)
	fmt.Println(n, err)
	// Output:
	// <nil>
	// ~i| done
	// ~i| done
	// 0 <nil>
}

// The service does not respond before the context ends. The outcome is resolved later.
func ExampleUnknownError() {
	account := storagetest.New(nil)
	staff := employeesOf(account).Exact()
	jones, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
	check(err)

	account.SetFaults(func(storagetest.Request) storagetest.Fault { return storagetest.ExecuteThenHang() })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	err = staff.Merge(ctx, jones, age.Set(45))
	var unknown *table.UnknownError
	fmt.Println(errors.Is(err, table.ErrUnknownOutcome), errors.As(err, &unknown))

	account.SetFaults(nil)
	done, err := unknown.Resolve(context.Background())
	fmt.Println(done, err, jones.Value.Age) // the entity equals the stored row

	// Another program needs only the partition and the operation ID.
	record, err := records.Of(staff).Resolve(context.Background(), keys.RawPartition(unknown.Partition), unknown.OperationID)
	fmt.Println(record.State, err)
	// Output:
	// true true
	// true <nil> 45
	// done <nil>
}
