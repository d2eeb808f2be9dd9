package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// ageOf are summaries of ages by name.
func ageOf(m index.Measure[worker]) *index.Summary[worker, string] {
	m.Name, m.Of = "Age", func(w *worker) (int64, bool) { return int64(w.Age), w.Age > 0 }
	return index.NewSummary("ages", keys.Tuple1(keys.Text()), name, &index.SummaryOptions[worker]{Measures: []index.Measure[worker]{m}})
}

// city has n workers of the name York, of the ages 2 to n+1, and a few others.
func city(t *testing.T, sum *index.Summary[worker, string], n int) (*table.Table[worker], *storagetest.Service) {
	t.Helper()
	staff, s := office(t, sum)
	fillSample(t, staff, n, func(i int) worker { return worker{"S", i, "York", "", 2 + i, nil} })
	hire(t, staff, s, worker{"S", 900001, "Cao", "", 5, nil}, worker{"S", 900002, "Cao", "", 6, nil}, worker{"S", 900003, "Cao", "", 7, nil})
	return staff, s
}

// TestBoundsOfLargeGroups: the greatest leaves a large group without a look at the others, its bounds then say that they are approximate,
// and they are exact again with Verify and in a group that has shrunk. Small groups, and measures that say so, are exact at any time.
func TestBoundsOfLargeGroups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	sum := ageOf(index.Measure[worker]{})
	staff, s := city(t, sum, 1003)
	is := func(name string, want index.Stat) {
		t.Helper()
		g, err := sum.Get(ctx, staff, sales, name)
		check(err)
		expect(t, name, fmt.Sprintf("%+v", g.Measures["Age"]), fmt.Sprintf("%+v", want))
	}
	total := int64(1003 * 1006 / 2) // of the ages 2 to 1004
	s.Count()
	check(staff.DeleteAny(ctx, at(1002)))
	expect(t, "requests", s.Count(), "2 get, 1 transaction")
	total -= 1004
	is("York", index.Stat{Count: 1002, Sum: total, Min: 2, Max: 1004, Approximate: true})
	if r, f := mustVerify(t, staff, verify.Options{}, sum); len(f) > 0 {
		t.Error("bounds that may be approximate are no fault:", r, f)
	}
	mustVerify(t, staff, verify.Options{Repair: true}, sum)
	is("York", index.Stat{Count: 1002, Sum: total, Min: 2, Max: 1003})
	check(staff.DeleteAny(ctx, at(0)))
	total -= 2
	is("York", index.Stat{Count: 1001, Sum: total, Min: 2, Max: 1003, Approximate: true})
	s.Count()
	check(staff.DeleteAny(ctx, at(500))) // the thousandth is left
	total -= 502
	if counts := s.Count(); did(counts, "query") != 2 {
		t.Error(counts)
	}
	is("York", index.Stat{Count: 1000, Sum: total, Min: 3, Max: 1003})
	check(staff.DeleteAny(ctx, at(1001)))
	total -= 1003
	is("York", index.Stat{Count: 999, Sum: total, Min: 3, Max: 1002})
	check(staff.DeleteAny(ctx, at(900003)))
	is("Cao", index.Stat{Count: 2, Sum: 11, Min: 5, Max: 6})
	if r, f := mustVerify(t, staff, verify.Options{}, sum); len(f) > 0 {
		t.Error(r, f)
	}

	exact := ageOf(index.Measure[worker]{Exact: true})
	staff, s = city(t, exact, 1003)
	check(staff.DeleteAny(ctx, at(1002)))
	if counts := s.Count(); did(counts, "query") != 2 {
		t.Error(counts)
	}
	g, err := exact.Get(ctx, staff, sales, "York")
	check(err)
	expect(t, "exact", g.Measures["Age"], index.Stat{Count: 1002, Sum: 1003*1006/2 - 1004, Min: 2, Max: 1003})
	var de *index.DefinitionError
	if _, err := index.Attach(staff, nil, ageOf(index.Measure[worker]{Exact: true, ApproximateBounds: true})); !errors.As(err, &de) {
		t.Error(err)
	}
}

// TestGreatestLeavesBeside: the greatest leaves a large group whatever others write to it meanwhile: as often as any write is tried, and
// not once more for each of their writes.
func TestGreatestLeavesBeside(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	sum := ageOf(index.Measure[worker]{})
	staff, s := city(t, sum, 1100)
	n := 0
	for i, storm := range []string{"at each list", "at the first transactions"} {
		batches := 0
		b := &before{Service: s, do: func(r *http.Request) {
			batch := strings.Contains(r.URL.Path, "$batch")
			if batch {
				batches++
			}
			if storm == "at each list" && r.Method == http.MethodGet && !strings.Contains(r.URL.Path, "RowKey") ||
				storm == "at the first transactions" && batch && batches < 4 {
				n++
				check(staff.MergeAny(ctx, at(n), age.Set(10+n)))
			}
		}}
		slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, sum)
		check(err)
		if err := slow.DeleteAny(ctx, at(1099-i)); err != nil || batches > 4 {
			t.Error(storm, batches, err)
		}
	}
	g, err := sum.Get(ctx, staff, sales, "York")
	check(err)
	if st := g.Measures["Age"]; g.Count != 1098 || !st.Approximate || st.Max < 1098 || st.Min > 2 {
		t.Errorf("%+v", g)
	}
	if r, f := mustVerify(t, staff, verify.Options{}, sum); len(f) > 0 {
		t.Error(r, f)
	}
}

// TestLastOfMeasure: a measure that no member of a group has any more has no bounds either, and of one that a single member has they are
// that member's.
func TestLastOfMeasure(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, loose := range []bool{false, true} {
		sum := ageOf(index.Measure[worker]{ApproximateBounds: loose})
		staff, s := office(t, sum)
		hire(t, staff, s, worker{"S", 1, "Jones", "", 10, nil}, worker{"S", 2, "Jones", "", 20, nil}, worker{"S", 3, "Jones", "", 30, nil}, worker{"S", 4, "Jones", "", 0, nil})
		is := func(want index.Stat) {
			t.Helper()
			g, err := sum.Get(ctx, staff, sales, "Jones")
			check(err)
			expect(t, fmt.Sprint("loose ", loose), fmt.Sprintf("%+v", g.Measures["Age"]), fmt.Sprintf("%+v", want))
		}
		check(staff.MergeAny(ctx, at(3), age.Set(0)))
		check(staff.MergeAny(ctx, at(1), age.Set(0)))
		is(index.Stat{Count: 1, Sum: 20, Min: 20, Max: 20})
		check(staff.DeleteAny(ctx, at(2)))
		is(index.Stat{})
		row, err := staff.GetRow(ctx, rowAt("ages_Jones"))
		check(err)
		for _, property := range []string{"AgeCount", "AgeSum", "AgeMin", "AgeMax", "AgeMinCount", "AgeMaxCount"} {
			if v, _ := row.Get(property); v != int64(0) {
				t.Errorf("%s is %v", property, v)
			}
		}
		check(staff.MergeAny(ctx, at(4), age.Set(-5))) // none
		check(staff.MergeAny(ctx, at(4), age.Set(40)))
		is(index.Stat{Count: 1, Sum: 40, Min: 40, Max: 40})
	}
}
