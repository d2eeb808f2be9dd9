package index_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestRefusedByNewerRows: a writer has read an entity before another writer lets it join a group,
// or take a target of details, and reads the row of the group behind it. The entity then stands in
// its own way: a write by its version fails with ErrChanged, and all others succeed.
func TestRefusedByNewerRows(t *testing.T) {
	t.Parallel()
	type entity = table.Entity[worker]
	writes := map[string]struct {
		write   func(staff *table.Table[worker], e *entity) error
		changed bool // it is by the version
	}{
		"Replace": {func(staff *table.Table[worker], e *entity) error {
			e.Value.Last, e.Value.Age = "J", 60
			return staff.Replace(t.Context(), e)
		}, true},
		"Merge": {func(staff *table.Table[worker], e *entity) error {
			return staff.Merge(t.Context(), e, last.Set("J"), age.Set(60))
		}, true},
		"Transact": {func(staff *table.Table[worker], e *entity) error {
			e.Value.Last, e.Value.Age = "J", 60
			_, err := table.Transact(t.Context(), staff.ReplaceOp(e), staff.InsertOp(&worker{Dept: "S", ID: 9}))
			return err
		}, true},
		"Transact, another one is refused": {func(staff *table.Table[worker], e *entity) error {
			e.Value.Email = "e"
			_, err := table.Transact(t.Context(), staff.ReplaceOp(e), staff.InsertOp(&worker{Dept: "S", ID: 9, Last: "J", Age: 1}))
			return err
		}, true},
		"Update": {func(staff *table.Table[worker], e *entity) error {
			_, err := staff.Update(t.Context(), e.Key, func(w *worker) error { w.Last, w.Age = "J", 60; return nil })
			return err
		}, false},
		"MergeAny": {func(staff *table.Table[worker], e *entity) error {
			return staff.MergeAny(t.Context(), e.Key, last.Set("J"), age.Set(60))
		}, false},
		"Upsert": {func(staff *table.Table[worker], e *entity) error {
			_, err := staff.Upsert(t.Context(), &worker{"S", 3, "J", "", 60, nil}, table.ReplaceExisting)
			return err
		}, false},
	}
	for what, test := range writes {
		for bound, quota := range map[string]*index.Summary[worker, string]{"entities": bounded(2, 0), "sum": bounded(0, 100)} {
			t.Run(what+", "+bound, func(t *testing.T) {
				t.Parallel()
				staff, s := newStaff(t, quota)
				es := insertAll(t, staff, s, worker{"S", 1, "J", "", 40, nil}, worker{"S", 3, "K", "", 0, nil})
				done := false
				slow := &testkit.Hooked{Service: s, BeforeRequest: func(r *http.Request) {
					if done || !strings.Contains(r.URL.Path, "quota_J") {
						return
					}
					done = true
					_, err := staff.Update(t.Context(), at(3), func(w *worker) error { w.Last, w.Age = "J", 60; return nil })
					checkInHook(t, err)
				}}
				writer, err := baretest.Attach(openAs(t, s.ConnectionString(), slow, schema), quota)
				check(t, err)
				err = test.write(writer, es[1])
				switch {
				case !done:
					t.Error("nothing has read the group")
				case test.changed && !errors.Is(err, table.ErrChanged):
					t.Errorf("got %v; want ErrChanged", err)
				case !test.changed && err != nil:
					t.Errorf("got %v; want nil", err)
				}
				sound(t, staff, quota)
			})
		}
	}
}

// TestRefusedInsert: an insert of a key that is taken says so, also if the group of the entity is
// full. A refusal takes one request.
func TestRefusedInsert(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	quota := bounded(2, 0)
	staff, s := newStaff(t, quota)
	insertAll(t, staff, s, worker{"S", 1, "J", "", 30, nil}, worker{"S", 2, "J", "", 40, nil}, worker{"S", 3, "K", "", 0, nil})
	again := worker{"S", 1, "J", "", 30, nil}
	s.Count()
	_, err := staff.Insert(ctx, &again)
	expectError(t, "Insert", err, table.ErrExists)
	testkit.Expect(t, "requests", s.Count().String(), "2 get")
	_, err = table.Transact(ctx, staff.InsertOp(&worker{"S", 4, "L", "", 0, nil}), staff.InsertOp(&again))
	var be *table.BatchError
	if !errors.Is(err, table.ErrExists) || !errors.As(err, &be) || be.Index != 1 {
		t.Errorf("Transact: got %v; want ErrExists of operation 1", err)
	}
	var refused []error
	result, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for _, w := range []worker{{"S", 5, "L", "", 0, nil}, again, {"S", 6, "J", "", 0, nil}} {
			if !yield(staff.InsertOp(&w), nil) {
				return
			}
		}
	}, &engine.BulkOptions{Skip: func(_ int, err error) bool { refused = append(refused, err); return true }})
	right := len(refused) == 2 && errors.Is(refused[0], table.ErrExists) && errors.As(refused[1], new(*index.FullError))
	if err != nil || result.Applied != 1 || !right {
		t.Errorf("Bulk: got %+v, %v, skipped %v; want 1 applied, ErrExists and *FullError skipped", result, err, refused)
	}
	_, err = staff.UpdateAndMove(ctx, at(3), func(w *worker) error { w.ID, w.Last = 1, "J"; return nil })
	expectError(t, "UpdateAndMove to a key that is taken", err, table.ErrExists)
	_, err = staff.UpdateAndMove(ctx, at(3), func(w *worker) error { w.ID, w.Last = 8, "J"; return nil })
	expectFull(t, "UpdateAndMove into a group that is full", err, "J", "", 3, 2)
	sound(t, staff, quota)
}

func expectError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v; want %v", what, err, want)
	}
}

// TestUnsetPartition: a look-up whose partition is not set names its argument, and not a query that
// the caller does not have.
func TestUnsetPartition(t *testing.T) {
	t.Parallel()
	staff, _ := newStaff(t, byLast)
	for what, lookUp := range map[string]func() error{
		"Get":  func() error { _, err := byLast.Get(t.Context(), staff, keys.PartitionKey{}, "J"); return err },
		"List": func() error { return onlyError(t, "List", byLast.List(t.Context(), staff, keys.PartitionKey{}, "J")) },
		"Between": func() error {
			return onlyError(t, "Between", byLast.Between(t.Context(), staff, keys.PartitionKey{}, "J", "K"))
		},
		"Prefix": func() error {
			return onlyError(t, "Prefix", byLast.Prefix(t.Context(), staff, keys.PartitionKey{}, "J"))
		},
	} {
		err := lookUp()
		ofArgument := strings.Contains(fmt.Sprint(err), "partition is not set")
		if !errors.Is(err, table.ErrTableScan) || !ofArgument || strings.Contains(fmt.Sprint(err), "Query.") {
			t.Errorf("%s: got %v; want ErrTableScan about the argument", what, err)
		}
	}
}
