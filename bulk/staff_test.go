package bulk_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type employee struct {
	Department string
	ID         int
	Last       string
	Age        int32
}

var (
	dept        = keys.Tuple1(keys.Text())
	empid       = keys.Tuple1(keys.Digits[int](6)).Named("empid")
	staffSchema = table.Schema[employee]{
		Partition: keys.Bind1(dept, func(e *employee) *string { return &e.Department }),
		Row:       keys.Bind1(empid, func(e *employee) *int { return &e.ID }),
	}
	age  = table.FieldOf(func(e *employee) *int32 { return &e.Age })
	last = table.FieldOf(func(e *employee) *string { return &e.Last })
)

// employeeKey returns the key of an employee.
func employeeKey(d string, id int) keys.Key { return keys.At(dept.Of(d), empid.Of(id)) }

// tablesOf returns the Table service of an account.
func tablesOf(s *testkit.Hooked) table.Service {
	acc, err := account.FromConnectionString(s.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: s}})
	check(err)
	return acc.Tables()
}

// newStaff returns an empty table of employees in a service of its own, without pauses between attempts.
func newStaff() (*table.Table[employee], *testkit.Hooked) {
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	o := &table.Options{BlindWrites: true}
	o.Retry.Wait, o.Retry.ConflictWait = -1, -1
	staff, err := table.New(tablesOf(s), "staff", staffSchema, o)
	check(err)
	check(staff.Ensure(context.Background()))
	s.Count()
	return staff, s
}

// staffInMemory is newStaff with employee 1 of Sales.
func staffInMemory(t testing.TB) (*table.Table[employee], *testkit.Hooked) {
	t.Helper()
	staff, s := newStaff()
	_, err := staff.Insert(context.Background(), &employee{"Sales", 1, "Jones", 44})
	noError(t, err)
	s.Count()
	return staff, s
}

// stream returns a stream of n operations.
func stream(n int, op func(int) table.Op) iter.Seq2[table.Op, error] {
	return func(yield func(table.Op, error) bool) {
		for i := range n {
			if !yield(op(i), nil) {
				return
			}
		}
	}
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

// bodyOf returns the body of a request, and leaves it to be read again.
func bodyOf(t testing.TB, r *http.Request) string {
	t.Helper()
	if r.Body == nil {
		return ""
	}
	b, err := io.ReadAll(r.Body)
	noError(t, err)
	r.Body = io.NopCloser(strings.NewReader(string(b)))
	return string(b)
}

// isBatch reports whether a request is a transaction.
func isBatch(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "$batch") }

var noError = testkit.NoError

// check keeps examples short. A program returns its errors.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
