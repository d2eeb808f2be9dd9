package extend_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
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
	base, _ := openStaff()
	var seen []string
	staff, err := extend.With(base, notes{&seen})
	check(err)
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

// desks keeps a row for the desk of each employee, whose number is the age. A desk that is given up stays as free.
type desks struct{}

func (desks) Name() string { return "desks" }
func (desks) MaxRows() int { return 2 }

func (desks) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	row := func(age int32, of string) (*table.Row, error) {
		r := &table.Row{Key: keys.At(c.Key.Partition(), keys.RawRow(fmt.Sprintf("desk_%d", age)))}
		return r, r.Set("Of", of)
	}
	if c.Old != nil && (c.New == nil || c.New.Age != c.Old.Age) {
		free, err := row(c.Old.Age, "nobody")
		if err = errors.Join(err, p.Put(free)); err != nil {
			return err
		}
	}
	if c.New == nil || c.Old != nil && c.New.Age == c.Old.Age {
		return nil
	}
	taken, err := row(c.New.Age, c.Key.RowKey())
	if err != nil {
		return err
	}
	if ok, err := p.Retake(taken); ok || err != nil {
		return err
	}
	return p.Insert(taken, errTaken)
}

// An employee takes over the desk that another one gives up in the same transaction.
func ExamplePlan_Retake() {
	ctx := context.Background()
	base, memory := openStaff()
	staff, err := extend.With(base, desks{})
	check(err)
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 7})
	check(err)
	_, err = table.Transact(ctx, staff.DeleteOp(jones), staff.InsertOp(&employee{"Sales", 2, "Smith", 7}))
	check(err)
	for _, row := range memory.Rows("staff") {
		fmt.Println(row.RowKey, row.Get("Of"))
	}
	// Output:
	// desk_7 empid_000002
	// empid_000002 <nil>
}

// promptly inserts employees only at once.
type promptly struct{}

func (promptly) Name() string { return "promptly" }
func (promptly) MaxRows() int { return 0 }

func (promptly) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	if c.Old == nil {
		p.NotAfter(time.Now().Add(time.Minute))
	}
	return nil
}

// A program that is suspended before it sends the insert plans it again when it continues.
func ExamplePlan_NotAfter() {
	base, _ := openStaff()
	staff, err := extend.With(base, promptly{})
	check(err)
	jones, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
	check(err)
	fmt.Println(jones.Key)
	// Output: ('Sales','empid_000001')
}

// watch prints what becomes of employees.
type watch struct{}

func (watch) Name() string { return "watch" }
func (watch) MaxRows() int { return 0 }

// Define makes it a definition.
func (w watch) Define(d *extend.Declaration[employee]) error {
	return d.Attach(func(t *table.Table[employee]) (*table.Table[employee], error) { return extend.With(t, w) })
}

func (watch) Maintain(_ context.Context, _ *extend.Plan, c *extend.Change[employee]) error {
	switch {
	case c.New == nil:
		fmt.Println("deleted; archived:", c.Archived())
	case c.Old == nil:
		fmt.Println("inserted; restored:", c.Restored() != "")
	}
	return nil
}

// An employee is moved to an archive and back, and is deleted then.
func ExampleChange_Archived() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	mover := archive.Into[employee]("archive", archive.ToTable("archive", nil))
	staff := aztablekit.Table(company, "staff", staffSchema.Partition, staffSchema.Row, watch{}, mover)
	check(company.Ensure(ctx))
	e, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	check(mover.Archive(ctx, staff, e))
	check(company.Drain(ctx))
	e, err = mover.Restore(ctx, staff, e.Key)
	check(err)
	check(staff.DeleteAny(ctx, e.Key))
	// Output:
	// inserted; restored: false
	// deleted; archived: true
	// inserted; restored: true
	// deleted; archived: false
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
	case c.Old == nil:
		fmt.Println("hired", c.Key)
	case c.New == nil:
		fmt.Println("left", c.Key)
	}
	return nil
}

// An employee gets another ID, which is the RowKey.
func ExampleChange_MovedFrom() {
	ctx := context.Background()
	base, _ := openStaff()
	staff, err := extend.With(base, journal{})
	check(err)
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
