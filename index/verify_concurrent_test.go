package index_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestUnconfirmed: a suspected fault in rows that concurrent writers change at every attempt is unconfirmed: neither sound nor a
// fault.
func TestUnconfirmed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, repair := range []bool{false, true} {
		staff, s := newStaff(t, sharedDefinitions()...)
		_, err := openAs(t, s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
		check(t, err)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
		n := 0
		b := &testkit.Hooked{Service: s, Serial: true}
		b.BeforeRequest = func(r *http.Request) {
			if b := strings.Contains(r.URL.String(), "ages_"); b && r.Method == http.MethodGet {
				n++
				_, err := staff.Insert(ctx, &worker{"S", 1000 + n, "Jones", "", 30, nil})
				testkit.Expect(t, "error of the concurrent insert", err, nil)
			}
		}
		slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), sharedDefinitions()...)
		check(t, err)
		check(t, rawTable(t, s).MergeAny(ctx, rowAt("ages_Jones"), table.PropertyOf[int64]("AgeSum").Set(7)))
		r, faults := mustVerify(t, slow, verify.Options{Pass: table.Pass{DryRun: !repair}}, ages)
		if r.Faults == 0 || r.Counts["unconfirmed"] != 1 || len(faults) > 0 || r.Counts["failed"] > 0 {
			t.Errorf("repair %v: verify: got %+v and faults %v; want an unsound report with Unconfirmed 1 and Failed 0, and no fault", repair, r, faults)
		}
	}

	staff, s := newStaff(t, byLast)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("last_Jones!_w_000001")))
	b := &testkit.Hooked{Service: s, Serial: true}
	b.BeforeRequest = func(r *http.Request) {
		if strings.Contains(r.URL.String(), "RowKey='last_") {
			_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
			testkit.Expect(t, "error of the concurrent update", err, nil)
		}
	}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), byLast)
	check(t, err)
	if r, faults := mustVerify(t, slow, verify.Options{}, byLast); r.Faults == 0 || r.Counts["unconfirmed"] != 1 || len(faults) > 0 {
		t.Errorf("verify of an index: got %+v and faults %v; want an unsound report with Unconfirmed 1, and no fault", r, faults)
	}
}

// TestChangingEntity: an entity that is inserted and deleted while it is read is no fault, and no group is reported for it.
func TestChangingEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, definition := range []extend.Definition[worker]{byLast, ages} {
		for _, repair := range []bool{false, true} {
			staff, s := newStaff(t, definition)
			insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
			b := &testkit.Hooked{Service: s, Serial: true}
			n := 0
			b.BeforeRequest = func(r *http.Request) {
				n++
				switch { // the row exists during every third request
				case n%3 == 0:
					_, err := staff.Insert(ctx, &worker{"S", 2, "New", "", 30, nil})
					testkit.Expect(t, "error of the concurrent insert", err, nil)
				case n%3 == 1 && n > 1:
					testkit.Expect(t, "error of the concurrent delete", staff.DeleteAny(ctx, at(2)), nil)
				}
			}
			slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), definition)
			check(t, err)
			r, faults := mustVerify(t, slow, verify.Options{Pass: table.Pass{DryRun: !repair}}, definition)
			if len(faults) > 0 || r.Counts["failed"] > 0 {
				t.Errorf("%s, repair %v: verify during the writes: got %+v and faults %v; want Failed 0 and no fault", definition.Name(), repair, r, faults)
			}
			if n < 3 {
				t.Errorf("%s, repair %v: requests of verify: got %d; want at least 3, as the third one meets the entity", definition.Name(), repair, n)
			}
			if n%3 == 0 { // the last request had the row
				check(t, staff.DeleteAny(ctx, at(2)))
			}
			if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, definition); r.Faults > 0 {
				t.Errorf("%s, repair %v: verify after the writes: got %+v and faults %v; want a sound report", definition.Name(), repair, r, faults)
			}
		}
	}
}

// TestNoInventedGroup: a group whose only entity exists whenever entities are read, and is deleted whenever rows are read, is not
// reported as missing.
func TestNoInventedGroup(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, repair := range []bool{false, true} {
		staff, s := newStaff(t, ages)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
		there := false
		b := &testkit.Hooked{Service: s, Serial: true}
		b.BeforeRequest = func(r *http.Request) {
			address, err := url.QueryUnescape(r.URL.String())
			testkit.Expect(t, "error of QueryUnescape", err, nil)
			wanted := !strings.Contains(address, "'ages")
			switch {
			case wanted && !there:
				_, err = staff.Insert(ctx, &worker{"S", 2, "New", "", 30, nil})
			case !wanted && there:
				err = staff.DeleteAny(ctx, at(2))
			}
			testkit.Expect(t, "error of the concurrent write", err, nil)
			there = wanted
		}
		slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), ages)
		check(t, err)
		r, faults := mustVerify(t, slow, verify.Options{Pass: table.Pass{DryRun: !repair}}, ages)
		if len(faults) > 0 || r.Counts["unconfirmed"] != 1 || r.Changed+r.Counts["failed"] > 0 {
			t.Errorf("repair %v: verify: got %+v and faults %v; want Unconfirmed 1, Repaired 0 and Failed 0, and no fault", repair, r, faults)
		}
		b.BeforeRequest = nil
		if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, ages); r.Faults > 0 {
			t.Errorf("repair %v: verify after the writes: got %+v and faults %v; want a sound report", repair, r, faults)
		}
	}
}

