package transfer_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// TestImportEntities: entities get the derived rows of the handle that imports them, whatever they had, and a second import changes nothing.
func TestImportEntities(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, at := storagetest.New(nil), transfer.Folder(t.TempDir())
	from := openOffice(s)
	testkit.NoError(t, from.Ensure(ctx))
	for i := range 150 {
		_, err := from.staff.Insert(ctx, &person{fmt.Sprint("team", i%2), i, fmt.Sprintf("p%d@example.com", i), "city", int64(i)})
		testkit.NoError(t, err)
	}
	_, err := transfer.Export(ctx, from.staff, at, nil) // no worker has run
	testkit.NoError(t, err)
	salary := index.New("salary", keys.Digits[int64](9), func(p *person) (int64, bool) { return p.Salary, true }, nil)
	to := openOffice(storagetest.New(nil), salary)
	testkit.NoError(t, to.Ensure(ctx))
	for _, want := range []table.Progress{{Rows: 150, Changed: 150}, {Rows: 150, Counts: map[string]int{"kept": 150}}} {
		report, err := transfer.ImportEntities(ctx, transfer.Exported(at), to.staff, nil)
		testkit.NoError(t, err)
		testkit.Expect(t, "report", report, want)
	}
	testkit.NoError(t, to.Drain(ctx))
	report, err := to.Verify(ctx, nil)
	testkit.NoError(t, err)
	if report.Faults > 0 {
		t.Errorf("got %+v; want a sound store", report)
	}
	e, err := salary.Get(ctx, to.staff, team.Of("team1"), 149)
	if err != nil || e.Value.ID != 149 {
		t.Errorf("got %v, %v; want person 149", e, err)
	}
	n, err := to.members.Count(ctx, table.Query[member]{TableScan: true})
	if err != nil || n != 150 {
		t.Errorf("got %d members, %v; want 150", n, err)
	}
}

// TestMap: a function gives rows other keys and properties, or leaves them out, and properties that the type does not have stay.
func TestMap(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := filled(t, "old",
		jsonRow("Sales", "1", `"Email":"a@example.com","Note":"kept"`),
		jsonRow("Sales", "2", `"Email":"gone@example.com"`),
		jsonRow("Sales", "x", `"Email":"other"`),
		jsonRow("Sales", "~i|1", `"State":"done"`),
	)
	to := openOffice(storagetest.New(nil))
	testkit.NoError(t, to.Ensure(ctx))
	report, err := transfer.ImportEntities(ctx, transfer.Of(tableOf(t, s, "old")), to.staff, &transfer.EntityOptions{Pass: table.Pass{Skip: func(k keys.Key, _ error) bool { return k.RowKey() == "x" }}, Map: func(r *table.Row) (*table.Row, error) {
		email, _ := r.Get("Email")
		if strings.HasPrefix(email.(string), "gone") {
			return nil, nil
		}
		if err := r.Set("City", "Oslo"); err != nil {
			return nil, err
		}
		var id int
		if _, err := fmt.Sscan(r.Key.RowKey(), &id); err != nil {
			return r, nil // Skip decides about it
		}
		return r.At(keys.At(team.Of("sales"), personID.Of(id))), nil
	}})
	testkit.NoError(t, err)
	testkit.Expect(t, "report", report, table.Progress{Rows: 3, Changed: 1, Skipped: 2})
	e, err := to.email.Get(ctx, to.staff, "a@example.com")
	testkit.NoError(t, err)
	row, err := e.Row()
	testkit.NoError(t, err)
	if note, _ := row.Get("Note"); e.Value.City != "Oslo" || e.Value.Team != "sales" || note != "kept" {
		t.Errorf("got %+v with the note %v; want sales, Oslo and kept", e.Value, note)
	}
}

type long struct {
	Name string
	A, B string `table:",part=1"`
	C    string `table:",part=2"`
}

// TestImportWide: the parts of wide entities come along, and an entity whose parts are not of one version is an error about that entity.
func TestImportWide(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	schema := table.Schema[long]{Partition: keys.OnePartition[long]("p"), Row: keys.Row(keys.Text(), func(l *long) *string { return &l.Name })}
	open := func(s *storagetest.Service) *table.Table[long] {
		longs, err := bare.NewTable(s.Tables(), "longs", schema, nil)
		testkit.NoError(t, err)
		testkit.NoError(t, tabledoor.Ensure(ctx, longs))
		return longs
	}
	s, other := storagetest.New(nil), storagetest.New(nil)
	from, to := open(s), open(other)
	for _, name := range []string{"a", "a b", "b"} {
		_, err := from.Insert(ctx, &long{name, "A" + name, "B", "C" + name})
		testkit.NoError(t, err)
	}
	report, err := transfer.ImportEntities(ctx, transfer.Of(from), to, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "report", report, table.Progress{Rows: 3, Changed: 3})
	all, err := table.Collect(to.List(ctx, table.Query[long]{TableScan: true}))
	testkit.NoError(t, err)
	for _, e := range all {
		testkit.Expect(t, e.Value.Name, e.Value, long{e.Value.Name, "A" + e.Value.Name, "B", "C" + e.Value.Name})
	}
	testkit.Expect(t, "entities", len(all), 3)

	_, err = s.Tables().NewClient("longs").DeleteEntity(ctx, "p", "b!02", nil)
	testkit.NoError(t, err)
	another := open(storagetest.New(nil))
	if _, err := transfer.ImportEntities(ctx, transfer.Of(from), another, nil); !errors.As(err, new(*table.DecodeError)) {
		t.Errorf("got error %v; want a *DecodeError", err)
	}
	var skipped []string
	report, err = transfer.ImportEntities(ctx, transfer.Of(from), another, &transfer.EntityOptions{Pass: table.Pass{Skip: func(k keys.Key, err error) bool {
		skipped = append(skipped, k.RowKey())
		return true
	}}})
	testkit.NoError(t, err)
	if report.Skipped != 1 || report.Changed+report.Counts["kept"] != 2 || fmt.Sprint(skipped) != "[b]" {
		t.Errorf("got %+v, %q; want b left out, and two entities", report, skipped)
	}
}

