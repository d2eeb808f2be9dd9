package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// tamper changes a row as a program does that knows nothing of this library, which may write anything into any property.
func tamper(t *testing.T, s *storagetest.Service, k keys.Key, f func(columns map[string]any)) {
	t.Helper()
	for _, row := range s.Rows("staff") {
		if row.PartitionKey == k.PartitionKey() && row.RowKey == k.RowKey() {
			tamperRow(s, row, f)
			return
		}
	}
	t.Fatal("there is no row", k)
}

func tamperRow(s *storagetest.Service, row storagetest.Row, f func(columns map[string]any)) {
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
	check(err)
	acc, err := account.FromConnectionString(s.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: s}})
	check(err)
	_, err = acc.Tables().NewClient("staff").UpsertEntity(context.Background(), body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
	check(err)
}

// TestVerifyDamage: whatever another program has left in rows, Verify repairs it, stops at nothing, and says what is true: what it
// calls sound is sound.
func TestVerifyDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	list := func(members string) func(*testing.T, *table.Table[worker], *storagetest.Service) {
		return func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			check(byHand(s).MergeAny(ctx, rowAt("team_Jones"), table.PropertyOf[string]("EmployeeIDs").Set(members)))
		}
	}
	set := func(row, property string, v any) func(*testing.T, *table.Table[worker], *storagetest.Service) {
		return func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			tamper(t, s, rowAt(row), func(c map[string]any) {
				delete(c, property)
				delete(c, property+"@odata.type")
				if v != nil {
					c[property] = v
				}
			})
		}
	}
	copied, shared := []index.Definition[worker]{byEmail, byLast}, three()
	for what, c := range map[string]struct {
		definitions []index.Definition[worker]
		harm        func(*testing.T, *table.Table[worker], *storagetest.Service)
	}{
		"a unique row that is another's by now, of an entity that has another value": {copied, func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			check(byHand(s).DeleteAny(ctx, rowAt("email_a")))
			hire(t, staff, s, worker{"S", 4, "Cao", "a", 30, nil})
			check(byHand(s).Untyped(false).MergeAny(ctx, at(1), table.PropertyOf[string]("Email").Set("z")))
		}},
		"a member that can be no RowKey":          {shared, list("w_000001/a?b/w_000002")},
		"a member with a sign that none can have": {shared, list("w_000001/tab\there/w_000002")},
		"a member that is too long":               {shared, list("w_000001/w_000002/" + strings.Repeat("x", 600))},
		"a member that is an index row":           {append(shared[:3:3], byLast), list("w_000001/w_000002/last_Jones!_w_000001")},
		"a member that is of another type":        {shared, list("department/w_000001/w_000002")},
		"a member that is a list":                 {shared, list("team_Jones/w_000001/w_000002")},
		"a copy of what can be no row":            {copied, set("email_a", "_sys", "a?b")},
		"a copy of another type":                  {copied, set("email_a", "_sys", "department")},
		"a copy of itself":                        {copied, set("email_a", "_sys", "email_a")},
		"keys that no row can have, remembered":   {copied, set("w_000001", "_ix", memory("w_000001", `{"last":["a?b"],"email":["x#y"]}`))},
		"what is remembered is nothing":           {copied, set("w_000001", "_ix", nil)},
		"what is remembered is garbage":           {append(shared[:3:3], byLast), set("w_000001", "_ix", "garbage")},
		"a list that begins with its second part": {shared, func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			tamper(t, s, rowAt("team_Jones"), func(c map[string]any) {
				delete(c, "EmployeeIDs")
				c["EmployeeIDs2"] = "w_000002/w_000009"
			})
		}},
		"a list with a gap":       {shared, set("team_Jones", "EmployeeIDs7", "w_000009")},
		"a list without anything": {shared, set("team_Jones", "EmployeeIDs", nil)},
		"details without whose they are": {shared, func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			set("department", "HeadRowKey", nil)(t, staff, s)
			check(staff.MergeAny(ctx, at(1), email.Set("z")))
			check(staff.MergeAny(ctx, at(1), email.Set("zz")))
		}},
		"details of nobody, without whose they are": {shared, func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			check(staff.MergeAny(ctx, at(1), email.Set("z")))
			tamper(t, s, rowAt("department"), func(c map[string]any) { c["_sys"], c["HeadLast"], c["HeadEmail"] = "/head", "x", "y" })
		}},
		"a group without its row": {shared[:2], func(t *testing.T, staff *table.Table[worker], s *storagetest.Service) {
			check(byHand(s).DeleteAny(ctx, rowAt("ages_Jones")))
		}},
		"a summary without a property":    {shared, set("ages_Jones", "AgeCount", nil)},
		"a summary of another type":       {shared, set("ages_Jones", "Count", "many")},
		"a summary that says it is loose": {shared, set("ages_Jones", "AgeLoose", true)},
		"a summary with bounds that are wide": {shared, func(t *testing.T, _ *table.Table[worker], s *storagetest.Service) {
			tamper(t, s, rowAt("ages_Jones"), func(c map[string]any) { c["AgeLoose"], c["AgeMin"], c["AgeMinCount"] = true, "3", "0" })
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			staff, s := office(t, c.definitions...)
			_, err := openAs(s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
			check(err)
			hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "", 40, nil}, worker{"S", 3, "Li", "", 50, nil})
			c.harm(t, staff, s)
			r, _ := mustVerify(t, staff, verify.Options{Repair: true}, c.definitions...)
			if !r.Sound() {
				t.Error(r)
			}
			if r, faults := mustVerify(t, staff, verify.Options{}, c.definitions...); !r.Sound() || len(faults) > 0 {
				t.Error("sound, and then", r, faults)
			}
			if len(c.definitions) == 3 {
				allRight(t, s)
			} else if len(c.definitions) == 2 && c.definitions[0] != shared[0] {
				if err := withoutDepartment(s, copiesRightOf("email", "last")); err != nil {
					t.Error(err)
				}
			}
			for id := range 3 {
				if _, err := staff.Update(ctx, at(id+1), func(w *worker) error { w.Age++; w.Last += "x"; return nil }); err != nil {
					t.Error("it cannot be written:", err)
				}
			}
			if r, faults := mustVerify(t, staff, verify.Options{}, c.definitions...); !r.Sound() {
				t.Error("after writes", r, faults)
			}
		})
	}
}

