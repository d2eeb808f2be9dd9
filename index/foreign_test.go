package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// squad is an entity of another type in the partition of its workers, whose RowKeys are those of a list or a summary of the name
// team.
type squad struct{ Dept, Name, Motto string }

var squads = table.Schema[squad]{
	Partition: keys.Partition(dept, func(s *squad) *string { return &s.Dept }),
	Row:       keys.Row(keys.Text().Named("team"), func(s *squad) *string { return &s.Name }),
}

// refusedFor reports whether a write failed because a foreign row has a key.
func refusedFor(err error, k keys.Key) bool {
	var de *table.DerivedError
	return errors.Is(err, table.ErrForeignRow) && errors.As(err, &de) && de.Key == k
}

// TestSummaryOverEntities: a summary with the name of the rows of another type counts no entities in them, and neither replaces nor
// deletes them.
func TestSummaryOverEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	of := func(w *worker) (string, bool) { return w.Last, w.Last != "" }
	for what, d := range map[string]extend.Definition[worker]{
		"a summary": index.NewSummary("team", keys.Text(), of, nil),
		"lists":     index.NewLists("team", keys.Text(), of, nil),
		"a unique index of pointers": index.New("team", keys.Text(), of,
			&index.Options{Unique: true}).Only(),
	} {
		staff, s := newStaff(t, d)
		teams := openAs(t, s.ConnectionString(), s, squads)
		for _, name := range []string{"Jones", "Nobody"} {
			_, err := teams.Insert(ctx, &squad{"S", name, "we"})
			check(t, err)
		}
		before := fmt.Sprint(s.Rows("staff"))
		_, err := staff.Insert(ctx, &worker{"S", 1, "Jones", "", 30, nil})
		_, unique := d.(*index.Index[worker, string])
		var de *table.DerivedError
		switch {
		case unique && (!errors.Is(err, table.ErrTaken) || !errors.As(err, &de) || de.Key != rowAt("team_Jones")):
			t.Errorf("%s: Insert of a worker: got error %v; want ErrTaken in a *DerivedError with the key team_Jones", what, err)
		case !unique && (!refusedFor(err, rowAt("team_Jones")) || errors.Is(err, table.ErrTaken)):
			t.Errorf("%s: Insert of a worker: got error %v; want ErrForeignRow of team_Jones, without ErrTaken", what, err)
		}
		testkit.Expect(t, what+": rows after Insert of a worker", fmt.Sprint(s.Rows("staff")), before)
		// A worker that another program has stored.
		_, err = openAs(t, s.ConnectionString(), s, schema).Insert(ctx, &worker{"S", 2, "Jones", "", 30, nil})
		check(t, err)
		before = fmt.Sprint(s.Rows("staff"))
		for _, repair := range []bool{false, true} {
			if r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, d); r.Faults == 0 || r.Changed > 0 || r.Counts["unconfirmed"] > 0 {
				t.Errorf("%s: verify, repair %v: got report %+v and faults %v; want a report that is not sound, with nothing repaired and nothing unconfirmed",
					what, repair, r, f)
			}
			testkit.Expect(t, fmt.Sprintf("%s: rows after verify, repair %v", what, repair), fmt.Sprint(s.Rows("staff")), before)
		}
		check(t, staff.DeleteAny(ctx, at(2))) // which is in no row of the definition
		if sum, is := d.(*index.Summary[worker, string]); is {
			for _, name := range []string{"Jones", "Nobody"} {
				if g, err := sum.Get(ctx, staff, sales, name); !refusedFor(err, rowAt("team_"+name)) {
					t.Errorf("%s: Get of a group that may have entities: got %+v and error %v; want ErrForeignRow of team_%s", what, g, err, name)
				}
			}
			for g, err := range sum.All(ctx, staff, sales) {
				t.Errorf("%s: All: got group %+v and error %v; want no group and no error", what, g, err)
			}
		}
		if lists, is := d.(*index.Lists[worker, string]); is {
			if all, err := lists.Keys(ctx, staff, sales, "Jones"); !refusedFor(err, rowAt("team_Jones")) {
				t.Errorf("%s: Keys of a list that may lack entities: got %v and error %v; want ErrForeignRow of team_Jones", what, all, err)
			}
			if err := onlyError(t, what+": List", lists.List(ctx, staff, sales, "Jones")); !refusedFor(err, rowAt("team_Jones")) {
				t.Errorf("%s: List of a list that may lack entities: got error %v; want ErrForeignRow of team_Jones", what, err)
			}
		}
		if ix, is := d.(*index.Index[worker, string]); is {
			for _, name := range []string{"Jones", "Nobody"} {
				if e, err := ix.Get(ctx, staff, sales, name); !errors.Is(err, table.ErrNotFound) {
					t.Errorf("%s: Get of %s, whose row is of a team: got %+v and error %v; want ErrNotFound", what, name, e, err)
				}
			}
			testkit.Expect(t, what+": List of Jones", ids(t, ix.List(ctx, staff, sales, "Jones")), nil)
			testkit.Expect(t, what+": Query of all", ids(t, ix.Query(ctx, staff, table.Query[worker]{Partition: sales})), nil)
		}
		for _, name := range []string{"Jones", "Nobody"} {
			if e, err := teams.Get(ctx, keys.At(sales, keys.RawRow("team_"+name))); err != nil || e.Value.Motto != "we" {
				t.Errorf("%s: Get of team %s: got %+v and error %v; want the motto we and no error", what, name, e, err)
			}
		}
	}
}

