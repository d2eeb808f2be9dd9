package table_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

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

// TestBulkRequests: Bulk makes as few transactions as possible.
func TestBulkRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		what           string
		n, departments int
		o              table.BulkOptions
		want           string
	}{
		{"one partition", 1050, 1, table.BulkOptions{}, "11 transaction"},
		{"ten mixed partitions", 1050, 10, table.BulkOptions{}, "20 transaction"}, // 105 each
		{"one at a time", 300, 3, table.BulkOptions{Width: 1}, "3 transaction"},
		{"nothing", 0, 1, table.BulkOptions{}, "none"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			staff, _, s := staffInMemory(t, nil)
			last := table.BulkResult{}
			c.o.Progress = func(r table.BulkResult) {
				if r.Done <= last.Done || r.ResumeAt < last.ResumeAt {
					t.Errorf("got progress from %+v to %+v; want it to grow", last, r)
				}
				last = r
			}
			r, err := table.Bulk(ctx, stream(c.n, upserts(staff, c.departments)), &c.o)
			if err != nil || r != (table.BulkResult{Done: c.n, ResumeAt: c.n}) || r != last && c.n > 0 {
				t.Errorf("got %+v, %+v, %v; want no error and r == %+v and (r == %+v or c.n <= 0)", r, last, err, table.BulkResult{Done: c.n, ResumeAt: c.n}, last)
			}
			if got := s.Count().String(); got != c.want {
				t.Errorf("got %s; want %s", got, c.want)
			}
			if got := len(s.Rows("staff")) - 1; got != c.n {
				t.Errorf("got %v; want %v", got, c.n)
			}
		})
	}
}

// TestBulkWindow: the number of waiting operations is bounded, which makes transactions smaller if there are many partitions.
func TestBulkWindow(t *testing.T) {
	t.Parallel()
	staff, _, s := staffInMemory(t, nil)
	_, err := table.Bulk(context.Background(), stream(1000, upserts(staff, 50)), &table.BulkOptions{Window: 100})
	counts := s.Count()
	if n := counts[requests.Transaction]; err != nil || counts.Total() != n || n < 200 || n > 700 {
		t.Errorf("got %v, %v; want no error and 200 to 700 transactions", counts, err)
	}
	_, err = table.Bulk(context.Background(), stream(1000, upserts(staff, 50)), nil)
	if got := s.Count().String(); err != nil || got != "50 transaction" {
		t.Errorf(`got %q, %v; want no error and "50 transaction"`, got, err)
	}
}

// TestBulkWindowBytes: the size of the waiting operations is bounded too. A delete counts with the row of its entity.
func TestBulkWindowBytes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, _, _ := staffInMemory(t, nil)
	const n, size = 300, 10_000
	_, err := table.Bulk(ctx, stream(n, func(i int) table.Op {
		return staff.InsertOp(&employee{"D", i, strings.Repeat("x", size), 30})
	}), nil)
	noError(t, err)
	var es []*table.Entity[employee]
	for e, err := range staff.List(ctx, table.Query[employee]{Partition: dept.Of("D")}) {
		noError(t, err)
		es = append(es, e)
	}
	applied, most := 0, 0
	r, err := table.Bulk(ctx, stream(n, func(i int) table.Op {
		most = max(most, i-applied)
		return staff.DeleteOp(es[i])
	}), &table.BulkOptions{Width: 1, WindowBytes: 10 * size, Progress: func(r table.BulkResult) { applied = r.ResumeAt }})
	if err != nil || r.Done != n || most > 25 { // ten that wait, and ten under way
		t.Errorf("got %+v, %v, %v; want no error and r.Done == n and most <= 25", r, err, most)
	}
}

// TestBulkOrder: operations on one row are applied in their order, even over several transactions.
func TestBulkOrder(t *testing.T) {
	t.Parallel()
	staff, _, s := staffInMemory(t, nil)
	r, err := table.Bulk(context.Background(), stream(500, func(i int) table.Op {
		return staff.UpsertOp(&employee{"D", i % 7, "Jones", int32(i)}, table.ReplaceExisting)
	}), nil)
	if err != nil || r.Done != 500 {
		t.Fatalf("got %+v, %v; want no error and r.Done == 500", r, err)
	}
	for _, row := range s.Rows("staff")[:7] {
		if n := row.Get("Age").(int32); n < 493 {
			t.Errorf("got %+v; want n >= 493", row)
		}
	}
}

