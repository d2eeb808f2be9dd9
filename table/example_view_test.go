package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/table"
)

// A view reads only the properties of its type, and the keys.
func ExampleViewOf() {
	ctx := context.Background()
	type name struct {
		LastName string
	}
	names, err := table.ViewOf[name](sales(nil))
	check(err)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales")}
	for n, err := range names.List(ctx, q) {
		check(err)
		fmt.Println(n.Key.RowKey(), n.Value.LastName)
	}
	ex, err := names.Explain(q)
	check(err)
	fmt.Println(ex.Select)
	// Output:
	// empid_000001 Jones
	// empid_000002 Smith
	// empid_000003 O'Brien
	// empid_000004 Müller
	// PartitionKey,RowKey,LastName,_parts
}

// Get reads one row, by a point query.
func ExampleView_Get() {
	type name struct {
		LastName string
	}
	names, err := table.ViewOf[name](sales(nil))
	check(err)
	n, err := names.Get(context.Background(), employeeKey("Sales", 2))
	check(err)
	fmt.Println(n.Value.LastName)
	// Output: Smith
}