// TestChangeOfKind: a summary and lists that are attached under one name, one after the other, leave each other's rows as they are.
func TestChangeOfKind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	of := func(w *worker) (string, bool) { return w.Last, w.Last != "" }
	ofAge := index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), true }}
	lists := func() extend.Definition[worker] { return index.NewLists("grp", keys.Text(), of, nil) }
	sums := func(measures ...index.Measure[worker]) func() extend.Definition[worker] {
		return func() extend.Definition[worker] { return index.NewSummary("grp", keys.Text(), of, nil, measures...) }
	}
	for what, c := range map[string]struct {
		first, then func() extend.Definition[worker]
		refused     bool // a change of an age, which a summary of ages counts
	}{
		"a list, then a summary":         {lists, sums(), false},
		"a list, then a sum":             {lists, sums(ofAge), true},
		"a summary, then a list":         {sums(), lists, false},
		"a summary of ages, then a list": {sums(ofAge), lists, true},
	} {
		staff, s := newStaff(t, c.first())
		insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil}, worker{"S", 3, "Cao", "", 50, nil})
		group := func() (rows []string) {
			for _, row := range s.Rows("staff") {
				if strings.HasPrefix(row.RowKey, "grp_") {
					rows = append(rows, fmt.Sprint(row))
				}
			}
			return rows
		}
		before := fmt.Sprint(group())
		d := c.then()
		later, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema), d)
		check(t, err)
		if _, err := later.Insert(ctx, &worker{"S", 4, "Jones", "", 60, nil}); !refusedFor(err, rowAt("grp_Jones")) {
			t.Errorf("%s: Insert: got error %v; want ErrForeignRow of grp_Jones", what, err)
		}
		if err := later.MergeAny(ctx, at(3), last.Set("Jones")); !refusedFor(err, rowAt("grp_Jones")) {
			t.Errorf("%s: MergeAny: got error %v; want ErrForeignRow of grp_Jones", what, err)
		}
		if err := later.MergeAny(ctx, at(1), age.Set(31)); refusedFor(err, rowAt("grp_Jones")) != c.refused || !c.refused && err != nil {
			t.Errorf("%s: MergeAny of an age: got error %v; want ErrForeignRow of grp_Jones %v, and no other error", what, err, c.refused)
		}
		foretold, faults := mustVerify(t, later, verify.Options{Pass: table.Pass{DryRun: true}}, d)
		if foretold.Faults == 0 || foretold.Changed != 0 || len(faults) == 0 {
			t.Errorf("%s: verify without repair: got report %+v and faults %v; want a report that is not sound, with nothing repaired, and some faults", what, foretold, faults)
		}
		r, f := mustVerify(t, later, verify.Options{}, d)
		testkit.Expect(t, what+": faults of verify with repair", f, faults)
		if r.Faults == 0 || r.Changed != 0 || r.Counts["failed"] != len(f) || r.Counts["unconfirmed"] != 0 {
			t.Errorf("%s: verify with repair: got report %+v and faults %v; want a report that is not sound, with nothing repaired, %d failed and nothing unconfirmed",
				what, r, f, len(f))
		}
		testkit.Expect(t, what+": rows of the groups after verify with repair", fmt.Sprint(group()), before)
		check(t, later.MergeAny(ctx, at(2), last.Set("")))
		check(t, later.DeleteAny(ctx, at(1)))
		switch d := d.(type) {
		case *index.Summary[worker, string]:
			_, err = d.Get(ctx, later, sales, "Jones")
		case *index.Lists[worker, string]:
			_, err = d.Keys(ctx, later, sales, "Jones")
		}
		if !refusedFor(err, rowAt("grp_Jones")) {
			t.Errorf("%s: read of the group Jones: got error %v; want ErrForeignRow of grp_Jones", what, err)
		}
		testkit.Expect(t, what+": rows of the groups", fmt.Sprint(group()), before)
	}
}

