package table_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

var (
	errSeat = errors.New("the seat is taken")
	seats   = keys.Tuple1(keys.Text()).Named("seat")
)

// bySeat keeps a row for each seat, with a copy of the employee. An employee's age is the seat here. No two employees have the
// same.
type bySeat struct{}

func (bySeat) Name() string { return "seat" }
func (bySeat) MaxRows() int { return 2 } // the old seat and the new one

func (bySeat) Maintain(_ context.Context, p *table.Plan, c *table.Change[employee]) error {
	var seat string
	if c.New != nil {
		seat = seats.Of(fmt.Sprint(c.New.Age)).String()
		c.SetState(seat) // so that later versions of this program find the row
	}
	had, stays := c.State(), false
	if c.StateMissing() { // another program has replaced the row, so only its content tells the seat
		had = []string{seats.Of(fmt.Sprint(c.Old.Age)).String()}
	}
	for _, was := range had {
		if was == seat {
			stays = true
		} else if err := p.Remove(keys.Raw(was)); err != nil {
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
	row = row.At(keys.At(c.Key.Partition(), keys.Raw(seat)))
	if stays {
		return p.Put(row) // the row exists, and its copy is updated
	}
	return p.Insert(row, errSeat)
}

// A unique index: its rows change in the same transaction as the employees, whichever method changes them.
func ExampleTable_With() {
	ctx := context.Background()
	staff, err := newTable(staffSchema).With(bySeat{})
	check(err)
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
	for _, row := range memory.Rows(staff.Name()) {
		fmt.Println(row.RowKey, row.Get("LastName"), row.Get("Age"))
	}
	fmt.Println("repaired:", staff.Repaired())
	// Output:
	// true true seat ('Sales','seat_7')
	// empid_000001 Jones 8
	// seat_8 Jones 8
	// repaired: 0
}

// headcount keeps the number of employees of a department in a row that all of them share.
type headcount struct{}

func (headcount) Name() string { return "headcount" }
func (headcount) MaxRows() int { return 1 }

func (headcount) Maintain(ctx context.Context, p *table.Plan, c *table.Change[employee]) error {
	if c.Old != nil && c.New != nil {
		return nil // the number is the same
	}
	k := keys.At(c.Key.Partition(), keys.Raw("headcount"))
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
	staff, err := newTable(staffSchema).With(headcount{})
	check(err)
	_, err = table.Transact(ctx, staff.InsertOp(&employee{"Sales", 1, "Jones", 44}), staff.InsertOp(&employee{"Sales", 2, "Smith", 30}))
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 3, "O'Brien", 25})
	check(err)
	for _, row := range memory.Rows(staff.Name()) {
		if row.RowKey == "headcount" {
			fmt.Println(row.Get("N"))
		}
	}
	// Output: 3
}

// roll counts the transactions that change employees.
type roll struct{}

func (roll) Name() string { return "roll" }
func (roll) MaxRows() int { return 1 }

func (roll) Maintain(ctx context.Context, p *table.Plan, c *table.Change[employee]) error {
	if !p.First("roll") {
		return nil // another employee of this transaction has counted it
	}
	k := keys.At(c.Key.Partition(), keys.Raw("roll"))
	row, err := p.Load(ctx, k.Row())
	if err != nil {
		return err
	}
	if row == nil {
		row = &table.Row{Key: k}
	}
	n, _ := row.Get("Changes")
	changes, _ := n.(int64)
	if err := row.Set("Changes", changes+1); err != nil {
		return err
	}
	return p.Put(row)
}

// A maintainer that works once for all entities of a transaction.
func ExamplePlan_First() {
	ctx := context.Background()
	staff, err := newTable(staffSchema).With(roll{})
	check(err)
	_, err = table.Transact(ctx, staff.InsertOp(&employee{"Sales", 1, "Jones", 7}), staff.InsertOp(&employee{"Sales", 2, "Smith", 8}))
	check(err)
	for _, row := range memory.Rows(staff.Name()) {
		fmt.Println(row.RowKey, row.Get("Changes"))
	}
	// Output:
	// empid_000001 <nil>
	// empid_000002 <nil>
	// roll 1
}
