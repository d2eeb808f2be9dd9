package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// indexes: each write updates all kinds of index rows in its transaction, queries use them, and Verify finds and repairs damaged
// ones.
func indexes(e *env) {
	ctx := context.Background()
	sales := dept.PartitionKey("Sales")
	byMail := index.New("mail", keys.Fold(keys.Text()), func(w *employee) (string, bool) { return w.Email, w.Email != "" },
		&index.Options{Unique: true})
	byLast := index.New("last", keys.Ordered(), func(w *employee) (string, bool) { return w.Last, true }, nil).Only()
	byAge := index.New("age", keys.Digits[int32](3), func(w *employee) (int32, bool) { return w.Age, true },
		&index.Options{Reserved: true}).Only(age, first)
	names := index.NewLists("name", keys.Text(), func(w *employee) (string, bool) { return w.Last, true }, nil)
	ages := index.NewSummary("ages", keys.Text(), func(w *employee) (string, bool) { return w.Last, true },
		nil, index.Measure[employee]{Name: "Age", Of: func(w *employee) (int64, bool) { return int64(w.Age), true }})
	all := []extend.Definition[employee]{byMail, byLast, byAge, names, ages}
	base := newTable(e, staffSchema, nil)
	staff, err := baretest.Attach(base, all...)
	e.must(err)
	for i, c := range []struct {
		worker employee
		cost   string
	}{
		{employee{"Sales", 1, "Pat", "O'Brien", 30, "O'Brien@x"}, "2 get, 1 transaction"},
		{employee{"Sales", 2, "Jo", "Jones", 44, "jones%27@x"}, "2 get, 1 transaction"},
		{employee{"Sales", 3, "Al", "Jones", 30, ""}, "2 get, 1 transaction"},
	} {
		if _, err := staff.Insert(ctx, &c.worker); err != nil {
			e.Fatalf("Insert %d: got error %v; want none", i, err)
		}
		e.wantRequests(c.cost)
	}
	found := func(want string, list func(func(*table.Entity[employee], error) bool)) {
		e.Helper()
		var got []string
		for w, err := range list {
			e.must(err)
			got = append(got, w.Value.First)
		}
		if joined(got) != want {
			e.Errorf("look-up: got %q; want %q", got, want)
		}
	}
	brien, err := byMail.Get(ctx, staff, sales, "o'brien@X")
	e.must(err)
	e.wantRequests("1 get")
	found("Jo Pat", byMail.Between(ctx, staff, sales, "j", "p"))
	e.wantRequests("1 query")
	found("Jo Al", byLast.List(ctx, staff, sales, "Jones"))
	e.wantRequests("2 get, 1 query")
	found("Pat", byLast.Prefix(ctx, staff, sales, "O'"))
	e.wantRequests("1 get, 1 query")
	found("Pat Al Jo", byAge.Between(ctx, staff, sales, 30, 50))
	e.wantRequests("1 query")
	found("Jo Al", names.List(ctx, staff, sales, "Jones"))
	e.wantRequests("3 get")
	found("Pat Jo Al", staff.List(ctx, table.Query[employee]{Partition: sales}))
	e.wantRequests("1 query")

	// Replace an entity that a look-up has returned.
	brien.Value.Last, brien.Value.Email = "Jones", "new@x"
	e.must(staff.Replace(ctx, brien))
	e.wantRequests("5 get, 1 transaction") // reads the entity, two lists, two groups
	brien.Value.Email = "JONES%27@X"
	err = staff.Replace(ctx, brien)
	var de *table.DerivedError
	if !errors.Is(err, table.ErrTaken) || !errors.As(err, &de) || de.Owner != at("Sales", 2) {
		e.Errorf("Replace with a taken address: got error %v; want ErrTaken by %v", err, at("Sales", 2))
	}
	e.counter.Take()
	g, err := ages.Get(ctx, staff, sales, "Jones")
	e.must(err)
	if g.Count != 3 || g.Measures["Age"] != (index.Stat{Count: 3, Sum: 104, Min: 30, Max: 44}) {
		e.Errorf("summary: got %+v; want 3 employees whose ages add up to 104", g)
	}

	// Delete one row of each index.
	rows := door.Rows[table.Table[table.Row]](door.Table(base), false)
	for _, rk := range []string{"mail_new@x", "last_Jones!_empid_000002", "~x|age_030_empid_000003", "name_Jones", "ages_Jones"} {
		e.must(rows.DeleteAny(ctx, keys.Raw("Sales", rk)))
	}
	for i, repair := range []bool{false, true, false} {
		r, err := verify.Repair(ctx, staff, &verify.Options{Pass: table.Pass{DryRun: !repair}})
		e.must(err)
		missing, repaired, left := 7, 0, 7
		if repair {
			repaired, left = 7, 0
		}
		if i == 2 {
			missing, left = 0, 0
		}
		got := []int{r.Counts[verify.Missing], r.Changed, r.Faults, r.Counts["failed"], r.Counts["unconfirmed"]}
		if want := []int{missing, repaired, left, 0, 0}; !slices.Equal(got, want) {
			e.Errorf("Verify %d: got %v missing, repaired, left, failed and unconfirmed; want %v", i, got, want)
		}
	}
	found("Pat Al Jo", byAge.Between(ctx, staff, sales, 30, 50))
	found("Pat Jo Al", names.List(ctx, staff, sales, "Jones"))
	result, err := table.BulkDelete(ctx, staff, table.Query[employee]{Partition: sales}, nil)
	e.must(err)
	n := 0
	for _, err := range rows.Rows(ctx, table.Query[table.Row]{Partition: sales, Rows: keyrange.Stored("", "")}) {
		e.must(err)
		n++
	}
	if result.Changed != 3 || n != 0 {
		e.Errorf("DeleteQuery: got %+v and %d remaining rows; want 3 done and none", result, n)
	}
}

