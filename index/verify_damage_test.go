package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
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

// TestVerifyDamage: verify.Run repairs the rows that another program has damaged, does not stop, and reports the truth: a table that
// it reports as sound is sound.
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
	copied, shared := []index.Definition[worker]{byEmail, byLast}, sharedDefinitions()
	for what, c := range map[string]struct {
		definitions []index.Definition[worker]
		damage      func(*testing.T, *table.Table[worker], *storagetest.Service)
	}{
		"a unique row that belongs to another entity now, and an entity with another value": {copied, func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			check(t, rawTable(t, s).DeleteAny(ctx, rowAt("email_a")))
			insertAll(t, staff, s, worker{"S", 4, "Cao", "a", 30, nil})
			check(t, table.RowsOf(rawTable(t, s).Engine(), false).MergeAny(ctx, at(1), table.PropertyOf[string]("Email").Set("z")))
		}},
		"a member that is no valid RowKey":   {shared, list("w_000001/a?b/w_000002")},
		"a member with an invalid character": {shared, list("w_000001/tab\there/w_000002")},
		"a member that is too long":          {shared, list("w_000001/w_000002/" + strings.Repeat("x", 600))},
		"a member that is an index row":      {append(shared[:3:3], byLast), list("w_000001/w_000002/last_Jones!_w_000001")},
		"a member that is of another type":   {shared, list("department/w_000001/w_000002")},
		"a member that is a list":            {shared, list("team_Jones/w_000001/w_000002")},
		"a copy of an invalid key":           {copied, set("email_a", "_sys", "a?b")},
		"a copy of another type":             {copied, set("email_a", "_sys", "department")},
		"a copy of itself":                   {copied, set("email_a", "_sys", "email_a")},
		"maintainer state with invalid keys": {copied, set("w_000001", "_ix", stateBytes("w_000001", `{"last":["a?b"],"email":["x#y"]}`))},
		"no maintainer state":                {copied, set("w_000001", "_ix", nil)},
		"maintainer state that is garbage":   {append(shared[:3:3], byLast), set("w_000001", "_ix", "garbage")},
		"a list that begins with its second part": {shared, func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			overwrite(t, s, rowAt("team_Jones"), func(c map[string]any) {
				delete(c, "EmployeeIDs")
				c["EmployeeIDs2"] = "w_000002/w_000009"
			})
		}},
		"a list with a gap":       {shared, set("team_Jones", "EmployeeIDs7", "w_000009")},
		"a list without anything": {shared, set("team_Jones", "EmployeeIDs", nil)},
		"details without the key of their entity": {shared, func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			set("department", "HeadRowKey", nil)(t, staff, s)
			check(t, staff.MergeAny(ctx, at(1), email.Set("z")))
			check(t, staff.MergeAny(ctx, at(1), email.Set("zz")))
		}},
		"details of no entity, without the key of an entity": {shared, func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			check(t, staff.MergeAny(ctx, at(1), email.Set("z")))
			overwrite(t, s, rowAt("department"), func(c map[string]any) { c["_sys"], c["HeadLast"], c["HeadEmail"] = "/head", "x", "y" })
		}},
		"a group without its row": {shared[:2], func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			check(t, rawTable(t, s).DeleteAny(ctx, rowAt("ages_Jones")))
		}},
		"a summary without a property":    {shared, set("ages_Jones", "AgeCount", nil)},
		"a summary of another type":       {shared, set("ages_Jones", "Count", "many")},
		"a summary that says it is loose": {shared, set("ages_Jones", "AgeLoose", true)},
		"a summary with bounds that are wide": {shared, func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			overwrite(t, s, rowAt("ages_Jones"), func(c map[string]any) { c["AgeLoose"], c["AgeMin"], c["AgeMinCount"] = true, "3", "0" })
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			staff, s := newStaff(t, c.definitions...)
			_, err := openAs(t, s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
			check(t, err)
			insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "", 40, nil}, worker{"S", 3, "Li", "", 50, nil})
			c.damage(t, staff, s)
			r, _ := mustVerify(t, staff, verify.Options{Repair: true}, c.definitions...)
			if !r.Sound() {
				t.Errorf("verify with repair: got %+v; want a sound report", r)
			}
			if r, faults := mustVerify(t, staff, verify.Options{}, c.definitions...); !r.Sound() || len(faults) > 0 {
				t.Errorf("verify after the repair: got %+v and faults %v; want a sound report and no fault", r, faults)
			}
			if len(c.definitions) == 3 {
				checkAll(t, s)
			} else if len(c.definitions) == 2 && c.definitions[0] != shared[0] {
				if err := withoutDepartment(t, s, checkCopiesOf("email", "last")); err != nil {
					t.Errorf("rows of copies after the repair: got error %v; want none", err)
				}
			}
			for id := range 3 {
				if _, err := staff.Update(ctx, at(id+1), func(w *worker) error { w.Age++; w.Last += "x"; return nil }); err != nil {
					t.Errorf("update of %v after the repair: got error %v; want none", at(id+1), err)
				}
			}
			if r, faults := mustVerify(t, staff, verify.Options{}, c.definitions...); !r.Sound() {
				t.Errorf("verify after the updates: got %+v and faults %v; want a sound report", r, faults)
			}
		})
	}
}

