package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestEarlierRefusals: an exact write that is refused for a reason that may pass, and then for good, stores an abort record.
// Its first request may still arrive.
func TestEarlierRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o := noWaitOptions()
	o.Retry.ConflictAttempts = 2
	people, s := newTown(t, o)
	rows := residentRows(t, s)
	list := residentRow(t, "last_Jones", map[string]any{"IDs": "7"})
	s.SetFaults(batchFault(1, storagetest.LateDuplicate(0)))
	beforeBatch(s, func(n int) {
		switch n {
		case 1: // the plan finds no list, and the write finds one
			_, err := rows.InsertAt(ctx, list.Key, list)
			noError(t, err)
		case 2: // the plan finds the list, and the write finds another ETag
			_, err := baretest.UpsertAt(ctx, rows, list.Key, residentRow(t, "last_Jones", map[string]any{"IDs": "7 8"}), table.ReplaceExisting)
			noError(t, err)
		}
	})
	_, err := people.Exact().Insert(ctx, &resident{"S", 1, "Jones", ""})
	if !errors.Is(err, table.ErrContended) {
		t.Fatalf("got %v; want ErrContended", err)
	}
	s.BeforeRequest = nil
	s.SetFaults(nil)
	noError(t, rows.DeleteAny(ctx, list.Key))
	s.Deliver()
	for _, r := range s.Rows("people") {
		if r.RowKey == residentAt(1).RowKey() {
			t.Errorf("got %+v; want no row, since the write was reported as refused", r)
		}
	}
}

// TestRepeatedDelete: if a delete finds no row, the error says that the network may have repeated the delete.
func TestRepeatedDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	deletes := map[string]func(*table.Table[employee], *table.Entity[employee]) error{
		"Delete": func(staff *table.Table[employee], e *table.Entity[employee]) error { return staff.Delete(ctx, e) },
		"DeleteAny": func(staff *table.Table[employee], e *table.Entity[employee]) error {
			return staff.DeleteAny(ctx, e.Key)
		},
		"DeleteOp": func(staff *table.Table[employee], e *table.Entity[employee]) error {
			_, err := table.Transact(ctx, staff.DeleteOp(e))
			return err
		},
		"DeleteAnyOp": func(staff *table.Table[employee], e *table.Entity[employee]) error {
			_, err := table.Transact(ctx, staff.DeleteAnyOp(e.Key))
			return err
		},
	}
	for method, remove := range deletes {
		staff, e, s := staffInMemory(t, &table.Options{})
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind != requests.Get }, storagetest.Twice()))
		err := remove(staff, e)
		var re *azcore.ResponseError
		if !errors.Is(err, table.ErrNotFound) || !strings.Contains(err.Error(), "repeated") || !errors.As(err, &re) {
			t.Errorf("%s: got %v; want ErrNotFound that names the repetition", method, err)
		}
	}
}

// TestRepeatedUpdate: Update does not take its own duplicated write for a conflict, even in the last attempt.
func TestRepeatedUpdate(t *testing.T) {
	t.Parallel()
	o := &table.Options{}
	o.Retry.ConflictAttempts = 1
	staff, e, s := staffInMemory(t, o)
	s.SetFaults(storagetest.OfKind(requests.Replace, storagetest.Twice()))
	e, err := staff.Update(context.Background(), e.Key, func(e *employee) error { e.Age++; return nil })
	if err != nil || e.Value.Age != 45 || s.Rows("staff")[0].Get("Age") != int32(45) {
		t.Errorf(`got %+v, %v; want no error and e.Value.Age == 45 and s.Rows("staff")[0].Get("Age") == int32(45)`, e, err)
	}
}
