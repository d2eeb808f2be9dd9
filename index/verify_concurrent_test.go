package index_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
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
		slow, err := index.Attach(openAs(t, s.ConnectionString(), b, schema), sharedDefinitions()...)
		check(t, err)
		check(t, rawTable(t, s).MergeAny(ctx, rowAt("ages_Jones"), table.PropertyOf[int64]("AgeSum").Set(7)))
		r, faults := mustVerify(t, slow, verify.Options{Repair: repair}, ages)
		if r.Sound() || r.Unconfirmed != 1 || len(faults) > 0 || r.Failed > 0 {
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
	slow, err := index.Attach(openAs(t, s.ConnectionString(), b, schema), byLast)
	check(t, err)
	if r, faults := mustVerify(t, slow, verify.Options{Repair: true}, byLast); r.Sound() || r.Unconfirmed != 1 || len(faults) > 0 {
		t.Errorf("verify of an index: got %+v and faults %v; want an unsound report with Unconfirmed 1, and no fault", r, faults)
	}
}

// TestChangingEntity: an entity that is inserted and deleted while it is read is no fault, and no group is reported for it.
func TestChangingEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, definition := range []index.Definition[worker]{byLast, ages} {
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
			slow, err := index.Attach(openAs(t, s.ConnectionString(), b, schema), definition)
			check(t, err)
			r, faults := mustVerify(t, slow, verify.Options{Repair: repair}, definition)
			if len(faults) > 0 || r.Failed > 0 {
				t.Errorf("%s, repair %v: verify during the writes: got %+v and faults %v; want Failed 0 and no fault", definition.Name(), repair, r, faults)
			}
			if n < 3 {
				t.Errorf("%s, repair %v: requests of verify: got %d; want at least 3, as the third one meets the entity", definition.Name(), repair, n)
			}
			if n%3 == 0 { // the last request had the row
				check(t, staff.DeleteAny(ctx, at(2)))
			}
			if r, faults := mustVerify(t, staff, verify.Options{}, definition); !r.Sound() {
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
		slow, err := index.Attach(openAs(t, s.ConnectionString(), b, schema), ages)
		check(t, err)
		r, faults := mustVerify(t, slow, verify.Options{Repair: repair}, ages)
		if len(faults) > 0 || r.Unconfirmed != 1 || r.Repaired+r.Failed > 0 {
			t.Errorf("repair %v: verify: got %+v and faults %v; want Unconfirmed 1, Repaired 0 and Failed 0, and no fault", repair, r, faults)
		}
		b.BeforeRequest = nil
		if r, faults := mustVerify(t, staff, verify.Options{}, ages); !r.Sound() {
			t.Errorf("repair %v: verify after the writes: got %+v and faults %v; want a sound report", repair, r, faults)
		}
	}
}
