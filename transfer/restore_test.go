package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

type person struct {
	Team        string
	ID          int
	Email, City string
	Salary      int64
}

type member struct {
	City string
	ID   int
}

var (
	team     = keys.Partition(keys.Text(), func(p *person) *string { return &p.Team })
	personID = keys.Row(keys.Digits[int](6), func(p *person) *int { return &p.ID })
	inCity   = keys.Partition(keys.Text(), func(m *member) *string { return &m.City })
	memberID = keys.Row(keys.Digits[int](6), func(m *member) *int { return &m.ID })
)

// office is a store with definitions of all kinds.
type office struct {
	*aztablekit.Store
	staff   *table.Table[person]
	members *table.Table[member]
	city    *index.Index[person, string]
	email   *index.Unique[person, string]
}

func openOffice(s *storagetest.Service, more ...aztablekit.Definition[person]) *office {
	o := &office{Store: aztablekit.Open(s, "office", &aztablekit.Options{Daily: -1})}
	city := func(p *person) (string, bool) { return p.City, p.City != "" }
	o.city = index.New("city", keys.Text(), city, nil)
	o.email = index.NewUnique("email", keys.Text(), func(p *person) (string, bool) { return p.Email, p.Email != "" }, nil)
	o.members = aztablekit.Table(o.Store, "members", inCity, memberID)
	view := materialized.New("members", o.members, func(p *person, _ keys.Key) (member, bool) { return member{p.City, p.ID}, p.City != "" })
	cities := index.NewSummary("cities", keys.Text(), city, nil)
	all := append([]aztablekit.Definition[person]{o.city, o.email, cities, view}, more...)
	o.staff = aztablekit.Table(o.Store, "staff", team, personID, all...)
	return o
}

// TestRestore: a store whose tables are exported with effects that are due is complete and sound after an import.
func TestRestore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storagetest.New(nil)
	from := openOffice(s)
	testkit.NoError(t, from.Ensure(ctx))
	for i := range 60 {
		_, err := from.staff.Insert(ctx, &person{fmt.Sprint("team", i%3), i, fmt.Sprintf("p%d@example.com", i), fmt.Sprint("city", i%4), int64(i)})
		testkit.NoError(t, err)
		if i == 40 {
			testkit.NoError(t, from.Drain(ctx)) // the rest is due
		}
	}
	backups := map[string]transfer.Place{}
	pending := 0
	for _, name := range s.TableNames() {
		backups[name] = transfer.Folder(t.TempDir())
		report, err := transfer.Export(ctx, tableOf(t, s, name), backups[name], nil)
		testkit.NoError(t, err)
		pending += report.Counts["pending"]
	}
	testkit.Expect(t, "commit records with effects that are due", pending, 19)

	other := storagetest.New(nil)
	for name, at := range backups {
		_, err := transfer.Import(ctx, transfer.Exported(at), tableOf(t, other, name), nil)
		testkit.NoError(t, err)
		expectSame(t, s, name, other, name)
	}
	to := openOffice(other)
	testkit.NoError(t, to.Ensure(ctx))
	_, err := to.NotifyPending(ctx, "staff", -1, nil)
	testkit.NoError(t, err)
	testkit.NoError(t, to.Drain(ctx))
	report, err := to.Verify(ctx, nil)
	testkit.NoError(t, err)
	if report.Faults > 0 || report.Rows == 0 || report.Counts["pending"] != 0 {
		t.Errorf("got %+v; want a sound store", report)
	}
	e, err := to.email.Get(ctx, to.staff, "p59@example.com")
	if err != nil || e.Value.ID != 59 {
		t.Errorf("got %v, %v; want person 59", e, err)
	}
	all, err := table.Collect(to.city.List(ctx, to.staff, team.Of("team0"), "city0"))
	if err != nil || len(all) != 5 {
		t.Errorf("got %d of city0, %v; want 5", len(all), err)
	}
	n, err := to.members.Count(ctx, table.Query[member]{TableScan: true})
	if err != nil || n != 60 {
		t.Errorf("got %d members, %v; want 60", n, err)
	}
}

