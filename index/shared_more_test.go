package index_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestHeadMoves: details follow their entity to another key, and come and go with their target in bulk work.
func TestHeadMoves(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	service := serviceOf(s.ConnectionString(), s) // one, or they are other tables to Bulk
	plain, err := table.New(service, "staff", schema, quick())
	check(err)
	check(plain.Ensure(ctx))
	d, err := table.New(service, "staff", depts, quick())
	check(err)
	_, err = d.Insert(ctx, &department{Name: "S", Budget: 7})
	check(err)
	staff, err := index.Attach(plain, nil, three()...)
	check(err)
	e := hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})[0]
	e.Value.ID = 9
	check(staff.Rekey(ctx, e))
	allRight(t, s)

	// A department and its head leave together, and come together.
	result, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		_ = yield(staff.DeleteOp(e), nil) && yield(d.DeleteAnyOp(keys.At(sales, keys.Raw("department"))), nil)
	}, nil)
	if err != nil || result.Done != 2 {
		t.Fatal(result, err)
	}
	result, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		_ = yield(d.InsertOp(&department{Name: "S", Budget: 7}), nil) && yield(staff.InsertOp(&worker{"S", 2, "Cao", "a", 1, nil}), nil)
	}, nil)
	if err != nil || result.Done != 2 {
		t.Fatal(result, err)
	}
	allRight(t, s)
}

// TestStaleOwner: a department that says it has the details of somebody who is not its head is no obstacle to who is.
func TestStaleOwner(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := campus(t)
	es := hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
	old, err := d.Get(ctx, keys.At(sales, keys.Raw("department")))
	check(err)
	_, err = table.Transact(ctx, staff.MergeOp(es[0], email.Set("")), staff.MergeOp(es[1], email.Set("a")))
	check(err)
	check(d.ReplaceAny(ctx, old)) // which brings back whose details it had
	s.Count()
	check(staff.Merge(ctx, es[1], last.Set("Smith")))
	expect(t, "requests", s.Count(), "6 get, 1 transaction") // lists, groups, the department, and whom that names
	allRight(t, s)
	check(staff.Delete(ctx, es[0]))
	check(staff.Delete(ctx, es[1]))
	allRight(t, s)
}

// TestNewForms: what a later release calls or keeps otherwise arrives with the next write, and takes nothing of others away.
func TestNewForms(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	of := func(w *worker) (string, bool) { return w.Last, true }
	at0 := func(names ...string) *index.Summary[worker, string] {
		o := &index.SummaryOptions[worker]{}
		for _, n := range names {
			value := func(w *worker) (int64, bool) { return int64(w.Age), true }
			if n == "ID" {
				value = func(w *worker) (int64, bool) { return int64(w.ID), true }
			}
			o.Measures = append(o.Measures, index.Measure[worker]{Name: n, Of: value})
		}
		return index.NewSummary("sum", keys.Tuple1(keys.Text()), of, o)
	}
	lists := func(property string) index.Definition[worker] {
		return index.NewLists("list", keys.Tuple1(keys.Text()), of, &index.ListOptions{Property: property})
	}
	details := func(fields ...table.AnyField[worker]) index.Definition[worker] {
		return index.NewDetails("head", "Head", func(w *worker) (keys.Enc, bool) { return keys.Raw("department"), w.Email == "a" }, fields...)
	}
	first, s := office(t, at0("Age"), lists("EmployeeIDs"), details(last))
	d := openAs(s.ConnectionString(), s, depts)
	_, err := d.Insert(ctx, &department{Name: "S", Budget: 7})
	check(err)
	hire(t, first, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "", 40, nil})

	plain := openAs(s.ConnectionString(), s, schema)
	sum := at0("ID", "Age")
	second, err := index.Attach(plain, nil, sum, lists("Ids"), details(last, email))
	check(err)
	hire(t, second, s, worker{"S", 3, "Jones", "", 50, nil})
	stat := func() map[string]index.Stat {
		t.Helper()
		g, err := sum.Get(ctx, second, sales, "Jones")
		check(err)
		expect(t, "count", g.Count, int64(3))
		return g.Measures
	}
	expect(t, "measures", stat(), map[string]index.Stat{"ID": {Count: 1, Sum: 3, Min: 3, Max: 3}, "Age": {Count: 3, Sum: 120, Min: 30, Max: 50}})
	for id := range 2 {
		_, err := second.Update(ctx, at(id+1), func(w *worker) error { w.Tags = []string{"x"}; return nil })
		check(err)
	}
	expect(t, "measures", stat(), map[string]index.Stat{"ID": {Count: 3, Sum: 6, Min: 1, Max: 3}, "Age": {Count: 3, Sum: 120, Min: 30, Max: 50}})
	row, err := second.GetRow(ctx, rowAt("list_Jones"))
	check(err)
	was, _ := row.Get("EmployeeIDs")
	is, _ := row.Get("Ids")
	expect(t, "lists", []any{was, is}, []any{"w_000001/w_000002", "w_000001/w_000002/w_000003"})
	sd, err := d.Get(ctx, rowAt("department"))
	check(err)
	expect(t, "details", sd.Value, department{"S", 7, "Jones", "a"})
	check(second.DeleteAny(ctx, at(3)))
	if row, err = second.GetRow(ctx, rowAt("list_Jones")); err != nil || row.Type("EmployeeIDs") == "" {
		t.Error(row, err)
	}

	// Another kind under the name does not make entities unwritable.
	pointer := index.New("team", keys.Tuple1(keys.Text()), of, &index.Options[worker]{Pointer: true})
	s2 := storagetest.New(nil)
	plain = openAs(s2.ConnectionString(), s2, schema)
	check(plain.Ensure(ctx))
	before, err := index.Attach(plain, nil, pointer)
	check(err)
	hire(t, before, s2, worker{"S", 1, "Jones", "", 1, nil})
	after, err := index.Attach(plain, nil, teams)
	check(err)
	_, err = after.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
	check(err)
	expect(t, "listed", ids(t, teams.List(ctx, after, sales, "Jones")), []int{1})
	check(after.DeleteAny(ctx, at(1)))
}

