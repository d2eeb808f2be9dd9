package index_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestSums: a sum may exceed 64 bits while entities are added up; only a result that does fails, in its own group alone.
func TestSums(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	big := index.NewSummary("big", keys.Text(), func(w *worker) (string, bool) { return w.Last, true },
		nil, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), w.Age != 0 }})
	staff, s := newStaff(t, big)
	insertAll(t, staff, s, worker{"S", 1, "J", "", -10, nil}, worker{"S", 2, "J", "", math.MaxInt64 - 2, nil}, worker{"S", 3, "J", "", 5, nil}, worker{"S", 4, "J", "", -20, nil},
		worker{"S", 5, "K", "", 1, nil}, worker{"S", 6, "K", "", 2, nil}, worker{"S", 7, "K", "", 0, nil})
	check(t, staff.DeleteAny(ctx, at(4)))
	var le *table.LimitError
	if err := staff.DeleteAny(ctx, at(1)); !errors.As(err, &le) || le.Limit != "bits" || le.Got != 65 {
		t.Errorf("delete that leaves a sum above 64 bits: got error %v; want a *LimitError of 65 bits", err)
	}
	check(t, staff.DeleteAny(ctx, at(5)))
	g, err := big.Get(ctx, staff, sales, "K")
	check(t, err)
	testkit.Expect(t, "K", *g, index.Group[string]{Value: "K", Count: 2, Measures: map[string]index.Stat{"Age": {Count: 1, Sum: 2, Min: 2, Max: 2}}})
	var de *table.DefinitionError
	var measures []index.Measure[worker]
	for i := range 70 {
		measures = append(measures, index.Measure[worker]{Name: fmt.Sprint("M", i), Of: func(*worker) (int64, bool) { return 0, false }})
	}
	many := index.NewSummary("many", keys.Text(), func(w *worker) (string, bool) { return w.Last, true }, nil, measures...)
	if _, err := baretest.Attach(staff, many); !errors.As(err, &de) || de.Definition != "many" {
		t.Errorf("attach a summary with 70 measures: got error %v; want a *DefinitionError of many", err)
	}
}

// TestSummaryScans: a group is counted again only if its row does not show what is left.
func TestSummaryScans(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	two := index.NewSummary("two", keys.Text(), func(w *worker) (string, bool) { return w.Last, true },
		nil, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), true }}, index.Measure[worker]{Name: "Tags", Of: func(w *worker) (int64, bool) { return int64(len(w.Tags)), true }})
	staff, s := newStaff(t, two)
	es := insertAll(t, staff, s, worker{"S", 1, "J", "", 30, nil}, worker{"S", 2, "J", "", 40, []string{"x"}}, worker{"S", 3, "J", "", 50, []string{"x", "y"}})
	change := func(what string, e *table.Entity[worker], want string, f func(*worker)) {
		t.Helper()
		f(&e.Value)
		check(t, staff.Replace(ctx, e))
		testkit.Expect(t, what, s.Count().String(), want)
	}
	change("another measure than the extreme", es[0], "1 get, 1 transaction", func(w *worker) { w.Tags = nil; w.Age = 29 })
	change("the least decreases", es[0], "1 get, 1 transaction", func(w *worker) { w.Age = 1 })
	change("the least rises above another", es[0], "1 get, 1 query, 1 transaction", func(w *worker) { w.Age = 45 })
	for i := range 50 {
		insertAll(t, staff, s, worker{"S", 100 + i, "Same", "", 7, nil})
	}
	name := last.Eq("Same")
	r, err := table.BulkDelete(ctx, staff, table.Query[worker]{Partition: sales, Where: name}, nil)
	if err != nil || r.Changed != 50 {
		t.Fatalf("delete of all of one name: got %+v, error %v; want 50 done", r, err)
	}
	testkit.Expect(t, "all of one age", s.Count().String(), "1 get, 1 query, 1 transaction")
}

// TestHostileGroups: a value with any characters finds its own list and its own summary only.
func TestHostileGroups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, nameLists, nameSums)
	for i, v := range hostile {
		insertAll(t, staff, s, worker{"S", i, v, "", 1 + i, nil})
	}
	for i, v := range hostile {
		all, err := nameLists.Keys(ctx, staff, sales, v)
		check(t, err)
		testkit.Expect(t, v, all, []keys.Key{at(i)})
		g, err := nameSums.Get(ctx, staff, sales, v)
		check(t, err)
		testkit.Expect(t, v, []any{g.Value, g.Count, g.Measures["Age"].Sum}, []any{v, 1, 1 + i})
	}
	seen := map[string]bool{}
	for g, err := range nameSums.All(ctx, staff, sales) {
		check(t, err)
		seen[g.Value] = true
	}
	testkit.Expect(t, "values", len(seen), len(hostile))
	if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, nameLists, nameSums); r.Faults > 0 {
		t.Errorf("verify: got %+v and faults %v; want a sound report", r, faults)
	}
}
