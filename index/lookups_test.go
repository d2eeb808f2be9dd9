package index_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// attached is a table of the tests, for values of any type, with definitions.
func attached[T any](t *testing.T, schema table.Schema[T], definitions ...extend.Definition[T]) (*table.Table[T], *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	base := openAs(t, s.ConnectionString(), s, schema)
	check(t, tabledoor.Ensure(context.Background(), base))
	all, err := baretest.Attach(base, definitions...)
	check(t, err)
	s.Count()
	return all, s
}

// TestNaN: a float that is NaN equals itself, so that rows with it are not stale.
func TestNaN(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	temp := table.FieldOf(func(b *bag) *float64 { return &b.Temp })
	n := table.FieldOf(func(b *bag) *int { return &b.N })
	name := table.FieldOf(func(b *bag) *string { return &b.Name })
	full := index.New("name", keys.Text(), bagName, &index.Options{Unique: true})
	part := index.New("part", keys.Text(), bagName, nil).Only(name, temp)
	all, s := attached(t, bags, full, part)
	_, err := all.Insert(ctx, &bag{Dept: "S", ID: 1, Name: "x", Temp: math.NaN()})
	check(t, err)
	e, err := full.Get(ctx, all, sales, "x")
	check(t, err)
	check(t, all.Merge(ctx, e, n.Set(3)))
	row, err := tabledoor.GetRow(ctx, all, rowAt("part_x_w_000001"))
	check(t, err)
	s.Count()
	check(t, all.Merge(ctx, e, n.Set(4)))
	again, err := tabledoor.GetRow(ctx, all, row.Key)
	check(t, err)
	testkit.Expect(t, "ETag of the projection after a merge of a property that it lacks", again.ETag, row.ETag)
	if r, err := verify.Check(ctx, all, nil, full, part); err != nil || r.Faults > 0 {
		t.Errorf("verify: got %+v, error %v; want a sound report and no error", r, err)
	}
}

// TestForeignEntities: an index skips rows whose entity is of another type by now, however entities are read.
func TestForeignEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	typed, other := schema, schema
	typed.Type, other.Type = "worker", "robot"
	of := func(w *worker) (string, bool) { return w.Last, true }
	pointers := index.New("p", keys.Ordered(), of, nil).Only()
	lists := index.NewLists("l", keys.Text(), of, nil)
	staff, s := attached(t, typed, pointers, lists)
	for i := range 3 {
		insertAll(t, staff, s, worker{"S", 1 + i, "a", "", 1, nil})
	}
	_, err := openAs(t, s.ConnectionString(), s, other).Upsert(ctx, &worker{"S", 2, "a", "", 1, nil}, table.ReplaceExisting)
	check(t, err)
	testkit.Expect(t, "pointers", ids(t, pointers.List(ctx, staff, sales, "a")), []int{1, 3})
	q := table.Query[worker]{Partition: sales, Rows: pointers.Value("a"), Cursor: &table.Cursor{}}
	testkit.Expect(t, "pointers with a cursor", ids(t, pointers.Query(ctx, staff, q)), []int{1, 3})
	testkit.Expect(t, "list", ids(t, lists.List(ctx, staff, sales, "a")), []int{1, 3})
}

// TestListWhileOthersWrite: a list leaves out an entity that has another value, or was deleted, when the entity is read.
func TestListWhileOthersWrite(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, happens := range map[string]func(*table.Table[worker]) error{
		"gone":    func(staff *table.Table[worker]) error { return staff.DeleteAny(ctx, at(1)) },
		"renamed": func(staff *table.Table[worker]) error { return staff.MergeAny(ctx, at(1), last.Set("Cao")) },
	} {
		staff, s := newStaff(t, teams, byLast)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 30, nil})
		for kind, list := range map[string]func(*table.Table[worker]) []int{
			"list":     func(h *table.Table[worker]) []int { return ids(t, teams.List(ctx, h, sales, "Jones")) },
			"pointers": func(h *table.Table[worker]) []int { return ids(t, byLast.List(ctx, h, sales, "Jones")) },
		} {
			_, err := staff.Upsert(ctx, &worker{"S", 1, "Jones", "", 30, nil}, table.ReplaceExisting)
			check(t, err)
			once := true
			b := &testkit.Hooked{Service: s, Serial: true, BeforeRequest: func(r *http.Request) {
				if once && strings.Contains(r.URL.Path, "RowKey='w_") {
					once = false
					checkInHook(t, happens(staff))
				}
			}}
			slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), teams, byLast)
			check(t, err)
			testkit.Expect(t, what+", "+kind, list(slow), []int{2})
		}
	}
}

