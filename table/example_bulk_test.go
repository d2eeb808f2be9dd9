package table_test

import (
	"context"
	"errors"
	"fmt"

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
	fmt.Println(result.Applied, err, service.Count())
	// Output: 1000 <nil> 10 transaction
}

// Skip drops refused operations. All other operations are applied.
func ExampleBulkOptions() {
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
	}, &table.BulkOptions{
		Skip: func(index int, err error) bool {
			fmt.Println("operation", index, "is dropped")
			return errors.Is(err, table.ErrExists)
		},
	})
	fmt.Printf("%+v %v\n", result, err)
	// Output:
	// operation 2 is dropped
	// {Applied:5 Missing:0 Skipped:1 ResumeAt:6} <nil>
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
