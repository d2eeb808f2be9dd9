package materialized_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestViewSameRows: a view whose derived entities have the keys of the entities themselves is refused, or leaves the entities as they
// are.
func TestViewSameRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	acc, err := account.FromTransport(s, nil)
	testkit.NoError(t, err)
	base, err := bare.NewTable(acc.Tables(), "staff", staffSchema, nil)
	testkit.NoError(t, err)
	type short struct {
		Department string
		ID         int
		Salary     int64
	}
	shorts, err := bare.NewTable(acc.Tables(), "staff", table.Schema[short]{
		Partition: keys.Partition(dept, func(e *short) *string { return &e.Department }),
		Row:       keys.Row(empid, func(e *short) *int { return &e.ID }),
	}, nil)
	testkit.NoError(t, err)
	out, err := bareworker.NewOutbox(acc.Queues().NewQueueClient("effects"), nil)
	testkit.NoError(t, err)
	staff, err := baretest.WithOutbox(base, out)
	testkit.NoError(t, err)
	staff, err = baretest.Attach(staff, materialized.New("short", shorts, func(e *employee, k keys.Key) (short, bool) {
		return short{e.Department, e.ID, e.Salary}, true
	}))
	if err != nil {
		return
	}
	_, qerr := acc.Queues().NewQueueClient("effects").Create(ctx, nil)
	testkit.NoError(t, errors.Join(tabledoor.Ensure(ctx, staff), qerr))
	_, err = staff.Insert(ctx, &employee{Department: "S", ID: 1, Last: "Jones", Salary: 5})
	testkit.NoError(t, err)
	e, err := staff.Get(ctx, keys.At(dept.PartitionKey("S"), empid.RowKey(1)))
	testkit.NoError(t, err)
	testkit.Expect(t, "last name", e.Value.Last, "Jones")
}
