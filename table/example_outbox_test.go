package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// exampleOutbox is an outbox in memory. An outbox that survives its process is a queue.
type exampleOutbox struct{ notes []commit.Notification }

func (b *exampleOutbox) Notify(_ context.Context, n commit.Notification) (commit.SentNotification, error) {
	b.notes = append(b.notes, n)
	return exampleNotification{}, nil
}

type exampleNotification struct{}

func (exampleNotification) Show(context.Context) error     { return nil }
func (exampleNotification) Withdraw(context.Context) error { return nil }

// farewells adds an effect to any write. It belongs to a handle of its own, for work that follows from no change.
type farewells struct{}

func (farewells) Name() string { return "farewells" }
func (farewells) MaxRows() int { return 0 }

func (farewells) Maintain(_ context.Context, p *maintain.Plan, c *maintain.Change[employee]) error {
	p.Effect("farewell", 1, []byte(c.New.Last))
	return nil
}

// Touch adds effects to an entity that has not changed since it was read. It changes nothing else.
func ExampleTable_Touch() {
	ctx := context.Background()
	b := &exampleOutbox{}
	staff := newTable(staffSchema)
	e, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	leaving, err := maintain.WithOutbox(staff, b, farewells{})
	check(err)
	check(leaving.Touch(ctx, e))

	op := leaving.TouchOp(e) // or in a transaction
	check(op.Err())          // the operation is valid
	again, err := table.Transact(ctx, op)
	check(err)
	fmt.Println(len(b.notes), again.ETags[0] == e.ETag, e.Value.Last)

	moved, err := table.Transact(ctx, staff.DeleteOp(e), staff.InsertRowOp(keys.At(dept.Of("Sales"), empid.Of(2)), rowOf(e)))
	check(err)
	fmt.Println(table.Stored[employee](moved, 1).Value)
	// Output:
	// 2 true Jones
	// {Sales 2 Jones 44}
}

func rowOf(e *table.Entity[employee]) *table.Row {
	row, err := e.Row()
	check(err)
	return row
}

// InsertRow inserts what was read of another row, with the properties that the type does not know.
func ExampleTable_InsertRow() {
	ctx := context.Background()
	staff := sales(nil)
	e, err := staff.Get(ctx, employeeKey("Sales", 1))
	check(err)
	copied, err := staff.InsertRow(ctx, employeeKey("Sales", 5), rowOf(e))
	check(err)
	fmt.Println(copied.Value)
	// Output: {Sales 5 Jones 30}
}
