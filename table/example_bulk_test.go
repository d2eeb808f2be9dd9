package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// A stream of operations in mixed partitions becomes as few transactions as possible.
func ExampleBulk() {
	ctx := context.Background()
	var counter requests.Counter
	// These rows have no derived rows, so an Upsert need not read first.
	staff, err := table.New(openAccount(&counter).Tables(), sales(nil).Name(), staffSchema, &table.Options{BlindWrites: true})
	check(err)
	result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 1000 {
			e := &employee{[]string{"Sales", "Marketing"}[i%2], 100 + i, "Jones", 44}
			if !yield(staff.UpsertOp(e, table.ReplaceExisting), nil) {
				return
			}
		}
	}, nil)
	fmt.Println(result.Done, err, counter.Take())

	// Skip drops refused operations. All other operations are applied.
	result, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
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
	// 1000 <nil> 10 transaction
	// operation 1 is dropped
	// operation 2 is dropped
	// operation 3 is dropped
	// operation 4 is dropped
	// {Done:2 Missing:0 Skipped:4 ResumeAt:6} <nil>
}

// DeleteQuery deletes all entities of a query, a hundred with each request.
func ExampleTable_DeleteQuery() {
	ctx := context.Background()
	staff := sales(nil)
	result, err := staff.DeleteQuery(ctx, table.Query[employee]{Partition: dept.Of("Sales"), Where: age.Ge(35)}, nil)
	fmt.Println(result.Done, err)
	for e, err := range staff.List(ctx, table.Query[employee]{Partition: dept.Of("Sales")}) {
		check(err)
		fmt.Println(e.Value.Last)
	}
	// Output:
	// 3 <nil>
	// Jones
}