// TestValueChangesOwner: a look-up of a unique value that always has an owner never fails with ErrNotFound, however often the owner
// changes.
func TestValueChangesOwner(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	mails := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, w.Email != "" }, &index.Options{Unique: true}).Only()
	staff, s := newStaff(t, mails)
	es := insertAll(t, staff, s, worker{"S", 1, "Jones", "x", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
	e, err := mails.Get(ctx, staff, sales, "x")
	if err != nil || e.Key != at(1) {
		t.Errorf("Get of x: got %v, error %v; want the entity %v", e, err, at(1))
	}
	testkit.Expect(t, "requests", s.Count().String(), "2 get")
	times := 0
	b := &testkit.Hooked{Service: s, Serial: true}
	b.BeforeRequest = func(r *http.Request) {
		if times > 0 && strings.Contains(r.URL.Path, "RowKey='w_") {
			times--
			es[0].Value.Email, es[1].Value.Email = es[1].Value.Email, es[0].Value.Email
			_, err := table.Transact(ctx, staff.ReplaceOp(es[0]), staff.ReplaceOp(es[1]))
			checkInHook(t, err)
		}
	}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), mails)
	check(t, err)
	for times = 7; times > 0; {
		if e, err = mails.Get(ctx, slow, sales, "x"); err != nil || e.Value.Email != "x" {
			t.Errorf("Get of x, which changes its owner up to 7 times: got %v, error %v; want an entity with the email x", e, err)
		}
	}
	times = 1000
	if e, err := mails.Get(ctx, slow, sales, "x"); !errors.Is(err, table.ErrChanged) {
		t.Errorf("Get of x, which changes its owner before each read: got %v, error %v; want ErrChanged", e, err)
	}
}

// TestForeignRanges: a query fails for a range that is not of the index, instead of finding nothing.
func TestForeignRanges(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tags := index.NewMulti("t", keys.Ordered(), 3, func(w *worker) []string { return w.Tags }, &index.Options{Reserved: true})
	staff, s := newStaff(t, byEmail, byLast, tags)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, []string{"x"}}, worker{"S", 2, "Smith", "b", 40, []string{"x", "y"}})
	for name, r := range map[string]keys.RowRange{"primaries": wid.Rows().All(), "another index": byLast.Value("Jones"), "everything": keys.RawRows("", "~"), "more than the index": keys.RawRows("emai", "email_z")} {
		q := table.Query[worker]{Partition: sales, Rows: r}
		for method, err := range map[string]error{
			"Query": onlyError(t, name+": Query", byEmail.Query(ctx, staff, q)),
			"Keys":  onlyError(t, name+": Keys", byEmail.Keys(ctx, staff, q)),
		} {
			var ke *keys.KeyError
			if !errors.As(err, &ke) || ke.Key != "RowKey" {
				t.Errorf("%s: %s: got error %v; want a *keys.KeyError of RowKey", name, method, err)
			}
		}
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
	// Queries accept the index's own ranges, also if its rows are among the library's rows.
	for name, r := range map[string]keys.RowRange{
		"Value": tags.Value("x"), "Between": tags.Rows().Between("a", "y"), "AtLeast": tags.Rows().AtLeast("x"), "AtMost": tags.Rows().AtMost("x"),
		"Before": tags.Rows().Before("y"), "Starting": tags.Rows().Starting("x"), "All": tags.Rows().All(),
	} {
		want := map[string][]int{"Value": {1, 2}, "Between": {1, 2, 2}, "AtLeast": {1, 2, 2}, "AtMost": {1, 2}, "Before": {1, 2}, "Starting": {1, 2}, "All": {1, 2, 2}}[name]
		testkit.Expect(t, name, ids(t, tags.Query(ctx, staff, table.Query[worker]{Partition: sales, Rows: r})), want)
	}
	var seen []keys.Key
	for k, err := range tags.Keys(ctx, staff, table.Query[worker]{Partition: sales, Limit: 2}) {
		check(t, err)
		seen = append(seen, k)
	}
	testkit.Expect(t, "keys with a limit", seen, []keys.Key{at(1), at(2)})
}

// TestOnePartition: look-ups in a table with one partition need no partition.
func TestOnePartition(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	byName := index.New("name", keys.Text(), bagName, &index.Options{Unique: true})
	lists := index.NewLists("l", keys.Text(), bagName, nil)
	sums := index.NewSummary("s", keys.Text(), bagName, nil)
	parts, _ := attached(t, table.Schema[bag]{Partition: keys.OnePartition[bag]("parts"), Row: keys.Row(wid, func(b *bag) *int { return &b.ID })}, byName, lists, sums)
	_, err := parts.Insert(ctx, &bag{ID: 1, Name: "nut"})
	check(t, err)
	var nowhere keys.PartitionKey
	e, err1 := byName.Get(ctx, parts, nowhere, "nut")
	all, err2 := lists.Keys(ctx, parts, nowhere, "nut")
	g, err3 := sums.Get(ctx, parts, nowhere, "nut")
	check(t, errors.Join(err1, err2, err3))
	testkit.Expect(t, "found", fmt.Sprint(e.Value.ID, all, g.Count), fmt.Sprint(1, []keys.Key{e.Key}, 1))
}

