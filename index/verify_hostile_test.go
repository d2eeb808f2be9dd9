package index_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/index/verify"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// byOthers lets another program change a property of an entity, which leaves its rows as they are.
func byOthers(t *testing.T, s *storagetest.Service, id int, property, value string) {
	t.Helper()
	check(byHand(s).Untyped(false).MergeAny(context.Background(), at(id), table.PropertyOf[string](property).Set(value)))
}

// TestYielded: an entity that holds a unique row of another gives it up and forgets it at once. At whatever request of Verify it is
// written meanwhile, or Verify cut short, its writes do not take the row from its new owner.
func TestYielded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, cut := range []bool{false, true} {
		for n, over := 1, false; !over; n++ {
			staff, s := office(t, byEmail, byLast)
			hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
			byOthers(t, s, 1, "Email", "z")
			byOthers(t, s, 2, "Email", "a")
			check(byHand(s).DeleteAny(ctx, rowAt("last_Jones!_w_000001"))) // so that it is not made up with others at once
			vctx, cancel := context.WithCancel(ctx)
			i := 0
			b := &before{Service: s, do: func(*http.Request) {
				if i++; i != n {
				} else if cut {
					cancel()
				} else {
					check(staff.MergeAny(ctx, at(1), age.Set(31)))
				}
			}}
			slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, byEmail, byLast)
			check(err)
			r, err := verify.Run(vctx, slow, &verify.Options{Repair: true}, byEmail, byLast)
			switch over = i < n; {
			case cut:
				e, err := byEmail.Get(ctx, staff, sales, "a")
				taken := err == nil && e.Key == at(2)
				check(staff.MergeAny(ctx, at(1), age.Set(31)))
				if _, err := byEmail.Get(ctx, staff, sales, "a"); taken && err != nil {
					t.Errorf("cut at %d: the row was taken from its new owner: %v", n, err)
				}
			case err != nil || !r.Sound():
				t.Error(n, r, err)
			default:
				if err := copiesRightOf("email", "last")(s); err != nil {
					t.Error(n, err, r)
				}
			}
			cancel()
		}
	}
}

// TestRememberedOfOthers: what somebody has written into the memory of an entity deletes no other entity, and none of its rows,
// neither when the entity is written nor when it is repaired; and it can be written afterwards.
func TestRememberedOfOthers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		d  index.Definition[worker]
		ix string
	}{
		"an entity":            {byLast, `{"last":["last_Jones!_w_000001","w_000002","/"]}`},
		"itself":               {byLast, `{"last":["last_Jones!_w_000001","w_000001","/"]}`},
		"another's row":        {byLast, `{"last":["last_Jones!_w_000001","last_Cao!_w_000002","/"]}`},
		"more than there are":  {byLast, `{"last":["last_A!_w_000001","last_B!_w_000001","last_C!_w_000001","last_Jones!_w_000001","/"]}`},
		"an entity, unique":    {byEmail, `{"email":["email_a","w_000002"]}`},
		"an entity, of lists":  {teams, `{"team":["w_000002","/EmployeeIDs"]}`},
		"an entity, of sums":   {ages, `{"ages":["w_000002","/Age=30"]}`},
		"itself, of sums":      {ages, `{"ages":["w_000001","/Age=30"]}`},
		"no group, of sums":    {ages, `{"ages":["ages_Nobody","/Age=30"]}`},
		"what is no row's key": {ages, `{"ages":["a/b","/Age=30"]}`},
	} {
		for _, write := range []bool{false, true} {
			t.Run(fmt.Sprint(what, " write ", write), func(t *testing.T) {
				t.Parallel()
				staff, s := office(t, c.d)
				hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil})
				tamper(t, s, at(1), func(m map[string]any) { m["_ix"] = memory("w_000001", c.ix) })
				if write {
					_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Last, w.Email = "Smith", "q"; return nil })
					check(err)
				}
				r, f := mustVerify(t, staff, verify.Options{Repair: true}, c.d)
				if _, err := staff.Get(ctx, at(2)); err != nil || !r.Sound() {
					t.Error(r, f, err)
				}
				if r, f := mustVerify(t, staff, verify.Options{}, c.d); !r.Sound() || len(f) > 0 {
					t.Error("afterwards:", r, f)
				}
				check(staff.MergeAny(ctx, at(1), last.Set("New"), email.Set("n")))
			})
		}
	}
}

// TestTakenForCopies: an entity whose row says that it is a copy of another is an entity, for it has what copies do not.
func TestTakenForCopies(t *testing.T) {
	t.Parallel()
	for _, sys := range []string{"w_000002", "nobody", "x/y", "w_000001"} {
		staff, s := office(t, byEmail, byLast)
		hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil})
		tamper(t, s, at(1), func(m map[string]any) { m["_sys"] = sys })
		for _, repair := range []bool{false, true} {
			r, f := mustVerify(t, staff, verify.Options{Repair: repair}, byEmail, byLast)
			expect(t, sys, fmt.Sprint(r.Entities, f, r.Sound()), fmt.Sprint(2, map[string]bool{"email state mismatch  w_000001": true}, repair))
		}
		if err := copiesRightOf("email", "last")(s); err != nil {
			t.Error(sys, err)
		}
	}
}

