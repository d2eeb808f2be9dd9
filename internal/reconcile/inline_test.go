package reconcile_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// fragile is byLast with a function that panics while broken is set.
type fragile struct {
	byLast
	broken *bool
}

func (f fragile) Target(entity, row keys.Key) (reconcile.Target, error) {
	if *f.broken {
		panic("no such name")
	}
	return f.byLast.Target(entity, row)
}

// filling is reconcile.Filling for a definition.
func filling(out commit.Outbox, t table.Handle, d reconcile.Definition) commit.Outbox {
	return reconcile.Filling(out, "names", t, func(keys.Key, error) {}, d)
}

// TestInlinePanic: a function of the program's that panics after the commit does not reach the writer, whose write is committed. A
// worker executes the effect.
func TestInlinePanic(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t)
	o := &table.Options{Common: options.At(s.Now)}
	base, err := bare.NewTable(s.Tables(), "staff", staffSchema, o)
	testkit.NoError(t, err)
	rows, err := bare.NewTable(s.Tables(), "names", table.Schema[table.Row]{}, o)
	testkit.NoError(t, err)
	out, err := bareworker.NewOutbox(s.Queues().NewQueueClient("effects"), nil)
	testkit.NoError(t, err)
	broken := false
	names := fragile{byLast{rows}, &broken}
	staff, err := baretest.WithOutbox(base, out, names)
	testkit.NoError(t, err)
	staff = door.InMode(staff, func(m *engine.Mode) { m.Outbox = filling(m.Outbox, base, names) })
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones"})
	testkit.NoError(t, err)
	const first = "Jones/Sales:empid_000001=empid_000001//Sales"
	testkit.Expect(t, "rows", s.stored(), first)
	testkit.NoError(t, s.worker.Drain(ctx))

	broken = true
	e, err := staff.Insert(ctx, &employee{"Sales", 2, "Smith"})
	testkit.NoError(t, err)
	testkit.Expect(t, "a panic behind the commit: RowKey", e.Key.RowKey(), "empid_000002")
	testkit.Expect(t, "rows", s.stored(), first)
	visible := func(m storagetest.Message) bool { return !m.Visible.After(s.Now()) }
	all := s.Messages("effects")
	if len(all) != 1 || !visible(all[0]) {
		t.Errorf("got messages %+v; want one that is visible", all)
	}
	testkit.NoError(t, s.worker.Drain(ctx))
	testkit.Expect(t, "rows", s.stored(), first+" Smith/Sales:empid_000002=empid_000002//Sales")
}

// quiet is an outbox that breaks its contract: it returns neither a notification nor an error.
type quiet struct{ commit.Outbox }

func (quiet) Notify(context.Context, commit.Notification) (commit.SentNotification, error) {
	return nil, nil
}

// TestInlineQuietOutbox: an outbox without a notification is refused before the write, as it is without Inline.
func TestInlineQuietOutbox(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	staff := door.InMode(s.staff, func(m *engine.Mode) {
		m.Outbox = filling(quiet{m.Outbox}, s.staff, byLast{})
	})
	if _, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones"}); !errors.Is(err, table.ErrOutbox) {
		t.Errorf("got error %v; want ErrOutbox", err)
	}
	testkit.Expect(t, "rows", len(s.Rows("staff")), 0)
}

// cancelling is byLast with a function that ends the caller's context.
type cancelling struct {
	byLast
	cancel func()
}

func (c cancelling) Target(entity, row keys.Key) (reconcile.Target, error) {
	c.cancel()
	return c.byLast.Target(entity, row)
}

// TestInlineCancelled: the caller's context ends behind the commit. The notification is shown, so that a worker executes the effect at
// once.
func TestInlineCancelled(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rows, err := bare.NewTable(s.Tables(), "names", table.Schema[table.Row]{}, nil)
	testkit.NoError(t, err)
	names := cancelling{byLast{rows}, cancel}
	staff := door.InMode(s.staff, func(m *engine.Mode) {
		m.Outbox = filling(m.Outbox, s.staff, names)
	})
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones"})
	testkit.NoError(t, err)
	testkit.Expect(t, "rows", s.stored(), "")
	testkit.NoError(t, s.worker.Drain(context.Background()))
	testkit.Expect(t, "rows after the worker", s.stored(), "Jones/Sales:empid_000001=empid_000001//Sales")
}
