package index_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestRepairTakesNothing: the repair of one definition takes no unique row of another definition from its new owner, whichever way
// it writes.
func TestRepairTakesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	// repair returns the faults that verify.Repair finds, each with what became of it.
	repair := func(staff *table.Table[worker], definitions ...extend.Definition[worker]) (got []string) {
		r, err := verify.Repair(ctx, staff, &verify.Options{Fault: func(f verify.Fault) {
			outcome := fmt.Sprint("not repaired: ", f.Err)
			if f.Repaired {
				outcome = "repaired"
			} else if errors.Is(f.Err, table.ErrTaken) {
				outcome = "taken"
			}
			got = append(got, fmt.Sprint(f.Definition, " ", f.Kind, " ", f.Row.RowKey(), " ", outcome))
		}}, asDefinitions(definitions)...)
		check(t, err)
		if len(got) != r.Changed+r.Counts["failed"] {
			t.Errorf("verify with repair: got %+v and faults %q; want as many faults as repaired and failed", r, got)
		}
		slices.Sort(got)
		return got
	}
	for what, c := range map[string]struct {
		unique *index.Index[worker, string]
		row    string
		damage func(rows *table.Table[table.Row])
		want   []string
	}{
		"one by one": {byEmail, "email_a", func(rows *table.Table[table.Row]) { check(t, rows.DeleteAny(ctx, rowAt("last_Jones!_w_000001"))) },
			[]string{"last missing last_Jones!_w_000001 taken"}},
		"with others": {byEmail, "email_a", func(rows *table.Table[table.Row]) { check(t, rows.DeleteAny(ctx, rowAt("team_Jones"))) },
			[]string{"team missing team_Jones taken"}},
		"a pointer, given up": {mailPointer, "mp_a", func(rows *table.Table[table.Row]) {
			check(t, rows.MergeAny(ctx, at(1), table.PropertyOf[string]("Email").Set("z")))
			check(t, rows.DeleteAny(ctx, rowAt("team_Jones")))
		}, []string{"team missing team_Jones repaired"}},
	} {
		staff, s := newStaff(t, c.unique, byLast, teams)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
		check(t, rawTable(t, s).DeleteAny(ctx, rowAt(c.row)))
		insertAll(t, staff, s, worker{"S", 2, "Cao", "a", 30, nil})
		c.damage(rawTable(t, s))
		testkit.Expect(t, what+": faults of verify with repair", repair(staff, byLast, teams), c.want)
		if e, err := c.unique.Get(ctx, staff, sales, "a"); err != nil || e.Key != at(2) {
			t.Errorf("%s: owner of value a: got %+v, error %v; want %v and no error", what, e, err, at(2))
		}
	}
	// A new definition, an entity that has lost the value, and a new entity with the same value.
	staff, s := newStaff(t, mailPointer)
	insertAll(t, staff, s, worker{"S", 2, "Jones", "a", 30, nil})
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("mp_a")))
	insertAll(t, staff, s, worker{"S", 3, "Cao", "a", 30, nil})
	check(t, rawTable(t, s).MergeAny(ctx, at(2), table.PropertyOf[string]("Email").Set("b")))
	base := openAs(t, s.ConnectionString(), s, schema)
	_, err := base.Insert(ctx, &worker{"S", 1, "Low", "a", 30, nil})
	check(t, err)
	staff, err = baretest.Attach(base, mailPointer, teams)
	check(t, err)
	testkit.Expect(t, "new definition: faults of verify with repair", repair(staff, teams),
		[]string{"team missing team_Cao repaired", "team missing team_Jones repaired", "team missing team_Low taken"})
	if e, err := mailPointer.Get(ctx, staff, sales, "a"); err != nil || e.Key != at(3) {
		t.Errorf("new definition: owner of value a: got %+v, error %v; want %v and no error", e, err, at(3))
	}
}

// TestReleaseKeepsOthers: an entity releases the unique row of another entity even if it lacks another of its unique rows.
func TestReleaseKeepsOthers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	unique := index.NewMulti("tag", keys.Text(), 3, func(w *worker) []string { return w.Tags }, &index.Options{Unique: true}).Only()
	staff, s := newStaff(t, unique)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, []string{"a", "b"}})
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("tag_b")))
	insertAll(t, staff, s, worker{"S", 2, "Cao", "", 40, nil}, worker{"S", 3, "Li", "", 50, []string{"b"}})
	changeRaw(t, s, 1, "Tags", `["b"]`)
	changeRaw(t, s, 2, "Tags", `["a"]`)
	r, faults := mustVerify(t, staff, verify.Options{}, unique)
	if r.Changed != 1 || !faults["tag missing tag_a w_000002"] || !faults["tag duplicate value tag_b w_000001"] {
		t.Errorf("verify with repair: got %+v and faults %v; want tag_a repaired, and tag_b a duplicate value", r, faults)
	}
	for value, owner := range map[string]int{"a": 2, "b": 3} {
		if e, err := unique.Get(ctx, staff, sales, value); err != nil || e.Key != at(owner) {
			t.Errorf("owner of value %s: got %+v, error %v; want %v and no error", value, e, err, at(owner))
		}
	}
}

