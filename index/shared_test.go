package index_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// department is an entity of another type in the partition, which holds the details of its head: the worker with the address a.
type department struct {
	Name      string
	Budget    int
	HeadLast  string
	HeadEmail string
}

var (
	depts = table.Schema[department]{
		Partition: keys.Partition(dept, func(d *department) *string { return &d.Name }),
		Row:       keys.OneRow[department]("department"),
	}
	teams = index.NewLists("team", keys.Text(), func(w *worker) (string, bool) { return w.Last, w.Last != "" },
		&index.ListOptions{Property: "EmployeeIDs"})
	ages = index.NewSummary("ages", keys.Text(), func(w *worker) (string, bool) { return w.Last, w.Last != "" },
		nil, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), w.Age > 0 }})
	head = index.NewDetails("head", "Head", func(w *worker) (keys.RowKey, bool) { return keys.RawRow("department"), w.Email == "a" }, last, email)
)

func sharedDefinitions() []extend.Definition[worker] {
	return []extend.Definition[worker]{teams, ages, head}
}

// checkShared returns an error if a full scan shows lists, summaries or details that differ from the entities, or other rows.
func checkShared(s *storagetest.Service) error {
	type group struct{ ages []int64 }
	members, groups := map[string][]string{}, map[string]*group{}
	want, got := map[string]string{}, map[string]string{}
	heads := []string{}
	led := false // there is a department
	for _, r := range s.Rows("staff") {
		if isForeignRow(r.RowKey) {
			continue
		}
		kind, _, _ := strings.Cut(r.RowKey, "_")
		switch kind {
		case "w":
			name, _ := r.Get("Last").(string)
			if r.Get("Email") == "a" {
				heads = append(heads, fmt.Sprint(r.RowKey, name, "a"))
			}
			if name == "" {
				continue
			}
			members[name] = append(members[name], r.RowKey)
			if groups[name] == nil {
				groups[name] = &group{}
			}
			if n, _ := r.Get("Age").(int64); n > 0 {
				groups[name].ages = append(groups[name].ages, n)
			}
		case "team":
			got[r.RowKey] = fmt.Sprint(r.Get("EmployeeIDs"))
		case "ages":
			got[r.RowKey] = fmt.Sprint(r.Get("Count"), r.Get("AgeCount"), r.Get("AgeSum"), r.Get("AgeMin"), r.Get("AgeMax"), r.Get("AgeMinCount"), r.Get("AgeMaxCount"), r.Get("AgeLoose"))
		case "department":
			led = true
			if owner := r.Get("HeadRowKey"); owner != nil {
				got["head"] = fmt.Sprint(owner, r.Get("HeadLast"), r.Get("HeadEmail"))
			}
			if r.Get("Budget") != int64(7) {
				return fmt.Errorf("the department is %v; its Budget should be 7", r)
			}
		default:
			return fmt.Errorf("%s is left", r.RowKey)
		}
	}
	if len(heads) > 1 && led {
		return fmt.Errorf("heads are %q; there should be at most one", heads)
	} else if len(heads) == 1 && led {
		want["head"] = heads[0]
	}
	for name, all := range members {
		want["team_"+name] = strings.Join(all, "/")
		g := groups[name].ages
		var sum, least, most, atLeast, atMost int64
		for _, n := range g {
			sum += n
		}
		if len(g) > 0 {
			least, most = slices.Min(g), slices.Max(g)
		}
		for _, n := range g {
			if n == least {
				atLeast++
			}
			if n == most {
				atMost++
			}
		}
		want["ages_"+name] = fmt.Sprint(int64(len(all)), int64(len(g)), sum, least, most, atLeast, atMost, nil)
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("lists, summaries and details are %v, not %v", got, want)
	}
	return nil
}

// newCampus returns a table with the shared definitions and a department.
func newCampus(t *testing.T) (*table.Table[worker], *table.Table[department], *storagetest.Service) {
	t.Helper()
	staff, s := newStaff(t, sharedDefinitions()...)
	d := openAs(t, s.ConnectionString(), s, depts)
	_, err := d.Insert(context.Background(), &department{Name: "S", Budget: 7})
	check(t, err)
	s.Count()
	return staff, d, s
}

func checkAll(t *testing.T, s *storagetest.Service) {
	t.Helper()
	if err := checkShared(s); err != nil {
		t.Errorf("check of all rows: got error %v; want none", err)
	}
}

