package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// changeRaw changes a property of an entity as another program does, so that its rows stay as they are.
func changeRaw(t *testing.T, s *storagetest.Service, id int, property, value string) {
	t.Helper()
	changeProperty(t, rawTable(t, s), id, property, value)
}

// changeProperty is changeRaw for hooks, which run in other goroutines than the test. rows is the table as another program writes
// it.
func changeProperty(t *testing.T, rows *table.Table[table.Row], id int, property, value string) {
	t.Helper()
	err := door.Rows[table.Table[table.Row]](door.Table(rows), false).MergeAny(context.Background(), at(id), table.PropertyOf[string](property).Set(value))
	testkit.Expect(t, fmt.Sprintf("error of the change of %s of worker %d", property, id), err, nil)
}

// TestReleasedRow: an entity that has the unique row of another entity releases the row and its
// maintainer state in one write. Concurrent writes and an interruption of verify.Check at any
// request do not take the row from its new owner.
func TestReleasedRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, cut := range []bool{false, true} {
		kept, passes := 0, 0 // how often worker 2 had the row after a run that was cut; how often all was done again for that
		for n, over := 1, false; !over; n++ {
			staff, s := newStaff(t, byEmail, byLast)
			insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
			changeRaw(t, s, 1, "Email", "z")
			changeRaw(t, s, 2, "Email", "a")
			check(t, rawTable(t, s).DeleteAny(ctx, rowAt("last_Jones!_w_000001"))) // so that verify.Check does not repair worker 1 in a batch
			vctx, cancel := context.WithCancel(ctx)
			i := 0
			b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(*http.Request) {
				if i++; i != n {
				} else if cut {
					cancel()
				} else {
					testkit.Expect(t, fmt.Sprint("error of the write before request ", n), staff.MergeAny(ctx, at(1), age.Set(31)), nil)
				}
			}}
			slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), byEmail, byLast)
			check(t, err)
			r, err := verify.Repair(vctx, slow, nil, byEmail, byLast)
			over = i < n
			if cut {
				e, err := byEmail.Get(ctx, staff, sales, "a")
				taken := err == nil && e.Key == at(2)
				if over && !taken {
					t.Errorf("not cut: Get of email a: got %+v and error %v; want %v and no error", e, err, at(2))
				}
				check(t, staff.MergeAny(ctx, at(1), age.Set(31)))
				if taken && !over {
					kept++
				}
				if e, err := byEmail.Get(ctx, staff, sales, "a"); taken && (err != nil || e.Key != at(2)) {
					t.Errorf("cut at request %d: Get of email a, which worker 2 had before the write of worker 1: got %+v and error %v; want %v and no error", n, e, err, at(2))
				}
			}
			switch {
			case cut && !over:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("cut at request %d: verify with repair: got report %+v and error %v; want context.Canceled", n, r, err)
				}
			case err != nil || r.Faults > 0:
				t.Errorf("write before request %d: verify with repair: got report %+v and error %v; want a sound report and no error", n, r, err)
			default:
				if err := checkCopiesOf("email", "last")(s); err != nil {
					t.Errorf("write before request %d: index rows after verify with report %+v: got error %v; want none", n, r, err)
				}
			}
			cancel()
			// The two entities are confirmed at the same time. In some orders, worker 2 gets the row by the last request of the run.
			if over && cut && kept == 0 && passes < 20 {
				n, over, passes = 8, false, passes+1
			}
		}
		if cut && kept == 0 {
			t.Errorf("runs that were cut after worker 2 got the row of email a: got none in %d passes; want at least 1", passes+1)
		}
	}
}

