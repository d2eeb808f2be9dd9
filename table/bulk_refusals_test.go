package table_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestRunRefusedOperation: a refused operation ends Run, unless Skip returns true. The result says how many operations were
// applied.
func TestRunRefusedOperation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	inserts := func(staff *table.Table[employee]) iter.Seq2[table.Op, error] {
		return stream(250, func(i int) table.Op {
			if i == 130 {
				return staff.InsertOp(&employee{"Sales", 1, "Again", 1}) // exists
			}
			if i == 7 {
				return staff.InsertOp(&employee{"", 1, "No key", 1})
			}
			return staff.InsertOp(&employee{"Sales", i + 1000, "Jones", 30})
		})
	}
	staff, s := newBulkStaffWithOne(t)
	var skipped []int
	r, err := door.Bulk(ctx, inserts(staff), &engine.BulkOptions{Skip: func(i int, err error) bool {
		skipped = append(skipped, i)
		return errors.Is(err, table.ErrExists) || i == 7
	}})
	if err != nil || r != (engine.BulkResult{Applied: 248, Skipped: 2, ResumeAt: 250}) || fmt.Sprint(skipped) != "[7 130]" {
		t.Errorf(`got %+v, %v, %v; want no error and r == engine.BulkResult{Applied: 248, Skipped: 2, ResumeAt: 250} and skipped == "[7 130]"`, r, err, skipped)
	}
	if got := s.Count().String(); got != "1 get, 4 transaction" {
		t.Errorf("got %q; want %q", got, "1 get, 4 transaction")
	}
	// Without Skip, the first refusal ends Run before its transaction is applied.
	staff, s = newBulkStaffWithOne(t)
	var be *table.BatchError
	r, err = door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		n := 0
		for op := range inserts(staff) {
			if n++; n-1 != 7 && !yield(op, nil) {
				return
			}
		}
	}, nil)
	if !errors.As(err, &be) || be.Index != 129 || !errors.Is(err, table.ErrExists) || be.Key.RowKey() != "empid_000001" || r.ResumeAt > 129 || r.ResumeAt != 99+1 || r.Applied != len(s.Rows("staff"))-1 {
		t.Errorf(`got %+v, %v; want a *table.BatchError and be.Index == 129 and ErrExists and be.Key.RowKey() == "empid_000001" and r.ResumeAt <= 129 and r.ResumeAt == 99+1 and r.Applied == %v`, r, err, len(s.Rows("staff"))-1)
	}
	// An error of the stream ends Run. All operations before it are applied.
	failure := errors.New("the file is corrupt")
	r, err = door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		_ = yield(staff.DeleteAnyOp(employeeKey("Sales", 5000)), nil) && yield(table.Op{}, failure)
	}, nil)
	if !errors.Is(err, failure) || r != (engine.BulkResult{Missing: 1, ResumeAt: 1}) {
		t.Errorf("got %+v, %v; want %v and r == engine.BulkResult{Missing: 1, ResumeAt: 1}", r, err, failure)
	}
}

// TestRunMissing: deletes that find no row are not errors, and cost few requests.
func TestRunMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		there func(i int) bool
		want  string
	}{
		{func(int) bool { return true }, "3 transaction"},
		{func(i int) bool { return i != 150 }, "4 transaction"},
		{func(int) bool { return false }, "3 query, 6 transaction"},
		{func(i int) bool { return i%2 == 0 }, "3 query, 9 transaction"},
	} {
		staff, s := newBulkStaffWithOne(t)
		n := 0
		for i := range 300 {
			if c.there(i) {
				n++
			}
		}
		_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for i := range 300 {
				if c.there(i) && !yield(staff.InsertOp(&employee{"D", i, "Jones", 1}), nil) {
					return
				}
			}
		}, nil)
		noError(t, err)
		s.Count()
		r, err := door.Bulk(ctx, stream(300, func(i int) table.Op { return staff.DeleteAnyOp(employeeKey("D", i)) }), nil)
		if err != nil || r != (engine.BulkResult{Applied: n, Missing: 300 - n, ResumeAt: 300}) || len(s.Rows("staff")) != 1 {
			t.Errorf(`got %+v, %v; want no error and r == %+v and len(s.Rows("staff")) == 1`, r, err, engine.BulkResult{Applied: n, Missing: 300 - n, ResumeAt: 300})
		}
		if got := s.Count().String(); got != c.want {
			t.Errorf("got %s; want %s", got, c.want)
		}
	}
}

// TestRunMixed: deletes that find no row cost few requests among other operations too.
func TestRunMixed(t *testing.T) {
	t.Parallel()
	staff, s := newBulkStaffWithOne(t)
	r, err := door.Bulk(context.Background(), stream(100, func(i int) table.Op {
		if i%2 == 0 {
			return staff.DeleteAnyOp(employeeKey("D", i))
		}
		return staff.UpsertOp(&employee{"D", i, "Jones", 30}, table.ReplaceExisting)
	}), nil)
	if got := s.Count().String(); err != nil || r != (engine.BulkResult{Applied: 50, Missing: 50, ResumeAt: 100}) || !strings.HasSuffix(got, "1 query, 3 transaction") {
		t.Errorf(`got %+v, %v, %q; want no error and r == engine.BulkResult{Applied: 50, Missing: 50, ResumeAt: 100} and strings.HasSuffix(got, "1 query, 3 transaction")`, r, err, got)
	}
	// After a lost response, a missing row was deleted.
	s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.LostResponse())))
	done, err := table.BulkDelete(context.Background(), staff, table.Query[employee]{Partition: dept.PartitionKey("D")}, nil)
	if err != nil || done.Changed != 50 || done.Rows != 50 {
		t.Errorf("got %+v, %v; want no error and 50 deleted rows", done, err)
	}
}

// TestShortReadBack: rows behind the page that a bulk delete reads back are not taken for deleted.
func TestShortReadBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newBulkStaffWithOne(t)
	exists := func(i int) bool { return i != 3 && i != 5 }
	_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 90 {
			if exists(i) && !yield(staff.InsertOp(&employee{"D", i, "Jones", 1}), nil) {
				return
			}
		}
	}, nil)
	noError(t, err)
	s.SetFaults(storagetest.OfKind(requests.Query, storagetest.ShortPage(10)))
	r, err := door.Bulk(ctx, stream(90, func(i int) table.Op { return staff.DeleteAnyOp(employeeKey("D", i)) }), nil)
	if want := (engine.BulkResult{Applied: 90 - 2, Missing: 2, ResumeAt: 90}); err != nil || r != want {
		t.Errorf("got %+v, %v; want %+v", r, err, want)
	}
	if left := s.Rows("staff"); len(left) != 1 {
		t.Errorf("got %d rows; want the one that was not to be deleted", len(left))
	}
}
