package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// An employee changes department, which is the partition.
func ExampleTable_Move() {
	ctx := context.Background()
	staff := newTable(staffSchema)
	e, err := staff.Insert(ctx, &employee{"Sales", 223, "Jones", 44})
	check(err)
	before := e.Key

	e.Value.Department = "Marketing"
	check(staff.Move(ctx, e))
	_, err = staff.Get(ctx, before)
	fmt.Println(e.Key, errors.Is(err, table.ErrNotFound))
	// Output: ('Marketing','empid_000223') true
}

// A request names an employee by the key, and the department to go to.
func ExampleTable_UpdateAndMove() {
	ctx := context.Background()
	staff := newTable(staffSchema)
	e, err := staff.Insert(ctx, &employee{"Sales", 223, "Jones", 44})
	check(err)

	e, err = staff.UpdateAndMove(ctx, e.Key, func(e *employee) error {
		e.Department = "Marketing"
		e.Age++
		return nil
	})
	check(err)
	fmt.Println(e.Key, e.Value.Age)
	// Output: ('Marketing','empid_000223') 45
}

// An employee leaves for another table of the same service.
func ExampleTable_MoveTo() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(company, "staff", staffSchema.Partition, staffSchema.Row)
	pensioners := aztablekit.Table(company, "pensioners", staffSchema.Partition, staffSchema.Row)
	check(company.Ensure(ctx))
	e, err := staff.Insert(ctx, &employee{"Sales", 223, "Jones", 67})
	check(err)
	check(staff.MoveTo(ctx, pensioners, e))
	there, err := pensioners.Get(ctx, e.Key)
	check(err)
	fmt.Println(there.Key, there.Value.Last)
	// Output: ('Sales','empid_000223') Jones
}
