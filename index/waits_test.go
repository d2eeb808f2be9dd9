package index_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestWaits: rows that writes must read are read together, and while a transaction of bulk travels. In a bubble, the time over a
// service that takes 5 ms for each request is exact.
func TestWaits(t *testing.T) {
	t.Parallel()
	byAge := index.New("byage", keys.Digits[int](6), func(w *worker) (int, bool) { return w.Age, true }, nil)
	ofAge := index.NewSummary("ofage", keys.Digits[int](6), func(w *worker) (int, bool) { return w.Age, true }, nil)
	insert := func(staff *table.Table[worker], w *worker) table.Op { return staff.InsertOp(w) }
	upsert := func(staff *table.Table[worker], w *worker) table.Op { return staff.UpsertOp(w, table.ReplaceExisting) }
	for _, c := range testkit.Some([]struct {
		what     string
		def      extend.Definition[worker]
		before   int  // workers that are stored
		n, apart int  // written workers, and the difference of their numbers
		moves    bool // in the index
		op       func(*table.Table[worker], *worker) table.Op
		transact bool
		took     time.Duration
		requests string
	}{
		{what: "bulk upsert of new workers", def: byAge, n: 1000, apart: 1, op: upsert, took: 115 * time.Millisecond, requests: "21 query, 20 transaction"},
		{what: "bulk upsert of stored workers", def: byAge, before: 1000, moves: true, n: 1000, apart: 1, op: upsert, took: 165 * time.Millisecond, requests: "10 get, 30 query, 31 transaction"},
		{what: "bulk upsert of workers among many others", def: byAge, before: 5000, moves: true, n: 1000, apart: 5, op: upsert, took: 610 * time.Millisecond, requests: "986 get, 1 query, 31 transaction"},
		{what: "bulk insert of new groups", def: ofAge, n: 1000, apart: 1, op: insert, took: 205 * time.Millisecond, requests: "21 query, 20 transaction"},
		{what: "bulk upsert of stored groups", def: ofAge, before: 1000, moves: true, n: 1000, apart: 1, op: upsert, took: 350 * time.Millisecond, requests: "22 get, 46 query, 21 transaction"},
		{what: "transaction of upserts", def: byAge, before: 40, n: 40, apart: 1, op: upsert, transact: true, took: 10 * time.Millisecond, requests: "1 query, 1 transaction"},
		{what: "transaction of upserts among many others", def: byAge, before: 1000, n: 40, apart: 25, op: upsert, transact: true, took: 30 * time.Millisecond, requests: "36 get, 1 query, 1 transaction"},
		{what: "transaction of inserts of new groups", def: ofAge, n: 40, apart: 1, op: insert, transact: true, took: 10 * time.Millisecond, requests: "1 query, 1 transaction"},
	}) {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				s := storagetest.New(nil)
				staff := openAs(t, s.ConnectionString(), s, schema)
				check(t, tabledoor.Ensure(ctx, staff))
				staff, err := baretest.Attach(staff, c.def)
				check(t, err)
				_, err = door.Bulk(ctx, func(yield func(table.Op, error) bool) {
					for i := range c.before {
						if !yield(staff.InsertOp(&worker{Dept: "S", ID: i, Age: i}), nil) {
							return
						}
					}
				}, nil)
				check(t, err)
				s.Count()
				s.SetFaults(storagetest.When(func(storagetest.Request) bool { return true }, storagetest.Slow(5*time.Millisecond)))
				var ops []table.Op
				for i := range c.n {
					w := worker{Dept: "S", ID: i * c.apart, Last: "new", Age: i * c.apart}
					if c.moves {
						w.Age++
					}
					ops = append(ops, c.op(staff, &w))
				}
				start := time.Now()
				if c.transact {
					_, err = table.Transact(ctx, ops...)
				} else {
					var r engine.BulkResult
					if r, err = door.Bulk(ctx, func(yield func(table.Op, error) bool) {
						for _, op := range ops {
							if !yield(op, nil) {
								return
							}
						}
					}, nil); r.Applied != c.n {
						err = fmt.Errorf("%d of %d done: %w", r.Applied, c.n, err)
					}
				}
				took, requests := time.Since(start), s.Count().String()
				if err != nil || took != c.took || requests != c.requests {
					t.Errorf("got %v, %s, error %v; want %v, %s, no error", took, requests, err, c.took, c.requests)
				}
			})
		})
	}
}
