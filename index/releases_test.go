package index_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestUpgradedSchema: copies of rows of an older version are read as what they are now, and are of the new version once their
// entity is written.
func TestUpgradedSchema(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	v1 := schema
	v1.Version = 1
	base := openAs(t, s.ConnectionString(), s, v1)
	check(t, tabledoor.Ensure(ctx, base))
	old, err := baretest.Attach(base, byEmail, byAge)
	check(t, err)
	insertAll(t, old, s, worker{"S", 1, "jones", "a", 30, nil}, worker{"S", 2, "cao", "b", 31, nil})

	v2 := schema
	v2.Version = 2
	v2.Upgrade = map[int]func(*table.Row) error{1: func(r *table.Row) error {
		name, _ := r.Get("Last")
		return r.Set("Last", strings.ToUpper(name.(string)))
	}}
	staff, err := baretest.Attach(openAs(t, s.ConnectionString(), s, v2), byEmail, byAge)
	check(t, err)
	look := func(what string, age int, want, cost string) {
		t.Helper()
		s.Count()
		e, err := byAge.Get(ctx, staff, sales, age)
		if err != nil || e.Value.Last != want {
			t.Fatalf("%s: look-up of age %d: got %v, error %v; want the last name %s", what, age, e, err, want)
		}
		testkit.Expect(t, what, s.Count().String(), cost)
	}
	look("an older projection", 30, "JONES", "1 get, 1 query")
	e, err := byEmail.Get(ctx, staff, sales, "a")
	if err != nil || e.Value.Last != "JONES" {
		t.Fatalf("look-up of email a: got %v, error %v; want the last name JONES", e, err)
	}
	check(t, staff.Replace(ctx, e))
	look("by a copy", 30, "JONES", "1 query")
	e, err = staff.Get(ctx, at(2))
	check(t, err)
	check(t, staff.Replace(ctx, e))
	look("by the entity", 31, "CAO", "1 query")
	testkit.Expect(t, "both", ids(t, byAge.Between(ctx, staff, sales, 0, 99)), []int{1, 2})
}

// TestOtherKindOfCopy: if a release changes the kind of copies under the same name, look-ups do not take old copies for new ones.
func TestOtherKindOfCopy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	full := func(unique bool) *index.Index[worker, int] {
		return index.New("age", keys.Digits[int](3), func(w *worker) (int, bool) { return w.Age, true }, &index.Options{Unique: unique})
	}
	kinds := map[string]func(unique bool) *index.Index[worker, int]{
		"full":    full,
		"narrow":  func(unique bool) *index.Index[worker, int] { return full(unique).Only(age) },
		"wide":    func(unique bool) *index.Index[worker, int] { return full(unique).Only(age, last, email) },
		"pointer": func(unique bool) *index.Index[worker, int] { return full(unique).Only() },
	}
	for n := range 2 * len(kinds) * len(kinds) {
		unique := n%2 == 1
		names := slices.Sorted(maps.Keys(kinds))
		before, after := names[n/2%4], names[n/8]
		was, is := kinds[before](unique), kinds[after](unique)
		t.Run(fmt.Sprint(before, " to ", after, " ", unique), func(t *testing.T) {
			t.Parallel()
			s := storagetest.New(nil)
			base := openAs(t, s.ConnectionString(), s, schema)
			check(t, tabledoor.Ensure(ctx, base))
			old, err := baretest.Attach(base, was)
			check(t, err)
			insertAll(t, old, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 31, nil})
			staff, err := baretest.Attach(base, is)
			check(t, err)
			// Worker 1 is written again: a field changes that neither key nor narrow copies contain. Worker 2 stays.
			check(t, staff.MergeAny(ctx, at(1), email.Set("new")))
			want := map[int]string{1: "new", 2: "b"}
			if after == "narrow" { // copies of the kind have no email; of other kinds, the entity is read
				want[1] = ""
			}
			if before == "narrow" && after == "narrow" {
				want[2] = ""
			}
			for id, want := range want {
				e, err := is.Get(ctx, staff, sales, 29+id)
				check(t, err)
				if e.Value.Email != want || e.Value.ID != id {
					t.Errorf("worker %d: got %+v; want ID %d and email %q", id, e.Value, id, want)
				}
			}
			faults := map[string]bool{}
			if before != after {
				row := map[bool]string{false: "age_031_w_000002", true: "age_031"}[unique]
				faults[fmt.Sprint("age stale ", row, " w_000002")] = true
			}
			r, f := mustVerify(t, staff, verify.Options{}, is)
			if r.Faults > 0 || r.Changed != len(faults) {
				t.Errorf("verify with repair: got %+v and faults %v; want a sound report and %d repairs", r, f, len(faults))
			}
			testkit.Expect(t, "faults", f, faults)
			s.Count()
			testkit.Expect(t, "all", ids(t, is.Query(ctx, staff, table.Query[worker]{Partition: sales})), []int{1, 2})
			if cost := s.Count().String(); after != "pointer" && cost != "1 query" {
				t.Errorf("requests of the list: got %s; want 1 query", cost)
			}
			if r, f := mustVerify(t, staff, verify.Options{}, is); r.Faults > 0 || r.Changed > 0 || len(f) > 0 {
				t.Errorf("verify after the repair: got %+v and faults %v; want a sound report, nothing repaired and no fault", r, f)
			}
		})
	}
}

