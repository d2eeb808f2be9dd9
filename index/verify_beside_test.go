package index_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestRepairTakesNothing: repairs of one definition take no unique row of another from who has it by now, whichever way they write.
func TestRepairTakesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		unique *index.Index[worker, string]
		row    string
		harm   func(rows *table.Table[table.Row])
	}{
		"one by one":  {byEmail, "email_a", func(rows *table.Table[table.Row]) { check(rows.DeleteAny(ctx, rowAt("last_Jones!_w_000001"))) }},
		"with others": {byEmail, "email_a", func(rows *table.Table[table.Row]) { check(rows.DeleteAny(ctx, rowAt("team_Jones"))) }},
		"a pointer, given up": {mailPointer, "mp_a", func(rows *table.Table[table.Row]) {
			check(rows.MergeAny(ctx, at(1), table.PropertyOf[string]("Email").Set("z")))
			check(rows.DeleteAny(ctx, rowAt("team_Jones")))
		}},
	} {
		staff, s := office(t, c.unique, byLast, teams)
		hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
		check(byHand(s).DeleteAny(ctx, rowAt(c.row)))
		hire(t, staff, s, worker{"S", 2, "Cao", "a", 30, nil})
		c.harm(byHand(s))
		_, err := verify.Run(ctx, staff, &verify.Options{Repair: true}, byLast, teams)
		check(err)
		if e, err := c.unique.Get(ctx, staff, sales, "a"); err != nil || e.Key != at(2) {
			t.Error(what, e, err)
		}
	}
	// A new definition, of entities that have lost a value and of one that wants it, too.
	staff, s := office(t, mailPointer)
	hire(t, staff, s, worker{"S", 2, "Jones", "a", 30, nil})
	check(byHand(s).DeleteAny(ctx, rowAt("mp_a")))
	hire(t, staff, s, worker{"S", 3, "Cao", "a", 30, nil})
	check(byHand(s).MergeAny(ctx, at(2), table.PropertyOf[string]("Email").Set("b")))
	plain := openAs(s.ConnectionString(), s, schema)
	_, err := plain.Insert(ctx, &worker{"S", 1, "Low", "a", 30, nil})
	check(err)
	staff, err = index.Attach(plain, nil, mailPointer, teams)
	check(err)
	_, err = verify.Run(ctx, staff, &verify.Options{Repair: true}, teams)
	check(err)
	if e, err := mailPointer.Get(ctx, staff, sales, "a"); err != nil || e.Key != at(3) {
		t.Error(e, err)
	}
}

// TestLooseForAWhile: Verify leaves measures exact that are to be exact: it loosens none that it does not count anew, and one that was
// left so, by a Verify that was cut short or an earlier release, is told, and exact again with the next that leaves it.
func TestLooseForAWhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, byLast, ages)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil}, worker{"S", 3, "Jones", "", 50, nil}, worker{"S", 4, "Jones", "", 46, nil})
	told := func(want index.Stat) {
		t.Helper()
		g, err := ages.Get(ctx, staff, sales, "Jones")
		check(err)
		expect(t, "ages", g.Measures["Age"], want)
	}
	check(byHand(s).MergeAny(ctx, at(1), table.PropertyOf[int64]("Age").Set(45)))
	check(byHand(s).DeleteAny(ctx, rowAt("last_Jones!_w_000001")))
	mustVerify(t, staff, verify.Options{Repair: true}, byLast)
	told(index.Stat{Count: 4, Sum: 181, Min: 40, Max: 50})
	tamper(t, s, rowAt("ages_Jones"), func(c map[string]any) { c["AgeLoose"], c["AgeMin"], c["AgeMinCount"] = true, "30", "0" })
	if r, _ := mustVerify(t, staff, verify.Options{}, ages); r.Sound() || r.Faults[verify.Stale] != 1 {
		t.Error(r)
	}
	check(staff.DeleteAny(ctx, at(4)))
	told(index.Stat{Count: 3, Sum: 135, Min: 40, Max: 50})
}

// TestVerifyGoesOnBeside: what cannot be repaired in one place keeps nothing else from being looked at.
func TestVerifyGoesOnBeside(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	// A sum that is too much.
	sum := index.NewSummary("s", keys.Tuple1(keys.Text()), name, &index.SummaryOptions[worker]{Measures: []index.Measure[worker]{{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), true }}}})
	staff, s := office(t, sum)
	hire(t, staff, s, worker{"S", 1, "Jones", "", math.MaxInt64, nil}, worker{"S", 3, "Cao", "", 5, nil}, worker{"T", 3, "Cao", "", 5, nil})
	check(byHand(s).DeleteAny(ctx, rowAt("s_Jones")))
	hire(t, staff, s, worker{"S", 2, "Jones", "", math.MaxInt64, nil})
	check(byHand(s).DeleteAny(ctx, rowAt("s_Cao")))
	check(byHand(s).DeleteAny(ctx, keys.Stored("T", "s_Cao")))
	r, faults := mustVerify(t, staff, verify.Options{Repair: true}, sum)
	if r.Partitions != 2 || r.Repaired != 2 || r.Failed != 1 || r.Sound() {
		t.Error(r, faults)
	}

	// A department that has come to have rows of its own.
	staff, _, s = campus(t)
	hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil}, worker{"T", 2, "Cao", "b", 30, nil})
	byBudget := index.New("budget", keys.Tuple1(keys.Digits[int](3)), func(d *department) (int, bool) { return d.Budget, true }, &index.Options[department]{Pointer: true})
	indexed, err := index.Attach(openAs(s.ConnectionString(), s, depts), nil, byBudget)
	check(err)
	e, err := indexed.Get(ctx, rowAt("department"))
	check(err)
	e.Value.Budget = 8
	check(indexed.Replace(ctx, e))
	check(byHand(s).MergeAny(ctx, rowAt("department"), table.PropertyOf[string]("HeadRowKey").Set("w_000009")))
	r, faults = mustVerify(t, staff, verify.Options{Repair: true}, three()...)
	if r.Partitions != 2 || r.Failed == 0 || r.Sound() {
		t.Error(r, faults)
	}
}