// TestApproximateDuringRepair: verify.Repair leaves exact bounds exact unless it counts the group
// again. Bounds that an interrupted run or an earlier release left approximate are reported, and
// exact again after the next write that changes them.
func TestApproximateDuringRepair(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byLast, ages)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil}, worker{"S", 3, "Jones", "", 50, nil}, worker{"S", 4, "Jones", "", 46, nil})
	told := func(want index.Stat) {
		t.Helper()
		g, err := ages.Get(ctx, staff, sales, "Jones")
		check(t, err)
		testkit.Expect(t, "ages", g.Measures["Age"], want)
	}
	check(t, rawTable(t, s).MergeAny(ctx, at(1), table.PropertyOf[int64]("Age").Set(45)))
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("last_Jones!_w_000001")))
	mustVerify(t, staff, verify.Options{}, byLast)
	told(index.Stat{Count: 4, Sum: 181, Min: 40, Max: 50})
	overwrite(t, s, rowAt("ages_Jones"), func(c map[string]any) { c["AgeLoose"], c["AgeMin"], c["AgeMinCount"] = true, "30", "0" })
	if r, _ := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, ages); r.Faults == 0 || r.Counts[verify.Stale] != 1 {
		t.Errorf("approximate bounds: got %+v; want a report that is not sound, with one stale row", r)
	}
	check(t, staff.DeleteAny(ctx, at(4)))
	told(index.Stat{Count: 3, Sum: 135, Min: 40, Max: 50})
}

// TestRepairContinuesAfterFailure: a fault that cannot be repaired keeps no other fault from being repaired.
func TestRepairContinuesAfterFailure(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	// A sum that overflows.
	sum := index.NewSummary("s", keys.Text(), name, nil, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), true }})
	staff, s := newStaff(t, sum)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", math.MaxInt64, nil}, worker{"S", 3, "Cao", "", 5, nil}, worker{"T", 3, "Cao", "", 5, nil})
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("s_Jones")))
	insertAll(t, staff, s, worker{"S", 2, "Jones", "", math.MaxInt64, nil})
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("s_Cao")))
	check(t, rawTable(t, s).DeleteAny(ctx, keys.Raw("T", "s_Cao")))
	r, faults := mustVerify(t, staff, verify.Options{}, sum)
	if r.Counts["partitions"] != 2 || r.Changed != 2 || r.Counts["failed"] != 1 || r.Faults == 0 {
		t.Errorf("sum that overflows: got %+v and faults %v; want a report that is not sound, of 2 partitions, with 2 repaired and 1 failed", r, faults)
	}

	// A department that has index rows now.
	staff, _, s = newCampus(t)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil}, worker{"T", 2, "Cao", "b", 30, nil})
	byBudget := index.New("budget", keys.Digits[int](3), func(d *department) (int, bool) { return d.Budget, true }, nil).Only()
	indexed, err := baretest.Attach(openAs(t, s.ConnectionString(), s, depts), byBudget)
	check(t, err)
	e, err := indexed.Get(ctx, rowAt("department"))
	check(t, err)
	e.Value.Budget = 8
	check(t, indexed.Replace(ctx, e))
	check(t, rawTable(t, s).MergeAny(ctx, rowAt("department"), table.PropertyOf[string]("HeadRowKey").Set("w_000009")))
	r, faults = mustVerify(t, staff, verify.Options{}, sharedDefinitions()...)
	if r.Counts["partitions"] != 2 || r.Counts["failed"] == 0 || r.Faults == 0 {
		t.Errorf("department with index rows: got %+v and faults %v; want a report that is not sound, of 2 partitions, with some failed", r, faults)
	}
}