// TestSharedRequests: the requests of writes and reads of rows that several entities share.
func TestSharedRequests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := newCampus(t)
	did := func(what, want string) {
		t.Helper()
		testkit.Expect(t, what, s.Count().String(), want)
		checkAll(t, s)
		s.Count()
	}
	var es []*table.Entity[worker]
	for i, w := range []worker{{"S", 1, "Jones", "a", 30, nil}, {"S", 2, "Jones", "b", 40, nil}, {"S", 3, "Jones", "", 50, nil}} {
		e, err := staff.Insert(ctx, &w)
		check(t, err)
		es = append(es, e)
		did(fmt.Sprint("insert ", i), []string{"3 get, 1 transaction", "2 get, 1 transaction", "2 get, 1 transaction"}[i])
	}
	check(t, staff.Merge(ctx, es[1], email.Set("x")))
	did("what changes nothing shared", "1 merge")
	check(t, staff.Merge(ctx, es[1], age.Set(41)))
	did("a measure in the middle", "1 get, 1 transaction")
	check(t, staff.Merge(ctx, es[2], age.Set(45)))
	did("the greatest goes down", "1 get, 1 query, 1 transaction")
	check(t, staff.Merge(ctx, es[1], last.Set("Smith")))
	did("a change of name", "4 get, 1 transaction") // both lists, both summaries
	check(t, staff.Merge(ctx, es[0], email.Set("")))
	did("a head who resigns", "1 get, 1 transaction")
	_, err := table.Transact(ctx, staff.MergeOp(es[1], email.Set("a")), staff.DeleteOp(es[2]))
	check(t, err)
	did("two in one transaction", "3 get, 1 transaction") // of the Joneses one is left, who is the least and the greatest

	k, err := teams.Keys(ctx, staff, sales, "Jones")
	check(t, err)
	testkit.Expect(t, "members", k, []keys.Key{at(1)})
	testkit.Expect(t, "members", s.Count().String(), "1 get")
	testkit.Expect(t, "list", ids(t, teams.List(ctx, staff, sales, "Smith")), []int{2})
	testkit.Expect(t, "list", s.Count().String(), "2 get")
	if k, err := teams.Keys(ctx, staff, sales, "Nobody"); err != nil || len(k) != 0 {
		t.Errorf("members of Nobody: got %v, error %v; want none", k, err)
	}
	s.Count()
	g, err := ages.Get(ctx, staff, sales, "Smith")
	check(t, err)
	testkit.Expect(t, "summary", *g, index.Group[string]{Value: "Smith", Count: 1, Measures: map[string]index.Stat{"Age": {Count: 1, Sum: 41, Min: 41, Max: 41}}})
	testkit.Expect(t, "summary", s.Count().String(), "1 get")
	var groups []string
	for g, err := range ages.All(ctx, staff, sales) {
		check(t, err)
		groups = append(groups, fmt.Sprint(g.Value, g.Count))
	}
	testkit.Expect(t, "summaries", groups, []string{"Jones1", "Smith1"})
	testkit.Expect(t, "summaries", s.Count().String(), "1 query")
	if g, err := ages.Get(ctx, staff, sales, "Nobody"); err != nil || g.Count != 0 {
		t.Errorf("summary of Nobody: got %+v, error %v; want count 0", g, err)
	}
	sd, err := d.Get(ctx, keys.At(sales, keys.RawRow("department")))
	check(t, err)
	testkit.Expect(t, "details", sd.Value, department{"S", 7, "Smith", "a"})
}

// TestDetails: the target of details: concurrent writers, targets that are no entities, and targets that hold the details of
// another entity.
func TestDetails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, d, s := newCampus(t)
	es := insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Cao", "", 30, nil})
	at := keys.At(sales, keys.RawRow("department"))
	before, err := d.Get(ctx, at)
	check(t, err)
	check(t, staff.Merge(ctx, es[0], email.Set("a")))
	checkAll(t, s)

	// A handle that has read the department before finds it changed.
	before.Value.Budget = 8
	if err := d.Replace(ctx, before); !errors.Is(err, table.ErrChanged) {
		t.Errorf("replace of a changed department: got error %v; want ErrChanged", err)
	}
	// Its own writers keep the details.
	_, err = d.Update(ctx, at, func(d *department) error { d.Budget = 7; return nil })
	check(t, err)
	checkAll(t, s)
	if err := staff.Merge(ctx, es[1], email.Set("a")); !errors.Is(err, table.ErrTaken) {
		t.Errorf("second head: got error %v; want ErrTaken", err)
	}
	// A new head, the old one gone, in one transaction. In the other order, the place of the head is taken.
	_, err = table.Transact(ctx, staff.MergeOp(es[1], email.Set("a")), staff.DeleteOp(es[0]))
	var be *table.BatchError
	if !errors.Is(err, table.ErrTaken) || !errors.As(err, &be) || be.Index != 0 {
		t.Errorf("a new head before the old one is deleted: got error %v; want ErrTaken and a *BatchError with index 0", err)
	}
	checkAll(t, s)
	_, err = table.Transact(ctx, staff.DeleteOp(es[0]), staff.MergeOp(es[1], email.Set("a")))
	check(t, err)
	checkAll(t, s)
	check(t, staff.Merge(ctx, es[1], last.Set("Smith")))
	checkAll(t, s)

	// Without a department there is no target.
	_, err = staff.Insert(ctx, &worker{"T", 1, "Jones", "a", 30, nil})
	var de *table.DerivedError
	if !errors.Is(err, index.ErrNoTarget) || !errors.As(err, &de) || de.Maintainer != "head" {
		t.Errorf("head without a department: got error %v; want ErrNoTarget in a *DerivedError of head", err)
	}
	check(t, d.DeleteAny(ctx, at))
	check(t, staff.Merge(ctx, es[1], email.Set("")))

	// Details are not written into a department that has derived rows of its own.
	byBudget, err := baretest.Attach(d, index.New("budget", keys.Digits[int](4), func(d *department) (int, bool) { return d.Budget, true }, nil))
	check(t, err)
	_, err = byBudget.Insert(ctx, &department{Name: "S", Budget: 7})
	check(t, err)
	if err := staff.Merge(ctx, es[1], email.Set("a")); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("head of a department with derived rows: got error %v; want ErrUnknownMaintainer", err)
	}
}

