package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestRunRequests: Run makes as few transactions as possible.
func TestRunRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range []struct {
		what           string
		n, departments int
		o              engine.BulkOptions
		want           string
	}{
		{"one partition", 1050, 1, engine.BulkOptions{}, "11 transaction"},
		{"ten mixed partitions", 1050, 10, engine.BulkOptions{}, "20 transaction"}, // 105 each
		{"one at a time", 300, 3, engine.BulkOptions{Concurrency: 1}, "3 transaction"},
		{"nothing", 0, 1, engine.BulkOptions{}, "none"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			staff, s := newBulkStaffWithOne(t)
			last := engine.BulkResult{}
			c.o.Progress = func(r engine.BulkResult) {
				if r.Applied <= last.Applied || r.ResumeAt < last.ResumeAt {
					t.Errorf("got progress from %+v to %+v; want it to grow", last, r)
				}
				last = r
			}
			r, err := door.Bulk(ctx, stream(c.n, upserts(staff, c.departments)), &c.o)
			if err != nil || r != (engine.BulkResult{Applied: c.n, ResumeAt: c.n}) || r != last && c.n > 0 {
				t.Errorf("got %+v, %+v, %v; want no error and r == %+v and (r == %+v or c.n <= 0)", r, last, err, engine.BulkResult{Applied: c.n, ResumeAt: c.n}, last)
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

// TestRunWindow: the number of waiting operations is bounded, which makes transactions smaller if there are many partitions.
func TestRunWindow(t *testing.T) {
	t.Parallel()
	staff, s := newBulkStaffWithOne(t)
	_, err := door.Bulk(context.Background(), stream(1000, upserts(staff, 50)), &engine.BulkOptions{Window: 100})
	counts := s.Count()
	if n := counts[requests.Transaction]; err != nil || counts.Total() != n || n < 200 || n > 700 {
		t.Errorf("got %v, %v; want no error and 200 to 700 transactions", counts, err)
	}
	_, err = door.Bulk(context.Background(), stream(1000, upserts(staff, 50)), nil)
	if got := s.Count().String(); err != nil || got != "50 transaction" {
		t.Errorf(`got %q, %v; want no error and "50 transaction"`, got, err)
	}
}

// TestRunWindowBytes: the size of the waiting operations is bounded too. A delete counts with the row of its entity.
func TestRunWindowBytes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, _ := newBulkStaffWithOne(t)
	const n, size = 300, 10_000
	_, err := door.Bulk(ctx, stream(n, func(i int) table.Op {
		return staff.InsertOp(&employee{"D", i, strings.Repeat("x", size), 30})
	}), nil)
	noError(t, err)
	var es []*table.Entity[employee]
	for e, err := range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("D")}) {
		noError(t, err)
		es = append(es, e)
	}
	applied, most := 0, 0
	r, err := door.Bulk(ctx, stream(n, func(i int) table.Op {
		most = max(most, i-applied)
		return staff.DeleteOp(es[i])
	}), &engine.BulkOptions{Concurrency: 1, WindowBytes: 10 * size, Progress: func(r engine.BulkResult) { applied = r.ResumeAt }})
	if err != nil || r.Applied != n || most > 25 { // ten that wait, and ten under way
		t.Errorf("got %+v, %v, %v; want no error and r.Applied == n and most <= 25", r, err, most)
	}
}

// TestRunOrder: operations on one row are applied in their order, even over several transactions.
func TestRunOrder(t *testing.T) {
	t.Parallel()
	staff, s := newBulkStaffWithOne(t)
	r, err := door.Bulk(context.Background(), stream(500, func(i int) table.Op {
		return staff.UpsertOp(&employee{"D", i % 7, "Jones", int32(i)}, table.ReplaceExisting)
	}), nil)
	if err != nil || r.Applied != 500 {
		t.Fatalf("got %+v, %v; want no error and r.Applied == 500", r, err)
	}
	for _, row := range s.Rows("staff")[:7] {
		if n := row.Get("Age").(int32); n < 493 {
			t.Errorf("got %+v; want n >= 493", row)
		}
	}
}