// TestForgedState: forged maintainer state of an entity deletes no other entity and none of its rows.
func TestForgedState(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		d  extend.Definition[worker]
		ix string
	}{
		"an entity":           {byLast, `{"last":["last_Jones!_w_000001","w_000002","/"]}`},
		"itself":              {byLast, `{"last":["last_Jones!_w_000001","w_000001","/"]}`},
		"another's row":       {byLast, `{"last":["last_Jones!_w_000001","last_Cao!_w_000002","/"]}`},
		"more than there are": {byLast, `{"last":["last_A!_w_000001","last_B!_w_000001","last_C!_w_000001","last_Jones!_w_000001","/"]}`},
		"an entity, unique":   {byEmail, `{"email":["email_a","w_000002"]}`},
		"an entity, of lists": {teams, `{"team":["w_000002","/EmployeeIDs"]}`},
		"an entity, of sums":  {ages, `{"ages":["w_000002","/Age=30"]}`},
		"itself, of sums":     {ages, `{"ages":["w_000001","/Age=30"]}`},
		"no group, of sums":   {ages, `{"ages":["ages_Nobody","/Age=30"]}`},
		"an invalid row key":  {ages, `{"ages":["a/b","/Age=30"]}`},
	} {
		for _, write := range []bool{false, true} {
			t.Run(fmt.Sprint(what, " write ", write), func(t *testing.T) {
				t.Parallel()
				staff, s := newStaff(t, c.d)
				insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil})
				overwrite(t, s, at(1), func(m map[string]any) { m["_ix"] = stateBytes("w_000001", c.ix) })
				if write {
					_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Last, w.Email = "Smith", "q"; return nil })
					check(t, err)
				}
				r, f := mustVerify(t, staff, verify.Options{}, c.d)
				if _, err := staff.Get(ctx, at(2)); err != nil || r.Faults > 0 {
					t.Errorf("verify with repair: got report %+v and faults %v; want a sound report; Get of worker 2: got error %v; want none", r, f, err)
				}
				if r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, c.d); r.Faults > 0 || len(f) > 0 {
					t.Errorf("verify after the repair: got report %+v and faults %v; want a sound report and no fault", r, f)
				}
				check(t, staff.MergeAny(ctx, at(1), last.Set("New"), email.Set("n")))
			})
		}
	}
}

// TestEntityMarkedAsCopy: an entity whose row contains the property of copies is an entity, because it is in the range of entities.
func TestEntityMarkedAsCopy(t *testing.T) {
	t.Parallel()
	for i, sys := range []string{"w_000002", "nobody", "x/y", "w_000001"} {
		staff, s := newStaff(t, byEmail, byLast)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil})
		overwrite(t, s, at(1), func(m map[string]any) { m["_sys"] = sys })
		for _, repair := range []bool{false, true} {
			r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}, MostRows: i % 2}, byEmail, byLast)
			testkit.Expect(t, fmt.Sprintf("_sys %s: entities, faults and Sound of verify, repair %v", sys, repair), fmt.Sprint(r.Rows, f, r.Faults == 0), fmt.Sprint(2, map[string]bool{"email state mismatch  w_000001": true}, repair))
		}
		if err := checkCopiesOf("email", "last")(s); err != nil {
			t.Errorf("_sys %s: index rows after the repair: got error %v; want none", sys, err)
		}
	}
}

// TestGroupElsewhere: an unreadable entity whose maintainer state names a group outside of the range gets no row there.
func TestGroupElsewhere(t *testing.T) {
	t.Parallel()
	staff, s := newStaff(t, ages)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil})
	overwrite(t, s, at(2), func(m map[string]any) {
		m["_ix"], m["Age"] = stateBytes("w_000002", `{"ages":["w_000009","/Age=30"]}`), "old"
		delete(m, "Age@odata.type")
	})
	r, f := mustVerify(t, staff, verify.Options{}, ages)
	if r.Counts[verify.Unreadable] != 1 || r.Counts["unconfirmed"] > 0 || r.Counts["failed"] != 1 || len(s.Rows("staff")) != 3 {
		t.Errorf("verify with repair: got report %+v, faults %v and rows %v; want 1 unreadable, nothing unconfirmed, 1 failed and 3 rows", r, f, s.Rows("staff"))
	}
}