// TestBulkBytes: large entities make smaller transactions, none above 4 MiB. With the library's policies, each transaction is
// full. Without them, none is too large.
func TestBulkBytes(t *testing.T) {
	t.Parallel()
	for _, policies := range []bool{true, false} {
		s := &hookedService{Service: storagetest.New(nil)}
		client := azcore.ClientOptions{Transport: s}
		if policies {
			client = table.ClientOptions(client, nil)
		}
		service, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{ClientOptions: client})
		noError(t, err)
		rows, err := table.New(service, "rows", table.Schema[table.Row]{}, nil)
		noError(t, err)
		noError(t, rows.Ensure(context.Background()))
		s.Count()
		var sizes, counts []int
		s.beforeRequest = func(r *http.Request) {
			body := bodyOf(t, r)
			sizes, counts = append(sizes, len(body)), append(counts, strings.Count(body, "Content-Transfer-Encoding"))
		}
		r, err := table.Bulk(context.Background(), stream(400, func(i int) table.Op {
			row := &table.Row{Key: keys.At(keys.Raw("P"), keys.Raw(fmt.Sprintf("%03d", i)))}
			noError(t, errors.Join(row.Set("F0", strings.Repeat("x<", 5994)), row.Set("F1", "x"))) // the SDK sends < as \u003c
			return rows.InsertOp(row)
		}), &table.BulkOptions{Width: 1})
		if err != nil || r.Done != 400 || len(sizes) != 5 || slices.Max(sizes) > 4<<20 {
			t.Errorf("%v: got %+v, %v, %v, %v; want no error and r.Done == 400 and len(sizes) == 5 and slices.Max(sizes) <= 4<<20", policies, r, err, sizes, counts)
		}
		each := sizes[0] / counts[0]                   // a little more than each is
		for i, size := range sizes[2 : len(sizes)-1] { // the first two were packed before the policies were known
			if policies && size+each <= 4<<20 || size+3*each <= 4<<20 {
				t.Errorf("policies %v, transaction %d: got %d bytes, %d for each entity; want no room for another entity below 4 MiB", policies, i, size, each)
			}
		}
	}
}

// TestBulkRefusedOperation: a refused operation ends Bulk, unless Skip returns true. The result says how many operations were
// applied.
func TestBulkRefusedOperation(t *testing.T) {
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
	staff, _, s := staffInMemory(t, nil)
	var skipped []int
	r, err := table.Bulk(ctx, inserts(staff), &table.BulkOptions{Skip: func(i int, err error) bool {
		skipped = append(skipped, i)
		return errors.Is(err, table.ErrExists) || i == 7
	}})
	if err != nil || r != (table.BulkResult{Done: 248, Skipped: 2, ResumeAt: 250}) || fmt.Sprint(skipped) != "[7 130]" {
		t.Errorf(`got %+v, %v, %v; want no error and r == table.BulkResult{Done: 248, Skipped: 2, ResumeAt: 250} and skipped == "[7 130]"`, r, err, skipped)
	}
	if got := s.Count().String(); got != "1 get, 4 transaction" {
		t.Errorf("got %q; want %q", got, "1 get, 4 transaction")
	}
	// Without Skip, the first refusal ends Bulk before its transaction is applied.
	staff, _, s = staffInMemory(t, nil)
	var be *table.BulkError
	r, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		n := 0
		for op := range inserts(staff) {
			if n++; n-1 != 7 && !yield(op, nil) {
				return
			}
		}
	}, nil)
	if !errors.As(err, &be) || be.Index != 129 || !errors.Is(err, table.ErrExists) || be.Key.RowKey() != "empid_000001" || r.ResumeAt > 129 || r.ResumeAt != 99+1 || r.Done != len(s.Rows("staff"))-1 {
		t.Errorf(`got %+v, %v; want a *BulkError and be.Index == 129 and ErrExists and be.Key.RowKey() == "empid_000001" and r.ResumeAt <= 129 and r.ResumeAt == 99+1 and r.Done == %v`, r, err, len(s.Rows("staff"))-1)
	}
	// An error of the stream ends Bulk. All operations before it are applied.
	failure := errors.New("the file is corrupt")
	r, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		_ = yield(staff.DeleteAnyOp(employeeKey("Sales", 5000)), nil) && yield(table.Op{}, failure)
	}, nil)
	if !errors.Is(err, failure) || r != (table.BulkResult{Missing: 1, ResumeAt: 1}) {
		t.Errorf("got %+v, %v; want %v and r == table.BulkResult{Missing: 1, ResumeAt: 1}", r, err, failure)
	}
}

