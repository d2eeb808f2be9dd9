package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

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

// overwrite changes a row as a program without this library does: it can write any value into any property.
func overwrite(t *testing.T, s *storagetest.Service, k keys.Key, f func(columns map[string]any)) {
	t.Helper()
	for _, row := range s.Rows("staff") {
		if row.PartitionKey == k.PartitionKey() && row.RowKey == k.RowKey() {
			overwriteRow(t, s, row, f)
			return
		}
	}
	t.Fatalf("row to overwrite: got none with key %v; want one", k)
}

func overwriteRow(t testing.TB, s *storagetest.Service, row storagetest.Row, f func(columns map[string]any)) {
	columns := map[string]any{"PartitionKey": row.PartitionKey, "RowKey": row.RowKey}
	for _, p := range row.Properties {
		if n, is := p.Value.(int64); is {
			columns[p.Name], columns[p.Name+"@odata.type"] = fmt.Sprint(n), "Edm.Int64"
		} else {
			columns[p.Name] = p.Value
		}
		if p.Type == "Edm.Guid" {
			columns[p.Name+"@odata.type"] = p.Type
		}
	}
	f(columns)
	for name, v := range columns {
		if _, is := v.([]byte); is {
			columns[name+"@odata.type"] = "Edm.Binary"
		}
	}
	body, err := json.Marshal(columns)
	check(t, err)
	_, err = s.Tables().NewClient("staff").UpsertEntity(context.Background(), body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	check(t, err)
}

// TestVerifyDamage: verify.Repair repairs the rows that another program has damaged, does not stop,
// and reports the truth: a table that it reports as sound is sound.
func TestVerifyDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	list := func(members string) func(*testing.T, *table.Table[worker], *storagetest.Service) {
		return func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			check(t, rawTable(t, s).MergeAny(ctx, rowAt("team_Jones"), table.PropertyOf[string]("EmployeeIDs").Set(members)))
		}
	}
	set := func(row, property string, v any) func(*testing.T, *table.Table[worker], *storagetest.Service) {
		return func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			overwrite(t, s, rowAt(row), func(c map[string]any) {
				delete(c, property)
				delete(c, property+"@odata.type")
				if v != nil {
					c[property] = v
				}
			})
		}
	}
	copied, shared := []extend.Definition[worker]{byEmail, byLast}, sharedDefinitions()
	// A run with Repair makes approximate bounds exact without a fault.
	quiet := map[string]bool{"a summary that says it is loose": true, "a summary with bounds that are wide": true}
	for what, c := range map[string]struct {
		definitions []extend.Definition[worker]
		damage      func(*testing.T, *table.Table[worker], *storagetest.Service)
		want        []string // the faults
	}{
		"a unique row that belongs to another entity now, and an entity with another value": {copied, func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			check(t, rawTable(t, s).DeleteAny(ctx, rowAt("email_a")))
			insertAll(t, staff, s, worker{"S", 4, "Cao", "a", 30, nil})
			check(t, door.Rows[table.Table[table.Row]](door.Table(rawTable(t, s)), false).MergeAny(ctx, at(1), table.PropertyOf[string]("Email").Set("z")))
		}, []string{"email missing email_z w_000001", "email state mismatch email_a w_000001"}},
		"a member that is no valid RowKey":   {shared, list("w_000001/a?b/w_000002"), []string{"team dangling team_Jones a?b"}},
		"a member with an invalid character": {shared, list("w_000001/tab\there/w_000002"), []string{"team dangling team_Jones tab\there"}},
		"a member that is too long": {shared, list("w_000001/w_000002/" + strings.Repeat("x", 600)),
			[]string{"team dangling team_Jones " + strings.Repeat("x", 600)}},
		"a member that is an index row": {append(shared[:3:3], byLast), list("w_000001/w_000002/last_Jones!_w_000001"),
			[]string{"team dangling team_Jones last_Jones!_w_000001"}},
		"a member that is of another type": {shared, list("department/w_000001/w_000002"), []string{"team dangling team_Jones department"}},
		"a member that is a list":          {shared, list("team_Jones/w_000001/w_000002"), []string{"team dangling team_Jones team_Jones"}},
		"a copy of an invalid key":         {copied, set("email_a", "_sys", "a?b"), []string{"email missing email_a w_000001"}},
		"a copy of another type":           {copied, set("email_a", "_sys", "department"), []string{"email missing email_a w_000001"}},
		"a copy of itself":                 {copied, set("email_a", "_sys", "email_a"), []string{"email missing email_a w_000001"}},
		"a copy of itself by a program that loses types": {copied, func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			overwrite(t, s, rowAt("email_a"), func(c map[string]any) {
				c["_sys"] = "email_a"
				delete(c, "_op@odata.type")
			})
		}, []string{"email missing email_a w_000001"}},
		"maintainer state with invalid keys": {copied, set("w_000001", "_ix", stateBytes("w_000001", `{"last":["a?b"],"email":["x#y"]}`)),
			[]string{"email state mismatch email_a w_000001", "last state mismatch last_Jones!_w_000001 w_000001"}},
		"no maintainer state": {copied, set("w_000001", "_ix", nil),
			[]string{"email state mismatch email_a w_000001", "last state mismatch last_Jones!_w_000001 w_000001"}},
		"maintainer state that is garbage": {append(shared[:3:3], byLast), set("w_000001", "_ix", "garbage"),
			[]string{"team state mismatch  w_000001", "team state mismatch team_Jones w_000001", "ages state mismatch ages_Jones w_000001",
				"head state mismatch department w_000001", "last state mismatch last_Jones!_w_000001 w_000001"}},
		"a list that begins with its second part": {shared, func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			overwrite(t, s, rowAt("team_Jones"), func(c map[string]any) {
				delete(c, "EmployeeIDs")
				c["EmployeeIDs2"] = "w_000002/w_000009"
			})
		}, []string{"team dangling team_Jones w_000009", "team missing team_Jones w_000001"}},
		"a list with a gap": {shared, set("team_Jones", "EmployeeIDs7", "w_000009"), []string{"team dangling team_Jones w_000009"}},
		"a list without anything": {shared, set("team_Jones", "EmployeeIDs", nil),
			[]string{"team missing team_Jones w_000001", "team missing team_Jones w_000002"}},
		"details without the key of their entity": {shared, func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			set("department", "HeadRowKey", nil)(t, staff, s)
			check(t, staff.MergeAny(ctx, at(1), email.Set("z")))
			check(t, staff.MergeAny(ctx, at(1), email.Set("zz")))
		}, nil},
		"details of no entity, without the key of an entity": {shared, func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			check(t, staff.MergeAny(ctx, at(1), email.Set("z")))
			overwrite(t, s, rowAt("department"), func(c map[string]any) { c["_sys"], c["HeadLast"], c["HeadEmail"] = "/head", "x", "y" })
		}, nil},
		"a group without its row": {shared[:2], func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			check(t, rawTable(t, s).DeleteAny(ctx, rowAt("ages_Jones")))
		}, []string{"ages missing ages_Jones "}},
		"a summary without a property":    {shared, set("ages_Jones", "AgeCount", nil), []string{"ages stale ages_Jones "}},
		"a summary of another type":       {shared, set("ages_Jones", "Count", "many"), []string{"ages stale ages_Jones "}},
		"a summary that says it is loose": {shared, set("ages_Jones", "AgeLoose", true), []string{"ages stale ages_Jones "}},
		"a summary with bounds that are wide": {shared, func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			overwrite(t, s, rowAt("ages_Jones"), func(c map[string]any) { c["AgeLoose"], c["AgeMin"], c["AgeMinCount"] = true, "3", "0" })
		}, []string{"ages stale ages_Jones "}},
	} {
		for _, most := range []int{0, 1} { // rows in memory
			t.Run(fmt.Sprint(what, ", ", most), func(t *testing.T) {
				t.Parallel()
				staff, s := newStaff(t, c.definitions...)
				_, err := openAs(t, s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
				check(t, err)
				insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "", 40, nil}, worker{"S", 3, "Li", "", 50, nil})
				c.damage(t, staff, s)
				want := map[string]bool{}
				for _, f := range c.want {
					want[f] = true
				}
				r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}, MostRows: most}, c.definitions...)
				testkit.Expect(t, "faults of verify without repair", faults, want)
				if (r.Faults == 0) != (len(want) == 0) || r.Changed != 0 {
					t.Errorf("verify without repair: got %+v, sound %v; want nothing repaired, and sound %v", r, r.Faults == 0, len(want) == 0)
				}
				r, faults = mustVerify(t, staff, verify.Options{MostRows: most}, c.definitions...)
				if quiet[what] {
					clear(want)
				}
				testkit.Expect(t, "faults of verify with repair", faults, want)
				if r.Faults > 0 || r.Changed != len(want) {
					t.Errorf("verify with repair: got %+v; want a sound report with %d repaired", r, len(want))
				}
				if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}, MostRows: most}, c.definitions...); r.Faults > 0 || len(faults) > 0 {
					t.Errorf("verify after the repair: got %+v and faults %v; want a sound report and no fault", r, faults)
				}
				if err := checkDamaged(t, s, c.definitions); err != nil {
					t.Errorf("all rows after the repair: got error %v; want none", err)
				}
				for id := range 3 {
					if _, err := staff.Update(ctx, at(id+1), func(w *worker) error { w.Age++; w.Last += "x"; return nil }); err != nil {
						t.Errorf("update of %v after the repair: got error %v; want none", at(id+1), err)
					}
				}
				if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}, MostRows: most}, c.definitions...); r.Faults > 0 {
					t.Errorf("verify after the updates: got %+v and faults %v; want a sound report", r, faults)
				}
				if err := checkDamaged(t, s, c.definitions); err != nil {
					t.Errorf("all rows after the updates: got error %v; want none", err)
				}
			})
		}
	}
}

