package archive_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// sweepLibraryRows sweeps the tombstones and the restore records of a mover that are older than 25 hours.
func sweepLibraryRows(t testing.TB, h host.Handler, s *storagetest.Service) {
	t.Helper()
	must(t, h.Sweep(context.Background(), keys.RawPartition("S"), s.Now().Add(-25*time.Hour)))
}

// advanceAndSweepCommitRecords advances the clock by 30 hours and sweeps the commit records of moves. It returns a fixture with the
// new time.
func advanceAndSweepCommitRecords(t testing.TB, s *storagetest.Service, want int) *fixture {
	t.Helper()
	s.Advance(30 * time.Hour)
	common := noPauses()
	options.SetNow(&common, s.Now)
	fx := newFixtureOn(t, s, s, common, nil)
	n, err := baretest.SweepRecords(context.Background(), fx.current, dept.PartitionKey("S"))
	must(t, err)
	testkit.Expect(t, "swept commit records", n, want)
	return fx
}

// TestSweep: tombstones and restore records are swept after a day, but not the restore record of an incarnation that is still in
// the destination, since that incarnation could be restored again.
func TestSweep(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		name   string
		forget bool // whether a worker deletes the old incarnation from the destination
		want   int
	}{{"the old incarnation is deleted", true, 0}, {"the old incarnation is still stored", false, 2}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fx, s, _ := newPendingMove(t)
			must(t, fx.work(ctx))
			_, err := fx.mover.Restore(ctx, at(1))
			must(t, err)
			if c.forget {
				must(t, fx.work(ctx))
			} else {
				_, err := fx.account.Queues().NewQueueClient("moves").ClearMessages(ctx, nil)
				must(t, err)
			}
			count := func() int { return len(s.Rows("old")) + strings.Count(rowKeys(s, "current"), "~l|") }
			before := count()
			sweepLibraryRows(t, fx.mover.Handler, s)
			testkit.Expect(t, "rows after the sweep of young rows", count(), before)
			s.Advance(26 * time.Hour)
			sweepLibraryRows(t, fx.mover.Handler, s)
			sweepLibraryRows(t, fx.mover.Handler, s) // idempotent
			if got := count(); got != c.want {
				t.Errorf("got %d rows after the sweep; want %d\ncurrent: %s\nold: %s", got, c.want, rowKeys(s, "current"), rowKeys(s, "old"))
			}
		})
	}
}

// TestStoredTypes: a restore record and a tombstone record with properties of other types stay, since the rows that they name are not
// known.
func TestStoredTypes(t *testing.T) {
	t.Parallel()
	fx, s := newFixture(t, nil)
	var current, old []string
	insert := func(name string, all *[]string, prefix, property, more string) {
		for typ, column := range testkit.EachType(property, 123) {
			if typ == "text" {
				continue
			}
			rowKey := fmt.Sprintf("%s%016d", prefix, len(*all))
			*all = append(*all, rowKey)
			insertBySDK(t, fx, name, fmt.Sprintf(`{"PartitionKey":"S","RowKey":%q,%s%s}`, rowKey, column, more))
		}
	}
	insert("current", &current, "~l|", "Restored", `,"Kind":"current/old"`)
	insert("current", &current, "~l|", "Kind", `,"Restored":"c_000001"`)
	insert("old", &old, "~d|", "Gone", "")
	s.Advance(26 * time.Hour)
	sweepLibraryRows(t, fx.mover.Handler, s)
	testkit.Expect(t, "rows of table current", rowKeys(s, "current"), strings.Join(current, " "))
	testkit.Expect(t, "rows of table old", rowKeys(s, "old"), strings.Join(old, " "))
}

// TestArchivedTypes: an archived row whose owner another program has stored with another type is an error, and not an entity that is in
// neither place. The list goes on behind it.
func TestArchivedTypes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for typ, column := range testkit.EachType("_sys", 123) {
		if typ == "text" {
			continue
		}
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			fx, s := newFixture(t, nil)
			for _, id := range []int{1, 2} {
				insertBySDK(t, fx, "current", fmt.Sprintf(`{"PartitionKey":"S","RowKey":"c_%06d","Last":"x"}`, id))
				e, err := fx.current.Get(ctx, at(id))
				must(t, err)
				must(t, fx.mover.Archive(ctx, e))
			}
			must(t, fx.work(ctx))
			rowKey, _, _ := strings.Cut(rowKeys(s, "old"), " ")
			body := fmt.Sprintf(`{"PartitionKey":"S","RowKey":%q,%s}`, rowKey, column)
			_, err := fx.account.Tables().NewClient("old").UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
			must(t, err)
			var de *table.DecodeError
			if e, archived, err := fx.mover.Find(ctx, at(1)); !errors.As(err, &de) || de.Field != "_sys" {
				t.Errorf("Find: got %v, archived %v, error %v; want a *DecodeError of _sys", e, archived, err)
			}
			good, failed := 0, 0
			for _, err := range fx.mover.Archived(ctx, keys.RawPartition("S")) {
				if errors.As(err, &de) {
					failed++
				} else if err == nil {
					good++
				}
			}
			testkit.Expect(t, "entities and errors of Archived", []int{good, failed}, []int{1, 1})
		})
	}
}

// TestSweptMove: the move of a commit record that was swept long ago is complete: its entity can be restored, and another move
// finds it.
func TestSweptMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, e := newPendingMove(t)
	must(t, fx.mover.Archive(ctx, e)) // one of the two messages moves the entity
	must(t, fx.work(ctx))
	later := advanceAndSweepCommitRecords(t, s, 2)
	restored, err := later.mover.Restore(ctx, at(1))
	must(t, err)
	testkit.Expect(t, "restored", restored.Value.Last, "Name1")
	must(t, later.work(ctx))
	wantClerks(t, s, []string{"c_000001=Name1"}, nil)
}

// TestSweptMoveOfAnother: a late move does not withdraw an archived row that another move has moved, whose commit record was swept.
func TestSweptMoveOfAnother(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, e := newPendingMove(t)
	late := s.Messages("moves")[0].Text
	_, err := fx.account.Queues().NewQueueClient("moves").ClearMessages(ctx, nil)
	must(t, err)
	must(t, fx.mover.Archive(ctx, e))
	must(t, fx.work(ctx))
	later := advanceAndSweepCommitRecords(t, s, 1)
	_, err = fx.account.Queues().NewQueueClient("moves").EnqueueMessage(ctx, late, nil)
	must(t, err)
	must(t, later.work(ctx))
	wantArchived(t, later.mover, "Name1")
	wantNoMessages(t, s)
}

// TestOldMessage: a message that arrives after everything of its move was swept is poison, and changes nothing.
func TestOldMessage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, s, _ := newPendingMove(t)
	text := s.Messages("moves")[0].Text
	must(t, fx.work(ctx))
	_, err := fx.mover.Restore(ctx, at(1))
	must(t, err)
	must(t, fx.work(ctx))
	later := advanceAndSweepCommitRecords(t, s, 2)
	sweepLibraryRows(t, fx.mover.Handler, s)
	_, err = fx.account.Queues().NewQueueClient("moves").EnqueueMessage(ctx, text, nil)
	must(t, err)
	must(t, later.work(ctx))
	wantClerks(t, s, []string{"c_000001=Name1"}, nil)
	if got := s.Messages("poison"); len(got) != 1 || !strings.Contains(got[0].Text, "expired") {
		t.Errorf("got poison messages %v; want one of class %s", got, "expired")
	}
}
