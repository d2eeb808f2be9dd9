package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// bounded returns a summary by last name, of at most so many workers and years, 0 for no bound.
func bounded(most, years int64) *index.Summary[worker, string] {
	return index.NewSummary("quota", keys.Text(), func(w *worker) (string, bool) { return w.Last, w.Last != "" }, &index.SummaryOptions{Most: most},
		index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), w.Age != 0 }, Most: years})
}

// expectFull checks that a write was refused by the bound of a group.
func expectFull(t *testing.T, what string, err error, value, measure string, got, most int64) {
	t.Helper()
	var full *index.FullError
	if !errors.As(err, &full) || full.Definition != "quota" || full.Value != any(value) || full.Measure != measure || full.Most != most || !strings.Contains(err.Error(), fmt.Sprintf("would be %d", got)) {
		t.Errorf("%s: got error %v; want a *FullError of %s, %q, %d of %d", what, err, value, measure, got, most)
	}
}

// TestMost: a group takes no more entities than its bound, whatever the write, which then changes
// nothing; the bound takes a request only if it refuses.
func TestMost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	quota := bounded(2, 100)
	staff, s := newStaff(t, quota)
	es := insertAll(t, staff, s, worker{"S", 1, "J", "", 30, nil}, worker{"S", 2, "J", "", 40, nil}, worker{"S", 3, "K", "", 0, nil})
	third := worker{"S", 4, "J", "", 1, nil}
	_, err := staff.Insert(ctx, &third)
	expectFull(t, "Insert", err, "J", "", 3, 2)
	if want := "the number of entities in the group J of quota would be 3, and may be 2: delete some, or raise Most in all programs"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got the text %v; want %q at its end", err, want)
	}
	testkit.Expect(t, "requests of a refusal", s.Count().String(), "2 get")
	_, err = staff.Upsert(ctx, &third, table.ReplaceExisting)
	expectFull(t, "Upsert", err, "J", "", 3, 2)
	_, err = staff.Update(ctx, at(3), func(w *worker) error { w.Last = "J"; return nil })
	expectFull(t, "Update that joins", err, "J", "", 3, 2)
	expectFull(t, "Merge that joins", staff.Merge(ctx, es[2], last.Set("J")), "J", "", 3, 2)
	_, err = table.Transact(ctx, staff.InsertOp(&worker{"S", 5, "L", "", 0, nil}), staff.InsertOp(&third))
	expectFull(t, "Transact", err, "J", "", 3, 2)
	_, err = staff.Update(ctx, at(1), func(w *worker) error { w.Age = 61; return nil })
	expectFull(t, "an Update beyond the sum", err, "J", "Age", 101, 100)
	testkit.Expect(t, "rows", len(s.Rows("staff")), 5) // 3 workers, 2 groups
	if g, err := quota.Get(ctx, staff, sales, "J"); err != nil || g.Count != 2 || g.Measures["Age"].Sum != 70 {
		t.Errorf("got %+v, error %v; want 2 workers of 70 years", g, err)
	}

	negative := bounded(0, 100)
	debts, s2 := newStaff(t, negative)
	insertAll(t, debts, s2, worker{"S", 1, "J", "", -5, nil}, worker{"S", 2, "J", "", 105, nil})
	expectFull(t, "one with a negative number leaves", debts.DeleteAny(ctx, at(1)), "J", "Age", 105, 100)

	// What does not grow the group is written.
	s.Count()
	_, err = staff.Update(ctx, at(2), func(w *worker) error { w.Age = 70; return nil })
	check(t, err)
	testkit.Expect(t, "requests of an Update", s.Count().String(), "2 get, 1 transaction")
	_, err = table.Transact(ctx, staff.DeleteAnyOp(at(2)), staff.InsertOp(&third))
	check(t, err)
	_, err = table.Transact(ctx, staff.InsertOp(&worker{"S", 6, "J", "", 1, nil}), staff.DeleteAnyOp(at(4)))
	expectFull(t, "join before another leaves", err, "J", "", 3, 2)
	check(t, staff.DeleteAny(ctx, at(4)))
	_, err = staff.Update(ctx, at(3), func(w *worker) error { w.Last = "J"; return nil })
	check(t, err)
	sound(t, staff, quota)
}

// sound checks that verify finds nothing.
func sound(t *testing.T, staff *table.Table[worker], definitions ...verify.Definition) {
	t.Helper()
	if r, err := verify.Check(t.Context(), staff, nil, definitions...); err != nil || r.Faults > 0 {
		t.Errorf("verify: got %+v, error %v; want a sound report", r, err)
	}
}

