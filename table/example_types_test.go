package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/table"
)

// Entity returns a row as an entity, as Get would read it.
func ExampleTable_Entity() {
	staff := sales(nil)
	for row, err := range staff.Rows(context.Background(), table.Query[employee]{Partition: dept.PartitionKey("Sales"), Limit: 1}) {
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
	report, err := table.Upgrade(ctx, staff, table.Query[employee]{TableScan: true}, nil) // the others
	check(err)
	fmt.Println(report.Changed, "of", report.Rows)

	schema.Version, schema.Upgrade = 0, nil
	schema.Type = "employee" // a program that does not know version 1
	_, err = sameTable(old, schema).Get(ctx, employeeKey("Sales", 1))
	var newer *table.VersionError
	fmt.Println(errors.As(err, &newer), newer)
	// Output:
	// 361
	// 3 of 4
	// true the row of type "employee" has version 1, newer than 0, the last that is registered
}
