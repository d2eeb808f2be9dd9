package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

type review struct {
	Department string
	ID, Year   int
	Rating     int32
}

var (
	reviewSchema = table.Schema[review]{
		Partition: keys.Partition(dept, func(r *review) *string { return &r.Department }),
		Row:       keys.Row2(keys.Digits[int](6), keys.Digits[int](4), func(r *review) (*int, *int) { return &r.ID, &r.Year }),
	}
)

// sameTable opens a table for a type of another program.
func sameTable[T, O any](other *table.Table[O], schema table.Schema[T]) *table.Table[T] {
	company := aztablekit.Open(memory, "company", nil)
	t := declare(company, other.Name(), schema, nil)
	check(company.Ensure(context.Background()))
	return t
}

// twoTypes returns the handles of a table of employees and their reviews.
func twoTypes(employees table.Schema[employee], reviews table.Schema[review]) (*table.Table[employee], *table.Table[review]) {
	company, name := aztablekit.Open(memory, "company", nil), newName()
	staff, ofStaff := declare(company, name, employees, nil), declare(company, name, reviews, nil)
	check(company.Ensure(context.Background()))
	return staff, ofStaff
}

// Entities of several types change together, or not at all.
func ExampleTransact() {
	ctx := context.Background()
	staff, reviews := twoTypes(staffSchema, reviewSchema)
	hireFour(staff)
	jones, err := staff.Get(ctx, employeeKey("Sales", 1))
	check(err)
	smith, err := staff.Get(ctx, employeeKey("Sales", 2))
	check(err)

	jones.Value.Age++
	receipt, err := table.Transact(ctx,
		staff.ReplaceOp(jones),
		staff.DeleteOp(smith),
		reviews.InsertOp(&review{"Sales", 1, 2026, 5}),
	)
	check(err)
	stored := table.Stored[review](receipt, 2)
	fmt.Println(stored.Key, jones.ETag == receipt.ETags[0], stored.ETag == receipt.ETags[2])

	// smith is deleted: the second operation is refused, and the first is not applied.
	_, err = table.Transact(ctx, reviews.DeleteOp(stored), staff.MergeOp(smith, age.Set(40)))
	var refused *table.BatchError
	fmt.Println(errors.As(err, &refused), refused.Index, refused.Key, errors.Is(err, table.ErrNotFound))
	// Output:
	// ('Sales','000001_2026') true true
	// true 1 ('Sales','empid_000002') true
}

// Each write has a form for transactions.
func ExampleTable_InsertOp() {
	ctx := context.Background()
	staff := sales(nil)
	list := []table.Op{
		staff.InsertOp(&employee{"Sales", 10, "Weber", 30}),
		staff.InsertOp(&employee{"Sales", 11, "Cao", 31}),
		staff.UpsertOp(&employee{"Sales", 1, "Johnson", 32}, table.ReplaceExisting),
		staff.UpsertOp(&employee{"Sales", 12, "Rossi", 33}, table.MergeExisting),
		staff.DeleteAnyOp(employeeKey("Sales", 3)),
	}
	for _, op := range list {
		check(op.Err()) // known before anything is sent
	}
	receipt, err := table.Transact(ctx, list...)
	check(err)
	weber := table.Stored[employee](receipt, 0)
	weber.Value.Last = "Weaver"
	_, err = table.Transact(ctx, staff.ReplaceOp(weber))
	check(err)
	for e, err := range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
		check(err)
		fmt.Println(e.Value.ID, e.Value.Last, e.Value.Age)
	}
	// Output:
	// 1 Johnson 32
	// 2 Smith 35
	// 4 Müller 45
	// 10 Weaver 30
	// 11 Cao 31
	// 12 Rossi 33
}

// Move inside a partition is one transaction. A key cannot change in place.
func ExampleTable_Move_inside() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, employeeKey("Sales", 1))
	check(err)
	e.Value.ID = 100
	check(staff.Move(ctx, e))
	_, err = staff.Get(ctx, employeeKey("Sales", 1))
	fmt.Println(e.Key, errors.Is(err, table.ErrNotFound))
	// Output: ('Sales','empid_000100') true
}