// TestFullList: a write into a full list fails with an error that names the alternative, and nothing is lost.
func TestFullList(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, teams)
	const most = 500 << 10 / 9 // w_000000 and what separates it
	rows := openAs(t, s.ConnectionString(), s, table.Schema[table.Row]{})
	list := &table.Row{Key: keys.At(sales, keys.RawRow("team_Jones"))}
	for at, n := 0, 1; at < most; n++ {
		var part []string
		for ; len(part) < 3000 && at < most; at++ {
			part = append(part, fmt.Sprintf("w_%06d", at))
		}
		name := "EmployeeIDs"
		if n > 1 {
			name += fmt.Sprint(n)
		}
		check(t, list.Set(name, strings.Join(part, "/")))
	}
	*list = *(*table.Row)((*stored.Row)(list).Own("team:w_"))
	_, err := door.Rows[table.Table[table.Row]](door.Table(rows), false).Insert(ctx, list)
	check(t, err)
	s.Count()
	_, err = staff.Insert(ctx, &worker{"S", 999999, "Jones", "", 1, nil})
	var full *table.LimitError
	if !errors.As(err, &full) || full.Got <= full.Max || !strings.Contains(full.Field, fmt.Sprintf("of %d members", most+1)) || !strings.Contains(err.Error(), "one row for each member") {
		t.Fatalf("insert into a full list: got error %v; want a *LimitError of %d members that contains one row for each member", err, most+1)
	}
	testkit.Expect(t, "requests", s.Count().String(), "2 get") // the list, and the key of the worker
	// A member that the list already contains fits.
	_, err = staff.Insert(ctx, &worker{"S", 5, "Jones", "", 1, nil})
	check(t, err)
	k, err := teams.Keys(ctx, staff, sales, "Jones")
	check(t, err)
	testkit.Expect(t, "members", len(k), most)
	for i, member := range k {
		if member != at(i) {
			t.Fatalf("member %d: got %v; want %v", i, member, at(i))
		}
	}
	for _, r := range s.Rows("staff") {
		for _, p := range r.Properties {
			if v, ok := p.Value.(string); ok && len(v) > 32<<10 {
				t.Errorf("property %s: got %d bytes; want at most %d", p.Name, len(v), 32<<10)
			}
		}
	}
}

var manyMembers = testkit.Count("manymembers", 10_000, "members of a value in TestManyMembers")

// TestManyMembers: with one row for each of many members of a value, no write reads the other members, and the list is read page
// by page.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: 10,000 entities")
	}
	ctx := context.Background()
	staff, s := newStaff(t, byLast)
	n := *manyMembers
	t.Logf("inserting %d entities", n)
	_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for i := range n {
			if !yield(staff.InsertOp(&worker{"S", i, "Jones", "", 1, nil}), nil) {
				return
			}
		}
	}, nil)
	check(t, err)
	t.Log("writing one of them, and listing all")
	s.Count()
	e, err := staff.Insert(ctx, &worker{"S", n, "Jones", "", 1, nil})
	check(t, err)
	check(t, staff.Merge(ctx, e, last.Set("Smith")))
	check(t, staff.Merge(ctx, e, last.Set("Jones")))
	testkit.Expect(t, "requests of a write", s.Count().String(), "3 transaction")
	seen := 0
	for k, err := range byLast.Keys(ctx, staff, table.Query[worker]{Partition: sales, Rows: byLast.Value("Jones")}) {
		check(t, err)
		if k != at(seen) {
			t.Fatalf("member %d: got %v; want %v", seen, k, at(seen))
		}
		seen++
	}
	testkit.Expect(t, "members", seen, n+1)
	testkit.Expect(t, "requests of the list", s.Count().String(), fmt.Sprintf("%d query", n/1000+1))
}