// TestSums: sums do not overflow on the way, only in the end, and then in their own group alone.
func TestSums(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	big := index.NewSummary("big", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Last, true },
		&index.SummaryOptions[worker]{Measures: []index.Measure[worker]{{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), w.Age != 0 }}}})
	staff, s := office(t, big)
	hire(t, staff, s, worker{"S", 1, "J", "", -10, nil}, worker{"S", 2, "J", "", math.MaxInt64 - 2, nil}, worker{"S", 3, "J", "", 5, nil}, worker{"S", 4, "J", "", -20, nil},
		worker{"S", 5, "K", "", 1, nil}, worker{"S", 6, "K", "", 2, nil}, worker{"S", 7, "K", "", 0, nil})
	if err := staff.DeleteAny(ctx, at(4)); err != nil {
		t.Error(err)
	}
	if err := staff.DeleteAny(ctx, at(1)); !errors.Is(err, index.ErrOverflow) {
		t.Error(err)
	}
	check(staff.DeleteAny(ctx, at(5)))
	g, err := big.Get(ctx, staff, sales, "K")
	check(err)
	expect(t, "K", *g, index.Group[string]{Value: "K", Count: 2, Measures: map[string]index.Stat{"Age": {Count: 1, Sum: 2, Min: 2, Max: 2}}})
	var de *index.DefinitionError
	o := &index.SummaryOptions[worker]{}
	for i := range 70 {
		o.Measures = append(o.Measures, index.Measure[worker]{Name: fmt.Sprint("M", i), Of: func(*worker) (int64, bool) { return 0, false }})
	}
	many := index.NewSummary("many", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Last, true }, o)
	if _, err := index.Attach(staff, nil, many); !errors.As(err, &de) || de.Definition != "many" {
		t.Error(err)
	}
}