// TestImportPrepared: an entity of a write that was under way is not imported as if it were finished.
func TestImportPrepared(t *testing.T) {
	t.Parallel()
	s := filled(t, "old", jsonRow("Sales", "000001", `"Email":"a","_tx":"x"`), jsonRow("Sales", "000002", `"Email":"b"`))
	store := aztablekit.Open(storagetest.New(nil), "office", nil)
	staff := aztablekit.Table(store, "staff", team, personID)
	testkit.NoError(t, store.Ensure(t.Context()))
	exported, err := transfer.Export(t.Context(), tableOf(t, s, "old"), transfer.Folder(t.TempDir()), nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "rows of unfinished writes in the report of the export", exported.Counts["prepared"], 1)
	_, err = transfer.ImportEntities(t.Context(), transfer.Of(tableOf(t, s, "old")), staff, nil)
	if !errors.Is(err, table.ErrIncomplete) {
		t.Errorf("got error %v; want ErrIncomplete", err)
	}
	report, err := transfer.ImportEntities(t.Context(), transfer.Of(tableOf(t, s, "old")), staff, &transfer.EntityOptions{Pass: table.Pass{Skip: func(_ keys.Key, err error) bool { return errors.Is(err, table.ErrIncomplete) }}})
	testkit.NoError(t, err)
	testkit.Expect(t, "report", report, table.Progress{Rows: 2, Changed: 1, Skipped: 1})
}

// TestImportTaken: an entity whose unique value another entity has is no entity that exists: it is refused, or left out by Skip.
func TestImportTaken(t *testing.T) {
	t.Parallel()
	s := filled(t, "old", jsonRow("Sales", "000001", `"City":"Oslo"`), jsonRow("Sales", "000002", `"City":"Oslo"`))
	store := aztablekit.Open(storagetest.New(nil), "office", nil)
	city := index.New("city", keys.Text(), func(p *person) (string, bool) { return p.City, true }, &index.Options{Unique: true})
	staff := aztablekit.Table(store, "staff", team, personID, city)
	testkit.NoError(t, store.Ensure(t.Context()))
	_, err := staff.Insert(t.Context(), &person{Team: "Sales", ID: 7, City: "Oslo"})
	testkit.NoError(t, err)
	if _, err := transfer.ImportEntities(t.Context(), transfer.Of(tableOf(t, s, "old")), staff, nil); !errors.Is(err, table.ErrTaken) {
		t.Errorf("got error %v; want ErrTaken", err)
	}
	report, err := transfer.ImportEntities(t.Context(), transfer.Of(tableOf(t, s, "old")), staff, &transfer.EntityOptions{Pass: table.Pass{Skip: func(_ keys.Key, err error) bool { return errors.Is(err, table.ErrTaken) }}})
	testkit.NoError(t, err)
	testkit.Expect(t, "report", report, table.Progress{Rows: 2, Skipped: 2})
}

// TestOptionsOfImports: Rate bounds the rows of a second, Progress is called with each transaction
// or chunk, and a negative Concurrency is refused.
func TestOptionsOfImports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		from, to := openOffice(storagetest.New(nil)), openOffice(storagetest.New(nil))
		testkit.NoError(t, from.Ensure(ctx))
		testkit.NoError(t, to.Ensure(ctx))
		for i := range 40 {
			_, err := from.staff.Insert(ctx, &person{fmt.Sprint("team", i%2), i, fmt.Sprintf("p%d@example.com", i), "city", int64(i)})
			testkit.NoError(t, err)
		}
		rows := transfer.Of(from.staff)
		var last table.Progress
		o := &transfer.EntityOptions{Pass: table.Pass{Concurrency: 1, Rate: 10, Progress: func(r table.Progress) { last = r }}}
		start := time.Now()
		report, err := transfer.ImportEntities(ctx, rows, to.staff, o)
		testkit.NoError(t, err)
		if took := time.Since(start); report.Changed != 40 || !reflect.DeepEqual(last, report) || took < 2*time.Second || took > 20*time.Second {
			t.Errorf("got %+v in %v, at last progress %+v; want 40 entities, of 3 rows each, in about 12 s", report, took, last)
		}
		_, err = transfer.ImportEntities(ctx, rows, to.staff, &transfer.EntityOptions{Pass: table.Pass{Concurrency: -1}})
		if !errors.As(err, new(*table.ValueError)) {
			t.Errorf("a negative Concurrency: got error %v; want a *table.ValueError", err)
		}
		var end table.Progress
		all, err := transfer.Import(ctx, rows, tableOf(t, storagetest.New(nil), "staff"), &transfer.ImportOptions{Pass: table.Pass{Progress: func(r table.Progress) { end = r }}})
		testkit.NoError(t, err)
		testkit.Expect(t, "rows of the last progress", end.Rows, all.Rows)
	})
}
