package integration

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"
	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// archiveMoves: entities move to another table and back, with their derived rows.
func archiveMoves(e *env) {
	ctx := context.Background()
	sales := dept.PartitionKey("Sales")
	byMail := index.New("mail", keys.Fold(keys.Text()), func(w *employee) (string, bool) { return w.Email, w.Email != "" },
		&index.Options{Unique: true})
	names := index.NewLists("name", keys.Text(), func(w *employee) (string, bool) { return w.Last, true }, nil)
	base := newTable(e, staffSchema, nil)
	staff, err := baretest.Attach(base, byMail, names)
	e.must(err)
	old, err := workertest.Place(&host.Host{Tables: e.tables}, archive.ToTable(freshName(), nil))
	e.must(err)
	notifications, poison := e.acc.Queues().NewQueueClient(base.Name()+"h"), e.acc.Queues().NewQueueClient(base.Name()+"p")
	out, err := bareworker.NewOutbox(notifications, nil)
	e.must(err)
	mover, err := workertest.NewMover("staff/old", staff, old, out)
	e.must(err)
	w, err := bareworker.New(notifications, poison, []host.Handler{mover.Handler}, &eventual.WorkerOptions{Concurrency: 1})
	e.must(err)
	e.must(errors.Join(old.Ensure(ctx), w.Ensure(ctx)))
	x, err := staff.Insert(ctx, &jones)
	e.must(err)
	e.counter.Take()
	e.must(mover.Archive(ctx, x))
	e.wantRequests("1 message-put, 1 message-update, 1 transaction")
	e.must(w.Drain(ctx))
	e.wantRequests("4 get, 1 message-delete, 2 message-get, 2 transaction") // and reads a list of the index
	if _, err := byMail.Get(ctx, staff, sales, jones.Email); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("look-up by address after the move: got error %v; want ErrNotFound", err)
	}
	for x, err := range names.List(ctx, staff, sales, jones.Last) {
		e.Errorf("look-up by name after the move: got %v, error %v; want nothing", x, err)
	}
	e.counter.Take()
	found, archived, err := mover.Find(ctx, at("Sales", 223))
	if e.must(err); !archived || found.Value != jones {
		e.Errorf("Find: got %+v, archived %v; want %+v, archived", found.Value, archived, jones)
	}
	e.wantRequests("1 get, 1 query")
	// Another employee takes the address.
	other := jones
	other.ID, other.Email = 224, "JonesJ@contoso.com"
	y, err := staff.Insert(ctx, &other)
	e.must(err)
	if _, err := mover.Restore(ctx, at("Sales", 223)); !errors.Is(err, table.ErrTaken) {
		e.Errorf("Restore with a taken address: got error %v; want ErrTaken", err)
	}
	e.must(staff.Delete(ctx, y))
	back, err := mover.Restore(ctx, at("Sales", 223))
	if e.must(err); back.Value != jones {
		e.Errorf("Restore: got %+v; want %+v", back.Value, jones)
	}
	e.must(w.Drain(ctx))
	if x, err := byMail.Get(ctx, staff, sales, jones.Email); err != nil || x.Value != jones {
		e.Errorf("look-up by address after the restore: got %+v, error %v; want %+v", x, err, jones)
	}
	e.must(mover.Archive(ctx, back)) // as another incarnation
	e.must(w.Drain(ctx))
	n := 0
	for x, err := range mover.Archived(ctx, sales) {
		if e.must(err); x.Value != jones {
			e.Errorf("Archived: got %+v; want %+v", x.Value, jones)
		}
		n++
	}
	if n != 1 {
		e.Errorf("Archived: got %d entities; want 1", n)
	}
	if n, err := w.Backlog(ctx); n != 0 || err != nil {
		e.Errorf("Backlog: got %d, error %v; want 0", n, err)
	}
}
