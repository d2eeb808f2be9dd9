package extend_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

var (
	errTaken = errors.New("the name is taken")
	names    = keys.Text().Named("name")
)

// byName stores a copy of each employee under the last name. Here no two employees of a department have the same.
type byName struct{}

func (byName) Name() string { return "name" }
func (byName) MaxRows() int { return 2 } // the old name and the new one

// Define makes it a definition of a table.
func (m byName) Define(d *extend.Declaration[employee]) error { return d.Maintain(m) }

func (byName) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	for _, old := range c.State() { // the rows of the last write
		if err := p.Remove(keys.RawRow(old)); err != nil {
			return err
		}
	}
	row, err := c.Row()
	if err != nil || row == nil { // nil: the employee is deleted
		return err
	}
	under := keys.At(c.Key.Partition(), names.RowKey(c.New.Last))
	c.SetState(under.RowKey())
	return p.Insert(row.Copy(under), errTaken)
}

// The copies of the employees are always right, and are read like the employees.
func Example() {
	ctx := context.Background()
	memory := storagetest.New(nil)
	company := aztablekit.Open(memory, "company", nil)
	staff := aztablekit.Table(company, "staff", dept, empid, byName{})
	check(company.Ensure(ctx))
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	jones.Value.Last, jones.Value.Age = "Smith", 45
	check(staff.Replace(ctx, jones))
	for _, row := range entitiesOf(memory) {
		fmt.Println(row.RowKey, row.Get("LastName"), row.Get("Age"))
	}
	q := table.Query[employee]{Partition: dept.Of("Sales"), Rows: names.RowKey("Smith").Point()}
	rows, err := table.Collect(staff.Rows(ctx, q))
	check(err)
	smith, err := staff.Entity(rows[0])
	check(err)
	fmt.Println(smith.Key, smith.Value)

	_, err = staff.Insert(ctx, &employee{"Sales", 2, "Smith", 30})
	fmt.Println(errors.Is(err, errTaken))
	// Output:
	// empid_000001 Smith 45
	// name_Smith Smith 45
	// ('Sales','empid_000001') {Sales 1 Smith 45}
	// true
}

var (
	errSeat = errors.New("the seat is taken")
	seats   = keys.Text().Named("seat")
)

// bySeat keeps a row for each seat, with a copy of the employee. An employee's age is the seat here. No two employees have the
// same.
type bySeat struct{}

func (bySeat) Name() string { return "seat" }
func (bySeat) MaxRows() int { return 2 } // the old seat and the new one

func (bySeat) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	var seat string
	if c.New != nil {
		seat = seats.PartitionKey(fmt.Sprint(c.New.Age)).String()
		c.SetState(seat) // so that later versions of this program find the row
	}
	had, stays := c.State(), false
	if c.Old != nil && len(had) == 0 { // another program has replaced the row, so only its content tells the seat
		had = []string{seats.PartitionKey(fmt.Sprint(c.Old.Age)).String()}
	}
	for _, was := range had {
		if was == seat {
			stays = true
		} else if err := p.Remove(keys.RawRow(was)); err != nil {
			return err
		}
	}
	if c.New == nil {
		return nil
	}
	row, err := c.Row()
	if err != nil {
		return err
	}
	row = row.At(keys.At(c.Key.Partition(), keys.RawRow(seat)))
	if stays {
		return p.Put(row) // the row exists, and its copy is updated
	}
	return p.Insert(row, errSeat)
}

// A unique index: its rows change in the same transaction as the employees, whichever method changes them.
func ExampleDeclaration_Maintain() {
	ctx := context.Background()
	staff, memory := staffWith(bySeat{})
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 7})
	check(err)
	smith, err := staff.Insert(ctx, &employee{"Sales", 2, "Smith", 8})
	check(err)

	// Another employee has the seat.
	err = staff.Merge(ctx, smith, age.Set(7))
	var derived *table.DerivedError
	fmt.Println(errors.Is(err, errSeat), errors.As(err, &derived), derived.Maintainer, derived.Key)

	// They swap seats: two entities and two rows of the index, in one transaction.
	_, err = table.Transact(ctx, staff.MergeOp(jones, age.Set(8)), staff.MergeOp(smith, age.Set(7)))
	check(err)

	// An unconditional delete reads the row first, and deletes its seat too.
	check(staff.DeleteAny(ctx, smith.Key))
	for _, row := range entitiesOf(memory) {
		fmt.Println(row.RowKey, row.Get("LastName"), row.Get("Age"))
	}
	// Output:
	// true true seat ('Sales','seat_7')
	// empid_000001 Jones 8
	// seat_8 Jones 8
}

