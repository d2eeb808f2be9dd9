package index_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// bag is an entity of all sorts of fields.
type bag struct {
	Dept  string
	ID    int
	Name  string
	Temp  float64
	N     int
	Local int            `table:"-"`
	Extra map[string]any `table:",extra"`
}

func bagName(b *bag) (string, bool) { return b.Name, true }

var bags = table.Schema[bag]{
	Partition: keys.Partition(dept, func(b *bag) *string { return &b.Dept }),
	Row:       keys.Row(wid, func(b *bag) *int { return &b.ID }),
}

// TestManyProperties: an entity with the most properties can be written by each operation; one more property fails with a
// LimitError.
func TestManyProperties(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	name := table.FieldOf(func(b *bag) *string { return &b.Name })
	byName := index.New("name", keys.Text(), bagName, nil)
	all, _ := attached(t, bags, byName)
	extra := map[string]any{}
	for i := range 247 { // and Name, Temp, N, _op and _ix
		extra[fmt.Sprint("P", i)] = int64(i)
	}
	e, err := all.Insert(ctx, &bag{Dept: "S", ID: 1, Name: "a", Extra: extra})
	check(t, err)
	e.Value.Name = "b"
	check(t, all.Replace(ctx, e))
	check(t, all.Merge(ctx, e, name.Set("c")))
	extra["More"] = true
	var le *table.LimitError
	if _, err := all.Insert(ctx, &bag{Dept: "S", ID: 2, Name: "a", Extra: extra}); !errors.As(err, &le) || le.Max != 252 || !strings.Contains(err.Error(), "system properties included") {
		t.Errorf("Insert with one more property: got error %v; want a *LimitError with Max 252 and \"system properties included\"", err)
	}
}

// TestManyRows: an entity with the most derived rows can be written by each operation, also with a commit record.
func TestManyRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tags := func(n int) extend.Definition[worker] {
		return index.NewMulti("tag", keys.Text(), n, func(w *worker) []string { return w.Tags }, nil).Only()
	}
	staff, s := newStaff(t, tags(48))
	var de *table.DefinitionError
	if _, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema), tags(49)); !errors.As(err, &de) {
		t.Errorf("Attach of an index with at most 49 values: got error %v; want a *DefinitionError", err)
	}
	some := func(prefix string) (all []string) {
		for i := range 48 {
			all = append(all, fmt.Sprint(prefix, i))
		}
		return all
	}
	for _, h := range []*table.Table[worker]{staff, staff.Exact()} {
		e, err := h.Insert(ctx, &worker{"S", 1, "", "", 0, some("a")})
		check(t, err)
		e.Value.Tags = some("b")
		check(t, h.Replace(ctx, e))
		e.Value.ID, e.Value.Tags = 2, some("c")
		check(t, h.Move(ctx, e))
		check(t, h.Delete(ctx, e))
	}
}

// TestDamagedRowIsOverwritten: a unique row that another program has copied does not keep its entity from being written under a new
// value.
func TestDamagedRowIsOverwritten(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for verb, write := range operations() {
		staff, s := newStaff(t, copyDefinitions()...)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, []string{"x", "y"}}, worker{"S", 2, "Jones", "b", 30, []string{"y"}})
		rows := door.Rows[table.Table[table.Row]](door.Table(rawTable(t, s)), false)
		src, err := tabledoor.GetRow(ctx, rows, at(1))
		check(t, err)
		_, err = rows.InsertAt(ctx, rowAt("email_c"), src.Copy(rowAt("email_c")))
		check(t, err)
		check(t, rows.DeleteAny(ctx, rowAt("last_Jones!_w_000001")))
		check(t, rows.DeleteAny(ctx, rowAt("age_030_w_000001")))
		switch err := write(ctx, staff); {
		case verb == "Insert": // of another entity: the row contains the key of the first entity
			if !errors.Is(err, table.ErrTaken) {
				t.Errorf("%s: got error %v; want ErrTaken", verb, err)
			}
		case err != nil:
			t.Errorf("%s: got error %v; want none", verb, err)
		}
		if r, faults := mustVerify(t, staff, verify.Options{}, copyDefinitions()...); r.Faults > 0 {
			t.Errorf("%s: verify with repair: got %+v and faults %v; want a sound report", verb, r, faults)
		}
		right(t, s)
	}
}

