package archive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestArchiveAndChangeOfPartition: an entity goes to another partition before any request of the worker that archives it. In the end
// it is archived or in the other partition, and in one place only.
func TestArchiveAndChangeOfPartition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	away := keys.At(dept.PartitionKey("T"), cid.RowKey(1))
	moves, archives := 0, 0
	for at := 1; ; at++ {
		fx, s, e := newPendingMove(t)
		staff, err := baretest.WithOutbox(fx.current, fx.outbox)
		must(t, err)
		other, i := newInterceptedFixture(t, s)
		n := 0
		var moved error
		i.before = func(storagetest.Request) error {
			if n++; n == at {
				e.Value.Dept = "T"
				moved = staff.Move(ctx, e)
			}
			return nil
		}
		must(t, other.work(ctx))
		i.before = nil
		if n < at {
			break
		}
		must(t, fx.work(ctx))
		must(t, pendingRecords(s))
		there, err := staff.Get(ctx, away)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			t.Fatal(err)
		}
		_, archived, err := fx.mover.Find(ctx, at1)
		if err != nil && !errors.Is(err, table.ErrNotFound) {
			t.Fatal(err)
		}
		found := err == nil
		switch {
		case moved == nil && there != nil && !found:
			moves++
		case errors.Is(moved, table.ErrNotFound) && there == nil && found && archived:
			archives++
		default:
			t.Errorf("moved before request %d (%v): in the other partition %v, found under the old key %v, archived %v; want one place", at, moved, there != nil, found, archived)
		}
	}
	if moves == 0 || archives == 0 {
		t.Errorf("got %d moves and %d archived entities; want both", moves, archives)
	}
}

// at1 is the key under which newPendingMove stores its entity.
var at1 = at(1)
