package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// byAgeCopy copies each employee to a row under the age.
type byAgeCopy struct{}

func (byAgeCopy) Name() string { return "age" }
func (byAgeCopy) MaxRows() int { return 2 }

func (byAgeCopy) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	under := func(e *employee) keys.RowKey { return keys.RawRow(fmt.Sprint("age_", e.Age)) }
	old, err := c.OldRow()
	if err != nil {
		return err
	}
	if old != nil {
		if err := p.Remove(under(c.Old)); err != nil {
			return err
		}
	}
	row, err := c.Row()
	if err != nil || row == nil {
		return err
	}
	return p.Insert(row.Copy(keys.At(c.Key.Partition(), under(c.New))), nil)
}

// A copy can be written like the copied entity.
func ExampleRow_Copy() {
	ctx := context.Background()
	staff, err := bare.With(newTableWith(staffSchema, nil), byAgeCopy{}) // whose rows contain operation IDs
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	copies := table.Query[employee]{Partition: dept.PartitionKey("Sales"), Rows: keys.RawRows("age_", "age_~")}
	rows, err := table.Collect(staff.Rows(ctx, copies))
	check(err)
	e, err := staff.Entity(rows[0])
	check(err)
	fmt.Println(rows[0].Key, e.Key, e.Value, e.Partial())
	e.Value.Age++
	fmt.Println(staff.Replace(ctx, e))
	rows, err = table.Collect(staff.Rows(ctx, copies))
	fmt.Println(rows[0].Key, err)
	// Output:
	// ('Sales','age_44') ('Sales','empid_000001') {Sales 1 Jones 44} false
	// <nil>
	// ('Sales','age_45') <nil>
}