// withoutDepartment deletes the department and then checks, for checks that do not know departments.
func withoutDepartment(t testing.TB, s *storagetest.Service, right func(*storagetest.Service) error) error {
	rows := openAs(t, s.ConnectionString(), s, depts)
	if err := rows.DeleteAny(context.Background(), rowAt("department")); err != nil {
		return err
	}
	return right(s)
}

// TestLastMemberUnreadable: a group that has lost its row is counted again, also if some of its entities cannot be read.
func TestLastMemberUnreadable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, ages)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil})
	check(t, table.RowsOf(rawTable(t, s).Engine(), false).MergeAny(ctx, at(2), table.PropertyOf[string]("Age").Set("old")))
	check(t, rawTable(t, s).DeleteAny(ctx, rowAt("ages_Jones")))
	for _, repair := range []bool{false, true} {
		r, faults := mustVerify(t, staff, verify.Options{Repair: repair}, ages)
		if r.Unconfirmed != 0 || r.Faults[verify.Missing] != 1 || r.Faults[verify.Unreadable] != 1 {
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
	ctx := context.Background()
	for n := range 14 {
		staff, s := newStaff(t, byEmail)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
		check(t, rawTable(t, s).DeleteAny(ctx, rowAt("email_a")))
		i := 0
		b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(*http.Request) {
			if i++; i == n {
				if _, err := staff.Insert(ctx, &worker{"S", 2, "Cao", "a", 30, nil}); err != nil && !errors.Is(err, index.ErrTaken) {
					t.Errorf("insert before request %d: got error %v; want none or ErrTaken", n, err)
				}
			}
		}}
		slow, err := index.Attach(openAs(t, s.ConnectionString(), b, schema), byEmail)
		check(t, err)
		r, err := verify.Run(ctx, slow, &verify.Options{Repair: true}, byEmail)
		check(t, err)
		_, err = staff.Get(ctx, at(2))
		owner, err2 := byEmail.Get(ctx, staff, sales, "a")
		check(t, err2)
		switch {
		case err == nil && (owner.Key != at(2) || r.Sound() && r.Faults[verify.DuplicateValue] == 0 && n > 0 && i >= n && r.Repaired > 0):
			t.Errorf("insert before request %d of %d: got owner %v and %+v; want owner %v, and a report that is not sound, or has a duplicate value, or nothing repaired", n, i, owner.Key, r, at(2))
		case err != nil && owner.Key != at(1):
			t.Errorf("insert before request %d of %d, then Get of %v failed with %v: got owner %v and %+v; want owner %v", n, i, at(2), err, owner.Key, r, at(1))
		}
	}
}