// TestNotAttached: a look-up by a definition that is not attached fails, instead of finding nothing, also if a definition of the
// same name is attached.
func TestNotAttached(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	of := func(w *worker) (string, bool) { return w.Last, true }
	staff, s := newStaff(t, index.New("email", keys.Ordered(), of, nil), index.NewLists("team", keys.Text(), of, nil))
	for what, look := range map[string]func() error{
		"Get": func() error { _, err := byEmail.Get(ctx, staff, sales, "a"); return err },
		"List": func() (err error) {
			for _, err = range byLast.List(ctx, staff, sales, "a") {
			}
			return err
		},
		"Keys": func() (err error) {
			for _, err = range byLast.Keys(ctx, staff, table.Query[worker]{Partition: sales}) {
			}
			return err
		},
		"Lists.Keys":  func() error { _, err := teams.Keys(ctx, staff, sales, "a"); return err },
		"Summary.Get": func() error { _, err := ages.Get(ctx, staff, sales, "a"); return err },
		"Summary.All": func() (err error) {
			for _, err = range ages.All(ctx, staff, sales) {
			}
			return err
		},
	} {
		var de *table.DefinitionError
		if err := look(); !errors.As(err, &de) || de.Field != "table" || !strings.HasPrefix(err.Error(), "definition ") {
			t.Errorf("%s: got error %v; want a *DefinitionError of the field table, and \"definition \" first", what, err)
		}
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")
}

// TestRangesOfLayouts: a range of a layout with a name is a range of the index, unless it has a last value and the index is not
// unique. A range of a layout without a name is none.
func TestRangesOfLayouts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byAge, byEmail)
	for i := range 5 {
		insertAll(t, staff, s, worker{"S", i, "J", string(rune('a' + i)), 10 * i, nil})
	}
	ages, emails := keys.Digits[int](3).Named("age"), keys.Fold(keys.Text()).Named("email")
	q := table.Query[worker]{Partition: sales, Rows: emails.Rows().AtMost("c")}
	testkit.Expect(t, "up to c", ids(t, byEmail.Query(ctx, staff, q)), []int{0, 1, 2})
	s.Count()
	unnamed := keys.Digits[int](3)
	for _, r := range []keys.RowRange{
		ages.Rows().Between(10, 30), ages.Rows().AtMost(30).Intersect(ages.Rows().AtLeast(10)), ages.RowKey(10).Point(), unnamed.Rows().All(), unnamed.Rows().AtLeast(30),
	} {
		q.Rows = r
		var ke *keys.KeyError
		if err := onlyError(t, fmt.Sprint(r, ": Query"), byAge.Query(ctx, staff, q)); !errors.As(err, &ke) || ke.Key != "RowKey" {
			t.Errorf("%v: Query: got error %v; want a *keys.KeyError of RowKey", r, err)
		}
	}
	testkit.Expect(t, "requests of refused ranges", s.Count().String(), "none")
	// An index that is not unique accepts a range without a last value.
	type deptAge struct {
		Last string
		Age  int
	}
	two := keys.Row2(keys.Ordered().Named("both"), keys.Digits[int](3), func(k *deptAge) (*string, *int) { return &k.Last, &k.Age })
	byBoth := index.New("both", two,
		func(w *worker) (deptAge, bool) { return deptAge{w.Last, w.Age}, true }, nil)
	staff, s = newStaff(t, byBoth)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 40, nil}, worker{"S", 2, "Jones", "", 30, nil}, worker{"S", 3, "Cao", "", 30, nil}, worker{"S", 4, "Jonesy", "", 20, nil})
	q.Rows = two.Under("Jones").All()
	testkit.Expect(t, "Prefix", ids(t, byBoth.Query(ctx, staff, q)), []int{2, 1})
	q.Rows = two.All()
	testkit.Expect(t, "All", ids(t, byBoth.Query(ctx, staff, q)), []int{3, 2, 1, 4})
}

// TestValueMovesDuringLookUp: a value that changes its owner between the two requests of a look-up is found with the new owner.
func TestValueMovesDuringLookUp(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pointer := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, &index.Options{Unique: true}).Only()
	full := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, &index.Options{Unique: true})
	staff, s := newStaff(t, pointer)
	es := insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil}, worker{"S", 2, "Cao", "b", 30, nil})
	// The rows are pointers. An index of full copies with the same name, as of a later release, reads the entities of such rows, too.
	for kind, ix := range map[string]*index.Index[worker, string]{"pointers": pointer, "full copies": full} {
		b := &testkit.Hooked{Service: s, Serial: true}
		once := false
		b.BeforeRequest = func(r *http.Request) {
			if strings.Contains(r.URL.String(), "RowKey='w_") && !once {
				once = true
				es[0].Value.Email, es[1].Value.Email = es[1].Value.Email, es[0].Value.Email
				_, err := table.Transact(ctx, staff.ReplaceOp(es[0]), staff.ReplaceOp(es[1]))
				checkInHook(t, err)
			}
		}
		slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), ix)
		check(t, err)
		e, err := ix.Get(ctx, slow, sales, "a")
		if err != nil || e.Value.Email != "a" || !once {
			t.Errorf("index of %s: Get of a: got %v, error %v, new owner during Get %v; want an entity with the email a, and true", kind, e, err, once)
		}
	}
}
