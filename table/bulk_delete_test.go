package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestDelete: Delete keeps rows of other types, reads keys alone, and checks rows again that have changed.
func TestDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newBulkStaffWithOne(t)
	_, err := door.Bulk(ctx, stream(1500, func(i int) table.Op {
		return staff.InsertOp(&employee{"D", i, "Jones", int32(i % 2)})
	}), nil)
	noError(t, err)
	rows, err := bare.NewTable(serviceOf(t, s), "staff", table.Schema[table.Row]{}, nil)
	noError(t, err)
	other, err := rows.Insert(ctx, &table.Row{Key: keys.At(keys.RawPartition("D"), keys.RawRow("empid_review"))})
	noError(t, err)
	s.Count()
	q := table.Query[employee]{Partition: dept.PartitionKey("D"), Where: age.Eq(1)}
	r, err := table.BulkDelete(ctx, staff, q, nil)
	if err != nil || r.Changed != 750 || r.Rows != 750 {
		t.Errorf("got %+v, %v; want no error and 750 deleted rows", r, err)
	}
	if got := s.Count().String(); got != "8 transaction, 2 query" && got != "2 query, 8 transaction" && got != "1 query, 8 transaction" {
		t.Errorf(`got %q; want "8 transaction, 2 query" or "2 query, 8 transaction" or "1 query, 8 transaction"`, got)
	}
	// Two of the remaining rows change meanwhile: one no longer matches the query, the other still does.
	e7, err := staff.Get(ctx, employeeKey("D", 8))
	noError(t, err)
	e9, err := staff.Get(ctx, employeeKey("D", 10))
	noError(t, err)
	once := true
	s.BeforeRequest = func(r *http.Request) {
		if strings.Contains(r.URL.Path, "$batch") && once {
			once = false
			noError(t, staff.Merge(ctx, e7, age.Set(5)))
			noError(t, staff.Merge(ctx, e9, last.Set("Smith")))
		}
	}
	q.Where = age.Eq(0)
	r, err = table.BulkDelete(ctx, staff, q, nil)
	if left := s.Rows("staff"); err != nil || r.Changed != 749 || len(left) != 3 || left[0].RowKey != "empid_000008" || left[1].RowKey != other.Key.RowKey() {
		t.Errorf(`got %+v, %v, %v; want no error and r.Changed == 749 and len(left) == 3 and left[0].RowKey == "empid_000008" and left[1].RowKey == %q`, r, err, len(left), other.Key.RowKey())
	}
	if _, err := table.BulkDelete(ctx, staff, table.Query[employee]{}, nil); !errors.Is(err, table.ErrTableScan) {
		t.Errorf("got %v; want ErrTableScan", err)
	}
}

// TestDeleteBounds: Delete keeps a limit and a budget, refuses a cursor, and deletes only rows of its type if several
// types share a range of keys.
func TestDeleteBounds(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newBulkStaffWithOne(t)
	_, err := door.Bulk(ctx, stream(150, upserts(staff, 1)), nil)
	noError(t, err)
	e, err := staff.Get(ctx, employeeKey("D0", 3))
	noError(t, err)
	s.BeforeRequest = func(r *http.Request) {
		if isBatch(r) {
			s.BeforeRequest = nil
			noError(t, staff.Merge(ctx, e, last.Set("Smith")))
		}
	}
	q := table.Query[employee]{Partition: dept.PartitionKey("D0"), Limit: 10}
	if r, err := table.BulkDelete(ctx, staff, q, nil); err != nil || !reflect.DeepEqual(r, table.Progress{Rows: 10, Changed: 10}) || len(s.Rows("staff")) != 141 {
		t.Errorf(`got %+v, %v; want no error, 10 deleted rows and len(s.Rows("staff")) == 141`, r, err)
	}
	q.Limit, q.Budget.Rows = 0, 50
	for i := range 3 {
		r, err := table.BulkDelete(ctx, staff, q, nil)
		if want := min(50, 140-50*i); r.Changed != want || errors.Is(err, table.ErrBudget) != (want == 50) {
			t.Errorf("%v: got %+v, %v; want r.Applied == %v and errors.Is(err, table.ErrBudget) == %v", i, r, err, want, want == 50)
		}
	}
	var ve *table.ValueError
	if _, err := table.BulkDelete(ctx, staff, table.Query[employee]{Partition: dept.PartitionKey("D0"), Cursor: &table.Cursor{}}, nil); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *table.ValueError", err)
	}

	type user struct{ Team, Mail string }
	mail := keys.Text()
	users, err := bare.NewTable(serviceOf(t, s), "staff", table.Schema[user]{
		Partition: keys.Partition(dept, func(u *user) *string { return &u.Team }),
		Row:       keys.RowFunc(mail, func(u *user) string { return strings.ToLower(u.Mail) }),
	}, nil)
	noError(t, err)
	_, err = users.Insert(ctx, &user{"Sales", "A@x"})
	noError(t, err)
	if r, err := table.BulkDelete(ctx, users, table.Query[user]{Partition: dept.PartitionKey("Sales")}, nil); err != nil || r.Changed != 1 || len(s.Rows("staff")) != 1 {
		t.Errorf("got %+v, %v, %d rows; want one deleted, and the employee left", r, err, len(s.Rows("staff")))
	}
}

// TestDeleteRefused: a delete that a maintainer refuses is not counted as missing.
func TestDeleteRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	base, _ := newBulkStaffWithOne(t)
	fails := fmt.Errorf("its department: %w", table.ErrNotFound)
	staff, err := bare.With(base, maintains(func(*extend.Plan, *extend.Change[employee]) error { return fails }))
	noError(t, err)
	r, err := table.BulkDelete(ctx, staff, table.Query[employee]{Partition: dept.PartitionKey("Sales")}, nil)
	if !errors.Is(err, fails) || !reflect.DeepEqual(r, table.Progress{}) {
		t.Errorf("got %+v %v; want %v and no deleted row", r, err, fails)
	}
}

// TestDeleteLostResponse: a row that is gone after a lost response counts as deleted, for one row and for several.
func TestDeleteLostResponse(t *testing.T) {
	t.Parallel()
	for n := 1; n < 3; n++ {
		staff, s := newBulkStaffWithOne(t)
		_, err := door.Bulk(context.Background(), stream(n, upserts(staff, 1)), nil)
		noError(t, err)
		s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.Once(storagetest.LostResponse())))
		r, err := table.BulkDelete(context.Background(), staff, table.Query[employee]{Partition: dept.PartitionKey("D0")}, nil)
		if err != nil || !reflect.DeepEqual(r, table.Progress{Rows: n, Changed: n}) {
			t.Errorf("got %v, %+v, %v; want no error and %d deleted rows", n, r, err, n)
		}
	}
}
