package index_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// ageOf are summaries of ages by name.
func ageOf(m index.Measure[worker]) *index.Summary[worker, string] {
	m.Name, m.Of = "Age", func(w *worker) (int64, bool) { return int64(w.Age), w.Age > 0 }
	return index.NewSummary("ages", keys.Text(), name, nil, m)
}

// city inserts n workers with the last name York and the ages 2 to n+1, and a few workers with other names.
func city(t *testing.T, sum *index.Summary[worker, string], n int) (*table.Table[worker], *storagetest.Service) {
	t.Helper()
	staff, s := newStaff(t, sum)
	bulkInsert(t, staff, n, func(i int) worker { return worker{"S", i, "York", "", 2 + i, nil} })
	insertAll(t, staff, s, worker{"S", 900001, "Cao", "", 5, nil}, worker{"S", 900002, "Cao", "", 6, nil}, worker{"S", 900003, "Cao", "", 7, nil})
	return staff, s
}

// TestBoundsOfLargeGroups: if the greatest value leaves a large group, the write reads no other
// entities, and the bounds are approximate until verify.Repair or until the group has shrunk. Small
// groups, and measures with a greater ExactUpTo, always have exact bounds.
func TestBoundsOfLargeGroups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	sum := ageOf(index.Measure[worker]{})
	staff, s := city(t, sum, 1003)
	is := func(name string, want index.Stat) {
		t.Helper()
		g, err := sum.Get(ctx, staff, sales, name)
		check(t, err)
		testkit.Expect(t, name, fmt.Sprintf("%+v", g.Measures["Age"]), fmt.Sprintf("%+v", want))
	}
	total := int64(1003 * 1006 / 2) // of the ages 2 to 1004
	s.Count()
	check(t, staff.DeleteAny(ctx, at(1002)))
	testkit.Expect(t, "requests", s.Count().String(), "2 get, 1 transaction")
	total -= 1004
	is("York", index.Stat{Count: 1002, Sum: total, Min: 2, Max: 1004, Approximate: true})
	if r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, sum); len(f) > 0 {
		t.Errorf("verify of approximate bounds: got %+v and faults %v; want no fault", r, f)
	}
	mustVerify(t, staff, verify.Options{}, sum)
	is("York", index.Stat{Count: 1002, Sum: total, Min: 2, Max: 1003})
	check(t, staff.DeleteAny(ctx, at(0)))
	total -= 2
	is("York", index.Stat{Count: 1001, Sum: total, Min: 2, Max: 1003, Approximate: true})
	s.Count()
	check(t, staff.DeleteAny(ctx, at(500))) // 1000 entities are left
	total -= 502
	if counts := s.Count(); counts[requests.Query] != 2 {
		t.Errorf("requests of the delete that leaves 1000 entities: got %v; want 2 queries", counts)
	}
	is("York", index.Stat{Count: 1000, Sum: total, Min: 3, Max: 1003})
	check(t, staff.DeleteAny(ctx, at(1001)))
	total -= 1003
	is("York", index.Stat{Count: 999, Sum: total, Min: 3, Max: 1002})
	check(t, staff.DeleteAny(ctx, at(900003)))
	is("Cao", index.Stat{Count: 2, Sum: 11, Min: 5, Max: 6})
	if r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, sum); len(f) > 0 {
		t.Errorf("verify of exact bounds: got %+v and faults %v; want no fault", r, f)
	}

	exact := ageOf(index.Measure[worker]{ExactUpTo: 1e9})
	staff, s = city(t, exact, 1003)
	check(t, staff.DeleteAny(ctx, at(1002)))
	if counts := s.Count(); counts[requests.Query] != 2 {
		t.Errorf("requests of the delete of the greatest value with ExactUpTo: got %v; want 2 queries", counts)
	}
	g, err := exact.Get(ctx, staff, sales, "York")
	check(t, err)
	testkit.Expect(t, "exact", g.Measures["Age"], index.Stat{Count: 1002, Sum: 1003*1006/2 - 1004, Min: 2, Max: 1003})
}

