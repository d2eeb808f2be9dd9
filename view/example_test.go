package view_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/view"
)

type employee struct {
	Department string
	ID         int
	LastName   string
	CV         string
}

var (
	dept  = keys.Tuple1(keys.Text())
	empid = keys.Tuple1(keys.Digits[int](6)).Named("empid")
)

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// sales returns a table with two employees.
func sales() *table.Table[employee] {
	ctx := context.Background()
	staff, err := table.New(storagetest.New(nil).Tables(), "staff", table.Schema[employee]{
		Partition: keys.Bind1(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Bind1(empid, func(e *employee) *int { return &e.ID }),
	}, nil)
	check(err)
	check(staff.Ensure(ctx))
	for id, name := range []string{"Jones", "Smith"} {
		_, err := staff.Insert(ctx, &employee{"Sales", id, name, "a long story"})
		check(err)
	}
	return staff
}

// A view reads only the properties of its type, and the keys.
func ExampleOf() {
	ctx := context.Background()
	type name struct {
		LastName string
	}
	names, err := view.Of[name](sales())
	check(err)
	q := table.Query[employee]{Partition: dept.Of("Sales")}
	for n, err := range names.List(ctx, q) {
		check(err)
		fmt.Println(n.Key.RowKey(), n.Value.LastName)
	}
	ex, err := names.Explain(q)
	check(err)
	fmt.Println(ex.Select)
	// Output:
	// empid_000000 Jones
	// empid_000001 Smith
	// PartitionKey,RowKey,LastName,_parts
}

// Get reads one row, by a point query.
func ExampleView_Get() {
	type name struct {
		LastName string
	}
	names, err := view.Of[name](sales())
	check(err)
	n, err := names.Get(context.Background(), keys.At(dept.Of("Sales"), empid.Of(1)))
	check(err)
	fmt.Println(n.Value.LastName)
	// Output: Smith
}
