package extend_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztablekit/aztablekit/extend"
)

// notes lists the employees whose writes are committed.
type notes struct{ seen *[]string }

func (notes) Name() string { return "notes" }
func (notes) MaxRows() int { return 0 }

func (n notes) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	name := c.Key.RowKey()
	if c.Old == nil && c.New.Last == "Taken back" {
		p.AfterCommit(name, func(context.Context) { panic("was taken back") })
		p.AfterCommit(name, nil)
		return nil
	}
	if c.New != nil && c.New.Last == "" {
		return errors.New("no name")
	}
	p.AfterCommit(name, func(context.Context) { *n.seen = append(*n.seen, name) })
	return nil
}

// A maintainer that deletes a file when its employee is deleted.
func ExamplePlan_AfterCommit() {
	ctx := context.Background()
	var seen []string
	staff, _ := staffWith(notes{&seen})
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	fmt.Println(seen)
	check(staff.Delete(ctx, jones))
	_, err = staff.Insert(ctx, &employee{"Sales", 2, "", 44}) // refused
	fmt.Println(seen, err != nil)
	// Output:
	// [empid_000001]
	// [empid_000001 empid_000001] true
}

// journal prints what happens to employees.
type journal struct{}

func (journal) Name() string { return "journal" }
func (journal) MaxRows() int { return 0 }

func (journal) Maintain(_ context.Context, _ *extend.Plan, c *extend.Change[employee]) error {
	if from, moved := c.MovedFrom(); moved {
		fmt.Println("moved from", from, "to", c.Key)
		return nil
	}
	if _, moves := c.MovedTo(); moves {
		return nil // the insert under the other key tells it
	}
	switch {
	case c.Inserted():
		fmt.Println("hired", c.Key)
	case c.New == nil:
		fmt.Println("left", c.Key)
	}
	return nil
}

// An employee gets another ID, which is the RowKey.
func ExampleChange_MovedFrom() {
	ctx := context.Background()
	staff, _ := staffWith(journal{})
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	jones.Value.ID = 2
	check(staff.Move(ctx, jones))
	check(staff.Delete(ctx, jones))
	// Output:
	// hired ('Sales','empid_000001')
	// moved from ('Sales','empid_000001') to ('Sales','empid_000002')
	// left ('Sales','empid_000002')
}
