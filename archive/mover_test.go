package archive_test

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestRequests counts the requests of a move, of look-ups and of a restore, for the program and for the worker.
func TestRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	w := fx.newWorker(t, fx.options())
	requests := func(of, want string) {
		t.Helper()
		testkit.Expect(t, "requests of "+of, s.Count().String(), want)
	}
	e := insertClerk(t, fx, s, 1)
	must(t, fx.mover.Archive(ctx, e))
	requests("Archive", "1 message-put, 1 message-update, 1 transaction")
	must(t, w.Drain(ctx))
	requests("the move", "3 get, 1 message-delete, 2 message-get, 2 transaction")
	wantClerks(t, s, nil, []string{"c_000001=Name1"})

	found, archived, err := fx.mover.Find(ctx, at(1))
	must(t, err)
	requests("Find of an archived entity", "1 get, 1 query")
	if !archived || found.Value != (clerk{"S", 1, "Name1"}) {
		t.Errorf("Find: got %v, archived %v; want clerk 1, archived", found, archived)
	}
	if err := fx.current.Replace(ctx, found); !errors.Is(err, table.ErrNotRead) {
		t.Errorf("Replace of an archived entity: got error %v; want ErrNoETag", err)
	}
	var ids []int
	for e, err := range fx.mover.Archived(ctx, dept.PartitionKey("S")) {
		must(t, err)
		ids = append(ids, e.Value.ID)
	}
	testkit.Expect(t, "archived clerks", ids, []int{1})
	s.Count()

	restored, err := fx.mover.Restore(ctx, at(1))
	must(t, err)
	requests("Restore", "2 get, 1 message-put, 1 message-update, 1 query, 1 transaction")
	testkit.Expect(t, "restored", restored.Value.Last, "Name1")
	must(t, w.Drain(ctx))
	requests("the deletion from the destination", "2 get, 1 merge, 1 message-delete, 2 message-get, 1 transaction")
	wantClerks(t, s, []string{"c_000001=Name1"}, nil)
	if _, archived, err = fx.mover.Find(ctx, at(1)); err != nil || archived {
		t.Errorf("Find of a restored entity: got archived %v, error %v; want it in its table", archived, err)
	}
	requests("Find of an entity in its table", "1 get")
	if _, _, err = fx.mover.Find(ctx, at(2)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Find of a missing entity: got error %v; want ErrNotFound", err)
	}
	requests("Find of a missing entity", "2 get, 1 query")
}

// TestWrongArguments: New names each wrong argument.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	fx, _ := newFixture(t, nil)
	self, err := workertest.Place(&host.Host{Tables: fx.account.Tables()}, archive.ToTable("Current", nil))
	must(t, err)
	var none *notLister
	for _, c := range []struct {
		name, field string
		err         error
	}{
		{"no kind", "kind", second(workertest.NewMover("", fx.current, fx.destination, fx.outbox))},
		{"no table", "d", second(workertest.NewMover[clerk]("k", nil, fx.destination, fx.outbox))},
		{"no destination", "to", second(workertest.NewMover("k", fx.current, nil, fx.outbox))},
		{"a nil destination", "to", second(workertest.NewMover("k", fx.current, none, fx.outbox))},
		{"no outbox", "outbox", second(workertest.NewMover("k", fx.current, fx.destination, nil))},
		{"the table itself", "to", second(workertest.NewMover("k", fx.current, self, fx.outbox))},
	} {
		var ve *table.ValueError
		if !errors.As(c.err, &ve) || ve.Field != c.field {
			t.Errorf("%s: got error %v; want a *ValueError of %s", c.name, c.err, c.field)
		}
	}
}

func second[X any](_ X, err error) error { return err }