// TestRowWithoutOwner: a list or summary that another program has replaced is foreign, and the error says the way out.
func TestRowWithoutOwner(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newWorkers(t, sharedDefinitions())
	for _, rk := range []string{"team_Jones", "ages_Jones"} {
		overwrite(t, s, rowAt(rk), func(m map[string]any) { delete(m, "_sys") })
		refused := func(what string, err error) {
			t.Helper()
			if !refusedFor(err, rowAt(rk)) || !strings.Contains(err.Error(), "delete it and run verify.Repair") {
				t.Errorf("%s: %s: got error %v; want ErrForeignRow of %s and \"delete it and run verify.Repair\" in the error", rk, what, err, rk)
			}
		}
		_, err := staff.Insert(ctx, &worker{"S", 5, "Jones", "", 1, nil})
		refused("a write", err)
		if rk == "team_Jones" {
			_, err = teams.Keys(ctx, staff, sales, "Jones")
		} else {
			_, err = ages.Get(ctx, staff, sales, "Jones")
		}
		refused("a read", err)
		if r, f := mustVerify(t, staff, verify.Options{}, sharedDefinitions()...); r.Faults == 0 || r.Changed > 0 {
			t.Errorf("%s: verify with repair: got report %+v and faults %v; want a report that is not sound, with nothing repaired", rk, r, f)
		}
		check(t, rawTable(t, s).DeleteAny(ctx, rowAt(rk)))
		if r, f := mustVerify(t, staff, verify.Options{}, sharedDefinitions()...); r.Faults > 0 {
			t.Errorf("%s: verify with repair after the foreign row is deleted: got report %+v and faults %v; want a sound report", rk, r, f)
		}
		if err := checkShared(s); err != nil {
			t.Errorf("%s: derived rows after the repair: got error %v; want none", rk, err)
		}
	}
}

// temp is a worker of another type.
type temp struct {
	Dept, Last, Email string
	ID, Age           int
}

func tempSchema(typ string, row string) table.Schema[temp] {
	return table.Schema[temp]{
		Type:      typ,
		Partition: keys.Partition(dept, func(s *temp) *string { return &s.Dept }),
		Row:       keys.Row(keys.Digits[int](6).Named(row), func(s *temp) *int { return &s.ID }),
	}
}

// tempDefinitions returns definitions with the names and places of those of workers.
func tempDefinitions() []extend.Definition[temp] {
	last := table.FieldOf(func(w *temp) *string { return &w.Last })
	name := func(w *temp) (string, bool) { return w.Last, w.Last != "" }
	text := keys.Text()
	return []extend.Definition[temp]{
		index.New("email", keys.Fold(keys.Text()), func(w *temp) (string, bool) { return w.Email, w.Email != "" }, &index.Options{Unique: true}),
		index.NewLists("team", text, name, &index.ListOptions{Property: "EmployeeIDs"}),
		index.NewSummary("ages", text, name, nil, index.Measure[temp]{Name: "Age", Of: func(w *temp) (int64, bool) { return int64(w.Age), true }}),
		index.NewDetails("head", "Head", func(w *temp) (keys.RowKey, bool) { return keys.RawRow("department"), w.Email == "z" }, last),
	}
}

