package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// rawTable returns the table as another program writes it.
func rawTable(t testing.TB, s *storagetest.Service) *table.Table[table.Row] {
	t.Helper()
	return openAs(t, s.ConnectionString(), s, table.Schema[table.Row]{})
}

func rowAt(s string) keys.Key { return keys.Raw("S", s) }

// asDefinitions returns definitions as verify.Check takes them.
func asDefinitions(all []extend.Definition[worker]) (same []verify.Definition) {
	for _, d := range all {
		same = append(same, d)
	}
	return same
}

// mustVerify calls verify.Check, and returns the faults as texts.
func mustVerify(t *testing.T, staff *table.Table[worker], o verify.Options, definitions ...extend.Definition[worker]) (table.Progress, map[string]bool) {
	t.Helper()
	faults := map[string]bool{}
	o.Fault = func(f verify.Fault) {
		faults[fmt.Sprint(f.Definition, " ", f.Kind, " ", f.Row.RowKey(), " ", f.Entity.RowKey())] = true
		if f.Err != nil {
			t.Log(f)
		}
	}
	r, err := verify.Repair(context.Background(), staff, &o, asDefinitions(definitions)...)
	check(t, err)
	return r, faults
}

// TestVerify: each kind of fault of each kind of definition is found, repaired, and then gone; no other fault is found.
func TestVerify(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	set := func(r *table.Row, name string, v any) *table.Row { check(t, r.Set(name, v)); return r }
	owned := func(r *table.Row, owner string) *table.Row { return (*table.Row)((*stored.Row)(r).Own(owner)) }
	for what, c := range map[string]struct {
		definitions []extend.Definition[worker]
		damage      func(rows *table.Table[table.Row])
		want        []string
	}{
		"a copy deleted": {copyDefinitions(), func(rows *table.Table[table.Row]) { check(t, rows.DeleteAny(ctx, rowAt("email_a"))) },
			[]string{"email missing email_a w_000001"}},
		"a pointer deleted": {copyDefinitions(), func(rows *table.Table[table.Row]) { check(t, rows.DeleteAny(ctx, rowAt("last_Jones!_w_000001"))) },
			[]string{"last missing last_Jones!_w_000001 w_000001"}},
		"a copy changed": {copyDefinitions(), func(rows *table.Table[table.Row]) {
			check(t, rows.MergeAny(ctx, rowAt("email_a"), table.PropertyOf[string]("Last").Set("x")))
		}, []string{"email stale email_a w_000001"}},
		"a projection changed": {copyDefinitions(), func(rows *table.Table[table.Row]) {
			check(t, rows.MergeAny(ctx, rowAt("age_030_w_000001"), table.PropertyOf[int64]("Age").Set(31)))
		}, []string{"age stale age_030_w_000001 w_000001"}},
		"an entity deleted": {copyDefinitions(), func(rows *table.Table[table.Row]) { check(t, rows.DeleteAny(ctx, at(1))) }, []string{
			"email dangling email_a w_000001", "last dangling last_Jones!_w_000001 w_000001", "age dangling age_030_w_000001 w_000001",
			"tag dangling ~x|tag_x_w_000001 w_000001", "tag dangling ~x|tag_y_w_000001 w_000001"}},
		"an entity changed by another program": {copyDefinitions(), func(rows *table.Table[table.Row]) {
			e, err := rows.Get(ctx, at(1))
			check(t, err)
			row := set(&table.Row{Key: e.Key}, "Last", "Smith")
			_, err = rows.Upsert(ctx, set(set(row, "Email", "new"), "Age", 30), table.ReplaceExisting)
			check(t, err)
		}, []string{
			"email dangling email_a w_000001", "email missing email_new w_000001", "last dangling last_Jones!_w_000001 w_000001", "last missing last_Smith!_w_000001 w_000001",
			"age stale age_030_w_000001 w_000001", "tag dangling ~x|tag_x_w_000001 w_000001", "tag dangling ~x|tag_y_w_000001 w_000001"}},
		"an entity that another program has replaced": {copyDefinitions(), func(rows *table.Table[table.Row]) {
			e, err := rows.Get(ctx, at(1))
			check(t, err)
			row := &table.Row{Key: e.Key}
			for name, v := range e.Value.All() {
				if !strings.HasPrefix(name, "_") {
					set(row, name, v)
				}
			}
			_, err = rows.Upsert(ctx, row, table.ReplaceExisting)
			check(t, err)
		}, []string{"email stale email_a w_000001", "tag stale ~x|tag_x_w_000001 w_000001", "tag stale ~x|tag_y_w_000001 w_000001",
			"last state mismatch last_Jones!_w_000001 w_000001", "age state mismatch age_030_w_000001 w_000001"}},
		"a list deleted": {sharedDefinitions(), func(rows *table.Table[table.Row]) { check(t, rows.DeleteAny(ctx, rowAt("team_Jones"))) },
			[]string{"team missing team_Jones w_000001", "team missing team_Jones w_000002"}},
		"foreign members in a list": {sharedDefinitions(), func(rows *table.Table[table.Row]) {
			check(t, rows.MergeAny(ctx, rowAt("team_Jones"), table.PropertyOf[string]("EmployeeIDs").Set("w_000001/w_000002/w_000003/w_000009")))
		}, []string{"team dangling team_Jones w_000003", "team dangling team_Jones w_000009"}},
		"an empty list": {sharedDefinitions(), func(rows *table.Table[table.Row]) {
			_, err := door.Rows[table.Table[table.Row]](door.Table(rows), false).Insert(ctx, owned(set(&table.Row{Key: keys.At(sales, keys.RawRow("team_Nobody"))}, "EmployeeIDs", ""), "team:w_"))
			check(t, err)
		}, []string{"team dangling team_Nobody "}},
		"a summary deleted": {sharedDefinitions(), func(rows *table.Table[table.Row]) { check(t, rows.DeleteAny(ctx, rowAt("ages_Jones"))) },
			[]string{"ages missing ages_Jones "}},
		"a summary changed": {sharedDefinitions(), func(rows *table.Table[table.Row]) {
			check(t, rows.MergeAny(ctx, rowAt("ages_Jones"), table.PropertyOf[int64]("AgeSum").Set(7)))
		}, []string{"ages stale ages_Jones "}},
		"a summary of no entity": {sharedDefinitions(), func(rows *table.Table[table.Row]) {
			_, err := door.Rows[table.Table[table.Row]](door.Table(rows), true).Insert(ctx, owned(set(&table.Row{Key: keys.At(sales, keys.RawRow("ages_Nobody"))}, "Count", 3), "+ages:w_"))
			check(t, err)
		}, []string{"ages dangling ages_Nobody "}},
		"details changed": {sharedDefinitions(), func(rows *table.Table[table.Row]) {
			check(t, rows.MergeAny(ctx, rowAt("department"), table.PropertyOf[string]("HeadLast").Set("x")))
		}, []string{"head stale department w_000001"}},
		"details of an entity that does not exist": {sharedDefinitions(), func(rows *table.Table[table.Row]) {
			check(t, rows.MergeAny(ctx, rowAt("department"), table.PropertyOf[string]("HeadRowKey").Set("w_000009")))
		}, []string{"head missing department w_000001", "head dangling department w_000009"}},
	} {
		for _, most := range []int{0, 1} { // rows in memory
			t.Run(fmt.Sprint(what, ", ", most), func(t *testing.T) {
				t.Parallel()
				staff, s := newStaff(t, c.definitions...)
				shared := len(c.definitions) == 3
				right := checkCopies
				if shared {
					right = checkShared
					_, err := openAs(t, s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
					check(t, err)
				}
				insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, []string{"x", "y"}}, worker{"S", 2, "Jones", "b", 30, nil}, worker{"S", 3, "Cao", "", 50, nil})
				check(t, right(s))
				r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}, MostRows: most}, c.definitions...)
				if r.Faults > 0 || r.Rows != 3 || r.Counts["partitions"] != 1 || len(faults) > 0 {
					t.Fatalf("verify before the damage: got %+v and faults %v; want a sound report of 3 entities and 1 partition, and no fault", r, faults)
				}
				c.damage(rawTable(t, s))
				before := s.Rows("staff")
				r, faults = mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}, MostRows: most}, c.definitions...)
				want := map[string]bool{}
				for _, w := range c.want {
					want[w] = true
				}
				testkit.Expect(t, "faults", faults, want)
				if (r.Faults == 0) != (len(want) == 0) {
					t.Errorf("verify without repair: got %+v, sound %v; want sound %v", r, r.Faults == 0, len(want) == 0)
				}
				testkit.Expect(t, "a report changes nothing", s.Rows("staff"), before)
				r, _ = mustVerify(t, staff, verify.Options{MostRows: most}, c.definitions...)
				if r.Faults > 0 || r.Counts["failed"] > 0 || r.Changed == 0 != (len(want) == 0) {
					t.Errorf("verify with repair: got %+v; want a sound report, none failed, and some repaired: %v", r, len(want) > 0)
				}
				if err := right(s); err != nil {
					t.Errorf("rows after the repair: got error %v; want none", err)
				}
				if r, faults := mustVerify(t, staff, verify.Options{MostRows: most}, c.definitions...); r.Changed != 0 {
					t.Errorf("second verify with repair: got %+v and faults %v; want nothing repaired", r, faults)
				}
			})
		}
	}
}

