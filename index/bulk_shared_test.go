package index_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// runOn applies operations in one partition at a time.
func runOn(t *testing.T, ops []table.Op, o engine.BulkOptions) {
	t.Helper()
	o.Concurrency = 1
	r, err := door.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
		for _, op := range ops {
			if !yield(op, nil) {
				return
			}
		}
	}, &o)
	if err != nil || r.Applied != len(ops) {
		t.Errorf("Run: got %+v, error %v; want %d operations applied, no error", r, err, len(ops))
	}
}

// TestBulkKeepsSharedRows: bulk reads the rows of lists and summaries once for each partition, as long as they fit into WindowBytes.
func TestBulkKeepsSharedRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what     string
		depts    []string
		n        int
		options  engine.BulkOptions
		requests string
	}{
		{"one partition", []string{"S"}, 900, engine.BulkOptions{}, "8 get, 10 transaction"},
		{"three partitions", []string{"S", "T", "U"}, 900, engine.BulkOptions{}, "24 get, 12 transaction"},
		{"no room", []string{"S"}, 900, engine.BulkOptions{WindowBytes: 1}, "1800 get, 900 transaction"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			staff, s := newStaff(t, teams, ages)
			ops := make([]table.Op, c.n)
			for i := range ops {
				w := worker{Dept: c.depts[i%len(c.depts)], ID: i, Last: string(rune('a' + i/len(c.depts)%4)), Age: i%60 + 1}
				ops[i] = staff.InsertOp(&w)
			}
			runOn(t, ops, c.options)
			testkit.Expect(t, "requests", s.Count().String(), c.requests)
			for _, d := range c.depts {
				for team := range 4 {
					testkit.Expect(t, "team in "+d, members(t, staff, d, string(rune('a'+team))), c.n/len(c.depts)/4)
				}
			}
		})
	}
}

// members returns the number of members of a team.
func members(t *testing.T, staff *table.Table[worker], in, team string) int {
	t.Helper()
	all, err := teams.Keys(context.Background(), staff, dept.PartitionKey(in), team)
	check(t, err)
	return len(all)
}

// TestBulkKeptRowChanges: another writer changes a row that bulk has kept. Bulk writes the row by its ETag. A row that bulk loads
// and does not write is read again: here, the kept list of team a lacks the worker that the other writer has added to it.
func TestBulkKeptRowChanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	moving := worker{Dept: "S", ID: 998, Last: "b", Age: 50}
	for _, c := range []struct {
		what     string
		last     worker // the worker of the fourth transaction
		a, b     int    // members of the teams afterwards
		requests string // the other writer has 3 gets and 1 transaction
	}{
		{"it is written", worker{Dept: "S", ID: 997, Last: "a"}, 100, 196, "9 get, 7 transaction"},
		{"it is loaded and not written", moving, 98, 197, "9 get, 6 transaction"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			staff, s := newStaff(t, teams)
			_, err := staff.Insert(ctx, &moving)
			check(t, err)
			batches := 0
			i := &testkit.Hooked{Service: s, BeforeRequest: func(r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "$batch") {
					return
				}
				if batches++; batches == 2 {
					e, err := staff.Get(ctx, keys.At(dept.PartitionKey("S"), wid.RowKey(moving.ID)))
					check(t, err)
					e.Value.Last = "a"
					check(t, staff.Replace(ctx, e))
				}
			}}
			other, err := baretest.Attach(openAs(t, s.ConnectionString(), i, schema), teams)
			check(t, err)
			var ops []table.Op
			for n := range 98 {
				ops = append(ops, other.InsertOp(&worker{Dept: "S", ID: n, Last: "a"}))
			}
			for n := range 196 {
				ops = append(ops, other.InsertOp(&worker{Dept: "S", ID: 100 + n, Last: "b"}))
			}
			ops = append(ops, other.UpsertOp(&c.last, table.ReplaceExisting))
			s.Count()
			runOn(t, ops, engine.BulkOptions{})
			testkit.Expect(t, "requests", s.Count().String(), c.requests)
			testkit.Expect(t, "team a", members(t, staff, "S", "a"), c.a)
			testkit.Expect(t, "team b", members(t, staff, "S", "b"), c.b)
		})
	}
}