// TestStateInDerivedRow: maintainer state in a derived row, which would make every write of the row fail, is removed.
func TestStateInDerivedRow(t *testing.T) {
	t.Parallel()
	all := append(copyDefinitions(), sharedDefinitions()...)
	for _, row := range []string{"email_a", "last_Jones!_w_000001", "age_030_w_000001", "~x|tag_x_w_000001", "team_Jones", "ages_Jones"} {
		for _, ix := range []string{`{"a":["b"]}`, "x"} {
			staff, s := newStaff(t, all...)
			_, err := openAs(t, s.ConnectionString(), s, depts).Insert(context.Background(), &department{Name: "S", Budget: 7})
			check(t, err)
			insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, []string{"x"}}, worker{"S", 2, "Cao", "b", 30, nil})
			overwrite(t, s, rowAt(row), func(m map[string]any) { m["_ix"] = stateBytes(row, ix) })
			for _, repair := range []bool{false, true} {
				r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, all...)
				if r.Counts[verify.Stale] != 1 || len(f) != 1 || (r.Faults == 0) != repair {
					t.Errorf("%s with _ix %s: verify, repair %v: got report %+v and faults %v; want 1 fault, which is stale, and Sound() == %v", row, ix, repair, r, f, repair)
				}
			}
			r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, all...)
			if err := staff.MergeAny(context.Background(), at(1), last.Set("q"), email.Set("q"), age.Set(3)); err != nil || len(f) > 0 {
				t.Errorf("%s with _ix %s: verify after the repair: got report %+v and faults %v; want no fault; MergeAny: got error %v; want none", row, ix, r, f, err)
			}
		}
	}
}

// TestEmptyKeys: an entity with an empty key, which the service accepts and this library does not write, is reported and has no rows.
func TestEmptyKeys(t *testing.T) {
	t.Parallel()
	anywhere := schema
	anywhere.Row, anywhere.Partition = nil, nil
	ix := index.New("l", keys.Text(), name, &index.Options{Reserved: true}).Only()
	for _, empty := range []string{"RowKey", "PartitionKey"} {
		staff, s := attached(t, anywhere, ix)
		row := map[string]any{"PartitionKey": "S", "RowKey": "z", "Last": "Cao", "Dept": "S"}
		row[empty] = ""
		body, err := json.Marshal(row)
		check(t, err)
		_, err = s.Tables().NewClient("staff").AddEntity(context.Background(), body, nil)
		check(t, err)
		for _, repair := range []bool{false, true} {
			r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, ix)
			if r.Counts[verify.Unreadable] != 1 || len(f) != 1 || r.Faults == 0 || len(s.Rows("staff")) != 1 {
				t.Errorf("empty %s: verify, repair %v: got report %+v, faults %v and %d rows; want 1 fault, which is unreadable, a report that is not sound, and 1 row",
					empty, repair, r, f, len(s.Rows("staff")))
			}
		}
	}
}

// TestUnconfirmedIsCounted: a suspected fault of an entity is counted as unconfirmed also if another fault of the entity cannot be
// repaired.
func TestUnconfirmedIsCounted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byEmail, head)
	_, err := openAs(t, s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
	check(t, err)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
	changeRaw(t, s, 1, "Email", "z")
	changeRaw(t, s, 2, "Email", "a") // worker 1 has the row of this email, and changes before each request for worker 1
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("department")))
	n := 0
	rows := rawTable(t, s)
	b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
		if strings.Contains(r.URL.Path, "w_000001") || strings.Contains(r.URL.Path, "$batch") {
			n++
			changeProperty(t, rows, 1, "Note", fmt.Sprint(n))
		}
	}}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), byEmail, head)
	check(t, err)
	r, f := mustVerify(t, slow, verify.Options{}, byEmail, head)
	if r.Counts["unconfirmed"] != 2 || !f["head missing department w_000002"] {
		t.Errorf("verify with repair: got report %+v and faults %v; want 2 unconfirmed and head missing department w_000002", r, f)
	}
}