// TestOtherDefinitions: an import into a table whose definitions differ is refused, unless that is wanted; then a repair makes the table sound.
func TestOtherDefinitions(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, at := storagetest.New(nil), transfer.Folder(t.TempDir())
	from := openOffice(s)
	testkit.NoError(t, from.Ensure(ctx))
	for i := range 10 {
		_, err := from.staff.Insert(ctx, &person{"team", i, fmt.Sprintf("p%d@example.com", i), "city", 1})
		testkit.NoError(t, err)
	}
	testkit.NoError(t, from.Drain(ctx))
	_, err := transfer.Export(ctx, from.staff, at, nil)
	testkit.NoError(t, err)
	restore := func(to *office, o *transfer.ImportOptions) error {
		t.Helper()
		_, err := transfer.Import(ctx, transfer.Exported(at), to.staff, o)
		return err
	}
	same := openOffice(storagetest.New(nil))
	testkit.NoError(t, same.Ensure(ctx))
	testkit.NoError(t, restore(same, nil))

	salary := index.New("salary", keys.Digits[int64](9), func(p *person) (int64, bool) { return p.Salary, true }, nil)
	more := openOffice(storagetest.New(nil), salary)
	testkit.NoError(t, more.Ensure(ctx))
	if err := restore(more, nil); !errors.Is(err, table.ErrNotDeclared) {
		t.Fatalf("got error %v; want ErrNotDeclared", err)
	}
	testkit.NoError(t, restore(more, &transfer.ImportOptions{OtherDefinitions: true}))
	_, err = more.Repair(ctx, nil)
	testkit.NoError(t, err)
	testkit.NoError(t, more.Drain(ctx))
	report, err := more.Verify(ctx, nil)
	testkit.NoError(t, err)
	if report.Faults > 0 {
		t.Errorf("got %+v; want a sound store", report)
	}
	all, err := table.Collect(salary.List(ctx, more.staff, team.Of("team"), 1))
	if err != nil || len(all) != 10 {
		t.Errorf("got %d, %v; want 10", len(all), err)
	}
}

// TestModes: what an import does with rows that are stored already.
func TestModes(t *testing.T) {
	t.Parallel()
	rows := func(n int) (all []string) {
		for i := range 5 {
			all = append(all, jsonRow("p", fmt.Sprint(i), fmt.Sprintf(`"N":%d`, n)))
		}
		return all
	}
	for mode, want := range map[transfer.Mode]table.Progress{
		transfer.Insert:  {Rows: 5, Changed: 1, Counts: map[string]int{"kept": 4}},
		transfer.Replace: {Rows: 5, Changed: 5},
		transfer.Newer:   {Rows: 5, Changed: 3, Counts: map[string]int{"kept": 2}},
	} {
		now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		o := &storagetest.Options{Now: func() time.Time { return now }}
		from, to := storagetest.New(o), storagetest.New(o)
		fill(t, to, "staff", rows(1)[:2]...)
		now = now.Add(time.Second)
		fill(t, from, "staff", rows(2)...)
		now = now.Add(time.Second)
		fill(t, to, "staff", rows(1)[2:4]...)
		var kept []string
		report, err := transfer.Copy(t.Context(), tableOf(t, from, "staff"), tableOf(t, to, "staff"), &transfer.ImportOptions{
			Mode: mode, Kept: func(k keys.Key) { kept = append(kept, k.RowKey()) },
		})
		testkit.NoError(t, err)
		testkit.Expect(t, fmt.Sprint("mode ", mode), report, want)
		testkit.Expect(t, "kept", len(kept), want.Counts["kept"])
		for i, r := range to.Rows("staff") {
			old := mode == transfer.Insert && i < 4 || mode == transfer.Newer && (i == 2 || i == 3)
			if n := r.Get("N"); (n == int32(1)) != old {
				t.Errorf("mode %d, row %d: got N %v; want the old row: %t", mode, i, n, old)
			}
		}
	}
}

// TestCompare: what differs between two tables.
func TestCompare(t *testing.T) {
	t.Parallel()
	s := filled(t, "one", jsonRow("a", "1", `"X":1`), jsonRow("a", "2", `"X":1`), jsonRow("b", "1", `"X":1,"Y":"2","_op":"x"`), jsonRow("b", "~i|1", ""))
	fill(t, s, "two", jsonRow("a", "2", `"X":1`), jsonRow("b", "1", `"X":1,"Y":2,"Z":3,"_op":"y"`), jsonRow("c", "1", ""))
	for entitiesOnly, want := range map[bool]string{
		false: "[only in the first a/1 [] different b/1 [Y Z _op] only in the first b/~i|1 [] only in the second c/1 []]",
		true:  "[only in the first a/1 [] different b/1 [Y Z] only in the second c/1 []]",
	} {
		var got []string
		for d, err := range transfer.Compare(t.Context(), transfer.Of(tableOf(t, s, "one")), transfer.Of(tableOf(t, s, "two")), &transfer.CompareOptions{EntitiesOnly: entitiesOnly}) {
			testkit.NoError(t, err)
			got = append(got, fmt.Sprintf("%v %s/%s %v", d.Kind, d.Key.PartitionKey(), d.Key.RowKey(), d.Properties))
		}
		testkit.Expect(t, "differences", fmt.Sprint(got), want)
		last := ""
		one, two := transfer.Of(tableOf(t, s, "one")), transfer.Of(tableOf(t, s, "two"))
		for d, err := range transfer.Compare(t.Context(), two, one, nil) {
			testkit.NoError(t, err)
			last = d.Kind
		}
		testkit.Expect(t, "the other way round, at last", last, transfer.OnlyFirst)
	}
}

