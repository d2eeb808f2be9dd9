package table_test

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// exampleOutbox is an outbox in memory. An outbox that survives its process is a queue.
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

// welcomes adds an effect for each new employee: a letter. The letter contains the incarnation, so that a worker can tell a
// repeated letter from the letter to an employee who was inserted again.
type welcomes struct{}

func (welcomes) Name() string { return "welcomes" }
func (welcomes) MaxRows() int { return 0 }

func (welcomes) Maintain(_ context.Context, p *table.Plan, c *table.Change[employee]) error {
	if c.Old == nil && c.New != nil {
		p.Effect("welcome", 1, fmt.Appendf(nil, "letter %d: dear %s", len(c.Incarnation()), c.New.Last))
	}
	return nil
}

// Effects are work outside the partition. The notification is sent before the write. A worker reads the effects from the commit
// record, executes them once the write is committed, and marks the record done.
func ExampleOutbox() {
	ctx := context.Background()
	b := &exampleOutbox{}
	staff, err := newTable(staffSchema).WithOutbox(b, welcomes{})
	check(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)

	// A worker in another process knows only the table's name.
	rows, err := table.New(service, staff.Name(), table.Schema[table.Row]{}, nil)
	check(err)
	records := commit.Of(rows)
	for _, n := range b.notes {
		record, err := records.Resolve(ctx, keys.Raw(n.Partition), n.OperationID)
		check(err)
		fmt.Println(n.visible, record.State, record.Time().IsZero())
		if record.State != commit.Pending {
			continue // not committed, or executed already
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

// farewells adds an effect to any write. It belongs to a handle of its own, for work that follows from no change.
type farewells struct{}

func (farewells) Name() string { return "farewells" }
func (farewells) MaxRows() int { return 0 }

func (farewells) Maintain(_ context.Context, p *table.Plan, c *table.Change[employee]) error {
	p.Effect("farewell", 1, []byte(c.New.Last))
	return nil
}

// Touch adds effects to an entity that has not changed since it was read. It changes nothing else.
func ExampleTable_Touch() {
	ctx := context.Background()
	b := &exampleOutbox{}
	staff := newTable(staffSchema)
	e, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	check(err)
	leaving, err := staff.WithOutbox(b, farewells{})
	check(err)
	check(leaving.Touch(ctx, e))

	op := leaving.TouchOp(e) // or in a transaction
	check(op.Err())          // the operation is valid
	again, err := table.Transact(ctx, op)
	check(err)
	fmt.Println(len(b.notes), again.ETags[0] == e.ETag, e.Value.Last)
	// Output:
	// 2 true Jones
}