// TestNothingIsCalledRepaired: what was seen, and could not be repaired since the entity cannot be read any more, is told so.
func TestNothingIsCalledRepaired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fragile := index.New("fr", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) {
		if w.Age == 99 {
			panic("no")
		}
		return w.Last, true
	}, &index.Options[worker]{Pointer: true})
	staff, s := office(t, fragile, byAge)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	check(byHand(s).DeleteAny(ctx, rowAt("fr_Jones_w_000001")))
	check(byHand(s).DeleteAny(ctx, rowAt("age_030_w_000001")))
	once := true
	b := &before{Service: s, do: func(r *http.Request) {
		if (r.Method == http.MethodPost || r.Method == http.MethodPut) && once {
			once = false
			check(byHand(s).MergeAny(ctx, at(1), table.PropertyOf[int64]("Age").Set(99)))
		}
	}}
	slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, fragile, byAge)
	check(err)
	r, err := verify.Run(ctx, slow, &verify.Options{Repair: true}, fragile, byAge)
	check(err)
	if r.Repaired > 0 || r.Sound() || r.Faults[verify.Unreadable] == 0 {
		t.Errorf("%+v", r)
	}
}

// TestConflictForetold: a report tells of an entity that will not have a value, since another has it.
func TestConflictForetold(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, byEmail)
	hire(t, staff, s, worker{"S", 2, "Jones", "a", 30, nil})
	_, err := openAs(s.ConnectionString(), s, schema).Insert(ctx, &worker{"S", 1, "Cao", "a", 30, nil})
	check(err)
	for _, repair := range []bool{false, true} {
		if r, faults := mustVerify(t, staff, verify.Options{Repair: repair}, byEmail); r.Faults[verify.Conflict] != 1 || r.Faults[verify.Missing] != 0 {
			t.Error(r, faults)
		}
	}
}

// cancelling ends a context behind the first write.
type cancelling struct {
	*before
	cancel func()
}

func (c *cancelling) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.before.Do(r)
	if r.Method == http.MethodPut || r.Method == http.MethodPost {
		c.cancel()
	}
	return resp, err
}

// TestReportOfWhatWasDone: what was repaired before the end of the context is in the report.
func TestReportOfWhatWasDone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	staff, s := office(t, teams)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 30, nil})
	check(byHand(s).DeleteAny(ctx, at(2)))
	ending, err := index.Attach(openAs(s.ConnectionString(), &cancelling{&before{Service: s}, cancel}, schema), nil, teams)
	check(err)
	r, err := verify.Run(ctx, ending, &verify.Options{Repair: true}, teams)
	all, err2 := teams.Keys(context.Background(), staff, sales, "Jones")
	check(err2)
	// Whether it was done the end of the context may have hidden.
	if r.Faults[verify.Dangling] != 1 || r.Repaired == 1 && len(all) != 1 || r.Repaired+r.Failed != 1 || !errors.Is(err, context.Canceled) {
		t.Error(all, r, err)
	}
}

// TestDamagedOfNobody: an entity that is in no index, and whose own notes are damaged, can be written again after Verify.
func TestDamagedOfNobody(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, byEmail)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	tamper(t, s, at(1), func(c map[string]any) { c["_ix"] = "garbage" })
	for i, repair := range []bool{false, true, false} {
		if r, faults := mustVerify(t, staff, verify.Options{Repair: repair}, byEmail); r.Sound() != (i > 0) {
			t.Error(i, r, faults)
		}
	}
	_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
	check(err)
}

// TestMeasuresThatCollide: two measures make no property twice.
func TestMeasuresThatCollide(t *testing.T) {
	t.Parallel()
	of := func(w *worker) (int64, bool) { return 1, true }
	_, s := office(t)
	for _, other := range []string{"AgeMin", "AgeMax"} {
		_, err := index.Attach(openAs(s.ConnectionString(), s, schema), nil,
			index.NewSummary("s", keys.Tuple1(keys.Text()), name, &index.SummaryOptions[worker]{Measures: []index.Measure[worker]{{Name: "Age", Of: of}, {Name: other, Of: of}}}))
		var de *index.DefinitionError
		if !errors.As(err, &de) || de.Field != "Measures" {
			t.Error(other, err)
		}
	}
}

// TestReservedPrefix: an index over several fields among the library's rows is asked by ranges of its layout.
func TestReservedPrefix(t *testing.T) {
	t.Parallel()
	type lastAge struct {
		Last string
		Age  int
	}
	two := keys.Tuple2(keys.Ordered(), keys.Digits[int](3)).Named("la")
	ix := index.New("la", keys.Struct2(two, func(k *lastAge) (*string, *int) { return &k.Last, &k.Age }), func(w *worker) (lastAge, bool) { return lastAge{w.Last, w.Age}, true },
		&index.Options[worker]{Reserved: true})
	staff, s := office(t, ix)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 40, nil}, worker{"S", 2, "Jones", "", 30, nil}, worker{"S", 3, "Cao", "", 30, nil})
	expect(t, "Jones", ids(t, ix.Query(context.Background(), staff, table.Query[worker]{Partition: sales, Rows: two.Prefix("Jones")})), []int{2, 1})
}