// TestSummaryIsRepaired: a summary that another program has changed is counted again by the next write that does not match it.
func TestSummaryIsRepaired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, damage := range map[string]func(map[string]any){
		"the count is too small":  func(c map[string]any) { c["Count"], c["AgeCount"] = "0", "0" },
		"a measure of no entity":  func(c map[string]any) { c["AgeCount"] = "0" },
		"the least is more":       func(c map[string]any) { c["AgeMin"] = "45" },
		"the most is less":        func(c map[string]any) { c["AgeMax"] = "20" },
		"a property is gone":      func(c map[string]any) { delete(c, "AgeSum"); delete(c, "AgeSum@odata.type") },
		"no entity has the least": func(c map[string]any) { c["AgeMinCount"] = "0" },
		"the count is a text":     func(c map[string]any) { c["Count"] = "three"; delete(c, "Count@odata.type") },
	} {
		staff, s := newStaff(t, ages)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 40, nil}, worker{"S", 3, "Jones", "", 50, nil})
		overwrite(t, s, rowAt("ages_Jones"), damage)
		check(t, staff.MergeAny(ctx, at(1), age.Set(46)))
		g, err := ages.Get(ctx, staff, sales, "Jones")
		check(t, err)
		if want := (index.Stat{Count: 3, Sum: 136, Min: 40, Max: 50}); g.Count != 3 || g.Measures["Age"] != want {
			t.Errorf("%s: got %+v; want Count 3 and Age %+v", what, g, want)
		}
	}
}

// TestApproximateMeasures: a measure without exact bounds makes no write read other entities, and its statistics report
// approximate bounds.
func TestApproximateMeasures(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	loose := index.NewSummary("ages", keys.Text(), func(w *worker) (string, bool) { return w.Last, true },
		nil, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), true }, ExactUpTo: -1})
	staff, s := newStaff(t, loose)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 30, nil}, worker{"S", 3, "Jones", "", 40, nil}, worker{"S", 4, "Jones", "", 50, nil})
	told := func(want index.Stat) {
		t.Helper()
		g, err := loose.Get(ctx, staff, sales, "Jones")
		check(t, err)
		testkit.Expect(t, "ages", g.Measures["Age"], want)
		s.Count()
	}
	check(t, staff.DeleteAny(ctx, at(1)))
	told(index.Stat{Count: 3, Sum: 120, Min: 30, Max: 50}) // another entity has the age 30
	check(t, staff.DeleteAny(ctx, at(2)))
	testkit.Expect(t, "requests", s.Count().String(), "2 get, 1 transaction")
	told(index.Stat{Count: 2, Sum: 90, Min: 30, Max: 50, Approximate: true})
	if r, faults := mustVerify(t, staff, verify.Options{Pass: table.Pass{DryRun: true}}, loose); r.Faults > 0 {
		t.Errorf("verify of approximate bounds: got %+v and faults %v; want a sound report", r, faults)
	}
	if r, faults := mustVerify(t, staff, verify.Options{}, loose); r.Faults > 0 || r.Changed > 0 {
		t.Errorf("verify with repair of approximate bounds: got %+v and faults %v; want a sound report with Repaired 0", r, faults)
	}
	told(index.Stat{Count: 2, Sum: 90, Min: 40, Max: 50})
	check(t, staff.DeleteAny(ctx, at(3)))
	told(index.Stat{Count: 1, Sum: 50, Min: 50, Max: 50}) // the bounds of one value are exact
	check(t, staff.DeleteAny(ctx, at(4)))
	told(index.Stat{})
}

// TestContended: a write fails with ErrContended if concurrent writers change a shared row at every attempt, and can be repeated.
func TestContended(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, teams)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	id := 10
	b := &testkit.Hooked{Service: s, Serial: true}
	b.BeforeRequest = func(r *http.Request) {
		if strings.Contains(r.URL.Path, "$batch") {
			id++
			_, err := staff.Insert(ctx, &worker{"S", id, "Jones", "", 30, nil})
			checkInHook(t, err)
		}
	}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), teams)
	check(t, err)
	_, err = slow.Insert(ctx, &worker{"S", 2, "Jones", "", 30, nil})
	var de *table.DerivedError
	if !errors.Is(err, table.ErrContended) || !errors.As(err, &de) || de.Key != rowAt("team_Jones") || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("Insert: got error %v; want ErrContended and a *DerivedError with the key %v, without ErrUnknownOutcome", err, rowAt("team_Jones"))
	}
	if _, err := staff.Get(ctx, at(2)); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("Get after the failed Insert: got error %v; want ErrNotFound", err)
	}
}

