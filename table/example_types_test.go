package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// One query returns an employee and all reviews, each as its own type.
func ExampleTypes() {
	ctx := context.Background()
	byID := keys.Tuple1(keys.Digits[int](6))
	schema := staffSchema
	schema.Row = keys.Bind1(byID, func(e *employee) *int { return &e.ID })
	staff := newTable(schema)
	reviews := sameTable(staff, reviewSchema)
	_, err := table.Transact(ctx,
		staff.InsertOp(&employee{"Sales", 123, "Jones", 44}),
		reviews.InsertOp(&review{"Sales", 123, 2025, 4}),
		reviews.InsertOp(&review{"Sales", 123, 2026, 5}),
		staff.InsertOp(&employee{"Sales", 124, "Smith", 35}),
	)
	check(err)

	types, err := table.NewTypes(staff, reviews)
	check(err)
	for x, err := range types.List(ctx, table.Query[table.Row]{Partition: dept.Of("Sales"), Rows: keys.Family(byID.Of(123))}) {
		check(err)
		switch x := x.(type) {
		case *table.Entity[employee]:
			fmt.Println(x.Value.Last)
		case *table.Entity[review]:
			fmt.Println(x.Value.Year, x.Value.Rating)
		}
	}
	x, err := types.Get(ctx, keys.At(dept.Of("Sales"), byID.Of(124)))
	check(err)
	fmt.Printf("%T\n", x)
	// Output:
	// Jones
	// 2025 4
	// 2026 5
	// *table.Entity[github.com/aztablekit/aztablekit/table_test.employee]
}

// Rows changes rows of any type. Other columns keep their values and types.
func ExampleTypes_Rows() {
	ctx := context.Background()
	types, err := table.NewTypes(sales(nil))
	check(err)
	_, err = types.Rows().Update(ctx, employeeKey("Sales", 1), func(r *table.Row) error {
		r.Delete("Age")
		return r.Set("Audited", true)
	})
	check(err)
	check(types.Rows().MergeAny(ctx, employeeKey("Sales", 1), table.PropertyOf[int64]("Badge").Set(4711)))
	row, err := types.Rows().Get(ctx, employeeKey("Sales", 1))
	check(err)
	for name, value := range row.Value.All() {
		fmt.Println(name, value)
	}
	// Output:
	// Audited true
	// Badge 4711
	// LastName Jones
}

// Entity returns a row as an entity, as Get would read it.
func ExampleTable_Entity() {
	staff := sales(nil)
	for row, err := range staff.Rows(context.Background(), table.Query[employee]{Partition: dept.Of("Sales"), Limit: 1}) {
		check(err)
		e, err := staff.Entity(row)
		check(err)
		fmt.Println(e.Value.Last, e.ETag == row.ETag)
	}
	// Output: Jones true
}

// A row of an older version is read as the newest version, and stored as it by the next write.
func ExampleVersionError() {
	ctx := context.Background()
	old := sales(nil)
	schema := staffSchema
	schema.Version = 1
	schema.Upgrade = map[int]func(*table.Row) error{
		0: func(r *table.Row) error { // in version 1 ages are in months
			age, _ := r.Get("Age")
			years, ok := age.(int32)
			if !ok {
				return errors.New("no age")
			}
			return r.Set("Age", 12*years)
		},
	}
	staff := sameTable(old, schema)
	e, err := staff.Update(ctx, employeeKey("Sales", 1), func(e *employee) error { e.Age++; return nil })
	check(err)
	fmt.Println(e.Value.Age)

	schema.Version, schema.Upgrade = 0, nil
	schema.Type = "employee" // a program that does not know version 1
	_, err = sameTable(old, schema).Get(ctx, employeeKey("Sales", 1))
	var newer *table.VersionError
	fmt.Println(errors.As(err, &newer), newer)
	// Output:
	// 361
	// true the row of type "employee" has version 1, newer than 0, the last that is registered
}