// TestDuplicateValue: two entities with one unique value, whose row another program has deleted, are reported and not repaired.
func TestDuplicateValue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byEmail)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("email_a")))
	insertAll(t, staff, s, worker{"S", 2, "Cao", "a", 30, nil})
	r, faults := mustVerify(t, staff, verify.Options{}, byEmail)
	testkit.Expect(t, "faults", faults, map[string]bool{"email duplicate value email_a w_000001": true})
	if r.Faults == 0 || r.Counts[verify.DuplicateValue] != 1 || r.Changed != 0 {
		t.Errorf("verify with repair: got %+v; want a report that is not sound, with one duplicate value and nothing repaired", r)
	}
	// The fault is gone once one entity gets another value.
	_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Email = "b"; return nil })
	check(t, err)
	r, _ = mustVerify(t, staff, verify.Options{}, byEmail)
	if r.Faults > 0 {
		t.Errorf("verify after the update: got %+v; want a sound report", r)
	}
	if e, err := byEmail.Get(ctx, staff, sales, "a"); err != nil || e.Key != at(2) {
		t.Errorf("entity with email a: got %+v, error %v; want %v and no error", e, err, at(2))
	}
}

// TestNewKeyFunction: rows that an earlier release has made by another key function are found and deleted.
func TestNewKeyFunction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	was := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, nil)
	is := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return strings.ToLower(w.Email), true }, nil)
	old, s := newStaff(t, was)
	insertAll(t, old, s, worker{"S", 1, "Jones", "A", 30, nil}, worker{"S", 2, "Cao", "B", 30, nil}, worker{"S", 3, "Kwok", "c", 30, nil})
	base := openAs(t, s.ConnectionString(), s, schema)
	staff, err := baretest.Attach(base, is)
	check(t, err)
	// A write finds its own old row.
	check(t, staff.MergeAny(ctx, at(1), last.Set("Smith")))
	if _, err := tabledoor.GetRow(ctx, staff, rowAt("mail_A_w_000001")); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("old row after a write of its entity: got error %v; want ErrNotFound", err)
	}
	testkit.Expect(t, "by the new function", ids(t, is.List(ctx, staff, sales, "a")), []int{1})
	testkit.Expect(t, "not yet", ids(t, is.List(ctx, staff, sales, "b")), []int(nil))
	testkit.Expect(t, "not any more", ids(t, is.List(ctx, staff, sales, "B")), []int(nil))
	r, _ := mustVerify(t, staff, verify.Options{}, is)
	if r.Faults > 0 || r.Changed == 0 {
		t.Errorf("new key function, verify with repair: got %+v; want a sound report and some repaired", r)
	}
	testkit.Expect(t, "all", ids(t, is.Query(ctx, staff, table.Query[worker]{Partition: sales})), []int{1, 2, 3})
	testkit.Expect(t, "rows", len(s.Rows("staff")), 6)

	// An index goes by a function that gives nothing.
	gone := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return "", false }, nil)
	staff, err = baretest.Attach(base, gone)
	check(t, err)
	r, _ = mustVerify(t, staff, verify.Options{}, gone)
	if r.Faults > 0 {
		t.Errorf("key function without keys, verify with repair: got %+v; want a sound report", r)
	}
	testkit.Expect(t, "rows", len(s.Rows("staff")), 3)
	if _, err := base.Update(ctx, at(2), func(w *worker) error { w.Age++; return nil }); err != nil {
		t.Errorf("update without the definition: got error %v; want none, because the maintainer state does not contain the index", err)
	}
}