// onWrite is a writer that calls a function for each write.
type onWrite func()

func (f onWrite) Write(b []byte) (int, error) { f(); return len(b), nil }

// TestContendedUntilTheEnd: a write whose context ends while it waits for its turn at such a row says neither that its entity
// exists nor that it does not.
func TestContendedUntilTheEnd(t *testing.T) {
	t.Parallel()
	staff, s := newStaff(t, teams)
	ctx, cancel := context.WithCancel(context.Background())
	id := 10
	b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
		if strings.Contains(r.URL.Path, "$batch") {
			id++
			_, err := staff.Insert(context.Background(), &worker{"S", id, "Jones", "", 30, nil})
			checkInHook(t, err)
		}
	}}
	o := &table.Options{}
	o.Retry.ConflictWait = time.Minute
	o.Logger = slog.New(slog.NewTextHandler(onWrite(cancel), &slog.HandlerOptions{Level: slog.LevelDebug})) // it hears of the wait when it begins
	base, err := bare.NewTable(serviceOf(t, s.ConnectionString(), b), "staff", schema, o)
	check(t, err)
	slow, err := baretest.Attach(base, teams)
	check(t, err)
	_, err = slow.Insert(ctx, &worker{"S", 2, "Jones", "", 30, nil})
	if !errors.Is(err, table.ErrContended) || !errors.Is(err, context.Canceled) || errors.Is(err, table.ErrExists) {
		t.Errorf("Insert: got error %v; want ErrContended and context.Canceled, without ErrExists", err)
	}
}

// TestContendedByKey: an operation by key reads the row and writes by its ETag; it fails with ErrContended after conflicts, and not
// with ErrChanged.
func TestContendedByKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, write := range map[string]func(staff *table.Table[worker]) error{
		"Upsert": func(staff *table.Table[worker]) error {
			_, err := staff.Upsert(ctx, &worker{"S", 1, "Smith", "", 30, nil}, table.ReplaceExisting)
			return err
		},
		"MergeAny":  func(staff *table.Table[worker]) error { return staff.MergeAny(ctx, at(1), last.Set("Smith")) },
		"DeleteAny": func(staff *table.Table[worker]) error { return staff.DeleteAny(ctx, at(1)) },
		"Transact": func(staff *table.Table[worker]) error {
			_, err := table.Transact(ctx, staff.UpsertOp(&worker{"S", 1, "Smith", "", 30, nil}, table.MergeExisting))
			return err
		},
	} {
		staff, s := newStaff(t, byLast)
		n := 0
		_, err := staff.Upsert(ctx, &worker{"S", 1, "Jones", "", 1, nil}, table.ReplaceExisting)
		check(t, err)
		b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
			if strings.Contains(r.URL.Path, "$batch") {
				n++
				checkInHook(t, staff.MergeAny(ctx, at(1), age.Set(n)))
			}
		}}
		slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), byLast)
		check(t, err)
		err = write(slow)
		if !errors.Is(err, table.ErrContended) || errors.Is(err, table.ErrChanged) || errors.Is(err, table.ErrNotFound) || n != 8 {
			t.Errorf("%s: got error %v and %d transactions; want ErrContended, without ErrChanged and ErrNotFound, and 8 transactions", what, err, n)
		}
	}
}

// TestFieldsThatCannotBeCopied: a projection of a field without a property of its own is an error.
func TestFieldsThatCannotBeCopied(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	for name, field := range map[string]table.FieldIn[bag]{
		"the others":  table.FieldOf(func(b *bag) *map[string]any { return &b.Extra }),
		"not stored":  table.FieldOf(func(b *bag) *int { return &b.Local }),
		"of the keys": table.FieldOf(func(b *bag) *int { return &b.ID }),
	} {
		_, err := baretest.Attach(openAs(t, s.ConnectionString(), s, bags), index.New("name", keys.Text(), bagName,
			nil).Only(table.FieldOf(func(b *bag) *string { return &b.Name }), field))
		var de *table.DefinitionError
		var te *table.TypeError
		if refused := errors.As(err, &de) && de.Field == "Only" && errors.As(err, &te); refused != (name != "of the keys") || !refused && err != nil {
			t.Errorf("%s: got error %v, refused %v; want refused %v, by a *DefinitionError of Only with a *TypeError, and no other error",
				name, err, refused, name != "of the keys")
		}
	}
	// A list's property must have room for the number of its last part.
	long := index.NewLists("l", keys.Text(), name, &index.ListOptions{Property: strings.Repeat("M", 254)})
	var de *table.DefinitionError
	if _, err := baretest.Attach(openAs(t, s.ConnectionString(), s, schema), long); !errors.As(err, &de) || de.Definition != "l" || de.Field != "Property" || !strings.Contains(err.Error(), "256") {
		t.Errorf("Attach with a property of 254 characters for a list: got error %v; want a *DefinitionError of l and Property whose text contains 256", err)
	}
}