// TestUnrepairedIsReported: a fault that cannot be repaired because the entity has become unreadable is reported as not repaired.
func TestUnrepairedIsReported(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fragile := index.New("fr", keys.Text(), func(w *worker) (string, bool) {
		if w.Age == 99 {
			panic("no")
		}
		return w.Last, true
	}, nil).Only()
	staff, s := newStaff(t, fragile, byAge)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("fr_Jones_w_000001")))
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("age_030_w_000001")))
	once := true
	rows := rawTable(t, s)
	b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
		if (r.Method == http.MethodPost || r.Method == http.MethodPut) && once {
			once = false
			testkit.Expect(t, "error of the write during the repair", rows.MergeAny(ctx, at(1), table.PropertyOf[int64]("Age").Set(99)), nil)
		}
	}}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), fragile, byAge)
	check(t, err)
	r, err := verify.Repair(ctx, slow, nil, fragile, byAge)
	check(t, err)
	if once || r.Changed > 0 || r.Faults == 0 || r.Counts[verify.Unreadable] == 0 {
		t.Errorf("verify with repair: got %+v, entity changed during the repair: %v; want a report that is not sound, with an unreadable entity "+
			"and nothing repaired, and true", r, !once)
	}
}

// TestPredictedConflict: a run without repair reports that an entity cannot have a value that another entity has.
func TestPredictedConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byEmail)
	insertAll(t, staff, s, worker{"S", 2, "Jones", "a", 30, nil})
	_, err := openAs(t, s.ConnectionString(), s, schema).Insert(ctx, &worker{"S", 1, "Cao", "a", 30, nil})
	check(t, err)
	for _, repair := range []bool{false, true} {
		if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, byEmail); r.Counts[verify.DuplicateValue] != 1 || r.Counts[verify.Missing] != 0 {
			t.Errorf("repair %v: got %+v and faults %v; want one duplicate value and no missing row", repair, r, faults)
		}
	}
}

// cancelling ends a context behind one of its writes.
type cancelling struct {
	*testkit.Hooked
	cancel func()
	last   int32        // of the writes, from 1
	writes atomic.Int32 // so far
}

func (c *cancelling) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.Hooked.Do(r)
	if (r.Method == http.MethodPut || r.Method == http.MethodPost) && c.writes.Add(1) == c.last {
		c.cancel()
	}
	return resp, err
}

// TestReportOfWhatWasDone: what was repaired before the end of the context is in the report.
func TestReportOfWhatWasDone(t *testing.T) {
	t.Parallel()
	names := []string{"Cao", "Jones", "Li"} // a dangling member in the list of each
	for writes := 1; writes <= len(names)+1; writes++ {
		ctx, cancel := context.WithCancel(context.Background())
		staff, s := newStaff(t, teams)
		for i, name := range names {
			insertAll(t, staff, s, worker{"S", 2 * i, name, "", 30, nil}, worker{"S", 2*i + 1, name, "", 30, nil})
			check(t, rawTable(t, s).DeleteAny(ctx, at(2*i+1)))
		}
		b := &cancelling{Hooked: &testkit.Hooked{Service: s, Serial: true}, cancel: cancel, last: int32(writes)}
		ending, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), teams)
		check(t, err)
		r, err := verify.Repair(ctx, ending, nil, teams)
		cancel()
		done := min(writes, len(names)) // each write removes a member
		left := 0
		for i, name := range names {
			all, err := teams.Keys(context.Background(), staff, sales, name)
			check(t, err)
			if left += len(all); len(all) == 0 || all[0] != at(2*i) {
				t.Errorf("context that ends behind write %d: members of %s: got %v; want %v first", writes, name, all, at(2*i))
			}
		}
		testkit.Expect(t, fmt.Sprintf("context that ends behind write %d: members that are left", writes), left, 2*len(names)-done)
		if writes > len(names) {
			if err != nil || r.Counts[verify.Dangling] != done || r.Changed != done || r.Counts["failed"] != 0 || r.Faults > 0 {
				t.Errorf("run that is not canceled: got %+v, error %v; want %d dangling members, all of them repaired, and no error", r, err, done)
			}
			continue
		}
		// The end of the context may have hidden the outcome of the last repair.
		if r.Counts[verify.Dangling] != done || r.Changed < done-1 || r.Changed+r.Counts["failed"] != done || !errors.Is(err, context.Canceled) {
			t.Errorf("context that ends behind write %d: got %+v, error %v; want %d dangling members, of which at least %d are repaired "+
				"and at most the last one failed, and context.Canceled", writes, r, err, done, done-1)
		}
	}
}

// TestDamagedStateWithoutRows: an entity without derived rows and with damaged maintainer state can be written again after a
// repair.
func TestDamagedStateWithoutRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byEmail)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	overwrite(t, s, at(1), func(c map[string]any) { c["_ix"] = "garbage" })
	for i, repair := range []bool{false, true, false} {
		if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, byEmail); (r.Faults == 0) != (i > 0) {
			t.Errorf("run %d, repair %v: got %+v and faults %v, sound %v; want sound %v", i, repair, r, faults, r.Faults == 0, i > 0)
		}
	}
	_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
	check(t, err)
}