// TestTamperedEntities: other programs change an entity without its rows: a full copy is not written over that, and a verified
// look-up goes by what the entity is.
func TestTamperedEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	verified := index.NewMulti("tag", keys.Text(), 2, func(w *worker) []string { return w.Tags }, nil).Only()
	staff, s := newStaff(t, byEmail, verified)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, []string{"x"}}, worker{"S", 2, "Cao", "b", 31, []string{"x", "y"}})
	e, err := byEmail.Get(ctx, staff, sales, "a")
	check(t, err)
	check(t, door.Rows[table.Table[table.Row]](door.Table(rawTable(t, s)), false).MergeAny(ctx, at(1), table.PropertyOf[int64]("Age").Set(45)))
	e.Value.Last = "Smith"
	if err := staff.Replace(ctx, e); !errors.Is(err, table.ErrChanged) {
		t.Errorf("replace by a copy of an entity that has changed: got error %v; want ErrChanged", err)
	}
	check(t, rawTable(t, s).MergeAny(ctx, at(1), table.PropertyOf[string]("Tags").Set(`["u","v","w","x"]`)))
	check(t, rawTable(t, s).MergeAny(ctx, at(2), table.PropertyOf[string]("Tags").Set(`["y"]`)))
	s.Count()
	testkit.Expect(t, "who has it", ids(t, verified.List(ctx, staff, sales, "x")), []int{1}) // though it has more than it may
	testkit.Expect(t, "requests", s.Count().String(), "2 get, 1 query")
	var ve *table.ValueError
	err = onlyError(t, "query by tags with a condition", verified.Query(ctx, staff, table.Query[worker]{Partition: sales, Where: age.Gt(40)}))
	if !errors.As(err, &ve) || ve.Field != "Query.Where" {
		t.Errorf("query by tags with a condition on the age: got error %v; want a *ValueError of Query.Where", err)
	}
	// For a row that was changed in memory, the stored row is not known.
	row, err := tabledoor.GetRow(ctx, staff, at(2))
	check(t, err)
	check(t, row.Set("Last", "Weber"))
	changed, err := staff.Entity(row)
	check(t, err)
	s.Count()
	check(t, staff.Replace(ctx, changed))
	testkit.Expect(t, "requests", s.Count().String(), "1 get, 1 transaction")
}

// TestStalePointer: a look-up that finds a row without an entity confirms that with one request more.
func TestStalePointer(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pointer := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, &index.Options{Unique: true}).Only()
	staff, s := newStaff(t, pointer, byLast)
	for i := range 100 {
		insertAll(t, staff, s, worker{"S", i, "Jones", string(rune('0' + i)), 30, nil})
	}
	check(t, rawTable(t, s).DeleteAny(ctx, at(0)))
	s.Count()
	if _, err := pointer.Get(ctx, staff, sales, "0"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("look-up of a row without an entity: got error %v; want ErrNotFound", err)
	}
	testkit.Expect(t, "a row without an entity", s.Count().String(), "3 get")
	for limit, want := range map[int]string{5: "6 get, 1 query", 11: "12 get, 1 query", 15: "16 get, 1 query"} {
		s.Count()
		testkit.Expect(t, "entities", len(ids(t, byLast.Query(ctx, staff, table.Query[worker]{Partition: sales, Limit: limit}))), limit)
		testkit.Expect(t, "requests", s.Count().String(), want)
	}
}