// TestResume: an interrupted run resumes behind the finished partitions, and reports its progress.
func TestResume(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byLast)
	for _, d := range []string{"A", "B", "C", "D"} {
		insertAll(t, staff, s, worker{d, 1, "Jones", "", 30, nil})
		check(t, rawTable(t, s).DeleteAny(ctx, keys.Raw(d, "last_Jones!_w_000001")))
	}
	ending, cancel := context.WithCancel(ctx)
	first, err := verify.Repair(ending, staff, &verify.Options{Pass: table.Pass{Progress: func(r table.Progress) {
		if r.Counts["partitions"] == 2 {
			cancel()
		}
	}}}, byLast)
	if !errors.Is(err, context.Canceled) || first.Counts["partitions"] != 2 || first.Changed != 2 || first.Token == "" {
		t.Fatalf("canceled run: got %+v, error %v; want 2 partitions, 2 repaired, a token and context.Canceled", first, err)
	}
	s.Count()
	second, err := verify.Repair(ctx, staff, &verify.Options{Pass: table.Pass{Token: first.Token, Rate: 100_000}}, byLast)
	if err != nil || second.Counts["partitions"] != 2 || second.Changed != 2 {
		t.Fatalf("resumed run: got %+v, error %v; want 2 partitions, 2 repaired and no error", second, err)
	}
	one, err := verify.Check(ctx, staff, &verify.Options{Pass: table.Pass{Partitions: dept.PartitionKey("A").Point()}}, byLast)
	if err != nil || one.Counts["partitions"] != 1 || one.Faults > 0 {
		t.Fatalf("run of partition A: got %+v, error %v; want a sound report of 1 partition, and no error", one, err)
	}
	for i := range first.Token { // a token with any one byte changed, or cut short
		for _, token := range []string{first.Token[:i] + "?" + first.Token[i+1:], first.Token[:max(i, 1)]} {
			var te *table.ValueError
			if _, err := verify.Check(ctx, staff, &verify.Options{Pass: table.Pass{Token: token}}, byLast); !errors.As(err, &te) {
				t.Errorf("token %q: got error %v; want a *table.ValueError", token, err)
			}
		}
	}
	var de *table.DefinitionError
	if _, err := verify.Check(ctx, staff, nil, byEmail); !errors.As(err, &de) || de.Definition != "email" {
		t.Errorf("definition that is not attached: got error %v; want a *table.DefinitionError of %q", err, "email")
	}
}