// TestMostExceeded: a group that exceeds a bound from before keeps its entities, may change and shrink, and takes no more. A repair counts it.
func TestMostExceeded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	elsewhere := index.NewSummary("quota", keys.Text(), func(w *worker) (string, bool) { return "x", true }, nil)
	for what, before := range map[string]*index.Summary[worker, string]{"counted without a bound": bounded(0, 0), "not counted": nil, "in another group": elsewhere} {
		staff, s := newStaff(t)
		if before != nil {
			var err error
			staff, err = baretest.Attach(staff, before)
			check(t, err)
		}
		insertAll(t, staff, s, worker{"S", 1, "J", "", 30, nil}, worker{"S", 2, "J", "", 40, nil}, worker{"S", 3, "J", "", 50, nil}, worker{"S", 4, "K", "", 1, nil})
		quota := bounded(2, 60)
		staff, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema), quota)
		check(t, err)
		change := func(id int, f func(*worker)) error {
			_, err := staff.Update(ctx, at(id), func(w *worker) error { f(w); return nil })
			return err
		}
		if before == elsewhere {
			check(t, second(verify.Repair(ctx, staff, nil, quota))) // the workers move to their groups
		}
		check(t, change(1, func(w *worker) { w.Email = "j" }))
		check(t, change(1, func(w *worker) { w.Age = 29 }))
		expectFull(t, what+": a sum that grows", change(1, func(w *worker) { w.Age = 31 }), "J", "Age", 121, 60)
		expectFull(t, what+": one that joins", change(4, func(w *worker) { w.Last = "J" }), "J", "", 4, 2)
		r, err := verify.Repair(ctx, staff, nil, quota)
		if err != nil || r.Faults > 0 {
			t.Errorf("%s: verify: got %+v, error %v; want all repaired", what, r, err)
		}
		if g, err := quota.Get(ctx, staff, sales, "J"); err != nil || g.Count != 3 {
			t.Errorf("%s: got %+v, error %v; want 3 workers", what, g, err)
		}
		check(t, change(2, func(w *worker) { w.Last = "L" }))
		check(t, change(3, func(w *worker) { w.Last = "M" }))
		check(t, change(4, func(w *worker) { w.Last = "J" }))
		sound(t, staff, quota)
	}
}

// TestMostOfRacers: of many writers that join one group at the same time, as many succeed as it has room for, also while others leave, and while the
// service loses responses of writes: a writer whose outcome is unknown looks whether its entity is stored, and else begins again.
func TestMostOfRacers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	quota := bounded(7, 0)
	staff, s := newStaff(t, quota)
	r := rand.New(rand.NewPCG(1, 2))
	s.SetFaults(func(q storagetest.Request) (none storagetest.Fault) {
		if q.Kind == requests.Transaction && r.IntN(2) == 0 {
			return storagetest.LostResponse()
		}
		return none
	})
	var stored, refused atomic.Int64
	var wait sync.WaitGroup
	for i := range 30 {
		wait.Go(func() {
			_, err := staff.Insert(ctx, &worker{Dept: "S", ID: i, Last: "J"})
			for errors.Is(err, table.ErrUnknownOutcome) {
				there, readErr := baretest.Exists(ctx, staff, at(i))
				if err = readErr; err == nil && !there {
					_, err = staff.Insert(ctx, &worker{Dept: "S", ID: i, Last: "J"})
				}
			}
			var full *index.FullError
			switch {
			case err == nil:
				stored.Add(1)
			case errors.As(err, &full):
				refused.Add(1)
			default:
				t.Errorf("worker %d: got error %v; want none or a *FullError", i, err)
			}
		})
	}
	wait.Wait()
	s.SetFaults(nil)
	if stored.Load() != 7 || refused.Load() != 23 {
		t.Errorf("got %d stored and %d refused; want 7 and 23", stored.Load(), refused.Load())
	}
	sound(t, staff, quota)
}

// TestMostInBulk: bulk work keeps to the bound, and reads a group's row again before it refuses by one that it has kept.
func TestMostInBulk(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	quota := bounded(98, 0)
	staff, s := newStaff(t, quota)
	batches := 0
	hooked := &testkit.Hooked{Service: s, BeforeRequest: func(r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "$batch") {
			return
		}
		if batches++; batches == 2 { // the group is full
			check(t, staff.DeleteAny(ctx, at(0)))
			check(t, staff.DeleteAny(ctx, at(1)))
		}
	}}
	loading, err := baretest.Attach(openAs(t, s.ConnectionString(), hooked, schema), quota)
	check(t, err)
	var skipped []int
	result, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range 98 {
			yield(loading.InsertOp(&worker{Dept: "S", ID: i, Last: "J"}), nil)
		}
		for i := range 98 {
			yield(loading.InsertOp(&worker{Dept: "S", ID: 100 + i, Last: "K"}), nil)
		}
		for i := range 5 {
			yield(loading.InsertOp(&worker{Dept: "S", ID: 200 + i, Last: "J"}), nil)
		}
	}, &engine.BulkOptions{Concurrency: 1, Skip: func(i int, err error) bool {
		skipped = append(skipped, i)
		return errors.As(err, new(*index.FullError))
	}})
	if err != nil || result.Applied != 198 || fmt.Sprint(skipped) != "[198 199 200]" {
		t.Errorf("got %+v, error %v, skipped %v; want 198 applied, since 2 have left, and the last 3 refused", result, err, skipped)
	}
	sound(t, staff, quota)
}

// TestMostNegative: a bound is positive.
func TestMostNegative(t *testing.T) {
	t.Parallel()
	for _, quota := range []*index.Summary[worker, string]{bounded(-1, 0), bounded(0, -1)} {
		staff, _ := newStaff(t)
		var de *table.DefinitionError
		if _, err := baretest.Attach(staff, quota); !errors.As(err, &de) || !strings.Contains(err.Error(), "a bound is positive") {
			t.Errorf("got error %v; want a *DefinitionError about the bound", err)
		}
	}
}
