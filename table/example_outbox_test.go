package table_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// board is an outbox in memory: what is announced hangs there until a worker takes it. One that survives its process is a
// queue.
type exampleOutbox struct{ notes []*exampleNotification }

type exampleNotification struct {
	table.Notification
	visible bool
}

func (b *exampleOutbox) Notify(_ context.Context, a table.Notification) (table.SentNotification, error) {
	n := &exampleNotification{Notification: a}
	b.notes = append(b.notes, n)
	return n, nil
}

func (n *exampleNotification) Show(context.Context) error     { n.visible = true; return nil }
func (n *exampleNotification) Withdraw(context.Context) error { *n = exampleNotification{}; return nil }

// welcomes are effects: a letter to everybody who is new. Its number is that of the employee's life, so that a letter that is
// sent again can be told from one to somebody who has come back.
type welcomes struct{}

func (welcomes) Name() string { return "welcomes" }
func (welcomes) MaxRows() int { return 0 }

func (welcomes) Maintain(_ context.Context, p *table.Plan, c *table.Change[employee]) error {
	if c.Old == nil && c.New != nil {
		p.Effect("welcome", 1, fmt.Appendf(nil, "letter %d: dear %s", len(c.Incarnation()), c.New.Last))
	}
	return nil
}

// Effects outside the partition: announced before the write, read by a worker from the write's intent, carried out once the
// write is known to be done, and then closed.
func ExampleOutbox() {
	ctx := context.Background()
	b := &exampleOutbox{}
	staff, err := newTable(staffSchema).With(b, welcomes{})
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)

	// A worker, elsewhere. It needs to know only the table's name.
	records, err := table.NewCommitRecords(service, staff.Name(), nil)
	check(err)
	for _, n := range b.notes {
		record, err := records.Resolve(ctx, keys.Raw(n.Partition), n.OperationID)
		check(err)
		fmt.Println(n.visible, record.State, record.Time().IsZero())
		if record.State != table.CommitPending {
			continue // not committed, or carried out already
		}
		for _, effect := range record.Effects {
			fmt.Printf("%s %d of %s: %s\n", effect.Kind, effect.Version, effect.RowKey, effect.Payload)
		}
		check(records.MarkDone(ctx, record))
		record, err = records.Get(ctx, keys.Raw(n.Partition), n.OperationID)
		check(err)
		fmt.Println(record.State)
	}
	// Output:
	// true pending false
	// welcome 1 of empid_000001: letter 16: dear Jones
	// done
}

// An effect that is a write in the same partition is carried out and settled in one transaction: here everybody who is new also
// gets a row under another key.
func ExampleTable_Completing() {
	ctx := context.Background()
	b := &exampleOutbox{}
	staff, err := newTable(staffSchema).With(b, welcomes{})
	check(err)
	e, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	record, err := staff.CommitRecords().Get(ctx, keys.Raw("Sales"), b.notes[0].OperationID)
	check(err)

	row, err := e.Row()
	check(err)
	plain, err := table.New(service, staff.Name(), table.Schema[table.Row]{}, nil) // without maintainers
	check(err)
	_, err = plain.Completing(record, 0).InsertRow(ctx, keys.At(dept.Of("Sales"), keys.Raw("new_000001")), row)
	check(err)
	fmt.Println(record.State, len(record.Effects))
	// Output: done 0
}

// farewells are effects of any write: a maintainer of a handle of its own, for what is asked for and follows from no change.
type farewells struct{}

func (farewells) Name() string { return "farewells" }
func (farewells) MaxRows() int { return 0 }

func (farewells) Maintain(_ context.Context, p *table.Plan, c *table.Change[employee]) error {
	p.Effect("farewell", 1, []byte(c.New.Last))
	return nil
}

// To ask for something that is to happen to an entity, if it is still as it was read: the touch changes nothing of it.
func ExampleTable_Touch() {
	ctx := context.Background()
	b := &exampleOutbox{}
	staff := newTable(staffSchema)
	e, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	leaving, err := staff.With(b, farewells{})
	check(err)
	check(leaving.Touch(ctx, e))

	op := leaving.TouchOp(e) // or with others
	check(op.Err())          // nothing is wrong with it, as far as can be seen from here
	again, err := table.Transact(ctx, op)
	check(err)
	fmt.Println(len(b.notes), again.ETags[0] == e.ETag, e.Value.Last)

	moved, err := table.Transact(ctx, staff.DeleteOp(e), staff.InsertRowOp(keys.At(dept.Of("Sales"), empid.Of(2)), rowOf(e)))
	check(err)
	fmt.Println(table.Stored[employee](moved, 1).Value)
	// Output:
	// 2 true Jones
	// {Sales 2 Jones 44}
}

func rowOf(e *table.Entity[employee]) *table.Row {
	row, err := e.Row()
	check(err)
	return row
}

// What workers of package eventual do: they note in a partition which hours they have planned to sweep.
func ExampleCommitRecords_PlanSweep() {
	ctx := context.Background()
	staff := newTable(staffSchema)
	hour := time.Now()
	check(staff.CommitRecords().PlanSweep(ctx, dept.Of("Sales"), hour))
	planned, err := staff.CommitRecords().SweepPlanned(ctx, dept.Of("Sales"), hour)
	check(err)
	n, err := staff.CommitRecords().Sweep(ctx, dept.Of("Sales"))
	check(err)
	fmt.Println(planned, n)
	// Output: true 0
}

// Packages that share the options share what they mean.
func ExampleRetry_Repeat() {
	var o table.Common
	o.Retry.Wait = -1 // no pause
	n := 0
	err := o.WithDefaults().Retry.Repeat(context.Background(), func() (again bool, err error) {
		n++
		return true, errors.New("no answer")
	})
	fmt.Println(n, err)
	// Output: 4 no answer
}

// A write of which nobody knows yet is resolved: it was not done, and never will be.
func ExampleCommitRecords_Resolve() {
	ctx := context.Background()
	staff := sales(nil)
	op := "01KAJ5ZVW0ABCDEFGHJKMNPQRS" // as a message names it
	_, err := staff.CommitRecords().Resolve(ctx, keys.Raw("Sales"), op)
	fmt.Println(errors.Is(err, table.ErrExpired)) // of last year: its absence says nothing
	// Output: true
}

// The writes of a table whose effects are still to be done, whatever has become of their notifications.
func ExampleCommitRecords_Pending() {
	ctx := context.Background()
	b := &exampleOutbox{}
	staff, err := newTable(staffSchema).With(b, welcomes{})
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	for partition, err := range staff.CommitRecords().PartitionsAfter(ctx, keys.Enc{}) {
		check(err)
		for op, err := range staff.CommitRecords().Pending(ctx, partition, "", time.Now().Add(time.Hour)) {
			check(err)
			fmt.Println(partition, op == b.notes[0].OperationID)
		}
	}
	// Output: Sales true
}