// TestGroupElsewhere: an entity that nobody can read, and that says it is in a group where no group can be, has no row made there.
func TestGroupElsewhere(t *testing.T) {
	t.Parallel()
	staff, s := office(t, ages)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil})
	tamper(t, s, at(2), func(m map[string]any) {
		m["_ix"], m["Age"] = memory("w_000002", `{"ages":["w_000009","/Age=30"]}`), "old"
		delete(m, "Age@odata.type")
	})
	r, f := mustVerify(t, staff, verify.Options{Repair: true}, ages)
	if r.Faults[verify.Unreadable] != 1 || r.Unconfirmed > 0 || r.Failed != 1 || len(s.Rows("staff")) != 3 {
		t.Error(r, f, s.Rows("staff"))
	}
}

// TestMemoryOfRows: a derived row that claims to remember something, as entities do, would be refused to all who write it.
func TestMemoryOfRows(t *testing.T) {
	t.Parallel()
	all := append(four(), three()...)
	for _, row := range []string{"email_a", "last_Jones!_w_000001", "age_030_w_000001", "~x|tag_x_w_000001", "team_Jones", "ages_Jones"} {
		for _, ix := range []string{`{"a":["b"]}`, "x"} {
			staff, s := office(t, all...)
			_, err := openAs(s.ConnectionString(), s, depts).Insert(context.Background(), &department{Name: "S", Budget: 7})
			check(err)
			hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, []string{"x"}}, worker{"S", 2, "Cao", "b", 30, nil})
			tamper(t, s, rowAt(row), func(m map[string]any) { m["_ix"] = memory(row, ix) })
			for _, repair := range []bool{false, true} {
				r, f := mustVerify(t, staff, verify.Options{Repair: repair}, all...)
				if r.Faults[verify.Stale] != 1 || len(f) != 1 || r.Sound() != repair {
					t.Error(row, ix, repair, r, f)
				}
			}
			r, f := mustVerify(t, staff, verify.Options{}, all...)
			if err := staff.MergeAny(context.Background(), at(1), last.Set("q"), email.Set("q"), age.Set(3)); err != nil || len(f) > 0 {
				t.Error(row, ix, r, f, err)
			}
		}
	}
}

// TestEmptyKeys: the service takes keys that are empty, and this library does not: such an entity is told of, and has no rows.
func TestEmptyKeys(t *testing.T) {
	t.Parallel()
	anywhere := schema
	anywhere.Row, anywhere.Partition = keys.Bind[worker]{}, keys.Bind[worker]{}
	ix := index.New("l", keys.Tuple1(keys.Text()), name, &index.Options[worker]{Reserved: true, Pointer: true})
	for _, empty := range []string{"RowKey", "PartitionKey"} {
		staff, s := attached(t, anywhere, ix)
		row := map[string]any{"PartitionKey": "S", "RowKey": "z", "Last": "Cao", "Dept": "S"}
		row[empty] = ""
		body, err := json.Marshal(row)
		check(err)
		acc, err := account.FromConnectionString(s.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: s}})
		check(err)
		_, err = acc.Tables().NewClient("staff").AddEntity(context.Background(), body, nil)
		check(err)
		for _, repair := range []bool{false, true} {
			r, f := mustVerify(t, staff, verify.Options{Repair: repair}, ix)
			if r.Faults[verify.Unreadable] != 1 || len(f) != 1 || r.Sound() || len(s.Rows("staff")) != 1 {
				t.Error(empty, repair, r, f)
			}
		}
	}
}

// TestNothingIsDropped: what could not be told of an entity is undecided also where something else of it cannot be repaired.
func TestNothingIsDropped(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := office(t, byEmail, head)
	_, err := openAs(s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
	check(err)
	hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
	byOthers(t, s, 1, "Email", "z")
	byOthers(t, s, 2, "Email", "a") // whose row 1 has, whom somebody changes whenever Verify looks
	check(byHand(s).DeleteAny(ctx, rowAt("department")))
	n := 0
	b := &before{Service: s, do: func(r *http.Request) {
		if strings.Contains(r.URL.Path, "w_000001") || strings.Contains(r.URL.Path, "$batch") {
			n++
			byOthers(t, s, 1, "Note", fmt.Sprint(n))
		}
	}}
	slow, err := index.Attach(openAs(s.ConnectionString(), b, schema), nil, byEmail, head)
	check(err)
	r, f := mustVerify(t, slow, verify.Options{Repair: true}, byEmail, head)
	if r.Unconfirmed != 2 || !f["head missing department w_000002"] {
		t.Error(r, f)
	}
}

// TestReportForetells: a report says of those who want one value what Repair will do.
func TestReportForetells(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	boom := index.New("boom", keys.Tuple1(keys.Text()), func(w *worker) (string, bool) {
		if w.ID == 1 {
			panic("of this one there is no key")
		}
		return w.Last, true
	}, nil)
	for _, repair := range []bool{false, true} {
		staff, s := office(t, byEmail)
		hire(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "", 30, nil}, worker{"S", 3, "Cao", "", 30, nil})
		check(byHand(s).DeleteAny(ctx, at(1)))
		byOthers(t, s, 2, "Email", "a")
		byOthers(t, s, 3, "Email", "a")
		r, f := mustVerify(t, staff, verify.Options{Repair: repair}, byEmail)
		if r.Faults[verify.Conflict] != 1 || r.Faults[verify.Missing] != 1 || !repair && !f["email conflict email_a w_000003"] {
			t.Error("of one that is gone:", repair, r, f)
		}

		plain, s := office(t)
		hire(t, plain, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "a", 30, nil})
		staff, err := index.Attach(plain, nil, byEmail, boom)
		check(err)
		r, f = mustVerify(t, staff, verify.Options{Repair: repair}, byEmail, boom)
		if r.Faults[verify.Conflict] != 0 || r.Faults[verify.Unreadable] != 1 || !f["email missing email_a w_000002"] {
			t.Error("of one that cannot be read:", repair, r, f)
		}
	}
}