// TestReportPredictsRepair: a run without repair reports for entities with one unique value what a repair does.
func TestReportPredictsRepair(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	boom := index.New("boom", keys.Text(), func(w *worker) (string, bool) {
		if w.ID == 1 {
			panic("of this one there is no key")
		}
		return w.Last, true
	}, nil)
	// The run with repair reports the same, and what became of it.
	same := func(what string, foretold, r table.Progress, repaired int) {
		if foretold.Changed != 0 || r.Changed != repaired {
			t.Errorf("%s: verify: got %d repaired without repair and %d with; want none and %d", what, foretold.Changed, r.Changed, repaired)
		}
		r.Changed, r.Faults = 0, r.Faults+r.Changed
		testkit.Expect(t, what+": report with repair, apart from Repaired", r, foretold)
	}
	var foretold [2]table.Progress
	var foretoldUnread map[string]bool
	for _, repair := range []bool{false, true} {
		staff, s := newStaff(t, byEmail)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil}, worker{"S", 3, "Cao", "", 30, nil})
		check(t, rawTable(t, s).DeleteAny(ctx, at(1)))
		changeRaw(t, s, 2, "Email", "a")
		changeRaw(t, s, 3, "Email", "a")
		r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, byEmail)
		if r.Counts[verify.DuplicateValue] != 1 || r.Counts[verify.Missing] != 1 || !repair && !f["email duplicate value email_a w_000003"] {
			t.Errorf("email of an entity that is deleted: verify, repair %v: got report %+v and faults %v; "+
				"want 1 duplicate value, 1 missing and, without repair, email duplicate value email_a w_000003", repair, r, f)
		}
		// A repair gives the value to the first of the two that it confirms.
		first, second := 2, 3
		if f["email missing email_a w_000003"] {
			first, second = 3, 2
		}
		testkit.Expect(t, fmt.Sprintf("email of an entity that is deleted: faults of verify, repair %v", repair), f, map[string]bool{
			"email dangling email_a w_000001": true, "email missing email_a " + at(first).RowKey(): true, "email duplicate value email_a " + at(second).RowKey(): true})
		if !repair {
			foretold[0] = r
		} else {
			same("email of an entity that is deleted", foretold[0], r, 2)
			if e, err := byEmail.Get(ctx, staff, sales, "a"); err != nil || e.Key != at(first) {
				t.Errorf("email of an entity that is deleted: Get after the repair: got %+v and error %v; want %v and no error", e, err, at(first))
			}
		}

		base, s := newStaff(t)
		insertAll(t, base, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "a", 30, nil})
		staff, err := baretest.Attach(base, byEmail, boom)
		check(t, err)
		r, f = mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, byEmail, boom)
		if r.Counts[verify.DuplicateValue] != 0 || r.Counts[verify.Unreadable] != 1 || !f["email missing email_a w_000002"] {
			t.Errorf("email of an entity that cannot be read: verify, repair %v: got report %+v and faults %v; "+
				"want no duplicate value, 1 unreadable and email missing email_a w_000002", repair, r, f)
		}
		if !repair {
			foretold[1], foretoldUnread = r, f
		} else {
			same("email of an entity that cannot be read", foretold[1], r, 2)
			testkit.Expect(t, "email of an entity that cannot be read: faults of verify with repair", f, foretoldUnread)
			if e, err := byEmail.Get(ctx, staff, sales, "a"); err != nil || e.Key != at(2) {
				t.Errorf("email of an entity that cannot be read: Get after the repair: got %+v and error %v; want %v and no error", e, err, at(2))
			}
		}
	}
}