// TestBadInput: each wrong argument gives an error that names it, and nothing is written.
func TestBadInput(t *testing.T) {
	t.Parallel()
	s, at := filled(t, "staff", manyRows(1, 3)...), transfer.Folder(t.TempDir())
	staff, ctx := tableOf(t, s, "staff"), t.Context()
	_, err := transfer.Export(ctx, staff, at, nil)
	testkit.NoError(t, err)
	export := func(t table.Handle, at transfer.Place, o *transfer.ExportOptions) error {
		_, err := transfer.Export(context.WithoutCancel(ctx), t, at, o)
		return err
	}
	imported := func(from transfer.Source, t table.Handle, o *transfer.ImportOptions) error {
		_, err := transfer.Import(ctx, from, t, o)
		return err
	}
	compared := func(a, b transfer.Source) (err error) {
		for _, err = range transfer.Compare(ctx, a, b, nil) {
		}
		return err
	}
	none := &transfer.Memory{}
	var (
		ve *table.ValueError
		ke *keys.KeyError
		me *transfer.FileError
	)
	for name, c := range map[string]struct {
		err error
		as  any
	}{
		"export of nil":          {export(nil, at, nil), &ve},
		"export to nil":          {export(staff, nil, nil), &ve},
		"negative chunks":        {export(staff, at, &transfer.ExportOptions{ChunkBytes: -1}), &ve},
		"negative concurrency":   {export(staff, at, &transfer.ExportOptions{Pass: table.Pass{Concurrency: -1}}), &ve},
		"negative time":          {export(staff, at, &transfer.ExportOptions{ChunkTime: -1}), &ve},
		"negative rate":          {export(staff, at, &transfer.ExportOptions{Pass: table.Pass{Rate: -1}}), &ve},
		"a wrong part":           {export(staff, none, &transfer.ExportOptions{Part: keys.RawPartitions("b", "a")}), &ke},
		"a wrong range":          {export(staff, at, &transfer.ExportOptions{Pass: table.Pass{Partitions: keys.RawPartitions("b", "a")}}), &ke},
		"another range":          {export(staff, at, &transfer.ExportOptions{Pass: table.Pass{Partitions: keys.RawPartitions("a", "b")}}), &me},
		"another table":          {export(tableOf(t, filled(t, "other"), "other"), at, nil), &me},
		"import from nil":        {imported(nil, staff, nil), &ve},
		"import into nil":        {imported(transfer.Exported(at), nil, nil), &ve},
		"import from no place":   {imported(transfer.Exported(nil), staff, nil), &ve},
		"import from no table":   {imported(transfer.Of(nil), staff, nil), &ve},
		"import in another mode": {imported(transfer.Exported(at), staff, &transfer.ImportOptions{Mode: 3}), &ve},
		"import: concurrency":    {imported(transfer.Exported(at), staff, &transfer.ImportOptions{Pass: table.Pass{Concurrency: -1}}), &ve},
		"import: rate":           {imported(transfer.Exported(at), staff, &transfer.ImportOptions{Pass: table.Pass{Rate: -1}}), &ve},
		"compare with nil":       {compared(transfer.Exported(at), nil), &ve},
		"compare nil":            {compared(nil, transfer.Of(staff)), &ve},
	} {
		if c.err == nil || !errors.As(c.err, c.as) {
			t.Errorf("%s: got %v; want a %T", name, c.err, c.as)
		}
	}
	if err := compared(transfer.Exported(none), transfer.Of(staff)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a place that a wrong part was given to: got %v; want ErrNotExist", err)
	}
	if err := export(tableOf(t, s, "missing"), transfer.Folder(t.TempDir()), nil); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("export of a missing table: got %v; want ErrNotCreated", err)
	}
	if err := export(staff, transfer.Container(s.Blobs().NewContainerClient("missing"), "", nil), nil); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("export to a missing container: got %v; want ErrNotCreated", err)
	}
}
