package archive_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestMoveWithGlobalValue: an entity whose last name is unique in all partitions gives the name up when it is archived, and takes it
// again when it is restored.
func TestMoveWithGlobalValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byLast := index.NewUnique("last", keys.Text(), func(c *clerk) (string, bool) { return c.Last, true }, nil)
	fx, s := newFixture(t, func(fx *fixture) (err error) {
		if fx.current, err = baretest.WithOutbox(fx.current, fx.outbox); err != nil {
			return err
		}
		if fx.current, err = baretest.Attach(fx.current, byLast); err != nil {
			return err
		}
		return baretest.Ensure(ctx, fx.current)
	})
	rows := func() (owners, marks []string) {
		for _, r := range s.Rows("currentlast") {
			if !strings.HasPrefix(r.RowKey, "~") {
				owners = append(owners, r.PartitionKey)
			}
			if r.Get("_tx") != nil {
				marks = append(marks, r.RowKey)
			}
		}
		return owners, marks
	}
	owned := func(what string, want int) {
		t.Helper()
		if owners, marks := rows(); len(owners) != want || len(marks) != 0 {
			t.Errorf("%s: got the owned names %v and the marks %v; want %d and none", what, owners, marks, want)
		}
	}
	e := insertClerk(t, fx, s, 1)
	owned("inserted", 1)
	must(t, fx.mover.Archive(ctx, e))
	owned("requested", 1)
	must(t, fx.work(ctx))
	owned("archived", 0)
	if _, err := byLast.Get(ctx, fx.current, "Name1"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v; want ErrNotFound", err)
	}
	back, err := fx.mover.Restore(ctx, at(1))
	must(t, err)
	owned("restored", 1)
	must(t, fx.work(ctx))
	owned("worked off", 1)
	must(t, pendingRecords(s))
	found, err := byLast.Get(ctx, fx.current, "Name1")
	must(t, err)
	testkit.Expect(t, "the restored entity", found.Key, back.Key)
}

// pendingRecords returns an error if a commit record is pending, or a preparation.
func pendingRecords(s *storagetest.Service) error {
	for _, name := range []string{"current", "currentlast"} {
		for _, r := range s.Rows(name) {
			if r.Get("State") == "pending" {
				return errors.New(name + " has the pending row " + r.RowKey)
			}
		}
	}
	return nil
}