// withoutDepartment asks an oracle that knows of no departments.
func withoutDepartment(s *storagetest.Service, right func(*storagetest.Service) error) error {
	rows := openAs(s.ConnectionString(), s, depts)
	if err := rows.DeleteAny(context.Background(), rowAt("department")); err != nil {
		return err
	}
	return right(s)
}

// TestLastMemberUnreadable: a group that has lost its row is counted anew, also where some of its entities cannot be read.
func TestLastMemberUnreadable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, ages)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil})
	check(byHand(s).Untyped(false).MergeAny(ctx, at(2), table.PropertyOf[string]("Age").Set("old")))
	check(byHand(s).DeleteAny(ctx, rowAt("ages_Jones")))
	for _, repair := range []bool{false, true} {
		r, faults := mustVerify(t, staff, verify.Options{Repair: repair}, ages)
		if r.Unconfirmed != 0 || r.Faults[verify.Missing] != 1 || r.Faults[verify.Unreadable] != 1 {
			t.Error(r, faults)
		}
	}
	g, err := ages.Get(ctx, staff, sales, "Jones")
	check(err)
	expect(t, "what they have added", *g, index.Group[string]{Value: "Jones", Count: 2, Measures: map[string]index.Stat{"Age": {Count: 2, Sum: 70, Min: 30, Max: 40}}})
}

// TestStolen: a unique row that somebody takes while Verify repairs is theirs, at whichever of its requests that happens.
func TestStolen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for n := range 14 {
		staff, s := office(t, byEmail)
		hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
		check(byHand(s).DeleteAny(ctx, rowAt("email_a")))
		i := 0
		b := &before{Service: s, do: func(*http.Request) {
			if i++; i == n {
				if _, err := staff.Insert(ctx, &worker{"S", 2, "Cao", "a", 30, nil}); err != nil && !errors.Is(err, index.ErrTaken) {
					t.Error(err)
				}
			}
		}}
		slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, byEmail)
		check(err)
		r, err := verify.Run(ctx, slow, &verify.Options{Repair: true}, byEmail)
		check(err)
		_, err = staff.Get(ctx, at(2))
		owner, err2 := byEmail.Get(ctx, staff, sales, "a")
		check(err2)
		switch {
		case err == nil && (owner.Key != at(2) || r.Sound() && r.Faults[verify.Conflict] == 0 && n > 0 && i >= n && r.Repaired > 0):
			t.Error(n, owner, r)
		case err != nil && owner.Key != at(1):
			t.Error(n, owner, r)
		}
	}
}

