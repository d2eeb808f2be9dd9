package archive_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

var must = testkit.NoError

// noError is must for goroutines that are not the test's, such as those of interceptors.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("got error %v; want none", err)
	}
}

// clerk is the entity type of these tests.
type clerk struct {
	Dept string
	ID   int
	Last string
}

var (
	dept   = keys.Text()
	cid    = keys.Digits[int](6).Named("c")
	schema = table.Schema[clerk]{
		Partition: keys.Partition(dept, func(c *clerk) *string { return &c.Dept }),
		Row:       keys.Row(cid, func(c *clerk) *int { return &c.ID }),
	}
)

func at(id int) keys.Key { return keys.At(dept.PartitionKey("S"), cid.RowKey(id)) }

// fixture is what a program has: an account, the table "current", the destination "old", a mover between both, and queues.
type fixture struct {
	account     *account.Account
	current     *table.Table[clerk]
	destination workertest.Destination
	to          archive.Destination // the destination of the mover: destination, unless attach has replaced it
	outbox      bareworker.Outbox
	mover       *workertest.Mover[clerk]
	common      table.Common
	handlers    []host.Handler // besides the mover's
}

// noPauses returns options without pauses between attempts.
func noPauses() (c table.Common) {
	c.Retry.Wait, c.Retry.ConflictWait = -1, -1
	return c
}

// openFixture opens what a program has. attach, if any, attaches maintainers, or chooses another destination, before the mover is
// made.
func openFixture(connection string, transport policy.Transporter, c table.Common, attach func(*fixture) error) (*fixture, error) {
	acc, err := account.FromConnectionString(connection, &account.Options{Client: azcore.ClientOptions{Transport: transport}})
	if err != nil {
		return nil, err
	}
	fx := &fixture{account: acc, common: c}
	if fx.current, err = bare.NewTable(acc.Tables(), "current", schema, &table.Options{Common: c}); err != nil {
		return nil, err
	}
	to := archive.ToTable("old", &archive.Options{Common: c})
	if fx.destination, err = workertest.Place(&host.Host{Tables: acc.Tables()}, to); err != nil {
		return nil, err
	}
	if fx.outbox, err = bareworker.NewOutbox(acc.Queues().NewQueueClient("moves"), &c); err != nil {
		return nil, err
	}
	fx.to = fx.destination
	if attach != nil {
		if err := attach(fx); err != nil {
			return nil, err
		}
	}
	fx.mover, err = workertest.NewMover("current/old", fx.current, fx.to, fx.outbox)
	return fx, err
}

// newFixture returns a fixture on a service of its own, with its tables and queues, and without counted requests.
func newFixture(t testing.TB, attach func(*fixture) error) (*fixture, *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	fx := newFixtureOn(t, s, s, noPauses(), attach)
	must(t, fx.ensure(context.Background()))
	s.Count()
	return fx, s
}

// newFixtureOn returns another program's fixture on the same service.
func newFixtureOn(t testing.TB, s *storagetest.Service, transport policy.Transporter, c table.Common, attach func(*fixture) error) *fixture {
	t.Helper()
	fx, err := openFixture(s.ConnectionString(), transport, c, attach)
	must(t, err)
	return fx
}

// ensure creates the tables and the queues.
func (fx *fixture) ensure(ctx context.Context) error {
	w, err := fx.worker(fx.options())
	if err != nil {
		return err
	}
	return errors.Join(tabledoor.Ensure(ctx, fx.current), fx.destination.Ensure(ctx), w.Ensure(ctx))
}

// options returns the options of workers that take one message at a time.
func (fx *fixture) options() eventual.WorkerOptions {
	return eventual.WorkerOptions{Common: fx.common, Concurrency: 1, Idle: 16 * time.Second, Attempts: 1000, MaxWait: 4 * time.Second, Visibility: 30 * time.Second}
}

// worker returns a worker of the queue "moves", for the mover and the fixture's other handlers.
func (fx *fixture) worker(opt eventual.WorkerOptions) (bareworker.Worker, error) {
	return bareworker.New(fx.account.Queues().NewQueueClient("moves"), fx.account.Queues().NewQueueClient("poison"), append(fx.handlers, fx.mover.Handler), &opt)
}