// checkDamaged returns an error if the rows of the definitions differ from the entities, or there are other rows than these, the
// entities and the department.
func checkDamaged(t *testing.T, s *storagetest.Service, definitions []extend.Definition[worker]) error {
	t.Helper()
	var copies, shared []string // the kinds of their rows
	for _, d := range definitions {
		switch d.Name() {
		case "email", "last":
			copies = append(copies, d.Name())
		case "head":
			shared = append(shared, "department")
		default:
			shared = append(shared, d.Name())
		}
	}
	left := copies
	if !slices.Contains(shared, "department") { // a department without details is no row of a definition
		left = append(left, "department")
	}
	var errs []error
	if len(copies) > 0 {
		errs = append(errs, checkCopiesOf(copies...)(withoutKinds(t, s, append(shared, "department"))))
	}
	if len(shared) > 0 {
		errs = append(errs, checkShared(withoutKinds(t, s, left)))
	}
	return errors.Join(errs...)
}

// withoutKinds returns a service with the rows of another one, without those of some kinds, for checks that do not know these.
func withoutKinds(t *testing.T, s *storagetest.Service, kinds []string) *storagetest.Service {
	t.Helper()
	some := storagetest.New(nil)
	check(t, tabledoor.Ensure(context.Background(), rawTable(t, some)))
	for _, row := range s.Rows("staff") {
		if kind, _, _ := strings.Cut(row.RowKey, "_"); !slices.Contains(kinds, kind) {
			overwriteRow(t, some, row, func(map[string]any) {})
		}
	}
	return some
}

