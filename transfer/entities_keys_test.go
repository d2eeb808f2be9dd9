package transfer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

type worker struct {
	Dept string
	ID   int
	Last string
}

type project struct {
	Dept string
	ID   int
}

// openWorks declares a table of two types.
func openWorks(t testing.TB) (*table.Table[worker], *table.Table[project], *storagetest.Service) {
	t.Helper()
	s := storagetest.New(nil)
	store := aztablekit.Open(s, "works", &aztablekit.Options{Daily: -1})
	workers := aztablekit.Table(store, "staff", keys.Partition(keys.Text(), func(w *worker) *string { return &w.Dept }),
		keys.Row(keys.Digits[int](6).Named("empid"), func(w *worker) *int { return &w.ID }))
	projects := aztablekit.Table(store, "staff", keys.Partition(keys.Text(), func(p *project) *string { return &p.Dept }),
		keys.Row(keys.Digits[int](3).Named("project"), func(p *project) *int { return &p.ID }))
	testkit.NoError(t, store.Ensure(t.Context()))
	return workers, projects, s
}

// jsonFile returns a file of JSON with a row for each key.
func jsonFile(t testing.TB, all ...keys.Key) transfer.Source {
	t.Helper()
	var b strings.Builder
	for _, k := range all {
		line, err := json.Marshal(map[string]string{"PartitionKey": k.PartitionKey(), "RowKey": k.RowKey(), "Last": "Jones"})
		testkit.NoError(t, err)
		b.Write(line)
		b.WriteByte('\n')
	}
	return transfer.JSON(text(b.String()))
}

// noRowHas are keys that no row of the service can have.
var noRowHas = []keys.Key{
	keys.Raw("Sales", "empid/000123"), keys.Raw("Sales", "empid\n000123"), keys.Raw("Sales", `empid\000123`), keys.Raw("Sales", "empid#1"),
	keys.Raw("Sales", "empid?1"), keys.Raw("Sales", "empid\u00811"), keys.Raw("Sales", strings.Repeat("k", 513)), keys.Raw("Sa/les", "empid_000123"),
	keys.Raw(strings.Repeat("ü", 513), "empid_000123"),
}

// TestWrongKeys: a row whose key is none of a declared type is never left out in silence: it is an
// error about the row, for Skip to decide.
func TestWrongKeys(t *testing.T) {
	t.Parallel()
	good := keys.Raw("Sales", "empid_000001")
	wrong := append([]keys.Key{
		keys.Raw("Sales", "empid_124"), keys.Raw("Sales", "124"), keys.Raw("Sales", "empid_0000124"), // zeros are lost, or too many
		keys.Raw("Sales", "Empid_000123"), keys.Raw("Sales", "EMPID_000123"), keys.Raw("Sales", "empid-000123"),
		keys.Raw("Sales", "empid_000123 "), keys.Raw("Sales", " empid_000123"), keys.Raw("Sales", "empid_ 00123"), keys.Raw("Sales ", "empid_000123"),
		keys.Raw("Sales", ""), keys.Raw("", "empid_000123"), keys.Raw("", ""),
		keys.Raw("Sales", "~"), keys.Raw("Sales", "~empid_000123"), keys.Raw("Sales", "~I|1"), keys.Raw("Sales", "~c|1"),
	}, noRowHas...)
	for _, k := range wrong {
		for _, way := range []string{"file", "Map"} {
			workers, _, _ := openWorks(t)
			from, o := jsonFile(t, good, k), &transfer.EntityOptions{}
			if way == "Map" {
				from = jsonFile(t, good, keys.Raw("Sales", "empid_000002"))
				o.Map = func(r *table.Row) (*table.Row, error) {
					if r.Key == good {
						return r, nil
					}
					return r.At(k), nil
				}
			}
			report, err := transfer.ImportEntities(t.Context(), from, workers, o)
			if !errors.As(err, new(*keys.KeyError)) {
				t.Errorf("%s, %q: got %+v, %v; want a *keys.KeyError", way, k, report, err)
			}
			var asked []keys.Key
			o.Skip = func(k keys.Key, err error) bool {
				asked = append(asked, k)
				return errors.As(err, new(*keys.KeyError))
			}
			report, err = transfer.ImportEntities(t.Context(), from, workers, o)
			if err != nil || report.Rows != 2 || report.Changed+report.Counts["kept"] != 1 || report.Skipped != 1 || len(asked) != 1 {
				t.Errorf("%s, %q, with Skip: got %+v, %v, asked %v; want 1 of 2 rows stored, and 1 skipped", way, k, report, err, asked)
			}
		}
	}
}