// TestAttachedTwice: a definition with the key name of an earlier one is refused, and so are nil and a definition without a layout.
func TestAttachedTwice(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, _ := newStaff(t, index.New("a", keys.Text().Named("x"), func(w *worker) (string, bool) { return w.Last, true }, nil))
	_, err := baretest.Attach(staff, index.New("b", keys.Text().Named("x"), func(w *worker) (string, bool) { return w.Email, true }, nil))
	var de *table.DefinitionError
	if !errors.As(err, &de) || de.Definition != "b" {
		t.Errorf("attach b with the key name x of a: got error %v; want a *DefinitionError of b", err)
	}
	if _, err := baretest.Attach(staff, (*index.Index[worker, string])(nil)); err == nil || !strings.Contains(err.Error(), "definition is nil") {
		t.Errorf("attach a nil index: got error %v; want one that contains \"definition is nil\"", err)
	}
	none := index.New[worker, string]("none", nil, func(w *worker) (string, bool) { return "", true }, nil)
	err = onlyError(t, "list by an index without a layout", none.List(ctx, staff, sales, "x"))
	if de = nil; !errors.As(err, &de) || de.Definition != "none" || de.Field != "layout" {
		t.Errorf("list by an index without a layout: got error %v; want a *DefinitionError of the layout of none", err)
	}
	bad := index.New("bad", keys.Row2(keys.Ordered(), keys.Digits[int](3), func(*worker) (*string, *int) { return nil, nil }),
		func(w *worker) (worker, bool) { return *w, true }, nil)
	if _, err := baretest.Attach(staff, bad); !errors.As(err, &de) || !strings.Contains(err.Error(), "panics") {
		t.Errorf("attach an index whose accessor returns nil: got error %v; want a *DefinitionError that contains panics", err)
	}
	// Rows of any type, and keys of any form: Reserved is for them.
	s := storagetest.New(nil)
	any := openAs(t, s.ConnectionString(), s, table.Schema[table.Row]{})
	check(t, tabledoor.Ensure(ctx, any))
	byName := index.New("name", keys.Ordered(), func(r *table.Row) (string, bool) {
		v, ok := r.Get("Name")
		name, _ := v.(string)
		return name, ok
	}, &index.Options{Reserved: true})
	rows, err := baretest.Attach(any, byName)
	check(t, err)
	row := &table.Row{Key: keys.At(sales, keys.RawRow("anything"))}
	check(t, row.Set("Name", "x"))
	e, err := rows.Insert(ctx, row)
	check(t, err)
	check(t, e.Value.Set("Name", "y"))
	check(t, rows.Replace(ctx, e))
	found, err := byName.Get(ctx, rows, sales, "y")
	if err != nil || found.Key != e.Key {
		t.Fatalf("look-up of name y: got %v, error %v; want %v", found, err, e.Key)
	}
	r, err := verify.Repair(ctx, rows, nil, byName)
	if err != nil || r.Faults > 0 || r.Rows != 1 || r.Counts["derived rows"] != 1 {
		t.Errorf("verify with repair: got %+v, error %v; want a sound report of 1 entity and 1 row", r, err)
	}
	// On a table without operation IDs, nothing shows whether a full copy equals its entity.
	o := quick()
	o.OmitOperationID = true
	unnamed, err := bare.NewTable(serviceOf(t, s.ConnectionString(), s), "staff", schema, o)
	check(t, err)
	if _, err := baretest.Attach(unnamed, byEmail); !errors.As(err, &de) {
		t.Errorf("attach full copies to a table without operation IDs: got error %v; want a *DefinitionError", err)
	}
}