// TestSummaryScans: a group is counted anew only where its row does not say what is left.
func TestSummaryScans(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	two := index.NewSummary("two", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Last, true },
		&index.SummaryOptions[worker]{Measures: []index.Measure[worker]{
			{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), true }},
			{Name: "Tags", Of: func(w *worker) (int64, bool) { return int64(len(w.Tags)), true }},
		}})
	staff, s := office(t, two)
	es := hire(t, staff, s, worker{"S", 1, "J", "", 30, nil}, worker{"S", 2, "J", "", 40, []string{"x"}}, worker{"S", 3, "J", "", 50, []string{"x", "y"}})
	change := func(what string, e *table.Entity[worker], want string, f func(*worker)) {
		t.Helper()
		f(&e.Value)
		check(staff.Replace(ctx, e))
		expect(t, what, s.Count(), want)
	}
	change("another measure than the extreme", es[0], "1 get, 1 transaction", func(w *worker) { w.Tags = nil; w.Age = 29 })
	change("the least becomes still less", es[0], "1 get, 1 transaction", func(w *worker) { w.Age = 1 })
	change("and more", es[0], "1 get, 1 query, 1 transaction", func(w *worker) { w.Age = 45 })
	for i := range 50 {
		hire(t, staff, s, worker{"S", 100 + i, "Same", "", 7, nil})
	}
	name := last.Eq("Same")
	r, err := staff.DeleteQuery(ctx, table.Query[worker]{Partition: sales, Where: name}, nil)
	if err != nil || r.Done != 50 {
		t.Fatal(r, err)
	}
	expect(t, "all of one age", s.Count(), "1 get, 1 query, 1 transaction")
}

// TestFullListLets: who leaves a list that is too long may; the errors of targets and lists are their own.
func TestFullListLets(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, teams)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 1, nil})
	list := &table.Row{Key: keys.At(sales, keys.Raw("team_Jones"))}
	for n, at := 0, 0; n < 19; n++ {
		var part []string
		for range 3000 {
			part = append(part, fmt.Sprintf("w_%06d", at))
			at++
		}
		name := "EmployeeIDs"
		if n > 0 {
			name += fmt.Sprint(n + 1)
		}
		check(list.Set(name, strings.Join(part, "/")))
	}
	list.Own("team:w_")
	_, err := byHand(s).Untyped(false).Upsert(ctx, list, table.ReplaceExisting)
	check(err)
	check(staff.DeleteAny(ctx, at(1)))
	k, err := teams.Keys(ctx, staff, sales, "Jones")
	check(err)
	expect(t, "members", len(k), 19*3000-1)

	bad := index.NewDetails("bad", "Bad", func(w *worker) (keys.Enc, bool) { return keys.Raw(w.Last), true }, email)
	staff, s = office(t, bad)
	var ke *keys.KeyError
	if _, err := staff.Insert(ctx, &worker{"S", 1, "a/b", "", 1, nil}); !errors.As(err, &ke) {
		t.Error(err)
	}
	expect(t, "requests", s.Count(), "none")
}

// living gives each department a life, and has no rows.
type living struct{}

func (living) Name() string { return "living" }
func (living) MaxRows() int { return 0 }
func (living) Maintain(_ context.Context, _ *table.Plan, c *table.Change[department]) error {
	c.Incarnation()
	return nil
}

// TestTargetKeepsItsLife: what the library keeps with an entity stays when details are written into it.
func TestTargetKeepsItsLife(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, unnamed := range []bool{false, true} {
		s := storagetest.New(nil)
		o := quick()
		o.OmitOperationID = unnamed
		plain, err := table.New(serviceOf(s.ConnectionString(), s), "staff", depts, o)
		check(err)
		check(plain.Ensure(ctx))
		d, err := plain.With(nil, living{})
		check(err)
		_, err = d.Insert(ctx, &department{Name: "S", Budget: 7})
		check(err)
		life := func() any {
			row, err := d.GetRow(ctx, rowAt("department"))
			check(err)
			v, _ := row.Get("_life")
			return v
		}
		was := life()
		staff, err := index.Attach(openAs(s.ConnectionString(), s, schema), nil, head)
		check(err)
		hire(t, staff, s, worker{"S", 1, "Jones", "a", 1, nil})
		if was == nil || life() != was {
			t.Errorf("%v, not %v", life(), was)
		}
	}
}