// details: an entity stores its fields in another entity. Verify finds such entities through a filter on their tags.
func details(e *env) {
	ctx := context.Background()
	sales := dept.PartitionKey("Sales")
	head := index.NewDetails("head", "Head", func(w *employee) (keys.RowKey, bool) { return keys.RawRow("department"), w.Age > 60 }, last, age)
	base := newTable(e, staffSchema, nil)
	staff, err := baretest.Attach(base, head)
	e.must(err)
	rows := door.Rows[table.Table[table.Row]](door.Table(base), true)
	department := &table.Row{Key: keys.At(sales, keys.RawRow("department"))}
	e.must(department.Set("Budget", 7))
	_, err = rows.Insert(ctx, department)
	e.must(err)
	w, err := staff.Insert(ctx, &employee{"Sales", 1, "Pat", "O'Brien", 61, ""})
	e.must(err)
	_, err = staff.Insert(ctx, &employee{"Sales", 2, "Jo", "Jones", 44, ""})
	e.must(err)
	told := func(want string) {
		e.Helper()
		row, err := tabledoor.GetRow(ctx, staff, department.Key)
		e.must(err)
		whose, _ := row.Get("HeadRowKey")
		who, _ := row.Get("HeadLastName")
		budget, _ := row.Get("Budget")
		if got := fmt.Sprint(whose, " ", who, " ", budget); got != want {
			e.Errorf("details: got %s; want %s", got, want)
		}
	}
	told("empid_000001 O'Brien 7")
	e.must(rows.MergeAny(ctx, department.Key, table.PropertyOf[string]("HeadLastName").Set("Nobody")))
	for _, repair := range []bool{false, true} {
		r, err := verify.Repair(ctx, staff, &verify.Options{Pass: table.Pass{DryRun: !repair}}, head)
		e.must(err)
		if r.Counts[verify.Stale] != 1 || r.Counts["derived rows"] != 1 || (r.Faults == 0) != repair {
			e.Errorf("Verify, repair %v: got %+v; want 1 stale row of 1", repair, r)
		}
	}
	told("empid_000001 O'Brien 7")
	w, err = staff.Get(ctx, w.Key)
	e.must(err)
	e.must(staff.Merge(ctx, w, age.Set(60)))
	told("<nil> <nil> 7")
	if r, err := verify.Check(ctx, staff, nil, head); err != nil || r.Faults > 0 || r.Counts["derived rows"] != 0 {
		e.Errorf("Verify: got %+v, error %v; want it sound, without rows", r, err)
	}
}
