package extend_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// exampleOutbox is an outbox in memory. An outbox that survives its process is a queue.
type exampleOutbox struct{ notes []*exampleNotification }

type exampleNotification struct {
	extend.Notification
	visible bool
}

func (b *exampleOutbox) Notify(_ context.Context, a extend.Notification) (extend.SentNotification, error) {
	n := &exampleNotification{Notification: a}
	b.notes = append(b.notes, n)
	return n, nil
}

func (n *exampleNotification) Show(context.Context) error     { n.visible = true; return nil }
func (n *exampleNotification) Withdraw(context.Context) error { *n = exampleNotification{}; return nil }

// welcomes adds an effect for each new employee: a letter. The letter contains the incarnation, so that a worker can tell a
// repeated letter from the letter to an employee who was inserted again.
type welcomes struct{}

func (welcomes) Name() string { return "welcomes" }
func (welcomes) MaxRows() int { return 0 }

func (welcomes) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	if c.Old == nil && c.New != nil {
		p.Effect("welcome", 1, fmt.Appendf(nil, "letter %d: dear %s", len(c.Incarnation()), c.New.Last))
	}
	return nil
}

// Effects are work outside the partition. The notification is sent before the write. A worker reads the effects from the commit
// record, executes them once the write is committed, and marks the record done.
func ExamplePlan_Effect() {
	ctx := context.Background()
	b := &exampleOutbox{}
	h := &extend.Host{Tables: storagetest.New(nil).Tables(), Outbox: b} // that of a store has its queue
	staff, err := staffOf(h, welcomes{})
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)

	// A worker in another process knows only the table's name.
	rows, err := extend.NewTable(h, staff.Name(), table.Schema[table.Row]{}, nil)
	check(err)
	records := extend.RecordsOf(rows)
	for _, n := range b.notes {
		record, err := records.Resolve(ctx, keys.RawPartition(n.Partition), n.OperationID)
		check(err)
		fmt.Println(n.visible, record.State, record.Time().IsZero())
		if record.State != extend.Pending {
			continue // not committed, or executed already
		}
		for _, effect := range record.Effects {
			fmt.Printf("%s %d of %s: %s\n", effect.Kind, effect.Version, effect.RowKey, effect.Payload)
		}
		check(records.MarkDone(ctx, record))
		record, err = records.Get(ctx, keys.RawPartition(n.Partition), n.OperationID)
		check(err)
		fmt.Println(record.State)
	}
	// Output:
	// true pending false
	// welcome 1 of empid_000001: letter 16: dear Jones
	// done
}

// farewells adds an effect for each employee who leaves: a letter, unless the contract has ended by itself (package expire).
type farewells struct{}

func (farewells) Name() string { return "farewells" }
func (farewells) MaxRows() int { return 0 }

func (farewells) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	if c.New == nil && c.Old != nil && !c.Expired() {
		p.Effect("farewell", 1, []byte(c.Old.Last))
	}
	return nil
}

func ExampleChange_Expired() {
	ctx := context.Background()
	b := &exampleOutbox{}
	staff, err := staffOf(&extend.Host{Tables: storagetest.New(nil).Tables(), Outbox: b}, farewells{})
	check(err)
	jones, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	check(staff.Delete(ctx, jones))
	record, err := extend.RecordsOf(staff).Get(ctx, keys.RawPartition("Sales"), b.notes[0].OperationID)
	check(err)
	fmt.Printf("%s %s\n", record.Effects[0].Kind, record.Effects[0].Payload)
	// Output: farewell Jones
}

// changed adds the name of a property to the list of what has changed.
type changed struct {
	property string
	of       func(*employee) any
}

func (m changed) Name() string { return m.property }
func (m changed) MaxRows() int { return 0 }

func (m changed) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	if c.New != nil && (c.Old == nil || m.of(c.Old) != m.of(c.New)) {
		p.JoinEffect("changed", 1, func(payload []byte) []byte { return fmt.Appendf(nil, "%s %s", payload, m.property) })
	}
	return nil
}

// Two maintainers that share one effect.
func ExamplePlan_JoinEffect() {
	ctx := context.Background()
	b := &exampleOutbox{}
	h := &extend.Host{Tables: storagetest.New(nil).Tables(), Outbox: b}
	staff, err := staffOf(h,
		changed{"LastName", func(e *employee) any { return e.Last }}, changed{"Age", func(e *employee) any { return e.Age }})
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	record, err := extend.RecordsOf(staff).Get(ctx, keys.RawPartition("Sales"), b.notes[0].OperationID)
	check(err)
	for _, effect := range record.Effects {
		fmt.Printf("%s:%s\n", effect.Kind, effect.Payload)
	}
	// Output: changed: LastName Age
}
