package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// replaced replaces an entity as another program does: without the library's properties.
func replaced(t *testing.T, s *storagetest.Service, id int, change func(map[string]any)) {
	t.Helper()
	overwrite(t, s, at(id), func(m map[string]any) {
		for name := range m {
			if strings.HasPrefix(name, "_") {
				delete(m, name)
			}
		}
		if change != nil {
			change(m)
		}
	})
}

// newWorkers returns a table with four workers of two names.
func newWorkers(t *testing.T, definitions []extend.Definition[worker]) (*table.Table[worker], *storagetest.Service) {
	t.Helper()
	staff, s := newStaff(t, definitions...)
	if slices.Contains(definitions, extend.Definition[worker](head)) {
		_, err := openAs(t, s.ConnectionString(), s, depts).Insert(context.Background(), &department{Name: "S", Budget: 7})
		check(t, err)
	}
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, []string{"x"}}, worker{"S", 2, "Jones", "b", 40, []string{"y"}},
		worker{"S", 3, "Jones", "c", 50, nil}, worker{"S", 4, "Cao", "d", 20, nil})
	return staff, s
}

// TestReplacedEntities: after another program has replaced entities and their maintainer state, each operation leaves the derived
// rows right.
func TestReplacedEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, k := range map[string]definitionSet{"copies": {copyDefinitions(), checkCopies, nil}, "shared": {sharedDefinitions(), checkShared, nil}} {
		for verb, write := range map[string]func(*table.Table[worker]) error{
			"Update": func(staff *table.Table[worker]) error {
				_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Age = 31; return nil })
				return err
			},
			"Update of the key": func(staff *table.Table[worker]) error {
				_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Last, w.Email, w.Age, w.Tags = "Cao", "q", 60, nil; return nil })
				return err
			},
			"Update to nothing": func(staff *table.Table[worker]) error {
				_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Email, w.Tags = "", nil; return nil })
				return err
			},
			"Get and Delete": func(staff *table.Table[worker]) error {
				e, err := staff.Get(ctx, at(1))
				check(t, err)
				return staff.Delete(ctx, e)
			},
			"DeleteAny": func(staff *table.Table[worker]) error { return staff.DeleteAny(ctx, at(1)) },
			"MergeAny":  func(staff *table.Table[worker]) error { return staff.MergeAny(ctx, at(1), last.Set("Li")) },
			"Upsert": func(staff *table.Table[worker]) error {
				_, err := staff.Upsert(ctx, &worker{"S", 1, "Cao", "a", 1, nil}, table.ReplaceExisting)
				return err
			},
			"Rekey": func(staff *table.Table[worker]) error {
				e, err := staff.Get(ctx, at(1))
				check(t, err)
				e.Value.ID = 9
				return staff.Move(ctx, e)
			},
			"Transact": func(staff *table.Table[worker]) error {
				_, err := table.Transact(ctx, staff.DeleteAnyOp(at(1)), baretest.MergeAnyOp(staff, at(2), age.Set(41)), baretest.MergeAnyOp(staff, at(3), last.Set("Cao")))
				return err
			},
		} {
			t.Run(name+"/"+verb, func(t *testing.T) {
				t.Parallel()
				staff, s := newWorkers(t, k.definitions)
				replaced(t, s, 1, nil)
				replaced(t, s, 2, nil)
				check(t, write(staff))
				// A full copy contains the operation ID of its entity. A write of the second entity makes its copies right again.
				check(t, staff.MergeAny(ctx, at(2), age.Set(42)))
				if err := k.right(s); err != nil {
					t.Errorf("rows after the write: got error %v; want none", err)
				}
				if r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, k.definitions...); r.Faults > 0 {
					t.Errorf("verify after the write: got %+v and faults %v; want a sound report", r, f)
				}
				check(t, staff.DeleteAny(ctx, at(2)))
				if err := k.right(s); err != nil {
					t.Errorf("rows after DeleteAny of another entity: got error %v; want none", err)
				}
			})
		}
	}
	staff, s := newWorkers(t, copyDefinitions())
	replaced(t, s, 1, nil)
	e, err := staff.Get(ctx, at(1))
	check(t, err)
	check(t, staff.Delete(ctx, e))
	if e, err := byEmail.Get(ctx, staff, sales, "a"); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Get of a deleted entity by email: got %v, error %v; want ErrNotFound", e, err)
	}
}

