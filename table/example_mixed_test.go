package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// ratings sorts the reviews of an employee behind the employee's own row.
var ratings = keys.Row2(keys.Digits[int](6).Named("empid"), keys.Digits[int](4), func(r *review) (*int, *int) { return &r.ID, &r.Year })

// staffWithReviews returns two handles of a table with two employees and two reviews.
func staffWithReviews() (*table.Table[employee], *table.Table[review]) {
	named := staffSchema
	named.Type = "employee"
	staff, reviews := twoTypes(named, table.Schema[review]{
		Type:      "review",
		Partition: keys.Partition(dept, func(r *review) *string { return &r.Department }),
		Row:       ratings,
	})
	_, err := table.Transact(context.Background(),
		staff.InsertOp(&employee{"Sales", 123, "Jones", 44}),
		reviews.InsertOp(&review{"Sales", 123, 2025, 4}),
		reviews.InsertOp(&review{"Sales", 123, 2026, 5}),
		staff.InsertOp(&employee{"Sales", 124, "Smith", 35}),
	)
	check(err)
	return staff, reviews
}

// One query returns an employee and all her reviews, each as its own type.
func ExampleMixed() {
	ctx := context.Background()
	staff, reviews := staffWithReviews()
	reader, err := table.NewMixed(staff, reviews)
	check(err)
	for x, err := range reader.List(ctx, table.Query[table.Row]{Partition: dept.PartitionKey("Sales"), Rows: empid.RowKey(123).Family()}) {
		check(err)
		switch x := x.(type) {
		case *table.Entity[employee]:
			fmt.Println(x.Value.Last)
		case *table.Entity[review]:
			fmt.Println(x.Value.Year, x.Value.Rating)
		}
	}
	x, err := reader.Get(ctx, employeeKey("Sales", 124))
	check(err)
	fmt.Printf("%T\n", x)
	// Output:
	// Jones
	// 2025 4
	// 2026 5
	// *table.Entity[github.com/aztablekit/aztablekit/table_test.employee]
}

// Rows changes rows of any type. Other columns keep their values and types.
func ExampleMixed_Rows() {
	ctx := context.Background()
	staff, _ := staffWithReviews()
	reader, err := table.NewMixed(staff)
	check(err)
	jones := employeeKey("Sales", 123)
	_, err = reader.Rows().Update(ctx, jones, func(r *table.Row) error {
		r.Delete("Age")
		return r.Set("Audited", true)
	})
	check(err)
	check(reader.Rows().MergeAny(ctx, jones, table.PropertyOf[int64]("Badge").Set(4711)))
	row, err := reader.Rows().Get(ctx, jones)
	check(err)
	for _, name := range []string{"Audited", "Badge", "LastName", "Age"} {
		value, ok := row.Value.Get(name)
		fmt.Println(name, value, ok)
	}
	// Output:
	// Audited true true
	// Badge 4711 true
	// LastName Jones true
	// Age <nil> false
}