// TestRacedBackfill: an entity that somebody changes while it is about to be written is looked at again.
func TestRacedBackfill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s := office(t)
	once := true
	b := &before{Service: s}
	plain := openAs(s.ConnectionString(), b, schema)
	staff, err := index.Attach(plain, nil, byLast)
	check(err)
	_, err = plain.Insert(ctx, &worker{"S", 1, "Jones", "", 30, nil})
	check(err)
	b.do = func(r *http.Request) {
		if once && strings.Contains(r.URL.Path, "$batch") {
			once = false
			check(byHand(s).MergeAny(ctx, at(1), table.PropertyOf[int64]("Age").Set(31)))
		}
	}
	r, err := verify.Run(ctx, staff, &verify.Options{Repair: true}, byLast)
	if err != nil || !r.Sound() || r.Repaired != 1 {
		t.Error(r, err)
	}
	expect(t, "filled", ids(t, byLast.List(ctx, staff, sales, "Jones")), []int{1})
}

// TestConflictBeside: who cannot have its details where somebody else's are is repaired otherwise; a report foretells who will not have
// a unique value.
func TestConflictBeside(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := campus(t)
	hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
	check(d.DeleteAny(ctx, rowAt("department")))
	_, err := d.Insert(ctx, &department{Name: "S", Budget: 7})
	check(err)
	hire(t, staff, s, worker{"S", 2, "Cao", "a", 30, nil})
	both, err := index.Attach(staff, nil, byLast)
	check(err)
	r, faults := mustVerify(t, both, verify.Options{Repair: true}, head, byLast)
	if r.Faults[verify.Conflict] != 1 || r.Failed != 0 {
		t.Error(r, faults)
	}
	expect(t, "filled", ids(t, byLast.List(ctx, both, sales, "Jones")), []int{1})
	// Who is not its owner gives up the place that it never had: the other's details stay.
	check(both.MergeAny(ctx, at(1), email.Set("")))
	dep, err := d.Get(ctx, rowAt("department"))
	if err != nil || dep.Value.HeadLast != "Cao" {
		t.Error(dep, err)
	}

	unique := index.New("mail", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) { return w.Email, true }, &index.Options[worker]{Unique: index.InPartition, Pointer: true})
	plain, s := office(t)
	hire(t, plain, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "a", 30, nil})
	staff, err = index.Attach(plain, nil, unique)
	check(err)
	for _, repair := range []bool{false, true} {
		r, faults = mustVerify(t, staff, verify.Options{Repair: repair}, unique)
		if r.Faults[verify.Missing] != 1 || r.Faults[verify.Conflict] != 1 {
			t.Error(repair, r, faults)
		}
	}
}

// TestEmptyList: a list goes with its last member, also where a program has written the list by a name of its own.
func TestEmptyList(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, teams, ages)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	check(byHand(s).MergeAny(ctx, rowAt("team_Jones"), table.PropertyOf[string]("EmployeeIDs").Set("w_000001")))
	check(staff.MergeAny(ctx, at(1), last.Set("Smith")))
	allRight(t, s)
	// One that was left is found.
	left := &table.Row{Key: rowAt("team_Nobody")}
	left.Own("team:w_")
	_, err := byHand(s).Untyped(false).Insert(ctx, left)
	check(err)
	for _, repair := range []bool{false, true} {
		if r, faults := mustVerify(t, staff, verify.Options{Repair: repair}, teams, ages); r.Faults[verify.Dangling] != 1 {
			t.Error(r, faults)
		}
	}
	allRight(t, s)
}

// TestDamageAnywhere: in a table whose RowKeys may be anything, what a list names may be no RowKey at all.
func TestDamageAnywhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lists := index.NewLists("l", keys.Tuple1(keys.Text()), name, &index.ListOptions{Reserved: true})
	anywhere := schema
	anywhere.Row = keys.Bind[worker]{}
	staff, s := attached(t, anywhere, lists)
	_, err := staff.InsertAt(ctx, rowAt("any key"), &worker{Dept: "S", Last: "Jones"})
	check(err)
	tamper(t, s, rowAt("~x|l_Jones"), func(c map[string]any) {
		c["Members"] = "any key/a?b/" + strings.Repeat("x", 600) + "/~x|l_Jones/nobody"
	})
	r, faults := mustVerify(t, staff, verify.Options{Repair: true}, lists)
	if !r.Sound() || r.Faults[verify.Dangling] != 4 {
		t.Error(r, faults)
	}
	if all, err := lists.Keys(ctx, staff, sales, "Jones"); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}