// TestRowBeyondLimits: Archive refuses a row that the destination can never store, and sends nothing.
func TestRowBeyondLimits(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newRowFixture(t)
	long := &table.Row{Key: keys.At(keys.RawPartition("S"), keys.RawRow(strings.Repeat("x", 500)))}
	large := &table.Row{Key: keys.At(keys.RawPartition("S"), keys.RawRow("large"))}
	for i := range 15 {
		must(t, large.Set(fmt.Sprint("P", i), strings.Repeat("x", 32<<10)))
	}
	rest := sort.Search(32<<10, func(n int) bool { // the most that fits
		must(t, large.Set("Rest", strings.Repeat("x", n+1)))
		return fx.rows.InsertOp(large).Err() != nil
	})
	must(t, large.Set("Rest", strings.Repeat("x", rest)))
	many := &table.Row{Key: keys.At(keys.RawPartition("S"), keys.RawRow("many"))}
	for i := range 251 { // and _op; with _life, the row has the most properties that are possible
		must(t, many.Set(fmt.Sprint("P", i), int64(i)))
	}
	for name, row := range map[string]*table.Row{"a long RowKey": long, "a large row": large, "many properties": many} {
		e, err := fx.rows.Insert(ctx, row)
		must(t, err)
		s.Count()
		var le *table.LimitError
		if err := fx.mover.Archive(ctx, e); !errors.As(err, &le) {
			t.Errorf("%s: got error %v; want a *LimitError", name, err)
		}
		testkit.Expect(t, name+": requests", s.Count().String(), "none")
	}
}

// manyRows is a maintainer of many rows.
type manyRows struct{ rows int }

func (manyRows) Name() string                                                        { return "many" }
func (m manyRows) MaxRows() int                                                      { return m.rows }
func (manyRows) Maintain(context.Context, *extend.Plan, *extend.Change[clerk]) error { return nil }

// TestRoomForRestore: New refuses a table whose derived rows leave no room for the rows of a restore.
func TestRoomForRestore(t *testing.T) {
	t.Parallel()
	fx, _ := newFixture(t, nil)
	for rows, fits := range map[int]bool{96: true, 97: false} {
		from, err := bare.With(fx.current, manyRows{rows})
		must(t, err)
		_, err = workertest.NewMover("k", from, fx.destination, fx.outbox)
		var le *table.LimitError
		if fits && err != nil || !fits && !errors.As(err, &le) {
			t.Errorf("%d derived rows: got error %v; want one: %v", rows, err, !fits)
		}
	}
}

// TestVersions: a row of a newer version waits for a worker that knows the version, and the destination contains nothing until
// then. A row of an older version cannot be archived until it is replaced.
func TestVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s := newFixture(t, nil)
	next := schema
	next.Version, next.Upgrade = 1, map[int]func(*table.Row) error{0: func(r *table.Row) error { return r.Set("Last", "upgraded") }}
	newer, err := bare.NewTable(fx.account.Tables(), "current", next, &table.Options{Common: fx.common})
	must(t, err)
	m, err := workertest.NewMover("current/old", newer, fx.destination, fx.outbox)
	must(t, err)
	insertClerk(t, fx, s, 1)
	e, err := newer.Get(ctx, at(1))
	must(t, err)
	if err := m.Archive(ctx, e); !errors.Is(err, errs.ErrOldVersion) {
		t.Errorf("Archive of an old version: got error %v; want ErrOldVersion", err)
	}
	must(t, newer.Replace(ctx, e))
	must(t, m.Archive(ctx, e))
	oldWorker := fx.newWorker(t, fx.options()) // of a release that does not know the version
	must(t, oldWorker.Drain(ctx))
	testkit.Expect(t, "deferred messages", oldWorker.Stats().Deferred, 1)
	testkit.Expect(t, "poison messages", s.Messages("poison"), nil)
	testkit.Expect(t, "stored rows", s.Rows("old"), nil)
	s.Advance(time.Hour)
	must(t, fx.workerOf(t, eventual.WorkerOptions{}, m.Handler).Drain(ctx))
	wantArchived(t, m, "upgraded")
}