// TestRenamedProperties: names and properties that a later release changes are written with the next write, and other properties
// stay.
func TestRenamedProperties(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	of := func(w *worker) (string, bool) { return w.Last, true }
	at0 := func(names ...string) *index.Summary[worker, string] {
		var measures []index.Measure[worker]
		for _, n := range names {
			value := func(w *worker) (int64, bool) { return int64(w.Age), true }
			if n == "ID" {
				value = func(w *worker) (int64, bool) { return int64(w.ID), true }
			}
			measures = append(measures, index.Measure[worker]{Name: n, Of: value})
		}
		return index.NewSummary("sum", keys.Text(), of, nil, measures...)
	}
	lists := func(property string) extend.Definition[worker] {
		return index.NewLists("list", keys.Text(), of, &index.ListOptions{Property: property})
	}
	details := func(fields ...table.FieldIn[worker]) extend.Definition[worker] {
		return index.NewDetails("head", "Head", func(w *worker) (keys.RowKey, bool) { return keys.RawRow("department"), w.Email == "a" }, fields...)
	}
	first, s := newStaff(t, at0("Age"), lists("EmployeeIDs"), details(last))
	d := openAs(t, s.ConnectionString(), s, depts)
	_, err := d.Insert(ctx, &department{Name: "S", Budget: 7})
	check(t, err)
	insertAll(t, first, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "", 40, nil})

	base := openAs(t, s.ConnectionString(), s, schema)
	sum := at0("ID", "Age")
	second, err := baretest.Attach(base, sum, lists("Ids"), details(last, email))
	check(t, err)
	insertAll(t, second, s, worker{"S", 3, "Jones", "", 50, nil})
	stat := func() map[string]index.Stat {
		t.Helper()
		g, err := sum.Get(ctx, second, sales, "Jones")
		check(t, err)
		testkit.Expect(t, "count", g.Count, int64(3))
		return g.Measures
	}
	testkit.Expect(t, "measures", stat(), map[string]index.Stat{"ID": {Count: 1, Sum: 3, Min: 3, Max: 3}, "Age": {Count: 3, Sum: 120, Min: 30, Max: 50}})
	for id := range 2 {
		_, err := second.Update(ctx, at(id+1), func(w *worker) error { w.Tags = []string{"x"}; return nil })
		check(t, err)
	}
	testkit.Expect(t, "measures", stat(), map[string]index.Stat{"ID": {Count: 3, Sum: 6, Min: 1, Max: 3}, "Age": {Count: 3, Sum: 120, Min: 30, Max: 50}})
	row, err := tabledoor.GetRow(ctx, second, rowAt("list_Jones"))
	check(t, err)
	was, _ := row.Get("EmployeeIDs")
	is, _ := row.Get("Ids")
	testkit.Expect(t, "lists", []any{was, is}, []any{"w_000001/w_000002", "w_000001/w_000002/w_000003"})
	sd, err := d.Get(ctx, rowAt("department"))
	check(t, err)
	testkit.Expect(t, "details", sd.Value, department{"S", 7, "Jones", "a"})
	check(t, second.DeleteAny(ctx, at(3)))
	if row, err = tabledoor.GetRow(ctx, second, rowAt("list_Jones")); err != nil || row.Type("EmployeeIDs") == "" {
		t.Errorf("list after the delete: got %v, error %v; want a row that still has EmployeeIDs", row, err)
	}

	// Another kind under the name does not make entities unwritable.
	pointer := index.New("team", keys.Text(), of, nil).Only()
	s2 := storagetest.New(nil)
	base = openAs(t, s2.ConnectionString(), s2, schema)
	check(t, tabledoor.Ensure(ctx, base))
	before, err := baretest.Attach(base, pointer)
	check(t, err)
	insertAll(t, before, s2, worker{"S", 1, "Jones", "", 1, nil})
	after, err := baretest.Attach(base, teams)
	check(t, err)
	_, err = after.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
	check(t, err)
	testkit.Expect(t, "listed", ids(t, teams.List(ctx, after, sales, "Jones")), []int{1})
	check(t, after.DeleteAny(ctx, at(1)))
}
