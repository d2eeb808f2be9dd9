package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/table"
)

// exampleOutbox is an outbox in memory. An outbox that survives its process is a queue.
type exampleOutbox struct{ notes []extend.Notification }

func (b *exampleOutbox) Notify(_ context.Context, n extend.Notification) (extend.SentNotification, error) {
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

func (farewells) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
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
	leaving, err := eventual.WithOutbox(staff, b, farewells{})
	check(err)
	check(leaving.Touch(ctx, e))

	op := leaving.TouchOp(e) // or in a transaction
	check(op.Err())          // the operation is valid
	again, err := table.Transact(ctx, op)
	check(err)
	fmt.Println(len(b.notes), again.ETags[0] == e.ETag, e.Value.Last)
	// Output:
	// 2 true Jones
}