// headcount keeps the number of employees of a department in a row that all of them share.
type headcount struct{}

func (headcount) Name() string { return "headcount" }
func (headcount) MaxRows() int { return 1 }

func (headcount) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	if c.Old != nil && c.New != nil {
		return nil // the number is the same
	}
	k := keys.At(c.Key.Partition(), keys.RawRow("headcount"))
	row, err := p.Load(ctx, k.Row())
	if err != nil {
		return err
	}
	if row == nil {
		row = &table.Row{Key: k}
	}
	n, _ := row.Get("N")
	count, _ := n.(int64)
	if c.New != nil {
		count++
	} else {
		count--
	}
	if err := row.Set("N", count); err != nil {
		return err
	}
	return p.Put(row)
}

// A row that several entities share is loaded, and written by its ETag, so that no concurrent change is lost.
func ExamplePlan_Load() {
	ctx := context.Background()
	staff, memory := staffWith(headcount{})
	_, err := table.Transact(ctx, staff.InsertOp(&employee{"Sales", 1, "Jones", 44}), staff.InsertOp(&employee{"Sales", 2, "Smith", 30}))
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 3, "O'Brien", 25})
	check(err)
	for _, row := range entitiesOf(memory) {
		if row.RowKey == "headcount" {
			fmt.Println(row.Get("N"))
		}
	}
	// Output: 3
}

// oldest stores the greatest age of a department in a row.
type oldest struct{}

func (oldest) Name() string { return "oldest" }
func (oldest) MaxRows() int { return 1 }

func (oldest) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	k := keys.At(c.Key.Partition(), keys.RawRow("oldest"))
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
	staff, _ := staffWith(oldest{})
	for i, age := range []int32{44, 61, 30} {
		_, err := staff.Insert(ctx, &employee{"Sales", i, "Jones", age})
		check(err)
	}
	check(staff.DeleteAny(ctx, keys.At(dept.Of("Sales"), empid.Of(1))))
	q := table.Query[employee]{Partition: dept.Of("Sales"), Rows: keys.RawRow("oldest").Point()}
	rows, err := table.Collect(staff.Rows(ctx, q))
	check(err)
	fmt.Println(rows[0].Get("Age"))
	// Output: 44 true
}

// previousVersion keeps the row of each employee as it was before the last change.
type previousVersion struct{}

func (previousVersion) Name() string { return "previous" }
func (previousVersion) MaxRows() int { return 1 }

func (previousVersion) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	old, err := c.OldRow()
	if err != nil || old == nil {
		return err
	}
	k := keys.At(c.Key.Partition(), keys.RawRow("previous_"+c.Key.RowKey()))
	exists := len(c.State()) > 0
	if c.New == nil {
		if exists {
			return p.Remove(k.Row())
		}
		return nil
	}
	c.SetState(k.RowKey())
	if exists {
		return p.Put(old.At(k))
	}
	return p.Insert(old.At(k), nil)
}

// The maintainer state of an entity tells which of its derived rows exist.
func ExampleChange_OldRow() {
	ctx := context.Background()
	staff, memory := staffWith(previousVersion{})
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	for range 2 {
		check(staff.Merge(ctx, jones, age.Set(jones.Value.Age+1)))
	}
	for _, row := range entitiesOf(memory) {
		fmt.Println(row.RowKey, row.Get("LastName"), row.Get("Age"))
	}
	// Output:
	// empid_000001 Jones 46
	// previous_empid_000001 Jones 45
}

var errNoDepartment = errors.New("there is no such department")

// inDepartment refuses employees of a department that has no row.
type inDepartment struct{}

func (inDepartment) Name() string { return "department" }
func (inDepartment) MaxRows() int { return 0 }

func (inDepartment) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	if c.New == nil {
		return nil
	}
	department, err := p.Entity(ctx, keys.RawRow("department"))
	if err == nil && department == nil {
		err = errNoDepartment
	}
	return err
}

// A maintainer reads another entity of the partition, and refuses a write.
func ExamplePlan_Entity() {
	ctx := context.Background()
	staff, memory := staffWith(inDepartment{})
	jones := employee{"Sales", 1, "Jones", 44}
	_, err := staff.Insert(ctx, &jones)
	fmt.Println(errors.Is(err, errNoDepartment))

	department := keys.At(dept.Of("Sales"), keys.RawRow("department"))
	_, err = memory.Tables().NewClient("staff").AddEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q}`, department.PartitionKey(), department.RowKey()), nil)
	check(err)
	_, err = staff.Insert(ctx, &jones)
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}