// TestTwoTypesOneName: two types with definitions of one name have separate rows, and verify.Check
// for one type leaves the rows of the other.
func TestTwoTypesOneName(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct{ typ, row string }{"another range": {"", "t"}, "another type": {"temp", "w"}} {
		s := storagetest.New(nil)
		ours := schema
		if c.typ != "" {
			ours.Type = "worker"
		}
		base := openAs(t, s.ConnectionString(), s, ours)
		check(t, tabledoor.Ensure(ctx, base))
		staff, err := baretest.Attach(base, byEmail, teams, ages, head)
		check(t, err)
		temps, err := baretest.Attach(openAs(t, s.ConnectionString(), s, tempSchema(c.typ, c.row)), tempDefinitions()...)
		check(t, err)
		_, err = openAs(t, s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
		check(t, err)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "", 40, nil})
		for i, w := range []temp{{"S", "Jones", "", 11, 1}, {"S", "Cao", "a", 12, 1}, {"S", "Cao", "z", 13, 1}} {
			if _, err := temps.Insert(ctx, &w); !errors.Is(err, table.ErrForeignRow) && !errors.Is(err, table.ErrTaken) {
				t.Errorf("%s: Insert of temp %d, whose rows workers have: got error %v; want ErrForeignRow or ErrTaken", what, i, err)
			}
		}
		_, err = temps.Insert(ctx, &temp{"S", "Li", "b", 14, 50})
		check(t, err)
		before := fmt.Sprint(s.Rows("staff"))
		for _, repair := range []bool{false, true} {
			r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, byEmail, teams, ages, head)
			r2, err := verify.Repair(ctx, temps, &verify.Options{Pass: table.Pass{DryRun: !repair}})
			if err != nil || r.Faults > 0 || r2.Faults > 0 || len(derived.Kinds(r))+len(derived.Kinds(r2)) > 0 {
				t.Errorf("%s: verify, repair %v: got for workers report %+v and faults %v, for temps report %+v and error %v; want sound reports, no fault and no error",
					what, repair, r, f, r2, err)
			}
			testkit.Expect(t, fmt.Sprintf("%s: rows after verify, repair %v", what, repair), fmt.Sprint(s.Rows("staff")), before)
		}
		var found []keys.Key
		for k, err := range byEmail.Keys(ctx, staff, table.Query[worker]{Partition: sales}) {
			check(t, err)
			found = append(found, k)
		}
		testkit.Expect(t, what+": Keys of the email index of workers", found, []keys.Key{at(1)})
		check(t, staff.DeleteAny(ctx, at(1)))
		check(t, staff.DeleteAny(ctx, at(2)))
		if r, err := verify.Repair(ctx, temps, nil); err != nil || r.Faults > 0 || len(derived.Kinds(r)) > 0 || r.Rows != 1 {
			t.Errorf("%s: verify of temps with repair, after the workers are deleted: got report %+v and error %v; "+
				"want a sound report of 1 entity, no fault and no error", what, r, err)
		}
	}
}

// foreignWriter inserts rows of other types and programs under the keys of derived rows.
type foreignWriter struct {
	*streamed
	rows map[string]string // by their RowKeys, as they are stored
}

// insertForeign inserts a row of another type or program, unless there is one.
func (x *foreignWriter) insertForeign() {
	id := x.rnd.IntN(6)
	name := x.one("Jones", "Smith", "Cao")
	rk := x.one("team_"+name, "ages_"+name, "email_"+x.one("a", "b", "c"), fmt.Sprintf("last_%s!_w_%06d", name, id), fmt.Sprintf("age_%03d_w_%06d", x.rnd.IntN(8), id),
		fmt.Sprintf("~x|tag_%s_w_%06d", x.one("x", "y"), id), "team_Alone", "ages_Alone", "email_alone", "last_Alone!_w_000001")
	row := &table.Row{Key: keys.Raw("S", rk)}
	check(x.t, errors.Join(row.Set("Count", int64(3)), row.Set("EmployeeIDs", "w_000001"), row.Set("Last", "Jones")))
	switch x.rnd.IntN(6) {
	case 0: // of a raw writer
	case 1:
		*row = *(*table.Row)((*stored.Row)(row).Own("team:t_"))
	case 2:
		*row = *(*table.Row)((*stored.Row)(row).Own("ages:t_?temp"))
	case 3:
		row = (&table.Row{Key: keys.Raw("S", "t_000001")}).Copy(row.Key)
	case 4:
		*row = *(*table.Row)((*stored.Row)(row).Tag("head:t_", false))
	case 5: // of a list or a summary of the name that is of the other kind
		*row = *(*table.Row)((*stored.Row)(row).Own(x.one("ages:w_", "+team:w_")))
	}
	if _, err := door.Rows[table.Table[table.Row]](door.Table(rawTable(x.t, x.s)), x.rnd.IntN(2) == 0).Insert(context.Background(), row); err != nil {
		return
	}
	for _, row := range x.s.Rows("staff") {
		if row.RowKey == rk {
			x.rows[rk] = fmt.Sprint(row)
		}
	}
}