// TestMarkedTarget: a department that holds details and comes to have an index of its own can be written by its copies, and keeps
// the mark.
func TestMarkedTarget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := campus(t)
	hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	byBudget := index.New("budget", keys.Tuple1(keys.Digits[int](4)), func(d *department) (int, bool) { return d.Budget, true }, &index.Options[department]{Unique: index.InPartition})
	indexed, err := index.Attach(d, nil, byBudget)
	check(err)
	e, err := indexed.Get(ctx, rowAt("department"))
	check(err)
	e.Value.Budget = 8
	check(indexed.Replace(ctx, e))
	for budget := 8; budget < 10; budget++ {
		if e, err = byBudget.Get(ctx, indexed, sales, budget); err != nil || e.Key != rowAt("department") || e.Value.HeadLast != "Jones" {
			t.Fatal(e, err)
		}
		e.Value.Budget++
		check(indexed.Replace(ctx, e))
		if row, err := indexed.GetRow(ctx, rowAt("department")); err != nil || !row.Tagged("head") {
			t.Error(row, err)
		}
	}
	r, err := verify.Run(ctx, indexed, nil, byBudget)
	if err != nil || !r.Sound() {
		t.Error(r, err)
	}
	// It now has derived rows, so its head can leave, and what is left is for Verify to tell.
	check(staff.DeleteAny(ctx, at(1)))
	if r, faults := mustVerify(t, staff, verify.Options{}, head); r.Faults[verify.Dangling] != 1 {
		t.Error(r, faults)
	}
}

// TestStaleOwnerBeside: whoever a department names wrongly may be in the same transaction.
func TestStaleOwnerBeside(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := campus(t)
	es := hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
	old, err := d.Get(ctx, rowAt("department"))
	check(err)
	check(staff.Merge(ctx, es[0], email.Set("")))
	check(d.ReplaceAny(ctx, old))
	_, err = table.Transact(ctx, staff.MergeOp(es[0], age.Set(31)), staff.MergeOp(es[1], email.Set("a")))
	check(err)
	allRight(t, s)
	// What Verify gives up, it does not leave its mark on.
	check(byHand(s).DeleteAny(ctx, at(2)))
	r, _ := mustVerify(t, staff, verify.Options{Repair: true}, three()...)
	row, err := staff.GetRow(ctx, rowAt("department"))
	if err != nil || !r.Sound() || row.Tagged("head") || row.Type("HeadRowKey") != "" {
		t.Error(r, row, err)
	}
}

// TestHostileGroups: whatever a value holds, its list and its summary are found by it, and by no other.
func TestHostileGroups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, nameLists, nameSums)
	for i, v := range hostile {
		hire(t, staff, s, worker{"S", i, v, "", 1 + i, nil})
	}
	for i, v := range hostile {
		all, err := nameLists.Keys(ctx, staff, sales, v)
		check(err)
		expect(t, v, all, []keys.Key{at(i)})
		g, err := nameSums.Get(ctx, staff, sales, v)
		check(err)
		expect(t, v, []any{g.Value, g.Count, g.Measures["Age"].Sum}, []any{v, 1, 1 + i})
	}
	seen := map[string]bool{}
	for g, err := range nameSums.All(ctx, staff, sales) {
		check(err)
		seen[g.Value] = true
	}
	expect(t, "values", len(seen), len(hostile))
	if r, faults := mustVerify(t, staff, verify.Options{}, nameLists, nameSums); !r.Sound() {
		t.Error(r, faults)
	}
}

// TestListGrows: a list grows over the end of its first property, and shrinks again, member by member.
func TestListGrows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	long := schema
	long.Row = keys.Bind1(keys.Tuple1(keys.Digits[int](18)).Named(strings.Repeat("w", 400)), func(w *worker) *int { return &w.ID })
	staff, _ := attached(t, long, index.Definition[worker](nameLists))
	parts := func() (n int) {
		row, err := staff.GetRow(ctx, keys.Stored("S", "~x|nl_Jones"))
		check(err)
		return row.Len() - 1 // whose it is
	}
	const n = 100
	for i := range n {
		_, err := staff.Insert(ctx, &worker{"S", i, "Jones", "", 1, nil})
		check(err)
		if i == 0 {
			expect(t, "parts", parts(), 1)
		}
	}
	expect(t, "parts", parts(), 2)
	all, err := nameLists.Keys(ctx, staff, sales, "Jones")
	check(err)
	expect(t, "members", len(all), n)
	for _, k := range all[:n/2] {
		check(staff.DeleteAny(ctx, k))
	}
	expect(t, "parts", parts(), 1)
	all, err = nameLists.Keys(ctx, staff, sales, "Jones")
	check(err)
	expect(t, "members", len(all), n/2)
}
