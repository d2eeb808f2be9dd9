package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

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
	account := storagetest.New(nil)
	staff := employeesOf(account)
	e, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	leaving, err := bare.With(staff, farewells{})
	check(err)
	check(leaving.Touch(ctx, e))

	op := leaving.TouchOp(e) // or in a transaction
	check(op.Err())          // the operation is valid
	again, err := table.Transact(ctx, op)
	check(err)
	fmt.Println(len(account.Messages("company-writes")), again.ETags[0] == e.ETag, e.Value.Last)
	// Output:
	// 2 true Jones
}
