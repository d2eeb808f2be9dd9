package table_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// newBulkStaff returns an empty table of employees in a service of its own, without pauses between attempts.
func newBulkStaff() (*table.Table[employee], *testkit.Hooked) {
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	o := &table.Options{BlindWrites: true}
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	service, err := openService(s)
	check(err)
	staff, err := bare.NewTable(service, "staff", staffSchema, o)
	check(err)
	check(tabledoor.Ensure(context.Background(), staff))
	s.Count()
	return staff, s
}

// newBulkStaffWithOne is newBulkStaff with employee 1 of Sales.
func newBulkStaffWithOne(t testing.TB) (*table.Table[employee], *testkit.Hooked) {
	t.Helper()
	staff, s := newBulkStaff()
	_, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
	noError(t, err)
	s.Count()
	return staff, s
}

// upserts returns upserts of employees in a number of departments.
func upserts(staff *table.Table[employee], departments int) func(int) table.Op {
	return func(i int) table.Op {
		return staff.UpsertOp(&employee{fmt.Sprint("D", i%departments), i, "Jones", 30}, table.ReplaceExisting)
	}
}

// inserts returns inserts of employees into one department.
func inserts(staff *table.Table[employee]) func(int) table.Op {
	return func(i int) table.Op { return staff.InsertOp(&employee{"D", i + 1, "Jones", 30}) }
}