// TestDeletedDuringRepair: a row or an entity that another program deletes during the repair is left out, and what remains is right.
func TestDeletedDuringRepair(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		definitions []extend.Definition[worker]
		damage      func(t *testing.T, s *storagetest.Service)
		method, url string // of the request before which the program deletes
		deleted     keys.Key
		want        map[string]bool // the faults
		left        int             // rows
	}{
		"a row with maintainer state": {[]extend.Definition[worker]{teams}, func(t *testing.T, s *storagetest.Service) {
			overwrite(t, s, rowAt("team_Jones"), func(m map[string]any) { m["_ix"] = stateBytes("team_Jones", `{"a":["b"]}`) })
		}, http.MethodPut, "RowKey='team_Jones'", rowAt("team_Jones"), map[string]bool{"team missing team_Jones w_000001": true}, 2},
		"the entity that a list without members should contain": {[]extend.Definition[worker]{teams}, func(t *testing.T, s *storagetest.Service) {
			overwrite(t, s, rowAt("team_Jones"), func(m map[string]any) { delete(m, "EmployeeIDs") })
		}, http.MethodGet, "RowKey='w_000001'", at(1), map[string]bool{"team dangling team_Jones ": true}, 0},
		"an entity that a summary miscounts": {[]extend.Definition[worker]{byLast, ages}, func(t *testing.T, s *storagetest.Service) {
			check(t, rawTable(t, s).DeleteAny(ctx, rowAt("last_Jones!_w_000001"))) // so that verify.Check confirms the entity
			overwrite(t, s, at(1), func(m map[string]any) { m["Age"] = "31" })
		}, http.MethodPost, "$batch", at(1), map[string]bool{
			"last missing last_Jones!_w_000001 w_000001": true, "ages state mismatch ages_Jones w_000001": true, "ages dangling ages_Jones ": true}, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			staff, s := newStaff(t, c.definitions...)
			insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
			c.damage(t, s)
			rows, deleted := rawTable(t, s), false
			b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
				if !deleted && r.Method == c.method && strings.Contains(r.URL.Path, c.url) {
					deleted = true
					checkInHook(t, rows.DeleteAny(ctx, c.deleted))
				}
			}}
			slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), c.definitions...)
			check(t, err)
			r, faults := mustVerify(t, slow, verify.Options{}, c.definitions...)
			testkit.Expect(t, "faults", faults, c.want)
			if !deleted || r.Faults > 0 || len(s.Rows("staff")) != c.left {
				t.Errorf("verify with repair: got %+v and rows %v, deleted %v; want a sound report, %d rows, and true", r, s.Rows("staff"), deleted, c.left)
			}
			if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, c.definitions...); r.Faults > 0 || len(faults) > 0 {
				t.Errorf("verify after the repair: got %+v and faults %v; want a sound report and no fault", r, faults)
			}
		})
	}
}

// TestInsertedDuringRepair: an entity that a program without the definition inserts during the repair is counted by the recount.
func TestInsertedDuringRepair(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, ages)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Cao", "", 40, nil})
	check(t, rawTable(t, s).MergeAny(ctx, rowAt("ages_Cao"), table.PropertyOf[int64]("AgeSum").Set(7))) // so that verify.Check counts again
	base := openAs(t, s.ConnectionString(), s, schema)
	n := 0
	b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(*http.Request) {
		if n++; n == 5 { // behind three lists of the first count and the list of the entities
			_, err := base.Insert(ctx, &worker{"S", 3, "Jones", "", 50, nil})
			checkInHook(t, err)
		}
	}}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), ages)
	check(t, err)
	r, faults := mustVerify(t, slow, verify.Options{Pass: table.Pass{Partitions: sales.Point()}}, ages)
	testkit.Expect(t, "faults", faults, map[string]bool{"ages stale ages_Cao ": true, "ages stale ages_Jones ": true})
	g, err := ages.Get(ctx, staff, sales, "Jones")
	check(t, err)
	if r.Faults > 0 || g.Count != 2 || g.Measures["Age"].Sum != 80 {
		t.Errorf("verify with repair: got %+v and group %+v; want a sound report, and Count 2 and Sum 80", r, g)
	}
}

// TestBoundsDuringRepair: a group whose bounds may be approximate needs no second count if a concurrent writer prevents that they
// become exact.
func TestBoundsDuringRepair(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	sum := ageOf(index.Measure[worker]{ExactUpTo: -1})
	staff, s := newStaff(t, sum)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil}, worker{"S", 3, "Jones", "", 50, nil})
	check(t, staff.DeleteAny(ctx, at(3))) // the bounds are approximate now
	n := 41
	b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
		if r.Method == http.MethodPut {
			n++
			checkInHook(t, staff.MergeAny(ctx, at(2), age.Set(n)))
		}
	}}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), sum)
	check(t, err)
	lists := 0
	s.SetFaults(storagetest.When(func(r storagetest.Request) bool {
		if r.Kind == requests.Query {
			lists++
		}
		return false
	}, storagetest.Fault{}))
	r, faults := mustVerify(t, slow, verify.Options{Pass: table.Pass{Partitions: sales.Point()}}, sum)
	if r.Faults > 0 || len(faults) > 0 || n != 42 || lists != 7 {
		t.Errorf("verify with repair: got %+v and faults %v after %d concurrent writes and %d lists; want a sound report without faults after 1 write and 7 lists, "+
			"which are 3 for each of 2 counts and 1 of the entities", r, faults, n-41, lists)
	}
}
