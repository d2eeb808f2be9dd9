package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
)

// incarnations is a maintainer that gives each employee an incarnation.
type incarnations struct{}

func (incarnations) Name() string { return "incarnations" }
func (incarnations) MaxRows() int { return 0 }

func (incarnations) Maintain(_ context.Context, _ *extend.Plan, c *extend.Change[employee]) error {
	c.Incarnation()
	return nil
}

// An employee who is deleted and inserted again has another incarnation.
func ExampleRow_Incarnation() {
	ctx := context.Background()
	staff, err := bare.With(newTable(staffSchema), incarnations{})
	check(err)
	first, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	was, err := first.Row()
	check(err)
	check(staff.Delete(ctx, first))
	second, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	is, err := second.Row()
	check(err)
	fmt.Println(len(was.Incarnation()), is.Incarnation() == was.Incarnation())
	// Output: 16 false
}