// TestLastMemberUnreadable: a group that has lost its row is counted again, also if some of its entities cannot be read.
func TestLastMemberUnreadable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, ages)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil})
	check(t, door.Rows[table.Table[table.Row]](door.Table(rawTable(t, s)), false).MergeAny(ctx, at(2), table.PropertyOf[string]("Age").Set("old")))
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("ages_Jones")))
	for _, repair := range []bool{false, true} {
		r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, ages)
		if r.Counts["unconfirmed"] != 0 || r.Counts[verify.Missing] != 1 || r.Counts[verify.Unreadable] != 1 {
			t.Errorf("repair %v: got %+v and faults %v; want one missing row, one unreadable entity and nothing unconfirmed", repair, r, faults)
		}
	}
	g, err := ages.Get(ctx, staff, sales, "Jones")
	check(t, err)
	testkit.Expect(t, "contributions of both entities", *g, index.Group[string]{Value: "Jones", Count: 2, Measures: map[string]index.Stat{"Age": {Count: 2, Sum: 70, Min: 30, Max: 40}}})
}

// TestTakenDuringRepair: a unique row that another entity takes during a repair stays with that entity, at whichever request it is
// taken.
func TestTakenDuringRepair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, takenDuringRepair) // a slow machine makes no more requests
}

func takenDuringRepair(t *testing.T) {
	ctx := context.Background()
	inserted, fired, late := 0, 0, 0 // late inserts find the row of the repair
	for n := range 14 {
		staff, s := newStaff(t, byEmail)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
		check(t, rawTable(t, s).DeleteAny(ctx, rowAt("email_a")))
		i, taken := 0, false
		b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(*http.Request) {
			if i == n {
				fired++
				if repaired := slices.ContainsFunc(s.Rows("staff"), func(r storagetest.Row) bool { return r.RowKey == "email_a" }); repaired {
					late++
				}
				_, err := staff.Insert(ctx, &worker{"S", 2, "Cao", "a", 30, nil})
				taken = err == nil
				if err != nil && !errors.Is(err, table.ErrTaken) {
					t.Errorf("insert before request %d: got error %v; want none or ErrTaken", n, err)
				}
			}
			i++
		}}
		slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), byEmail)
		check(t, err)
		r, err := verify.Repair(ctx, slow, nil, byEmail)
		check(t, err)
		_, err = staff.Get(ctx, at(2))
		owner, err2 := byEmail.Get(ctx, staff, sales, "a")
		check(t, err2)
		if taken {
			inserted++
		}
		switch {
		case taken && (err != nil || owner.Key != at(2) || r.Faults == 0 || r.Changed > 0):
			t.Errorf("insert before request %d of %d: got owner %v, %+v, and error %v of Get of %v; want owner %v, a report that is not sound, "+
				"with nothing repaired, and no error",
				n, i, owner.Key, r, err, at(2), at(2))
		case !taken && (!errors.Is(err, table.ErrNotFound) || owner.Key != at(1) || r.Faults > 0 || r.Changed != 1):
			t.Errorf("no insert before request %d of %d: got owner %v, %+v, and error %v of Get of %v; want owner %v, a sound report with 1 repaired, and ErrNotFound",
				n, i, owner.Key, r, err, at(2), at(1))
		}
		if n == 13 && i > n {
			t.Errorf("requests of the last run: got %d; want fewer, so that an insert was tried before each", i)
		}
	}
	if inserted == 0 || inserted+late != fired {
		t.Errorf("inserts during the repair: got %d of %d, and %d behind its row; want all", inserted, fired, late)
	}
}