// TestGreatestLeavesConcurrently: the greatest value leaves a large group while other programs write to the group: the write takes
// as many attempts as any other write, and reads no other entities.
func TestGreatestLeavesConcurrently(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	sum := ageOf(index.Measure[worker]{})
	staff, s := city(t, sum, 1100)
	n := 0
	for i, storm := range []string{"at each list", "at the first transactions"} {
		batches, lists, before := 0, 0, n
		b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
			batch := strings.Contains(r.URL.Path, "$batch")
			list := r.Method == http.MethodGet && !strings.Contains(r.URL.Path, "RowKey")
			if batch {
				batches++
			}
			if list {
				lists++
			}
			if storm == "at each list" && list || storm == "at the first transactions" && batch && batches < 4 {
				n++
				checkInHook(t, staff.MergeAny(ctx, at(n), age.Set(10+n)))
			}
		}}
		slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), sum)
		check(t, err)
		// Without a list there is no storm at each list.
		want := []int{1, 4}[i]
		if err := slow.DeleteAny(ctx, at(1099-i)); err != nil || batches != want || lists != 0 || n-before != want-1 {
			t.Errorf("%s: DeleteAny: got error %v, %d transactions, %d lists and %d concurrent writes; want no error, %d transactions, no list and %d concurrent writes",
				storm, err, batches, lists, n-before, want, want-1)
		}
	}
	g, err := sum.Get(ctx, staff, sales, "York")
	check(t, err)
	if st := g.Measures["Age"]; g.Count != 1098 || !st.Approximate || st.Max < 1098 || st.Min > 2 {
		t.Errorf("York: got %+v; want Count 1098, Approximate true, Max at least 1098 and Min at most 2", g)
	}
	if r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, sum); len(f) > 0 {
		t.Errorf("verify: got %+v and faults %v; want no fault", r, f)
	}
}

// TestLastOfMeasure: a measure without a value in its group has no bounds, and a measure with one value has exact bounds.
func TestLastOfMeasure(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, exact := range []int64{0, -1, 2} {
		sum := ageOf(index.Measure[worker]{ExactUpTo: exact})
		staff, s := newStaff(t, sum)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "", 10, nil}, worker{"S", 2, "Jones", "", 20, nil}, worker{"S", 3, "Jones", "", 30, nil}, worker{"S", 4, "Jones", "", 0, nil})
		is := func(want index.Stat) {
			t.Helper()
			g, err := sum.Get(ctx, staff, sales, "Jones")
			check(t, err)
			testkit.Expect(t, fmt.Sprint("exact up to ", exact), fmt.Sprintf("%+v", g.Measures["Age"]), fmt.Sprintf("%+v", want))
		}
		check(t, staff.MergeAny(ctx, at(3), age.Set(0)))
		check(t, staff.MergeAny(ctx, at(1), age.Set(0)))
		is(index.Stat{Count: 1, Sum: 20, Min: 20, Max: 20})
		check(t, staff.DeleteAny(ctx, at(2)))
		is(index.Stat{})
		row, err := tabledoor.GetRow(ctx, staff, rowAt("ages_Jones"))
		check(t, err)
		for _, property := range []string{"AgeCount", "AgeSum", "AgeMin", "AgeMax", "AgeMinCount", "AgeMaxCount"} {
			if v, _ := row.Get(property); v != int64(0) {
				t.Errorf("exact up to %v: got %s %v (%T); want 0 (int64)", exact, property, v, v)
			}
		}
		check(t, staff.MergeAny(ctx, at(4), age.Set(-5))) // none
		check(t, staff.MergeAny(ctx, at(4), age.Set(40)))
		is(index.Stat{Count: 1, Sum: 40, Min: 40, Max: 40})
	}
}