// TestSummaryMoved: after a release with another name for a summary, each entity is repaired, and nothing is unconfirmed.
func TestSummaryMoved(t *testing.T) {
	t.Parallel()
	at := func(reserved bool) *index.Summary[worker, string] {
		return index.NewSummary("ages", keys.Text(), name, &index.SummaryOptions{Reserved: reserved}, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), w.Age > 0 }})
	}
	was, is := at(true), at(false)
	old, s := newStaff(t, was)
	insertAll(t, old, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "b", 30, nil})
	staff, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema), is)
	check(t, err)
	for _, repair := range []bool{false, true} {
		r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, is)
		if r.Counts["unconfirmed"] > 0 || (r.Faults == 0) != repair || r.Counts[verify.StateMismatch] != 2 {
			t.Errorf("verify, repair %v: got report %+v and faults %v; want nothing unconfirmed, Sound() == %v and 2 state mismatches", repair, r, f, repair)
		}
	}
	var left []string
	for _, row := range s.Rows("staff") {
		left = append(left, row.RowKey)
	}
	testkit.Expect(t, "rows", left, []string{"ages_Jones", "w_000001", "w_000002"})
}

// TestForeignColumns: properties that another program has added to the row of a summary are no fault, and stay until the next
// write.
func TestForeignColumns(t *testing.T) {
	t.Parallel()
	staff, s := newStaff(t, ages)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	overwrite(t, s, rowAt("ages_Jones"), func(m map[string]any) { m["Note"] = "mine" })
	s.Count()
	r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{Partitions: sales.Point()}}, ages)
	testkit.Expect(t, "requests", s.Count().String(), "4 query")
	if r.Faults > 0 || len(f) > 0 {
		t.Errorf("verify with repair: got report %+v and faults %v; want a sound report and no fault", r, f)
	}
	note := func(what string, want any) {
		t.Helper()
		row, err := tabledoor.GetRow(context.Background(), rawTable(t, s), rowAt("ages_Jones"))
		check(t, err)
		v, _ := row.Get("Note")
		testkit.Expect(t, what+": Note of the summary", v, want)
	}
	note("after verify with repair", "mine")
	check(t, staff.MergeAny(context.Background(), at(1), age.Set(31)))
	note("after the next write", nil)
}

// TestForeignEntityInRange: an entity of another type among the rows of an index keeps its maintainer state.
func TestForeignEntityInRange(t *testing.T) {
	t.Parallel()
	staff, s := newStaff(t, byEmail)
	other := table.Schema[worker]{Partition: schema.Partition, Row: keys.Row(keys.Digits[int](6).Named("email"), func(w *worker) *int { return &w.ID })}
	lasts := index.New("zlast", keys.Text(), name, nil)
	mails, err := baretest.Attach(openAs(t, s.ConnectionString(), s, other), lasts)
	check(t, err)
	insertAll(t, mails, s, worker{"S", 7, "Z", "", 1, nil})
	before := fmt.Sprint(s.Rows("staff"))
	r, f := mustVerify(t, staff, verify.Options{}, byEmail)
	if after := fmt.Sprint(s.Rows("staff")); after != before || len(f) > 0 {
		t.Errorf("verify with repair: got report %+v, faults %v and rows %s; want no fault and rows %s", r, f, after, before)
	}
}

// TestDetailsSwapTargets: entities whose details a later release stores in each other's targets are repaired.
func TestDetailsSwapTargets(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	to := func(swapped int) *index.Details[worker] {
		return index.NewDetails("head", "Head", func(w *worker) (keys.RowKey, bool) { return keys.RawRow(fmt.Sprint("d", (w.ID+swapped)%2)), true }, last)
	}
	was, is := to(0), to(1)
	old, s := newStaff(t, was)
	for _, name := range []string{"d0", "d1"} {
		_, err := rawTable(t, s).InsertAt(ctx, rowAt(name), &table.Row{})
		check(t, err)
	}
	insertAll(t, old, s, worker{"S", 0, "Jones", "", 1, nil}, worker{"S", 1, "Cao", "", 1, nil})
	staff, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema), is)
	check(t, err)
	if r, f := mustVerify(t, staff, verify.Options{}, is); r.Faults > 0 || r.Changed == 0 {
		t.Errorf("verify with repair: got report %+v and faults %v; want a sound report and at least 1 repair", r, f)
	}
	if r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, is); r.Faults > 0 || len(f) > 0 {
		t.Errorf("verify after the repair: got report %+v and faults %v; want a sound report and no fault", r, f)
	}
}
