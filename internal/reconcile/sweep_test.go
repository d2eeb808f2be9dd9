package reconcile_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// cleanUp cleans up the commit records of the past.
func (s *scene) cleanUp(t testing.TB) {
	t.Helper()
	for _, later := range []time.Duration{25*time.Hour + time.Minute, 3 * time.Hour} {
		s.Advance(later)
		testkit.NoError(t, workertest.CleanAll(context.Background(), s.worker, s.staff))
	}
}

// records returns how many commit records the table of the entities has.
func (s *scene) records() (n int) {
	for _, r := range s.Rows("staff") {
		if strings.HasPrefix(r.RowKey, "~i|") {
			n++
		}
	}
	return n
}

// TestSweepLeavesRows: the clean-up deletes the commit record of a row that is no tombstone, and leaves the row.
func TestSweepLeavesRows(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	_, err := s.staff.Insert(context.Background(), &employee{"Sales", 1, "Jones"})
	testkit.NoError(t, err)
	testkit.NoError(t, s.worker.Drain(context.Background()))
	testkit.Expect(t, "commit records", s.records(), 1)
	s.cleanUp(t)
	testkit.Expect(t, "commit records after a day", s.records(), 0)
	testkit.Expect(t, "rows", s.stored(), "Jones/Sales:empid_000001=empid_000001//Sales")
}

// TestSweepYoungTombstone: the clean-up of an old commit record leaves a tombstone that is younger.
func TestSweepYoungTombstone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t)
	e, err := s.staff.Insert(ctx, &employee{"Sales", 1, "Jones"})
	testkit.NoError(t, err)
	testkit.NoError(t, s.worker.Drain(ctx))
	s.Advance(26 * time.Hour)
	testkit.NoError(t, s.staff.Delete(ctx, e))
	testkit.NoError(t, s.worker.Drain(ctx))
	const tombstone = "Jones/Sales:empid_000001=empid_000001/~/Sales"
	testkit.Expect(t, "rows", s.stored(), tombstone)
	s.Advance(3 * time.Hour) // the clean-up of the insert is due
	testkit.NoError(t, workertest.CleanAll(ctx, s.worker, s.staff))
	testkit.Expect(t, "rows after the clean-up", s.stored(), tombstone)
	s.cleanUp(t)
	testkit.Expect(t, "rows after the clean-up of the delete", s.stored(), "")
}

// TestSweepWithoutTable: the table of the rows is deleted. The clean-up goes on, and deletes the commit records.
func TestSweepWithoutTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newScene(t)
	_, err := s.staff.Insert(ctx, &employee{"Sales", 1, "Jones"})
	testkit.NoError(t, err)
	testkit.NoError(t, s.worker.Drain(ctx))
	_, err = s.Tables().DeleteTable(ctx, "names", nil)
	testkit.NoError(t, err)
	s.cleanUp(t)
	testkit.Expect(t, "commit records after a day", s.records(), 0)
}

// refused is a definition whose row cannot be written.
type refused struct{ with error }

func (refused) Name() string                                     { return "last" }
func (r refused) Target(_, _ keys.Key) (reconcile.Target, error) { return r, nil }
func (refused) Read(context.Context) error                       { return nil }
func (r refused) Write(context.Context, *table.Row) error        { return r.with }
func (refused) Sweep(_ context.Context, _ time.Time) error       { return nil }

// TestPoisonousRows: an effect whose row no later attempt can store is poison. Other effects are tried again.
func TestPoisonousRows(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for _, c := range []struct {
		err    error
		poison bool
	}{
		{&table.LimitError{Limit: "bytes", Got: 2, Max: 1}, true},
		{&table.ValueError{Field: "Last", Reason: "is invalid"}, true},
		{keys.RawPartition("a/b").Err(), true},
		{table.ErrForeignRow, true},
		{table.ErrUnreachable, false},
		{table.ErrNotCreated, false},
	} {
		h := reconcile.Handler("names", s.staff, refused{c.err})
		err := h.Handle(context.Background(), host.Job{Key: keys.Raw("Sales", "r"), Kind: "names", Version: 1, Payload: []byte(`{"rows":{"last":[["Jones","Sales:r"]]}}`)})
		if err == nil || strings.HasPrefix(err.Error(), "poison") != c.poison {
			t.Errorf("a row that is refused with %v: got error %v; want poison: %v", c.err, err, c.poison)
		}
	}
}