// TestReplacedOutOfGroups: an entity that another program has moved out of its group without its _ix is counted once when it joins
// a group again, and verify.Check finds no fault.
func TestReplacedOutOfGroups(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	update := func(staff *table.Table[worker], change func(*worker)) {
		_, err := staff.Update(ctx, at(1), func(w *worker) error { change(w); return nil })
		check(t, err)
	}
	for name, definitions := range map[string][]extend.Definition[worker]{"a summary": {ages}, "all": append(copyDefinitions(), sharedDefinitions()...)} {
		for between, write := range map[string]func(*table.Table[worker]){
			"nothing": func(*table.Table[worker]) {},
			"Update":  func(staff *table.Table[worker]) { update(staff, func(w *worker) { w.Age = 31 }) },
			"twice": func(staff *table.Table[worker]) {
				update(staff, func(w *worker) { w.Age = 31 })
				check(t, staff.MergeAny(ctx, at(1), age.Set(32)))
			},
			"MergeAny": func(staff *table.Table[worker]) { check(t, staff.MergeAny(ctx, at(1), age.Set(31))) },
			"Upsert": func(staff *table.Table[worker]) {
				_, err := staff.Upsert(ctx, &worker{"S", 1, "", "z", 31, nil}, table.ReplaceExisting)
				check(t, err)
			},
		} {
			t.Run(name+"/"+between, func(t *testing.T) {
				t.Parallel()
				staff, s := newWorkers(t, definitions)
				replaced(t, s, 1, func(m map[string]any) { m["Last"] = "" })
				write(staff)
				update(staff, func(w *worker) { w.Last, w.Age = "Jones", 45 }) // so that other entities have the least and the greatest age
				g, err := ages.Get(ctx, staff, sales, "Jones")
				check(t, err)
				testkit.Expect(t, "count", g.Count, int64(3))
				if r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, ages); r.Faults > 0 {
					t.Errorf("verify: got %+v and faults %v; want a sound report", r, f)
				}
				// Now the entity has maintainer state, and a change of group reads only the two groups.
				s.Count()
				update(staff, func(w *worker) { w.Last = "Cao" })
				if counts := s.Count(); counts[requests.Query] != 0 {
					t.Errorf("requests of a change of group: got %v; want no query", counts)
				}
				g, err = ages.Get(ctx, staff, sales, "Jones")
				check(t, err)
				testkit.Expect(t, "count", g.Count, int64(2))
			})
		}
	}
	// An entity that was never in a group costs no more.
	staff, s := newWorkers(t, []extend.Definition[worker]{ages})
	insertAll(t, staff, s, worker{"S", 5, "", "", 1, nil})
	s.Count()
	check(t, staff.MergeAny(ctx, at(5), last.Set("Jones")))
	testkit.Expect(t, "in no group before", s.Count().String(), "2 get, 1 transaction")
	// An entity in no group that has lost only its _ix is no fault.
	insertAll(t, staff, s, worker{"S", 6, "", "", 1, nil})
	replaced(t, s, 6, nil)
	check(t, staff.MergeAny(ctx, at(6), age.Set(2)))
	for _, repair := range []bool{false, true} {
		if r, f := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: !repair}}, ages); len(f) > 0 {
			t.Errorf("repair %v: verify: got %+v and faults %v; want no fault", repair, r, f)
		}
	}
}

// TestStoredBefore: entities from before the definitions were attached are written without an error, and the derived rows of the
// written entities, and of all entities that a summary counts, are right.
func TestStoredBefore(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	both := append(copyDefinitions(), sharedDefinitions()...)
	for _, verb := range []string{"update", "rename", "delete", "bulk"} {
		base, s := newStaff(t)
		_, err := openAs(t, s.ConnectionString(), s, depts).Insert(ctx, &department{Name: "S", Budget: 7})
		check(t, err)
		insertAll(t, base, s, worker{"S", 1, "Jones", "a", 30, []string{"x"}}, worker{"S", 2, "Jones", "b", 40, nil}, worker{"S", 3, "Jones", "c", 50, nil}, worker{"S", 4, "Cao", "d", 1, nil})
		staff, err := baretest.Attach(base, both...)
		check(t, err)
		count := func(name string) (n int64) {
			g, err := ages.Get(ctx, staff, sales, name)
			check(t, err)
			return g.Count
		}
		switch verb {
		case "update":
			_, err = staff.Update(ctx, at(1), func(w *worker) error { w.Age = 31; return nil })
			check(t, err)
			testkit.Expect(t, verb, s.Count().String(), "5 get, 1 query, 1 transaction") // the entity, its groups and the department; and all entities once
			testkit.Expect(t, verb, count("Jones"), int64(3))
			_, err = staff.Update(ctx, at(2), func(w *worker) error { w.Age = 41; return nil })
			check(t, err)
			testkit.Expect(t, verb, count("Jones"), int64(3))
		case "rename":
			check(t, staff.MergeAny(ctx, at(1), last.Set("Cao")))
			testkit.Expect(t, verb, fmt.Sprint(count("Jones"), count("Cao")), "0 2") // no write has counted the other Joneses
			check(t, staff.MergeAny(ctx, at(2), last.Set("Cao")))
			testkit.Expect(t, verb, fmt.Sprint(count("Jones"), count("Cao")), "0 3")
			check(t, staff.MergeAny(ctx, at(3), age.Set(51)))
			testkit.Expect(t, verb, fmt.Sprint(count("Jones"), count("Cao")), "1 3")
		case "delete":
			check(t, staff.DeleteAny(ctx, at(1)))
			check(t, staff.MergeAny(ctx, at(2), age.Set(41)))
			testkit.Expect(t, verb, count("Jones"), int64(2))
			check(t, staff.DeleteAny(ctx, at(3)))
			testkit.Expect(t, verb, count("Jones"), int64(1))
		case "bulk":
			s.Count()
			_, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
				for id := 1; id <= 3; id++ {
					if !yield(baretest.MergeAnyOp(staff, at(id), email.Set(fmt.Sprint("q", id))), nil) {
						return
					}
				}
			}, nil)
			check(t, err)
			if counts := s.Count(); counts[requests.Query] != 1 { // once for the transaction
				t.Errorf("%s: got requests %v; want 1 query", verb, counts)
			}
			testkit.Expect(t, verb, count("Jones"), int64(3))
		}
		if r, f := mustVerify(t, staff, verify.Options{}, both...); r.Faults > 0 {
			t.Errorf("%s: verify with repair: got %+v and faults %v; want a sound report", verb, r, f)
		}
		if err := checkSharedOnly(t, s); err != nil {
			t.Errorf("%s: rows of the shared definitions: got error %v; want none", verb, err)
		}
	}
}

