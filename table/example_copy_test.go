package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// byAgeCopy copies each employee, and the employee's name alone, to rows under the age.
type byAgeCopy struct{ staff *table.Table[employee] }

func (byAgeCopy) Name() string { return "age" }
func (byAgeCopy) MaxRows() int { return 4 }

func (m byAgeCopy) Maintain(_ context.Context, p *table.Plan, c *table.Change[employee]) error {
	row, err := c.Row()
	if err != nil || row == nil {
		return err
	}
	name, err := m.staff.Properties(table.FieldOf(func(e *employee) *string { return &e.Last }))
	if err != nil {
		return err
	}
	old, err := c.OldRow()
	if err != nil || old != nil && old.Same(row) {
		return err
	}
	under := func(s string) keys.Key { return keys.At(c.Key.Partition(), keys.Raw(fmt.Sprint(s, c.New.Age))) }
	if err := p.Insert(row.Copy(under("all_"), ""), nil); err != nil {
		return err
	}
	return p.Insert(row.Project(name...).Copy(under("name_"), "names"), nil)
}

// A full copy can be written like the copied entity. A copy of some properties is read-only.
func ExampleRow_Copy() {
	ctx := context.Background()
	plain := newTableWith(staffSchema, nil)
	staff, err := plain.With(byAgeCopy{plain})
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	for _, rk := range []string{"all_44", "name_44"} {
		row, err := staff.GetRow(ctx, keys.At(dept.Of("Sales"), keys.Raw(rk)))
		check(err)
		k, isCopy := row.Primary()
		e, err := staff.Entity(row)
		check(err)
		fmt.Println(k, isCopy, row.ProjectionID(), e.Value)
		e.Value.Last = "Smith"
		fmt.Println("it can be written:", !errors.Is(staff.Replace(ctx, e), table.ErrNoETag))
	}
	fmt.Println(staff.PartitionRange(), staff.Range(), staff.Common().OmitOperationID, len(staff.Maintainers()))
	// Output:
	// ('Sales','empid_000001') true  {Sales 1 Jones 44}
	// it can be written: true
	// ('Sales','empid_000001') true names {Sales 1 Smith 0}
	// it can be written: false
	// [, ~) [empid_, empid`) false 1
}

// Projected returns what a reader of some properties has of an entity.
func ExampleTable_Projected() {
	staff := newTable(staffSchema)
	v, err := staff.Projected(employee{"Sales", 1, "Jones", 44}, "Age")
	fmt.Println(v, err)
	// Output: {Sales 1  44} <nil>
}

// oldest stores the greatest age of a department in a row.
type oldest struct{ staff *table.Table[employee] }

func (oldest) Name() string { return "oldest" }
func (oldest) MaxRows() int { return 1 }

func (m oldest) Maintain(ctx context.Context, p *table.Plan, c *table.Change[employee]) error {
	k := keys.At(c.Key.Partition(), keys.Raw("oldest"))
	if _, err := p.Load(ctx, k.Row()); err != nil { // so that a concurrent write of it is a conflict
		return err
	}
	most := 0
	for row, err := range p.Scan(ctx, m.staff.Range()) { // all rows but the changed one
		if err != nil {
			return err
		}
		age, _ := row.WithoutSystemProperties().Get("Age")
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
	plain := newTable(staffSchema)
	staff, err := plain.With(oldest{plain})
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

// Programs that repair derived rows read and write them as rows. Here a copy is deleted by its ETag.
func ExampleTable_Untyped() {
	ctx := context.Background()
	plain := newTable(staffSchema)
	staff, err := plain.With(byAgeCopy{plain})
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	rows := staff.Untyped(false)
	row, err := staff.GetRow(ctx, keys.At(dept.Of("Sales"), keys.Raw("all_44")))
	check(err)
	e, err := rows.WholeRow(row)
	check(err)
	fmt.Println(e.Key, rows.Delete(ctx, e))
	// The entity contains the keys of its copies as maintainer state. A write with IgnoreCorruptState succeeds even if that is
	// corrupt.
	row, err = staff.GetRow(ctx, keys.At(dept.Of("Sales"), empid.Of(1)))
	check(err)
	fmt.Println("corrupt:", row.StateCorrupt(), "state:", row.MaintainerState("age"))
	jones, err := staff.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(1)))
	check(err)
	jones.Value.Age++
	check(staff.IgnoreCorruptState().Replace(ctx, jones))
	_, err = staff.GetRow(ctx, keys.At(dept.Of("Sales"), keys.Raw("all_45")))
	fmt.Println(err)
	// Output:
	// ('Sales','all_44') <nil>
	// corrupt: false state: []
	// <nil>
}

// A tag says that a row of another type contains data of a maintainer. Other writes of the row keep the tag.
func ExampleRow_Tag() {
	row := &table.Row{Key: keys.At(dept.Of("Sales"), keys.Raw("department"))}
	row.Tag("manager", false)
	fmt.Println(row.Tags(), row.Tagged("manager"), row.Tagged("deputy"))
	row.Tag("manager", true)
	fmt.Println(row.Tags(), row.Tagged("manager"))
	// Output:
	// [manager] true false
	// [] false
}
