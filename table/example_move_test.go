package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// An employee changes department, which is the partition.
func ExampleTable_Move() {
	ctx := context.Background()
	staff, err := eventual.WithOutbox(newTable(staffSchema), &exampleOutbox{}) // in a program, an *eventual.Outbox
	check(err)
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
	staff, err := eventual.WithOutbox(newTable(staffSchema), &exampleOutbox{}) // in a program, an *eventual.Outbox
	check(err)
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
	service := storagetest.New(nil).Tables()
	open := func(name string, o *table.Options) *table.Table[employee] {
		base, err := table.New(service, name, staffSchema, o)
		check(err)
		check(base.Ensure(ctx))
		t, err := eventual.WithOutbox(base, exampleOutboxOfAll)
		check(err)
		return t
	}
	staff := open("staff", nil)
	pensioners := open("pensioners", &table.Options{MovedFrom: []string{"staff"}})
	e, err := staff.Insert(ctx, &employee{"Sales", 223, "Jones", 67})
	check(err)
	check(staff.MoveTo(ctx, pensioners, e))
	there, err := pensioners.Get(ctx, e.Key)
	check(err)
	fmt.Println(there.Key, there.Value.Last)
	// Output: ('Sales','empid_000223') Jones
}

var exampleOutboxOfAll = &exampleOutbox{}