// checkSharedOnly deletes the copies, and then does the same as checkShared.
func checkSharedOnly(t testing.TB, s *storagetest.Service) error {
	for _, row := range s.Rows("staff") {
		if kind, _, _ := strings.Cut(row.RowKey, "_"); strings.Contains("email last age ~x|tag", kind) {
			check(t, rawTable(t, s).DeleteAny(context.Background(), rowAt(row.RowKey)))
		}
	}
	return checkShared(s)
}

// TestVerifyCountsReplaced: verify.Check finds a summary right that counts an entity which another
// program has replaced, and writes only that entity.
func TestVerifyCountsReplaced(t *testing.T) {
	t.Parallel()
	_, s := newWorkers(t, sharedDefinitions())
	replaced(t, s, 1, nil)
	replaced(t, s, 4, nil) // the only entity of its group
	want := map[string]string{}
	for _, row := range s.Rows("staff") {
		if strings.HasPrefix(row.RowKey, "ages_") {
			want[row.RowKey] = fmt.Sprint(row.Get("Count"), row.Get("AgeSum"), row.Get("AgeMin"), row.Get("AgeMax"))
		}
	}
	same := func() {
		for _, row := range s.Rows("staff") {
			if is, ok := want[row.RowKey]; ok && is != fmt.Sprint(row.Get("Count"), row.Get("AgeSum"), row.Get("AgeMin"), row.Get("AgeMax")) {
				t.Errorf("summary %s: got properties %v; want Count, AgeSum, AgeMin and AgeMax %s", row.RowKey, row.Properties, is)
			}
		}
	}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(*http.Request) { same() }}, schema), sharedDefinitions()...)
	check(t, err)
	for _, repair := range []bool{false, true} {
		r, f := mustVerify(t, slow, verify.Options{Pass: table.Pass{DryRun: !repair}}, sharedDefinitions()...)
		if r.Counts[verify.Stale]+r.Counts[verify.Missing]+r.Counts[verify.Dangling] > 0 || (r.Faults == 0) != repair {
			t.Errorf("repair %v: verify: got %+v, sound %v, and faults %v; want no stale, missing or dangling row, and sound %v",
				repair, r, r.Faults == 0, f, repair)
		}
		same()
	}
	checkAll(t, s)
	if r, f := mustVerify(t, slow, verify.Options{Pass: table.Pass{DryRun: true}}, sharedDefinitions()...); len(f) > 0 {
		t.Errorf("verify after the repair: got %+v and faults %v; want no fault", r, f)
	}
}

// TestMergedEntities: after another program has changed properties of an entity and kept its maintainer state, the next write
// repairs all its rows.
func TestMergedEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, k := range map[string]definitionSet{"copies": {copyDefinitions(), checkCopies, nil}, "shared": {sharedDefinitions(), checkShared, nil}, "others": {otherDefinitions(), checkOthers, nil}} {
		for _, column := range []string{"Last", "Email", "Age"} {
			for _, write := range []bool{false, true} {
				staff, s := newWorkers(t, k.definitions)
				if name == "others" {
					_ = openAs(t, s.ConnectionString(), s, depts).DeleteAny(ctx, rowAt("department"))
				}
				overwrite(t, s, at(1), func(m map[string]any) {
					if m[column] = "z"; column == "Age" {
						m[column], m[column+"@odata.type"] = "77", "Edm.Int64"
					}
				})
				if write {
					check(t, staff.MergeAny(ctx, at(1), table.FieldOf(func(w *worker) *int { return &w.Age }).Set(31)))
				} else {
					_, err := staff.Update(ctx, at(1), func(w *worker) error { return nil })
					check(t, err)
				}
				if err := k.right(s); err != nil {
					t.Errorf("%s, another %s, MergeAny %v: rows after the write: got error %v; want none", name, column, write, err)
				}
			}
		}
	}
}
