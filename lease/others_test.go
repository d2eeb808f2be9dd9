package lease_test

import (
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// TestPassedOver: lists, counts, checks and deletions leave out the rows of holders; an export contains them, and an import leaves them out.
func TestPassedOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := storagetest.New(nil)
		store := aztablekit.Open(s, "work", &aztablekit.Options{Daily: -1})
		leases := lease.New(store, "leases", nil)
		registers := aztablekit.Table(store, registerName, group, id, named{})
		testkit.NoError(t, store.Ensure(ctx))
		for range 3 {
			held, err := leases.Acquire(ctx, "x")
			testkit.NoError(t, err)
			p, err := held.In(ctx, registers, group.Of("S"))
			testkit.NoError(t, err)
			_, err = table.Transact(ctx, p.Guard(), registers.InsertOp(&register{Group: "S", ID: int(held.Fence()), N: held.Fence()}))
			testkit.NoError(t, err)
			testkit.NoError(t, held.Release(ctx))
		}
		n, err := registers.Count(ctx, table.Query[register]{Partition: group.Of("S")})
		testkit.NoError(t, err)
		testkit.Expect(t, "entities", n, 3)
		for e, err := range registers.List(ctx, table.Query[register]{Partition: group.Of("S")}) {
			testkit.NoError(t, err)
			testkit.Expect(t, "an entity of a list", int64(e.Value.ID), e.Value.N)
		}
		checked, err := store.Verify(ctx, nil)
		testkit.NoError(t, err)
		testkit.Expect(t, "faults", len(derived.Kinds(checked)), 0)

		place := transfer.Folder(t.TempDir())
		report, err := transfer.Export(ctx, registers, place, nil)
		testkit.NoError(t, err)
		testkit.Expect(t, "rows of holders in an export", report.Counts["~h"], 2)
		other := storagetest.New(nil)
		restored := aztablekit.Open(other, "restored", &aztablekit.Options{Daily: -1})
		again := lease.New(restored, "leases2", nil)
		copies := aztablekit.Table(restored, registerName, group, id, named{})
		testkit.NoError(t, restored.Ensure(ctx))
		imported, err := transfer.Import(ctx, transfer.Exported(place), copies, nil)
		testkit.NoError(t, err)
		testkit.Expect(t, "rows that an import leaves out", imported.Skipped, 2)
		held, err := again.Acquire(ctx, "x")
		testkit.NoError(t, err)
		_, err = held.In(ctx, copies, group.Of("S"))
		testkit.NoError(t, err)
		_, err = table.BulkDelete(ctx, registers, table.Query[register]{Partition: group.Of("S")}, nil)
		testkit.NoError(t, err)
		held, err = leases.Acquire(ctx, "x")
		testkit.NoError(t, err)
		testkit.Expect(t, "fence", held.Fence(), 4)
		_, err = held.In(ctx, registers, group.Of("S")) // the deletion has left the head
		testkit.NoError(t, err)
	})
}

// TestImportedGuard: an import beside programs does not bring back the guard of a holder that has lost its lease.
func TestImportedGuard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		_, a, b := inMemory(t, nil)
		first, g := a.enter(t)
		place := transfer.Folder(t.TempDir())
		_, err := transfer.Export(ctx, a.registers, place, nil)
		testkit.NoError(t, err)
		testkit.NoError(t, first.Release(ctx))
		_, _ = b.enter(t)
		_, err = transfer.Import(ctx, transfer.Exported(place), b.registers, nil)
		testkit.NoError(t, err)
		first.Believe() // it was asleep
		expectIs(t, "a write of the first holder", a.add(ctx, g, first.Fence()), lease.ErrLost)
	})
}