// TestBulkMissing: deletes that find no row are not errors, and cost few requests.
func TestBulkMissing(t *testing.T) {
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
		staff, _, s := staffInMemory(t, nil)
		n := 0
		for i := range 300 {
			if c.there(i) {
				n++
			}
		}
		_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for i := range 300 {
				if c.there(i) && !yield(staff.InsertOp(&employee{"D", i, "Jones", 1}), nil) {
					return
				}
			}
		}, nil)
		noError(t, err)
		s.Count()
		r, err := table.Bulk(ctx, stream(300, func(i int) table.Op { return staff.DeleteAnyOp(employeeKey("D", i)) }), nil)
		if err != nil || r != (table.BulkResult{Done: n, Missing: 300 - n, ResumeAt: 300}) || len(s.Rows("staff")) != 1 {
			t.Errorf(`got %+v, %v; want no error and r == %+v and len(s.Rows("staff")) == 1`, r, err, table.BulkResult{Done: n, Missing: 300 - n, ResumeAt: 300})
		}
		if got := s.Count().String(); got != c.want {
			t.Errorf("got %s; want %s", got, c.want)
		}
	}
}

// TestBulkMaintained: derived rows change in the transactions of their entities.
func TestBulkMaintained(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, s := newTown(t, nil)
	n := 300
	_, err := table.Bulk(ctx, stream(n, func(i int) table.Op {
		return people.InsertOp(&resident{"S", i + 1, fmt.Sprint("L", i%5), fmt.Sprint("m", i)})
	}), nil)
	noError(t, err)
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
	// A transaction contains 47 residents: two operations for each, and those of the five lists, which the transaction loads. The
	// next resident is planned too, since only its plan shows that it does not fit.
	if got := s.Count().String(); got != "35 get, 7 transaction" {
		t.Errorf("got %q; want %q", got, "35 get, 7 transaction")
	}
	r, err := people.DeleteQuery(ctx, table.Query[resident]{Partition: dept.Of("S"), Where: lastName.Eq("L3")}, nil)
	if err != nil || r.Done != 60 {
		t.Errorf("got %+v, %v; want no error and r.Done == 60", r, err)
	}
	if err := checkDerivedRows(s.Service); err != nil {
		t.Error(err)
	}
	plain, err := table.New(serviceOf(t, s), "people", peopleSchema, nil)
	noError(t, err)
	if _, err := plain.DeleteQuery(ctx, table.Query[resident]{Partition: dept.Of("S")}, nil); !errors.Is(err, table.ErrUnknownMaintainer) {
		t.Errorf("got %v; want ErrUnknownMaintainer", err)
	}
}

// TestBulkHungService: on a service that does not respond, Bulk ends with its context and returns the operations that were
// applied.
func TestBulkHungService(t *testing.T) {
	t.Parallel()
	for _, exact := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			staff, _, s := staffInMemory(t, nil)
			if exact {
				staff = staff.Exact()
			}
			n := 0
			s.SetFaults(storagetest.When(func(q storagetest.Request) bool { n++; return n > 2 }, storagetest.Hang()))
			ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
			defer cancel()
			start := time.Now()
			r, err := table.Bulk(ctx, stream(1000, upserts(staff, 1)), nil)
			if took := time.Since(start); took < 12*time.Second || took > 12*time.Second+100*time.Millisecond {
				t.Errorf("got %v; want took >= 12*time.Second and took <= 12*time.Second+100*time.Millisecond", took)
			}
			var unknown *table.UnknownError
			if rows := len(s.Rows("staff")); !errors.Is(err, table.ErrUnknownOutcome) || r.ResumeAt != r.Done || r.Done < 198 || rows < r.Done || errors.As(err, &unknown) != exact {
				t.Errorf("got %+v, %v, %v; want ErrUnknownOutcome and r.ResumeAt == %v and r.Done >= 198 and rows >= %v and errors.As(err, &unknown) == %v", r, rows, err, r.Done, r.Done, exact)
			}
		})
	}
}