// TestConcurrentBackfill: an entity that a concurrent writer changes before its repair is confirmed again.
func TestConcurrentBackfill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := newStaff(t)
	once := true
	b := &testkit.Hooked{Service: s, Serial: true}
	plain := openAs(t, s.ConnectionString(), b, schema)
	staff, err := index.Attach(plain, byLast)
	check(t, err)
	_, err = plain.Insert(ctx, &worker{"S", 1, "Jones", "", 30, nil})
	check(t, err)
	b.BeforeRequest = func(r *http.Request) {
		if once && strings.Contains(r.URL.Path, "$batch") {
			once = false
			check(t, rawTable(t, s).MergeAny(ctx, at(1), table.PropertyOf[int64]("Age").Set(31)))
		}
	}
	r, err := verify.Run(ctx, staff, &verify.Options{Repair: true}, byLast)
	if err != nil || !r.Sound() || r.Repaired != 1 {
		t.Errorf("verify with repair: got %+v, error %v; want a sound report with 1 repaired, and no error", r, err)
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
	both, err := index.Attach(staff, byLast)
	check(t, err)
	r, faults := mustVerify(t, both, verify.Options{Repair: true}, head, byLast)
	if r.Faults[verify.DuplicateValue] != 1 || r.Failed != 0 {
		t.Errorf("details, verify with repair: got %+v and faults %v; want one duplicate value and none failed", r, faults)
	}
	testkit.Expect(t, "filled", ids(t, byLast.List(ctx, both, sales, "Jones")), []int{1})
	// An entity that does not have the target releases it: the details of the other entity stay.
	check(t, both.MergeAny(ctx, at(1), email.Set("")))
	dep, err := d.Get(ctx, rowAt("department"))
	if err != nil || dep.Value.HeadLast != "Cao" {
		t.Errorf("department after the other entity released it: got %+v, error %v; want HeadLast %q and no error", dep, err, "Cao")
	}

	unique := index.New("mail", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Email, true }, &index.Options[worker]{Unique: index.InPartition, Pointer: true})
	plain, s := newStaff(t)
	insertAll(t, plain, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "a", 30, nil})
	staff, err = index.Attach(plain, unique)
	check(t, err)
	for _, repair := range []bool{false, true} {
		r, faults = mustVerify(t, staff, verify.Options{Repair: repair}, unique)
		if r.Faults[verify.Missing] != 1 || r.Faults[verify.DuplicateValue] != 1 {
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
	*left = *table.RowOf(left.Engine().Own("team:w_"))
	_, err := table.RowsOf(rawTable(t, s).Engine(), false).Insert(ctx, left)
	check(t, err)
	for _, repair := range []bool{false, true} {
		if r, faults := mustVerify(t, staff, verify.Options{Repair: repair}, teams, ages); r.Faults[verify.Dangling] != 1 {
			t.Errorf("repair %v: got %+v and faults %v; want one dangling row", repair, r, faults)
		}
	}
	checkAll(t, s)
}

// TestDamageAnywhere: in a table with any RowKeys, a member of a list may be no valid RowKey.
func TestDamageAnywhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lists := index.NewLists("l", keys.Tuple1(keys.Text()), name, &index.ListOptions{Reserved: true})
	anywhere := schema
	anywhere.Row = keys.Bind[worker]{}
	staff, s := attached(t, anywhere, lists)
	_, err := staff.InsertAt(ctx, rowAt("any key"), &worker{Dept: "S", Last: "Jones"})
	check(t, err)
	overwrite(t, s, rowAt("~x|l_Jones"), func(c map[string]any) {
		c["Members"] = "any key/a?b/" + strings.Repeat("x", 600) + "/~x|l_Jones/nobody"
	})
	r, faults := mustVerify(t, staff, verify.Options{Repair: true}, lists)
	if !r.Sound() || r.Faults[verify.Dangling] != 4 {
		t.Errorf("verify with repair: got %+v and faults %v; want a sound report with 4 dangling members", r, faults)
	}
	if all, err := lists.Keys(ctx, staff, sales, "Jones"); err != nil || len(all) != 1 {
		t.Errorf("keys of the list: got %v, error %v; want one key and no error", all, err)
	}
}