func (x *foreignWriter) untouched() error {
	left := len(x.rows)
	for _, row := range x.s.Rows("staff") {
		if was, is := x.rows[row.RowKey]; is {
			if left--; fmt.Sprint(row) != was {
				return fmt.Errorf("foreign row: got %v; want %s", row, was)
			}
		}
	}
	if left > 0 {
		return fmt.Errorf("foreign rows: got %d missing; want none", left)
	}
	return nil
}

// TestForeignAnything: with random rows of other types and programs in the partition: no write, no
// bulk work and no verify.Check touches them, and the derived rows beside them are right.
func TestForeignAnything(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	n := *streams
	if testing.Short() {
		n = min(n, 20)
	}
	refused := 0
	for seed := range n {
		x := &foreignWriter{&streamed{t: t, rnd: rand.New(rand.NewPCG(uint64(seed), 9)), places: []string{"S"}, ids: 6, model: map[keys.Key]worker{}}, map[string]string{}}
		definitions, right := copyDefinitions(), checkCopies
		if seed%2 == 0 {
			definitions, right = sharedDefinitions(), checkShared
		}
		x.staff, x.s = newStaff(t, definitions...)
		_, err := openAs(t, x.s.ConnectionString(), x.s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
		check(t, err)
		var did []string
		for range 40 {
			switch x.rnd.IntN(8) {
			case 0, 1:
				x.insertForeign()
			case 2:
				r, f := mustVerify(t, x.staff, verify.Options{Pass: table.Pass{DryRun: x.rnd.IntN(2) > 0}}, definitions...)
				did = append(did, "verify")
				if r.Faults > 0 {
					t.Errorf("seed %d: verify after %q: got report %+v and faults %v; want a sound report", seed, did, r, f)
				}
			case 3:
				_, _ = door.Bulk(ctx, func(yield func(table.Op, error) bool) {
					for range 5 {
						if st := x.step(); !yield(st.op, nil) {
							return
						}
					}
				}, &engine.BulkOptions{Skip: func(int, error) bool { return true }})
				did = append(did, "bulk")
			default:
				st := x.step()
				_, err := table.Transact(ctx, st.op)
				did = append(did, fmt.Sprint(st.does, st.key, err))
				if errors.Is(err, table.ErrForeignRow) {
					refused++
				}
			}
			if err := x.untouched(); err != nil {
				t.Fatalf("seed %d: foreign rows after %q: got error %v; want them unchanged", seed, did, err)
			}
		}
		for rk := range x.rows {
			check(t, rawTable(t, x.s).DeleteAny(ctx, keys.Raw("S", rk)))
		}
		if right := withoutDepartmentIf(t, definitions, right); right(x.s) != nil {
			t.Errorf("seed %d: derived rows: got error %v; want none, after:\n%s", seed, right(x.s), strings.Join(did, "\n"))
		}
	}
	if refused == 0 {
		t.Errorf("writes that fail with ErrForeignRow: got %d; want at least 1", refused)
	}
}

// withoutDepartmentIf returns a check that deletes the department first, if the definitions have no details.
func withoutDepartmentIf(t testing.TB, definitions []extend.Definition[worker], right func(*storagetest.Service) error) func(*storagetest.Service) error {
	if len(definitions) == 3 {
		return right
	}
	return func(s *storagetest.Service) error {
		_ = openAs(t, s.ConnectionString(), s, depts).DeleteAny(context.Background(), rowAt("department"))
		return right(s)
	}
}
