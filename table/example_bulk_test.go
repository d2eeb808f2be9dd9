package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// A stream of operations in mixed partitions becomes as few transactions as possible.
func ExampleBulk() {
	ctx := context.Background()
	staff, service := newBulkStaff()
	result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 1000 {
			e := &employee{[]string{"Sales", "Marketing"}[i%2], 100 + i, "Jones", 44}
			if !yield(staff.UpsertOp(e, table.ReplaceExisting), nil) {
				return
			}
		}
	}, nil)
	fmt.Println(result.Changed, err, service.Count())
	// Output: 1000 <nil> 10 transaction
}

// Skip drops refused operations. All other operations are applied.
func ExampleBulk_skip() {
	ctx := context.Background()
	staff, _ := newBulkStaff()
	_, err := staff.Insert(ctx, &employee{"Sales", 2, "Jones", 44})
	check(err)
	result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for id := range 6 {
			if !yield(staff.InsertOp(&employee{"Sales", id, "New", 30}), nil) {
				return
			}
		}
	}, &table.Pass{
		Skip: func(k keys.Key, err error) bool {
			fmt.Println("the insert of", k, "is dropped")
			return errors.Is(err, table.ErrExists)
		},
	})
	fmt.Println(result.Changed, result.Skipped, err)
	// Output:
	// the insert of ('Sales','empid_000002') is dropped
	// 5 1 <nil>
}

// Delete deletes all entities of a query, a hundred with each request.
func ExampleBulkDelete() {
	ctx := context.Background()
	staff, _ := newBulkStaff()
	for i, name := range []string{"Jones", "Smith", "O'Brien", "Müller"} {
		_, err := staff.Insert(ctx, &employee{"Sales", i + 1, name, int32(30 + 5*i)})
		check(err)
	}
	result, err := table.BulkDelete(ctx, staff, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Where: age.Ge(35)}, nil)
	fmt.Println(result.Changed, err)
	for e, err := range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
		check(err)
		fmt.Println(e.Value.Last)
	}
	// Output:
	// 3 <nil>
	// Jones
}