// TestConcurrentBackfill: an entity that a concurrent writer changes before its repair is confirmed again.
func TestConcurrentBackfill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newStaff(t)
	once := true
	rows := rawTable(t, s)
	b := &testkit.Hooked{Service: s, Serial: true}
	base := openAs(t, s.ConnectionString(), b, schema)
	staff, err := baretest.Attach(base, byLast)
	check(t, err)
	_, err = base.Insert(ctx, &worker{"S", 1, "Jones", "", 30, nil})
	check(t, err)
	b.BeforeRequest = func(r *http.Request) {
		if once && strings.Contains(r.URL.Path, "$batch") {
			once = false
			testkit.Expect(t, "error of the concurrent write", rows.MergeAny(ctx, at(1), table.PropertyOf[int64]("Age").Set(31)), nil)
		}
	}
	r, err := verify.Repair(ctx, staff, nil, byLast)
	if err != nil || r.Faults > 0 || r.Changed != 1 || once {
		t.Errorf("verify with repair: got %+v, error %v, entity changed before its repair: %v; want a sound report with 1 repaired, no error, and true", r, err, !once)
	}
	e, err := staff.Get(ctx, at(1))
	if err != nil || e.Value.Age != 31 {
		t.Errorf("entity after the repair: got %+v, error %v; want the age 31 of the concurrent writer and no error", e, err)
	}
	testkit.Expect(t, "filled", ids(t, byLast.List(ctx, staff, sales, "Jones")), []int{1})
}