// TestBulkPacks: a transaction has as many operations as fit with the derived rows that change, not with those that could change.
func TestBulkPacks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tags := index.NewMulti("tags", keys.Text(), 10, func(w *worker) []string { return w.Tags }, nil)
	const n = 500
	for what, c := range map[string]struct {
		definitions []extend.Definition[worker]
		tags        func(i int) []string
		insert      string
		upsert      string // of the same again, with another name
		remove      string
	}{
		"one tag":     {[]extend.Definition[worker]{tags}, func(int) []string { return []string{"a"} }, "10 transaction", "10 get, 10 query, 10 transaction", "1 query, 10 transaction"},
		"many tags":   {[]extend.Definition[worker]{tags}, func(int) []string { return strings.Split("abcdefghij", "") }, "56 transaction", "500 get, 56 transaction", "1 query, 56 transaction"},
		"some tags":   {[]extend.Definition[worker]{tags}, func(i int) []string { return strings.Split("abcdefghij", "")[:i%5] }, "16 transaction", "93 get, 15 query, 16 transaction", "1 query, 16 transaction"},
		"two indexes": {[]extend.Definition[worker]{byEmail, byLast}, func(int) []string { return nil }, "16 transaction", "10 get, 20 query, 20 transaction", "1 query, 16 transaction"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // in which the requests are the same ones each time
				staff, s := newStaff(t, c.definitions...)
				s.SetFaults(storagetest.When(func(storagetest.Request) bool { return true }, storagetest.Slow(time.Millisecond)))
				one := func(i int, last string) *worker { return &worker{"S", i, last, fmt.Sprint("e", i), 30, c.tags(i)} }
				for _, step := range []struct{ what, want string }{{"insert", c.insert}, {"upsert", c.upsert}} {
					r, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) {
						for i := range n {
							op := staff.InsertOp(one(i, "Jones"))
							if step.what == "upsert" {
								op = staff.UpsertOp(one(i, "Cao"), table.ReplaceExisting)
							}
							if !yield(op, nil) {
								return
							}
						}
					}, nil)
					if err != nil || r.Applied != n {
						t.Fatalf("%s: got %+v, error %v; want Done %d and no error", step.what, r, err, n)
					}
					testkit.Expect(t, step.what, s.Count().String(), step.want)
				}
				r, err := table.BulkDelete(ctx, staff, table.Query[worker]{Partition: sales}, nil)
				if err != nil || r.Changed != n || len(s.Rows("staff")) > 0 {
					t.Errorf("remove: got %+v, error %v, and %d rows left; want Done %d, no error and no row", r, err, len(s.Rows("staff")), n)
				}
				testkit.Expect(t, "remove", s.Count().String(), c.remove)
			})
		})
	}
}

// TestBulkTakenByRefused: an operation does not fail for a value that another operation of its transaction would take if that
// operation fails itself.
func TestBulkTakenByRefused(t *testing.T) {
	t.Parallel()
	staff, s := newStaff(t, byEmail)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 1, nil})
	r, err := door.Bulk(context.Background(), func(yield func(table.Op, error) bool) {
		_ = yield(staff.InsertOp(&worker{"S", 1, "X", "c", 1, nil}), nil) && yield(staff.InsertOp(&worker{"S", 2, "Y", "c", 1, nil}), nil)
	}, &engine.BulkOptions{Skip: func(i int, err error) bool { return i == 0 && errors.Is(err, table.ErrExists) }})
	if err != nil || r.Applied != 1 || r.Skipped != 1 {
		t.Errorf("table.Bulk: got %+v, error %v; want Done 1, Skipped 1 and no error", r, err)
	}
}
