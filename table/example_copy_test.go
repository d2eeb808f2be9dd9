package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// byAgeCopy copies each employee to a row under the age.
type byAgeCopy struct{}

func (byAgeCopy) Name() string { return "age" }
func (byAgeCopy) MaxRows() int { return 2 }

func (byAgeCopy) Maintain(_ context.Context, p *table.Plan, c *table.Change[employee]) error {
	under := func(e *employee) keys.Enc { return keys.Raw(fmt.Sprint("age_", e.Age)) }
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
	staff, err := newTableWith(staffSchema, nil).With(byAgeCopy{}) // whose rows contain operation IDs
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	row, err := staff.GetRow(ctx, keys.At(dept.Of("Sales"), keys.Raw("age_44")))
	check(err)
	e, err := staff.Entity(row)
	check(err)
	fmt.Println(row.Key, e.Key, e.Value)
	e.Value.Age++
	fmt.Println(staff.Replace(ctx, e))
	_, err = staff.GetRow(ctx, keys.At(dept.Of("Sales"), keys.Raw("age_45")))
	fmt.Println(err)
	// Output:
	// ('Sales','age_44') ('Sales','empid_000001') {Sales 1 Jones 44}
	// <nil>
	// <nil>
}

// oldest stores the greatest age of a department in a row.
type oldest struct{}

func (oldest) Name() string { return "oldest" }
func (oldest) MaxRows() int { return 1 }

func (oldest) Maintain(ctx context.Context, p *table.Plan, c *table.Change[employee]) error {
	k := keys.At(c.Key.Partition(), keys.Raw("oldest"))
	if _, err := p.Load(ctx, k.Row()); err != nil { // so that a concurrent write of it is a conflict
		return err
	}
	most := 0
	for row, err := range p.Scan(ctx, empid.All()) { // all rows but the changed one
		if err != nil {
			return err
		}
		age, _ := row.Get("Age")
		most = max(most, int(age.(int32)))
	}
	if c.New != nil {
		most = max(most, int(c.New.Age))
	}
	r := &table.Row{Key: k}
	if err := r.Set("Age", most); err != nil {
		return err
	}
	return p.Put(r)
}

// A derived row that depends on the whole partition.
func ExamplePlan_Scan() {
	ctx := context.Background()
	staff, err := newTable(staffSchema).With(oldest{})
	check(err)
	for i, age := range []int32{44, 61, 30} {
		_, err := staff.Insert(ctx, &employee{"Sales", i, "Jones", age})
		check(err)
	}
	check(staff.DeleteAny(ctx, keys.At(dept.Of("Sales"), empid.Of(1))))
	row, err := staff.GetRow(ctx, keys.At(dept.Of("Sales"), keys.Raw("oldest")))
	check(err)
	fmt.Println(row.Get("Age"))
	// Output: 44 true
}
