package index_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// TestThereAndBack: after a value changes from A to B to A, or an entity is deleted and inserted again, a copy from before is not
// taken for the entity.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, happens := range map[string]func(*table.Table[worker], *table.Entity[worker]){
		"A→B→A": func(staff *table.Table[worker], e *table.Entity[worker]) {
			check(t, staff.Merge(ctx, e, email.Set("b")))
			check(t, staff.Merge(ctx, e, email.Set("a")))
		},
		"deleted and inserted again": func(staff *table.Table[worker], e *table.Entity[worker]) {
			check(t, staff.Delete(ctx, e))
			v := e.Value
			_, err := staff.Insert(ctx, &v)
			check(t, err)
		},
	} {
		staff, s := newStaff(t, copyDefinitions()...)
		e := insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, []string{"x"}})[0]
		copied, err := byEmail.Get(ctx, staff, sales, "a")
		check(t, err)
		happens(staff, e)
		right(t, s)
		copied.Value.Last = "Smith"
		if err := staff.Replace(ctx, copied); !errors.Is(err, table.ErrChanged) {
			t.Errorf("%s: replace by a copy from before: got error %v; want ErrChanged", what, err)
		}
		right(t, s)
		if found, err := byEmail.Get(ctx, staff, sales, "A"); err != nil || found.Value.Last != "Jones" {
			t.Errorf("%s: look-up of email A: got %v, error %v; want the last name Jones", what, found, err)
		}
	}
}

// TestPartialUpdates: a merge of only some of the fields that a key function uses reads the entity first.
func TestPartialUpdates(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type named struct {
		Last string
		Age  int
	}
	both := index.New("both", keys.Row2(keys.Ordered(), keys.Digits[int](3), func(n *named) (*string, *int) { return &n.Last, &n.Age }),
		func(w *worker) (named, bool) { return named{w.Last, w.Age}, true }, nil)
	staff, s := newStaff(t, both)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil})
	check(t, staff.MergeAny(ctx, at(1), last.Set("Smith")))
	testkit.Expect(t, "requests", s.Count().String(), "1 get, 1 transaction")
	_, err := staff.Upsert(ctx, &worker{"S", 1, "Smith", "", 31, nil}, table.MergeExisting)
	check(t, err)
	e, err := both.Get(ctx, staff, sales, named{"Smith", 31})
	if err != nil || e.Key != at(1) || len(s.Rows("staff")) != 2 {
		t.Errorf("look-up of Smith, 31: got %v, error %v, rows %v; want %v and 2 rows", e, err, s.Rows("staff"), at(1))
	}
	testkit.Expect(t, "those of one name", ids(t, both.Query(ctx, staff, table.Query[worker]{
		Partition: sales, Rows: keys.Row2(keys.Ordered().Named("both"), keys.Digits[int](3), func(n *named) (*string, *int) { return &n.Last, &n.Age }).Under("Smith").All(),
	})), []int{1})
}

// TestListRows: a change of the last name touches three rows in one transaction; if concurrent writers change a list at every
// attempt, the write fails with ErrContended.
func TestListRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, teams)
	e := insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 30, nil}, worker{"S", 3, "Smith", "", 30, nil})[0]
	check(t, staff.Merge(ctx, e, last.Set("Smith")))
	all := s.Requests()
	if done := all[len(all)-1].String(); !strings.Contains(done, "{merge('S','w_000001'), replace('S','team_Jones'), replace('S','team_Smith')}") {
		t.Errorf("last request: got %s; want a merge of the worker and a replace of both lists in one transaction", done)
	}
	b := &testkit.Hooked{Service: s, Serial: true}
	rounds := 0
	b.BeforeRequest = func(r *http.Request) {
		if strings.Contains(r.URL.Path, "$batch") {
			rounds++
			_, err := staff.Insert(ctx, &worker{"S", 100 + rounds, "Jones", "", 30, nil})
			checkInHook(t, err)
		}
	}
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), b, schema), teams)
	check(t, err)
	_, err = slow.Insert(ctx, &worker{"S", 9, "Jones", "", 30, nil})
	if !errors.Is(err, table.ErrContended) || rounds != 8 {
		t.Errorf("insert against concurrent writers: got %d attempts, error %v; want 8 and ErrContended", rounds, err)
	}
	k, err := teams.Keys(ctx, staff, sales, "Jones")
	if err != nil || len(k) != 9 || slices.Contains(k, at(9)) {
		t.Errorf("members of Jones: got %v, error %v; want 9 without %v", k, err, at(9))
	}
}

// TestPointers: a look-up by a pointer reads the entity, and returns its current content.
func TestPointers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for unique, requests := range map[bool]string{false: "1 get, 1 query", true: "2 get"} {
		ix := index.New("mail", keys.Text(), func(w *worker) (string, bool) { return w.Email, true }, &index.Options{Unique: unique}).Only()
		staff, s := newStaff(t, ix)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a", 30, nil})
		e, err := ix.Get(ctx, staff, sales, "a")
		if err != nil || e.ETag == "" {
			t.Fatalf("unique %v: look-up of email a: got %v, error %v; want an entity with an ETag", unique, e, err)
		}
		testkit.Expect(t, "requests", s.Count().String(), requests)
		check(t, rawTable(t, s).MergeAny(ctx, at(1), table.PropertyOf[string]("Email").Set("b")))
		if _, err := ix.Get(ctx, staff, sales, "a"); !errors.Is(err, table.ErrNotFound) {
			t.Errorf("unique %v: look-up of a former email: got error %v; want ErrNotFound", unique, err)
		}
	}
}

// TestPace: a run with Options.Rate takes the time that follows, and reports its progress.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		s := storagetest.New(nil)
		base := openAs(t, s.ConnectionString(), s, schema)
		check(t, tabledoor.Ensure(ctx, base))
		staff, err := baretest.Attach(base, byLast)
		check(t, err)
		_, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
			for i := range 1500 {
				if !yield(staff.InsertOp(&worker{"S", i, "Jones", "", 1, nil}), nil) {
					return
				}
			}
		}, nil)
		check(t, err)
		began := time.Now()
		var told []int
		r, err := verify.Check(ctx, staff, &verify.Options{Pass: table.Pass{Rate: 100, Progress: func(r table.Progress) { told = append(told, r.Rows) }}}, byLast)
		if err != nil || r.Faults > 0 {
			t.Fatalf("verify: got %+v, error %v; want a sound report", r, err)
		}
		if took := time.Since(began); took < 29*time.Second || took > 31*time.Second { // of its own clock
			t.Errorf("time of the run: got %v; want 29s to 31s", took)
		}
		testkit.Expect(t, "progress", told, []int{1000, 1500})
	})
}