// TestRunBytes: large entities make smaller transactions, none above 4 MiB. With the library's policies, each transaction is
// full. Without them, none is too large.
func TestRunBytes(t *testing.T) {
	t.Parallel()
	for _, policies := range []bool{true, false} {
		s := &testkit.Hooked{Service: storagetest.New(nil)}
		client := azcore.ClientOptions{Transport: s}
		if policies {
			client = table.ClientOptions(client, nil)
		}
		service, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(), &aztables.ClientOptions{ClientOptions: client})
		noError(t, err)
		rows, err := bare.NewTable(service, "rows", table.Schema[table.Row]{}, nil)
		noError(t, err)
		noError(t, tabledoor.Ensure(context.Background(), rows))
		s.Count()
		var sizes, counts []int
		s.BeforeRequest = func(r *http.Request) {
			body := bodyOf(t, r)
			sizes, counts = append(sizes, len(body)), append(counts, strings.Count(body, "Content-Transfer-Encoding"))
		}
		first, second := strings.Repeat("x<", 5994), "x" // the SDK sends < as \u003c
		if policies {                                    // the library sends < as it is, and packs as if the SDK sent it
			first, second = strings.Repeat("x", 7*2997), strings.Repeat("x", 7*2997)
		}
		r, err := door.Bulk(context.Background(), stream(400, func(i int) table.Op {
			row := &table.Row{Key: keys.At(keys.RawPartition("P"), keys.RawRow(fmt.Sprintf("%03d", i)))}
			noError(t, errors.Join(row.Set("F0", first), row.Set("F1", second)))
			return rows.InsertOp(row)
		}), &engine.BulkOptions{Concurrency: 1})
		if err != nil || r.Applied != 400 || len(sizes) != 5 || slices.Max(sizes) > 4<<20 {
			t.Errorf("%v: got %+v, %v, %v, %v; want no error and r.Applied == 400 and len(sizes) == 5 and slices.Max(sizes) <= 4<<20", policies, r, err, sizes, counts)
		}
		each := sizes[0] / counts[0]                   // a little more than each is
		for i, size := range sizes[2 : len(sizes)-1] { // the first two were packed before the policies were known
			if policies && size+each <= 4<<20 || size+3*each <= 4<<20 {
				t.Errorf("policies %v, transaction %d: got %d bytes, %d for each entity; want no room for another entity below 4 MiB", policies, i, size, each)
			}
		}
	}
}

// TestRunCancelled: Run reads nothing more from the stream when its context has ended.
func TestRunCancelled(t *testing.T) {
	t.Parallel()
	staff, s := newBulkStaffWithOne(t)
	ctx, cancel := context.WithCancel(context.Background())
	read := 0
	r, err := door.Bulk(ctx, stream(100_000, func(i int) table.Op {
		if read = i; i == 500 {
			cancel()
		}
		return upserts(staff, 100)(i)
	}), nil)
	if !errors.Is(err, context.Canceled) || read > 501 || r.Applied != 0 || len(s.Rows("staff")) != 1 {
		t.Errorf(`got %+v, %v, %v; want context.Canceled and read <= 501 and r.Applied == 0 and len(s.Rows("staff")) == 1`, r, read, err)
	}
}

// TestRunHungService: on a service that does not respond, Run ends with its context and returns the operations that were
// applied.
func TestRunHungService(t *testing.T) {
	t.Parallel()
	for _, exact := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			staff, s := newBulkStaffWithOne(t)
			if exact {
				staff = staff.Exact()
			}
			n := 0
			s.SetFaults(storagetest.When(func(q storagetest.Request) bool { n++; return n > 2 }, storagetest.Hang()))
			ctx, cancel := context.WithTimeout(context.Background(), 12*time.Second)
			defer cancel()
			start := time.Now()
			r, err := door.Bulk(ctx, stream(1000, upserts(staff, 1)), nil)
			if took := time.Since(start); took < 12*time.Second || took > 12*time.Second+100*time.Millisecond {
				t.Errorf("got %v; want took >= 12*time.Second and took <= 12*time.Second+100*time.Millisecond", took)
			}
			var unknown *table.UnknownError
			if rows := len(s.Rows("staff")); !errors.Is(err, table.ErrUnknownOutcome) || r.ResumeAt != r.Applied || r.Applied < 198 || rows < r.Applied || errors.As(err, &unknown) != exact {
				t.Errorf("got %+v, %v, %v; want ErrUnknownOutcome and r.ResumeAt == %v and r.Applied >= 198 and rows >= %v and errors.As(err, &unknown) == %v", r, rows, err, r.Applied, r.Applied, exact)
			}
		})
	}
}
