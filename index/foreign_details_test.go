package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestForeignDetails: details are written neither into derived rows nor over the details of another type under the same prefix.
func TestForeignDetails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	into := index.NewDetails("into", "Into", func(w *worker) (keys.RowKey, bool) { return keys.RawRow("team_" + w.Last), w.Age == 1 }, email)
	staff, s := newStaff(t, teams, into)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	before := fmt.Sprint(s.Rows("staff"))
	var ve *table.ValueError
	if _, err := staff.Insert(ctx, &worker{"S", 2, "Jones", "", 1, nil}); !errors.As(err, &ve) && !errors.Is(err, errs.ErrDuplicateRow) {
		t.Errorf("insert of an entity with details into a list: got error %v; want a *ValueError or ErrDuplicateRow", err)
	}
	if err := staff.MergeAny(ctx, at(1), age.Set(1)); !errors.As(err, &ve) {
		t.Errorf("merge that adds details to a list: got error %v; want a *ValueError", err)
	}
	testkit.Expect(t, "rows", fmt.Sprint(s.Rows("staff")), before)

	boss := index.NewDetails("boss", "Head", func(w *temp) (keys.RowKey, bool) { return keys.RawRow("department"), true }, table.FieldOf(func(w *temp) *string { return &w.Last }))
	staff, d, s := newCampus(t)
	temps, err := baretest.Attach(openAs(t, s.ConnectionString(), s, tempSchema("", "t")), boss)
	check(t, err)
	_, err = temps.Insert(ctx, &temp{"S", "Cao", "", 1, 1})
	check(t, err)
	s.Count()
	if _, err := staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 1, nil}); !refusedFor(err, rowAt("department")) || !strings.Contains(err.Error(), `prefix "Head"`) {
		t.Errorf("insert of a second head: got error %v; want ErrForeignRow of the department, which names the prefix Head", err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "4 get") // a list, a summary, the department and the own key; not the owner
	if r, f := mustVerify(t, staff, verify.Options{}, sharedDefinitions()...); r.Faults > 0 || len(f) > 0 {
		t.Errorf("verify with repair: got %+v and faults %v; want no fault", r, f)
	}
	if e, err := d.Get(ctx, rowAt("department")); err != nil || e.Value.HeadLast != "Cao" {
		t.Errorf("department: got %v, error %v; want the head Cao", e, err)
	}
}

// TestDetailsInOneRange: details of another type with similar RowKeys, and of another definition, stay as they are.
func TestDetailsInOneRange(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	boss := index.NewDetails("boss", "Head", func(w *temp) (keys.RowKey, bool) { return keys.RawRow("department"), true }, table.FieldOf(func(w *temp) *string { return &w.Last }))
	for _, typed := range []bool{false, true} {
		ours, theirs := schema, tempSchema("", "w")
		if typed {
			ours.Type, theirs.Type = "worker", "temp"
		}
		s := storagetest.New(nil)
		staff, err := baretest.Attach(openAs(t, s.ConnectionString(), s, ours), head)
		check(t, err)
		check(t, tabledoor.Ensure(ctx, staff))
		temps, err := baretest.Attach(openAs(t, s.ConnectionString(), s, theirs), boss)
		check(t, err)
		d := openAs(t, s.ConnectionString(), s, depts)
		_, err = d.Insert(ctx, &department{Name: "S", Budget: 7})
		check(t, err)
		_, err = temps.Insert(ctx, &temp{"S", "Cao", "", 11, 1})
		check(t, err)
		before := fmt.Sprint(s.Rows("staff"))
		if _, err := staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 30, nil}); !refusedFor(err, rowAt("department")) {
			t.Errorf("typed %v: insert of a second head: got error %v; want ErrForeignRow of the department", typed, err)
		}
		testkit.Expect(t, fmt.Sprint("typed ", typed), fmt.Sprint(s.Rows("staff")), before)
		check(t, temps.DeleteAny(ctx, at(11)))
		_, err = staff.Insert(ctx, &worker{"S", 1, "Jones", "a", 30, nil})
		check(t, err)
		if e, err := d.Get(ctx, rowAt("department")); err != nil || e.Value.HeadLast != "Jones" {
			t.Errorf("typed %v: department: got %v, error %v; want the head Jones", typed, e, err)
		}
	}
}

// TestTypeIsAdded: while a release is rolled out whose schema has come to have a type, writers of both keep the same lists,
// summaries and details, and readers of both find everybody.
func TestTypeIsAdded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	before, d, s := newCampus(t)
	typed := schema
	typed.Type = "worker"
	after, err := baretest.Attach(openAs(t, s.ConnectionString(), s, typed), sharedDefinitions()...)
	check(t, err)
	both := []*table.Table[worker]{before, after}
	right := func(what string) {
		t.Helper()
		if err := checkShared(s); err != nil {
			t.Errorf("%s: check of all rows: got error %v; want none", what, err)
		}
		n := -1
		for i, staff := range both {
			g, err := ages.Get(ctx, staff, sales, "Jones")
			check(t, err)
			members, err := teams.Keys(ctx, staff, sales, "Jones")
			check(t, err)
			if i == 0 {
				n = len(members)
			}
			testkit.Expect(t, fmt.Sprint(what, " read by ", i), fmt.Sprint(g.Count, len(members)), fmt.Sprint(n, n))
			if r, err := verify.Check(ctx, staff, nil); err != nil || len(derived.Kinds(r)) > 0 {
				t.Errorf("%s: verify by handle %d: got %+v, error %v; want no fault", what, i, r, err)
			}
		}
	}
	for i := range 8 {
		one, other := both[i%2], both[(i/2)%2]
		_, err := one.Insert(ctx, &worker{"S", 1, "Jones", "a", 30 + i, nil})
		check(t, err)
		_, err = other.Insert(ctx, &worker{"S", 2, "Jones", "", 40, nil})
		check(t, err)
		right(fmt.Sprint(i, " insert"))
		check(t, both[i/4].MergeAny(ctx, at(1), last.Set("Cao"), age.Set(50)))
		check(t, both[(i+1)%2].MergeAny(ctx, at(1), last.Set("Jones")))
		right(fmt.Sprint(i, " merge"))
		check(t, other.DeleteAny(ctx, at(1)))
		right(fmt.Sprint(i, " delete"))
		if e, err := d.Get(ctx, rowAt("department")); err != nil || e.Value.HeadLast != "" {
			t.Errorf("%d delete: department: got %v, error %v; want no head", i, e, err)
		}
		check(t, one.DeleteAny(ctx, at(2)))
		right(fmt.Sprint(i, " delete of all"))
	}
}