// TestConflictOfDetails: an entity whose target holds the details of another entity is repaired otherwise; a run without repair
// predicts that.
func TestConflictOfDetails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := newCampus(t)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	check(t, d.DeleteAny(ctx, rowAt("department")))
	_, err := d.Insert(ctx, &department{Name: "S", Budget: 7})
	check(t, err)
	insertAll(t, staff, s, worker{"S", 2, "Cao", "a", 30, nil})
	both, err := baretest.Attach(staff, byLast)
	check(t, err)
	for _, repair := range []bool{false, true} {
		r, faults := mustVerify(t, both, verify.Options{Pass: table.Pass{DryRun: !repair}}, head, byLast)
		repaired := 0
		if repair {
			repaired = 2
		}
		if r.Counts[verify.DuplicateValue] != 1 || r.Counts["failed"] != 0 || r.Changed != repaired || r.Faults == 0 {
			t.Errorf("details, verify, repair %v: got %+v and faults %v; want a report that is not sound, "+
				"with one duplicate value, %d repaired and none failed", repair, r, faults, repaired)
		}
		testkit.Expect(t, fmt.Sprintf("details, repair %v: faults", repair), faults, map[string]bool{
			"head duplicate value department w_000001": true, "last missing last_Jones!_w_000001 w_000001": true, "last missing last_Cao!_w_000002 w_000002": true})
	}
	testkit.Expect(t, "filled", ids(t, byLast.List(ctx, both, sales, "Jones")), []int{1})
	// An entity that does not have the target releases it: the details of the other entity stay.
	check(t, both.MergeAny(ctx, at(1), email.Set("")))
	dep, err := d.Get(ctx, rowAt("department"))
	if err != nil || dep.Value.HeadLast != "Cao" {
		t.Errorf("department after the other entity released it: got %+v, error %v; want HeadLast %q and no error", dep, err, "Cao")
	}

	unique := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, &index.Options{Unique: true}).Only()
	base, s := newStaff(t)
	insertAll(t, base, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "a", 30, nil})
	staff, err = baretest.Attach(base, unique)
	check(t, err)
	for _, repair := range []bool{false, true} {
		r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, unique)
		if r.Counts[verify.Missing] != 1 || r.Counts[verify.DuplicateValue] != 1 {
			t.Errorf("unique index, repair %v: got %+v and faults %v; want one missing row and one duplicate value", repair, r, faults)
		}
	}
}

// TestEmptyList: a list is deleted with its last member, also if another program has written the list under a RowKey of its own.
func TestEmptyList(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, teams, ages)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	check(t, rawTable(t, s).MergeAny(ctx, rowAt("team_Jones"), table.PropertyOf[string]("EmployeeIDs").Set("w_000001")))
	check(t, staff.MergeAny(ctx, at(1), last.Set("Smith")))
	checkAll(t, s)
	// Verify finds an empty list that another program left.
	left := &table.Row{Key: rowAt("team_Nobody")}
	*left = *(*table.Row)((*stored.Row)(left).Own("team:w_"))
	_, err := door.Rows[table.Table[table.Row]](door.Table(rawTable(t, s)), false).Insert(ctx, left)
	check(t, err)
	for _, repair := range []bool{false, true} {
		if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, teams, ages); r.Counts[verify.Dangling] != 1 {
			t.Errorf("repair %v: got %+v and faults %v; want one dangling row", repair, r, faults)
		}
	}
	checkAll(t, s)
}

// TestDamageAnywhere: in a table with any RowKeys, a member of a list may be no valid RowKey.
func TestDamageAnywhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lists := index.NewLists("l", keys.Text(), name, &index.ListOptions{Reserved: true})
	anywhere := schema
	anywhere.Row = nil
	staff, s := attached(t, anywhere, lists)
	_, err := staff.InsertAt(ctx, rowAt("any key"), &worker{Dept: "S", Last: "Jones"})
	check(t, err)
	overwrite(t, s, rowAt("~x|l_Jones"), func(c map[string]any) {
		c["Members"] = "any key/a?b/" + strings.Repeat("x", 600) + "/~x|l_Jones/nobody"
	})
	r, faults := mustVerify(t, staff, verify.Options{}, lists)
	if r.Faults > 0 || r.Counts[verify.Dangling] != 4 {
		t.Errorf("verify with repair: got %+v and faults %v; want a sound report with 4 dangling members", r, faults)
	}
	if all, err := lists.Keys(ctx, staff, sales, "Jones"); err != nil || len(all) != 1 {
		t.Errorf("keys of the list: got %v, error %v; want one key and no error", all, err)
	}
}