// TestOtherTypes: the rows of another declared type and the library's own are left out, each by its own import.
func TestOtherTypes(t *testing.T) {
	t.Parallel()
	workers, projects, _ := openWorks(t)
	from := jsonFile(t, keys.Raw("Sales", "empid_000001"), keys.Raw("Sales", "project_001"), keys.Raw("Sales", "project_1"),
		keys.Raw("Sales", "~i|01J9ZZZZZZ0123456789ABCDEF"), keys.Raw("~c", "~c"), keys.Raw("Sales", "~s"))
	report, err := transfer.ImportEntities(t.Context(), from, workers, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "report of workers", report, table.Progress{Rows: 3, Changed: 1, Counts: map[string]int{"others": 2}})
	var skipped []string
	report, err = transfer.ImportEntities(t.Context(), from, projects, &transfer.EntityOptions{Pass: table.Pass{Skip: func(k keys.Key, _ error) bool {
		skipped = append(skipped, k.RowKey())
		return true
	}}})
	testkit.NoError(t, err)
	testkit.Expect(t, "report of projects", report, table.Progress{Rows: 3, Changed: 1, Skipped: 1, Counts: map[string]int{"others": 1}})
	testkit.Expect(t, "skipped", fmt.Sprint(skipped), "[project_1]")
}

type named struct{ PK, RK string }

// TestNamedTypes: of types with one form of keys, the name in _type decides. A name that no type
// has is an error.
func TestNamedTypes(t *testing.T) {
	t.Parallel()
	type second struct{ PK, RK string }
	store := aztablekit.Open(storagetest.New(nil), "works", &aztablekit.Options{Daily: -1})
	first := aztablekit.Table(store, "things", keys.RawPartitionOf(func(v *named) *string { return &v.PK }), keys.RawRowOf(func(v *named) *string { return &v.RK }),
		&aztablekit.Settings[named]{Schema: table.Schema[named]{Type: "first"}})
	aztablekit.Table(store, "things", keys.RawPartitionOf(func(v *second) *string { return &v.PK }), keys.RawRowOf(func(v *second) *string { return &v.RK }),
		&aztablekit.Settings[second]{Schema: table.Schema[second]{Type: "second"}})
	testkit.NoError(t, store.Ensure(t.Context()))
	for typ, want := range map[string]table.Progress{
		"first": {Rows: 1, Changed: 1}, "": {Rows: 1, Changed: 1}, "third": {Rows: 1, Skipped: 1},
		"second": {Rows: 1, Counts: map[string]int{"others": 1}},
	} {
		line := jsonRow("p", "of"+typ, fmt.Sprintf(`"_type":%q`, typ))
		if typ == "" {
			line = jsonRow("p", "of", "")
		}
		_, err := transfer.ImportEntities(t.Context(), transfer.JSON(text(line)), first, nil)
		if is := errors.Is(err, table.ErrForeignRow); is != (typ == "third") {
			t.Errorf("type %q: got error %v; want ErrOtherType: %v", typ, err, typ == "third")
		}
		report, err := transfer.ImportEntities(t.Context(), transfer.JSON(text(strings.Replace(line, "of", "again", 1))), first, &transfer.EntityOptions{Pass: table.Pass{Skip: func(keys.Key, error) bool { return true }}})
		testkit.NoError(t, err)
		testkit.Expect(t, "report of type "+typ, report, want)
	}
}

// TestImportWrongKeys: Import sends nothing with a row whose key no row can have, of a file or by Map.
func TestImportWrongKeys(t *testing.T) {
	t.Parallel()
	good := keys.Raw("Sales", "empid_000123")
	for _, k := range noRowHas {
		for _, o := range []*transfer.ImportOptions{nil, {Map: func(r *table.Row) (*table.Row, error) { return r.At(k), nil }}} {
			s := storagetest.New(nil)
			from := jsonFile(t, k)
			if o != nil {
				from = jsonFile(t, good)
			}
			_, err := transfer.Import(t.Context(), from, tableOf(t, s, "target"), o)
			if n := s.Count(); !errors.As(err, new(*keys.KeyError)) || n[requests.Transaction]+n[requests.Insert] > 0 {
				t.Errorf("%q, Map %v: got error %v and %v; want a *keys.KeyError, and no write", k, o != nil, err, n)
			}
		}
	}
}
