package records_test

import (
	"context"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type employee struct {
	Department string
	ID         int
	Last       string `table:"LastName"`
	Age        int32
}

var (
	dept        = keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid       = keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })
	staffSchema = table.Schema[employee]{Partition: dept, Row: empid}
	age         = table.FieldOf(func(e *employee) *int32 { return &e.Age })
)

// openStaffOn creates the table of employees in a service in memory. nil options make no pauses between attempts.
func openStaffOn(s *storagetest.Service, o *table.Options) (*table.Table[employee], error) {
	acc, err := account.FromConnectionString(s.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: s}})
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &table.Options{BlindWrites: true}
		o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	}
	staff, err := bare.NewTable(acc.Tables(), "staff", staffSchema, o)
	if err != nil {
		return nil, err
	}
	return staff, tabledoor.Ensure(context.Background(), staff)
}

// letters is a maintainer that adds an effect for each new last name.
type letters struct{}

func (letters) Name() string { return "letters" }
func (letters) MaxRows() int { return 0 }

func (letters) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	if c.New != nil && (c.Old == nil || c.Old.Last != c.New.Last) {
		p.Effect("letter", 1, []byte("Dear "+c.New.Last))
	}
	return nil
}

// memoryOutbox is an outbox in memory, which keeps the notifications.
type memoryOutbox struct{ notes []commit.Notification }

func (o *memoryOutbox) Notify(_ context.Context, n commit.Notification) (commit.SentNotification, error) {
	o.notes = append(o.notes, n)
	return sent{}, nil
}

type sent struct{}

func (sent) Show(context.Context) error     { return nil }
func (sent) Withdraw(context.Context) error { return nil }

// pendingEffect returns a table, an employee whose letter is still to be sent, and the commit record with that effect.
func pendingEffect(t testing.TB) (staff *table.Table[employee], s *storagetest.Service, out *memoryOutbox, e *table.Entity[employee], r *commit.Record) {
	t.Helper()
	ctx := context.Background()
	s, out = storagetest.New(nil), &memoryOutbox{}
	base, err := openStaffOn(s, nil)
	noError(t, err)
	staff, err = baretest.WithOutbox(base, out, letters{})
	noError(t, err)
	e, err = staff.Insert(ctx, &employee{"S", 1, "Jones", 44})
	noError(t, err)
	r, err = records.Of(staff).Get(ctx, keys.RawPartition("S"), out.notes[0].OperationID)
	noError(t, err)
	s.Count()
	out.notes = nil
	return staff, s, out, e, r
}

var noError = testkit.NoError
