package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestEarlierRefusals: an exact write that was refused for something that may pass, and then for good, stores the abort record all
// the same: its first request may still arrive once more, when nothing is in its way.
func TestEarlierRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := quick()
	o.Retry.ConflictAttempts = 2
	people, s := town(t, o)
	rows := byHand(s)
	list := handmade("last_Jones", map[string]any{"IDs": "7"})
	s.SetFaults(batchFault(1, storagetest.LateDuplicate(0)))
	s.beforeBatch(func(n int) {
		switch n {
		case 1: // the list is not there when it is planned, and is when it is written
			_, err := rows.InsertAt(ctx, list.Key, list)
			check(err)
		case 2: // it is there when it is planned, and has another ETag when it is written
			_, err := rows.UpsertAt(ctx, list.Key, handmade("last_Jones", map[string]any{"IDs": "7 8"}), table.ReplaceExisting)
			check(err)
		}
	})
	_, err := people.Exact().Insert(ctx, &resident{"S", 1, "Jones", ""})
	if !errors.Is(err, table.ErrContended) {
		t.Fatalf("got %v, want ErrContended", err)
	}
	s.before = nil
	s.SetFaults(nil)
	check(rows.DeleteAny(ctx, list.Key))
	s.Deliver()
	for _, r := range s.Rows("people") {
		if r.RowKey == residentAt(1).RowKey() {
			t.Errorf("the write was done by its first request, after it was told as refused: %+v", r)
		}
	}
}

// TestShortReadBack: rows behind the page that a bulk delete reads to see what is there are not taken for gone.
func TestShortReadBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, _, s := inMemory(t, nil)
	there := func(i int) bool { return i != 3 && i != 5 }
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 90 {
			if there(i) && !yield(staff.InsertOp(&employee{"D", i, "Jones", 1}), nil) {
				return
			}
		}
	}, nil)
	check(err)
	s.SetFaults(storagetest.OfKind("query", storagetest.ShortPage(10)))
	r, err := table.Bulk(ctx, stream(90, func(i int) table.Op { return staff.DeleteAnyOp(at("D", i)) }), nil)
	if want := (table.BulkResult{Done: 90 - 2, Missing: 2, ResumeAt: 90}); err != nil || r != want {
		t.Errorf("got %+v, %v, want %+v", r, err, want)
	}
	if left := s.Rows("staff"); len(left) != 1 {
		t.Errorf("got %d rows, want the one that was not to be deleted", len(left))
	}
}

// TestRepeatedDelete: a delete that finds nothing says that it may have been its own request, repeated by the network.
func TestRepeatedDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, together := range []bool{false, true} {
		staff, e, s := inMemory(t, nil)
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind != "get" }, storagetest.Twice()))
		err := staff.Delete(ctx, e)
		if together {
			e, err = staff.Insert(ctx, &employee{"Sales", 2, "New", 1})
			check(err)
			_, err = table.Transact(ctx, staff.DeleteOp(e))
		}
		var re *azcore.ResponseError
		if !errors.Is(err, table.ErrNotFound) || !strings.Contains(err.Error(), "repeated") || !errors.As(err, &re) {
			t.Errorf("together=%v: got %v, want ErrNotFound that names the repetition", together, err)
		}
	}
}