// TestSummaryMoved: after a release that keeps a summary elsewhere, each entity has not added what it should, and nothing is undecided.
func TestSummaryMoved(t *testing.T) {
	t.Parallel()
	at := func(reserved bool) *index.Summary[worker, string] {
		return index.NewSummary("ages", keys.Tuple1(keys.Text()), name, &index.SummaryOptions[worker]{Reserved: reserved,
			Measures: []index.Measure[worker]{{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), w.Age > 0 }}}})
	}
	was, is := at(true), at(false)
	old, s := office(t, was)
	hire(t, old, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Jones", "b", 30, nil})
	staff, err := index.Attach(openAs(s.ConnectionString(), s, schema), nil, is)
	check(err)
	for _, repair := range []bool{false, true} {
		r, f := mustVerify(t, staff, verify.Options{Repair: repair}, is)
		if r.Unconfirmed > 0 || r.Sound() != repair || r.Faults[verify.StateMismatch] != 2 {
			t.Error(repair, r, f)
		}
	}
	var left []string
	for _, row := range s.Rows("staff") {
		left = append(left, row.RowKey)
	}
	expect(t, "rows", left, []string{"ages_Jones", "w_000001", "w_000002"})
}

// TestColumnsOfOthers: what another program has put into the row of a summary is no fault, and stays until the next write.
func TestColumnsOfOthers(t *testing.T) {
	t.Parallel()
	staff, s := office(t, ages)
	hire(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	tamper(t, s, rowAt("ages_Jones"), func(m map[string]any) { m["Note"] = "mine" })
	s.Count()
	r, f := mustVerify(t, staff, verify.Options{Repair: true, Partition: sales}, ages)
	expect(t, "requests", s.Count(), "4 query")
	if !r.Sound() || len(f) > 0 {
		t.Error(r, f)
	}
}

// TestOthersInTheRange: an entity of another type among the rows of an index keeps what it remembers of its own.
func TestOthersInTheRange(t *testing.T) {
	t.Parallel()
	staff, s := office(t, byEmail)
	other := table.Schema[worker]{Partition: schema.Partition, Row: keys.Bind1(keys.Tuple1(keys.Digits[int](6)).Named("email"), func(w *worker) *int { return &w.ID })}
	lasts := index.New("zlast", keys.Tuple1(keys.Text()), name, nil)
	mails, err := index.Attach(openAs(s.ConnectionString(), s, other), nil, lasts)
	check(err)
	hire(t, mails, s, worker{"S", 7, "Z", "", 1, nil})
	before := fmt.Sprint(s.Rows("staff"))
	r, f := mustVerify(t, staff, verify.Options{Repair: true}, byEmail)
	if after := fmt.Sprint(s.Rows("staff")); after != before || len(f) > 0 {
		t.Error(r, f, before, after)
	}
}

// TestDetailsChangePlaces: a release whose entities hold their details in each other's place is repaired.
func TestDetailsChangePlaces(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	to := func(swapped int) *index.Details[worker] {
		return index.NewDetails("head", "Head", func(w *worker) (keys.Enc, bool) { return keys.Raw(fmt.Sprint("d", (w.ID+swapped)%2)), true }, last)
	}
	was, is := to(0), to(1)
	old, s := office(t, was)
	for _, name := range []string{"d0", "d1"} {
		_, err := byHand(s).InsertAt(ctx, rowAt(name), &table.Row{})
		check(err)
	}
	hire(t, old, s, worker{"S", 0, "Jones", "", 1, nil}, worker{"S", 1, "Cao", "", 1, nil})
	staff, err := index.Attach(openAs(s.ConnectionString(), s, schema), nil, is)
	check(err)
	if r, f := mustVerify(t, staff, verify.Options{Repair: true}, is); !r.Sound() || r.Repaired == 0 {
		t.Error(r, f)
	}
	if r, f := mustVerify(t, staff, verify.Options{}, is); len(f) > 0 {
		t.Error(r, f)
	}
}
