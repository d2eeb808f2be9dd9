package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type employee struct {
	Department string
	ID         int
	Last       string
}

var (
	dept        = keys.Partition(keys.Text(), func(e *employee) *string { return &e.Department })
	empid       = keys.Row(keys.Digits[int](6).Named("empid"), func(e *employee) *int { return &e.ID })
	staffSchema = table.Schema[employee]{Partition: dept, Row: empid}
)

// byLast keeps a pointer to each employee in the table names, in a partition of the last name.
type byLast struct{ rows *table.Table[table.Row] }

func (byLast) Name() string { return "last" }
func (byLast) MaxRows() int { return 0 }

func (byLast) row(entity keys.Key, name string) keys.Key {
	return keys.Raw(name, entity.PartitionKey()+":"+entity.RowKey())
}

func (d byLast) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[employee]) error {
	var all []keys.Key
	for _, old := range c.State() {
		all = append(all, d.row(c.Key, old))
	}
	if c.New != nil {
		c.SetState(c.New.Last)
		all = append(all, d.row(c.Key, c.New.Last))
	}
	reconcile.AddEffect(p, "names", d.Name(), all...)
	return nil
}

func (d byLast) Target(entity, row keys.Key) (reconcile.Target, error) {
	if row.RowKey() != entity.PartitionKey()+":"+entity.RowKey() {
		return nil, errors.New("the row is not of this entity")
	}
	return &reconcile.Row{Table: d.rows, Key: row, IsTombstone: reconcile.IsTombstone,
		Follow: func(_, e *table.Row) (*table.Row, error) {
			if e == nil {
				return reconcile.Tombstone(entity, row), nil
			}
			if is, _ := e.Get("Last"); is != row.PartitionKey() {
				return reconcile.Tombstone(entity, row), nil
			}
			return (*table.Row)((*stored.Row)(e).Project().Copy(row, "")), nil
		}}, nil
}

// scene is a table of employees with pointers elsewhere.
type scene struct {
	*storagetest.Service
	staff  *table.Table[employee]
	worker bareworker.Worker
}

func newScene(t testing.TB) *scene {
	t.Helper()
	ctx := context.Background()
	memory := storagetest.New(nil)
	s := (&scene{Service: memory}).open(t, memory)
	rows, err := bare.NewTable(memory.Tables(), "names", table.Schema[table.Row]{}, nil)
	testkit.NoError(t, err)
	testkit.NoError(t, errors.Join(tabledoor.Ensure(ctx, s.staff), tabledoor.Ensure(ctx, rows), s.worker.Ensure(ctx)))
	s.Count()
	return s
}

// open opens the tables and queues for a program with another transport.
func (s *scene) open(t testing.TB, transport policy.Transporter) *scene {
	t.Helper()
	acc, err := account.FromConnectionString(s.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: transport}})
	testkit.NoError(t, err)
	o := &table.Options{}
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	options.SetNow(&o.Common, s.Now)
	base, err := bare.NewTable(acc.Tables(), "staff", staffSchema, o)
	testkit.NoError(t, err)
	rows, err := bare.NewTable(acc.Tables(), "names", table.Schema[table.Row]{}, o)
	testkit.NoError(t, err)
	out, err := bareworker.NewOutbox(acc.Queues().NewQueueClient("effects"), &o.Common)
	testkit.NoError(t, err)
	p := &scene{Service: s.Service}
	names := byLast{rows}
	p.staff, err = baretest.WithOutbox(base, out, names)
	testkit.NoError(t, err)
	p.worker, err = bareworker.New(acc.Queues().NewQueueClient("effects"), acc.Queues().NewQueueClient("poison"), []host.Handler{reconcile.Handler("names", p.staff, names)},
		&eventual.WorkerOptions{Common: o.Common})
	testkit.NoError(t, err)
	return p
}

// stored returns the rows of the table names.
func (s *scene) stored() string {
	var all []string
	for _, r := range s.Rows("names") {
		all = append(all, fmt.Sprintf("%s/%s=%v", r.PartitionKey, r.RowKey, r.Get("_sys")))
	}
	return strings.Join(all, " ")
}

// TestReconcile: rows follow from entities, and take the stated requests.
func TestReconcile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t)
	e, err := s.staff.Insert(ctx, &employee{"Sales", 1, "Jones"})
	testkit.NoError(t, err)
	testkit.NoError(t, s.worker.Drain(ctx))
	testkit.Expect(t, "rows", s.stored(), "Jones/Sales:empid_000001=empid_000001//Sales")
	s.Count()
	e.Value.Last = "Smith"
	testkit.NoError(t, s.staff.Replace(ctx, e))
	testkit.Expect(t, "requests of a write", s.Count().String(), "1 message-put, 1 message-update, 1 transaction")
	testkit.NoError(t, s.worker.Drain(ctx))
	// Of the requests for messages, one gets the message, and the others find the queue empty.
	testkit.Expect(t, "requests of the worker", s.Count().String(), "4 get, 1 insert, 1 merge, 1 message-delete, 3 message-get, 1 replace")
	testkit.Expect(t, "rows", s.stored(), "Jones/Sales:empid_000001=empid_000001/~/Sales Smith/Sales:empid_000001=empid_000001//Sales")
	testkit.NoError(t, s.staff.Delete(ctx, e))
	testkit.NoError(t, s.worker.Drain(ctx))
	testkit.Expect(t, "rows", s.stored(), "Jones/Sales:empid_000001=empid_000001/~/Sales Smith/Sales:empid_000001=empid_000001/~/Sales")

	// A day later, the clean-up deletes the tombstones.
	s.cleanUp(t)
	testkit.Expect(t, "rows", s.stored(), "")
}

// TestHostileEffects: an effect that names other rows is poison, and nothing is written.
func TestHostileEffects(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	h := reconcile.Handler("names", s.staff, byLast{})
	for _, payload := range []string{"", "{}", `{"rows":{}}`, `{"rows":{"last":[["Jones","other"]]}}`, `{"rows":{"last":[["","Sales:r"]]}}`, `{"rows":{"last":[["a/b","Sales:r"]]}}`, `[]`, "null", `{"rows":{"last":"x"}}`} {
		err := h.Handle(context.Background(), host.Job{Key: keys.Raw("Sales", "r"), Kind: "names", Version: 1, Payload: []byte(payload)})
		if err == nil || !strings.HasPrefix(err.Error(), "poison") {
			t.Errorf("%s: got error %v; want poison", payload, err)
		}
	}
	for _, row := range []string{"", "~i|1", "a/b"} {
		err := h.Handle(context.Background(), host.Job{Key: keys.Raw("Sales", row), Kind: "names", Version: 1, Payload: []byte(`{"rows":{"last":[["Jones","Sales:` + row + `"]]}}`)})
		if err == nil || !strings.HasPrefix(err.Error(), "poison") {
			t.Errorf("%s: got error %v; want poison", row, err)
		}
	}
	var newer *table.VersionError
	err := h.Handle(context.Background(), host.Job{Key: keys.Raw("Sales", "r"), Kind: "names", Version: 1, Payload: []byte(`{"rows":{"later":[["Jones","Sales:r"]]}}`)})
	if !errors.As(err, &newer) || newer.Got <= newer.Want {
		t.Errorf("got error %v; want a VersionError, so that the message waits", err)
	}
	if n := s.Count(); n.String() != "no requests" && len(s.Rows("names")) > 0 {
		t.Errorf("got requests %v; want none", n)
	}
}