// newWorker is worker for tests.
func (fx *fixture) newWorker(t testing.TB, opt eventual.WorkerOptions) bareworker.Worker {
	t.Helper()
	w, err := fx.worker(opt)
	must(t, err)
	return w
}

// workerOf returns a worker of the queue "moves" for some movers.
func (fx *fixture) workerOf(t testing.TB, opt eventual.WorkerOptions, handlers ...host.Handler) bareworker.Worker {
	t.Helper()
	w, err := bareworker.New(fx.account.Queues().NewQueueClient("moves"), fx.account.Queues().NewQueueClient("poison"), handlers, &opt)
	must(t, err)
	return w
}

// work runs a worker until no message is visible.
func (fx *fixture) work(ctx context.Context) error {
	w, err := fx.worker(fx.options())
	if err != nil {
		return err
	}
	return w.Drain(ctx)
}

// insertClerk inserts a clerk whose Last is Name1, Name2, …, and discards the count of the requests.
func insertClerk(t testing.TB, fx *fixture, s *storagetest.Service, id int) *table.Entity[clerk] {
	t.Helper()
	e, err := fx.current.Insert(context.Background(), &clerk{"S", id, fmt.Sprint("Name", id)})
	must(t, err)
	s.Count()
	return e
}

// newPendingMove returns a fixture with clerk 1, whose move is requested.
func newPendingMove(t testing.TB) (*fixture, *storagetest.Service, *table.Entity[clerk]) {
	t.Helper()
	fx, s := newFixture(t, nil)
	e := insertClerk(t, fx, s, 1)
	must(t, fx.mover.Archive(context.Background(), e))
	return fx, s, e
}

// storedClerks returns the entities of both tables: "c_000001=Name1".
func storedClerks(s *storagetest.Service) (current, old []string) {
	for _, r := range s.Rows("current") {
		if r.RowKey[0] != '~' {
			current = append(current, fmt.Sprint(r.RowKey, "=", r.Get("Last")))
		}
	}
	for _, r := range s.Rows("old") {
		if r.RowKey[0] != '~' && r.Get("Last") != nil {
			old = append(old, fmt.Sprint(r.RowKey[:8], "=", r.Get("Last")))
		}
	}
	for _, b := range storedBlobs(s) {
		if b.Row != nil {
			old = append(old, fmt.Sprint(b.RowKey, "=", b.Row.Last))
		}
	}
	slices.Sort(old)
	return current, old
}

// rowKeys returns the RowKeys of a table.
func rowKeys(s *storagetest.Service, table string) string {
	var all []string
	for _, r := range s.Rows(table) {
		all = append(all, r.RowKey)
	}
	return strings.Join(all, " ")
}

// wantNoMessages fails the test if a message is left in the queues "moves" and "poison".
func wantNoMessages(t testing.TB, s *storagetest.Service) {
	t.Helper()
	for _, queue := range []string{"moves", "poison"} {
		if left := s.Messages(queue); len(left) > 0 {
			t.Errorf("queue %s: got %d messages, such as %s; want none", queue, len(left), left[0].Text)
		}
	}
}

// wantClerks fails the test unless the tables contain these entities, such as "c_000001=Name1".
func wantClerks(t testing.TB, s *storagetest.Service, wantCurrent, wantOld []string) {
	t.Helper()
	current, old := storedClerks(s)
	testkit.Expect(t, "entities of table current", current, wantCurrent)
	testkit.Expect(t, "entities of table old", old, wantOld)
}

// wantArchived fails the test unless Find returns clerk 1 from the destination.
func wantArchived(t testing.TB, m *workertest.Mover[clerk], last string) {
	t.Helper()
	e, archived, err := m.Find(context.Background(), at(1))
	must(t, err)
	if !archived || e.Value.Last != last {
		t.Errorf("Find: got %s, archived %v; want %s, archived", e.Value.Last, archived, last)
	}
}
