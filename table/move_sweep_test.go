package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// laterProgram returns the town of a program whose clock says that two days have passed.
func laterProgram(t testing.TB, s *storagetest.Service) *table.Table[resident] {
	t.Helper()
	o := noWaitOptions()
	options.SetNow(&o.Common, func() time.Time { return time.Now().Add(50 * time.Hour) })
	people, _ := townProgram(t, s, o)
	return people
}

// recordsOf returns how many commit and abort records a partition has.
func recordsOf(s *storagetest.Service, partition string) (n int) {
	for _, r := range s.Rows("people") {
		if r.PartitionKey == partition && strings.HasPrefix(r.RowKey, "~i|") {
			n++
		}
	}
	return n
}

// movedTown returns a town in which resident 1 was moved to M, by a write that is done.
func movedTown(t testing.TB) *testkit.Hooked {
	t.Helper()
	ctx := context.Background()
	people, s, out := movingTown(t)
	noError(t, moveToM(ctx, t, people, s, 1, 0, nil))
	r, err := records.Of(people).Get(ctx, keys.RawPartition("S"), out.last.OperationID)
	noError(t, err)
	noError(t, records.Of(people).MarkDone(ctx, r))
	testkit.Expect(t, "preparations", len(preparations(s.Service)), 1)
	return s
}

// TestMoveSwept: two days after a move, the sweep of either partition deletes what the move has prepared, and nothing before that.
func TestMoveSwept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, partition := range []string{"S", "M"} {
		s := movedTown(t)
		now, _ := townProgram(t, s.Service, nil)
		_, err := baretest.SweepRecords(ctx, now, keys.RawPartition(partition))
		noError(t, err)
		testkit.Expect(t, "preparations after a sweep at once", len(preparations(s.Service)), 1)
		_, err = baretest.SweepRecords(ctx, laterProgram(t, s.Service), keys.RawPartition(partition))
		noError(t, err)
		testkit.Expect(t, "preparations after the sweep of "+partition, len(preparations(s.Service)), 0)
		testkit.Expect(t, "rows", storedRows(s), townAfter)
	}
}

// TestMoveRolledBackSwept: the abort record of a move names what the move has prepared, so that both are swept together.
func TestMoveRolledBackSwept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := movingTown(t)
	crashedMove(t, s.Service, 2) // prepared, and not committed
	reader, _ := townProgram(t, s.Service, noWaitOptions())
	if _, err := reader.Get(ctx, keys.At(dept.PartitionKey("M"), residentID.Of(1))); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Get: got error %v; want ErrNotFound", err)
	}
	testkit.Expect(t, "preparations", len(preparations(s.Service)), 1)
	before := recordsOf(s.Service, "S")
	_, err := baretest.SweepRecords(ctx, laterProgram(t, s.Service), keys.RawPartition("S"))
	noError(t, err)
	testkit.Expect(t, "preparations after the sweep", len(preparations(s.Service)), 0)
	testkit.Expect(t, "records that the sweep deletes", before-recordsOf(s.Service, "S") > 0, true)
	testkit.Expect(t, "rows", storedRows(s), townBefore)
}

// TestMoveSweepRefused: what a move has prepared cannot be deleted. Its commit record stays, since it alone names the partition.
func TestMoveSweepRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := movedTown(t)
	before := recordsOf(s.Service, "S")
	s.SetFaults(storagetest.When(func(r storagetest.Request) bool { return r.Kind == requests.Delete && r.PartitionKey == "M" }, storagetest.Refuse(403, "AuthorizationFailure")))
	if _, err := baretest.SweepRecords(ctx, laterProgram(t, s.Service), keys.RawPartition("S")); err == nil {
		t.Error("a sweep that may not delete: got no error; want one")
	}
	testkit.Expect(t, "records", recordsOf(s.Service, "S"), before)
	s.SetFaults(nil)
	_, err := baretest.SweepRecords(ctx, laterProgram(t, s.Service), keys.RawPartition("S"))
	noError(t, err)
	testkit.Expect(t, "preparations", len(preparations(s.Service)), 0)
}