// TestVerifyRequests: the requests of a run on a sound table, of a confirmation and of a repair.
func TestVerifyRequests(t *testing.T) {
	t.Parallel()
	staff, s := newStaff(t, byEmail, byLast)
	for i := range 30 {
		insertAll(t, staff, s, worker{"S", i, "Jones", fmt.Sprint(i), 30, nil})
	}
	mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true, Partitions: sales.Point()}}, byEmail, byLast)
	testkit.Expect(t, "requests", s.Count().String(), "3 query")
	check(t, rawTable(t, s).DeleteAny(context.Background(), rowAt("email_7")))
	s.Count()
	mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true, Partitions: sales.Point()}}, byEmail, byLast)
	testkit.Expect(t, "requests to confirm a fault", s.Count().String(), "3 get, 3 query")
	mustVerify(t, staff, verify.Options{Pass: table.Pass{Partitions: sales.Point()}}, byEmail, byLast)
	testkit.Expect(t, "requests to repair it", s.Count().String(), "4 get, 3 query, 1 transaction")
}

// TestReleaseRace: a row without an entity that is about to be deleted stays if its entity is inserted meanwhile.
func TestReleaseRace(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byEmail, byLast)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	check(t, rawTable(t, s).DeleteAny(ctx, at(1)))
	b := &testkit.Hooked{Service: s, Serial: true}
	once := false
	b.BeforeRequest = func(r *http.Request) {
		if r.Method == http.MethodDelete && !once {
			once = true
			_, err := staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 31, nil})
			testkit.Expect(t, "error of Insert before the delete", err, nil)
		}
	}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), byEmail, byLast)
	check(t, err)
	r, err := verify.Repair(ctx, slow, nil, byEmail, byLast)
	if err != nil || !once || r.Counts["failed"] > 0 {
		t.Fatalf("verify with repair: got %+v, error %v, inserted %v; want none failed, no error, inserted true", r, err, once)
	}
	if err := checkCopiesOf("email", "last")(s); err != nil {
		t.Errorf("rows of copies after the repair: got error %v; want none", err)
	}
}
