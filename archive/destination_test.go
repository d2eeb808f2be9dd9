package archive_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

// TestNewest: the newest of several incarnations is the one that was written last in its table, also if a slow worker stores an
// older incarnation once more after that.
func TestNewest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, _ := newPendingMove(t)
	slow, si := newInterceptedFixture(t, s)
	fast, fi := newInterceptedFixture(t, s)
	hasRead, mayStore, ended := make(chan bool), make(chan bool), make(chan bool)
	si.beforeFirst(transactionOn("old"), func() error {
		hasRead <- true // the row that the fast worker has stored, and the entity
		<-mayStore
		return nil
	})
	fi.beforeFirst(transactionOn("current"), func() error { // the row is stored
		s.Advance(time.Minute)
		go func() { defer close(ended); noError(t, slow.work(ctx)) }()
		<-hasRead
		return nil
	})
	must(t, fast.work(ctx))
	e, err := fx.current.Insert(ctx, &clerk{"S", 1, "Newer"})
	must(t, err)
	must(t, fx.mover.Archive(ctx, e))
	must(t, fx.work(ctx))
	close(mayStore)
	<-ended
	wantArchived(t, fx.mover, "Newer")
	restored, err := fx.mover.Restore(ctx, at(1))
	must(t, err)
	testkit.Expect(t, "restored", restored.Value.Last, "Newer")
}

// addMover returns a second mover, and a worker for both movers.
func addMover(t testing.TB, fx *fixture, from *table.Table[clerk], to archive.Destination) (*workertest.Mover[clerk], bareworker.Worker) {
	t.Helper()
	m, err := workertest.NewMover("second", from, to, fx.outbox)
	must(t, err)
	w := fx.workerOf(t, eventual.WorkerOptions{Common: fx.common, Concurrency: 1}, fx.mover.Handler, m.Handler)
	return m, w
}

// TestSharedDestination: movers of two tables share a destination, and neither finds or restores entities of the other table.
func TestSharedDestination(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	second, err := bare.NewTable(fx.account.Tables(), "second", schema, &table.Options{Common: fx.common})
	must(t, err)
	must(t, tabledoor.Ensure(ctx, second))
	m, w := addMover(t, fx, second, fx.destination)
	must(t, fx.mover.Archive(ctx, insertClerk(t, fx, s, 1)))
	must(t, w.Drain(ctx))
	if _, _, err := m.Find(ctx, at(1)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Find by the second mover: got error %v; want ErrNotFound", err)
	}
	if _, err := m.Restore(ctx, at(1)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Restore by the second mover: got error %v; want ErrNotFound", err)
	}
	for e, err := range m.Archived(ctx, dept.PartitionKey("S")) {
		t.Errorf("Archived of the second mover: got %v, %v; want nothing", e, err)
	}
	other, err := second.Insert(ctx, &clerk{"S", 1, "Other"})
	must(t, err)
	must(t, m.Archive(ctx, other))
	must(t, w.Drain(ctx))
	wantArchived(t, fx.mover, "Name1")
	wantArchived(t, m, "Other")
}

// TestSharedTable: two movers move from one table to two destinations. The sweep of one mover leaves the restore records of the
// other.
func TestSharedTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	to, err := workertest.Place(&host.Host{Tables: fx.account.Tables()}, archive.ToTable("older", &archive.Options{Common: fx.common}))
	must(t, err)
	must(t, to.Ensure(ctx))
	m, w := addMover(t, fx, fx.current, to)
	must(t, fx.mover.Archive(ctx, insertClerk(t, fx, s, 1)))
	must(t, w.Drain(ctx))
	e, err := fx.mover.Restore(ctx, at(1))
	must(t, err)
	_, err = fx.account.Queues().NewQueueClient("moves").ClearMessages(ctx, nil) // the old incarnation stays in the destination
	must(t, err)
	must(t, fx.current.Delete(ctx, e))
	s.Advance(30 * time.Hour)
	sweepLibraryRows(t, m.Handler, s)
	if _, err := fx.mover.Restore(ctx, at(1)); !errors.Is(err, table.ErrExists) {
		t.Errorf("Restore: got error %v; want ErrExists", err)
	}
}
