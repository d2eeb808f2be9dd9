package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// importedAs stores each property of a row that one of these types has as another program's import does.
func importedAs(columns map[string]any, as func(v string) (value any, edmType string)) {
	for name := range columns {
		if columns[name+"@odata.type"] != "Edm.Int64" {
			continue
		}
		value, edmType := as(fmt.Sprint(columns[name]))
		columns[name] = value
		if value == nil {
			delete(columns, name)
		}
		columns[name+"@odata.type"] = edmType
		if edmType == "" {
			delete(columns, name+"@odata.type")
		}
	}
}

// TestImportedSummary: a summary whose numbers have other types of numbers reads as before. If they
// are no whole numbers, Get and All return a *table.DecodeError instead of zeros, verify.Repair
// repairs the row, and the next write counts the group again.
func TestImportedSummary(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		as       func(v string) (any, string)
		readable bool
	}{
		"Int32":        {func(v string) (any, string) { return json.Number(v), "" }, true},
		"whole Double": {func(v string) (any, string) { return json.Number(v + ".0"), "Edm.Double" }, true},
		"text":         {func(v string) (any, string) { return v, "" }, false},
		"Double":       {func(v string) (any, string) { return json.Number(v + ".5"), "Edm.Double" }, false},
		"Boolean":      {func(string) (any, string) { return true, "" }, false},
		"missing":      {func(string) (any, string) { return nil, "" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ages := index.NewSummary("ages", keys.Text(), func(*worker) (string, bool) { return "all", true },
				nil, index.Measure[worker]{Name: "Age", Of: func(w *worker) (int64, bool) { return int64(w.Age), true }})
			staff, s := newStaff(t, ages)
			insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Cao", "", 44, nil})
			want := index.Group[string]{Value: "all", Count: 2, Measures: map[string]index.Stat{"Age": {Count: 2, Sum: 74, Min: 30, Max: 44}}}
			damage := func() {
				overwrite(t, s, keys.Raw("S", "ages_all"), func(columns map[string]any) { importedAs(columns, c.as) })
			}
			read := func(when string, readable bool) {
				t.Helper()
				g, err := ages.Get(ctx, staff, sales, "all")
				groups, allErr := 0, error(nil)
				for group, err := range ages.All(ctx, staff, sales) {
					if allErr = errors.Join(allErr, err); err == nil {
						groups++
						testkit.Expect(t, when+": All", *group, want)
					}
				}
				if readable {
					check(t, errors.Join(err, allErr))
					testkit.Expect(t, when+": Get", *g, want)
					testkit.Expect(t, when+": count of groups", groups, 1)
					return
				}
				var de *table.DecodeError
				if !errors.As(err, &de) || de.Field != "Count" {
					t.Errorf("%s: Get: got %v, error %v; want a *DecodeError of Count", when, g, err)
				}
				if !errors.As(allErr, &de) || groups != 0 {
					t.Errorf("%s: All: got %d groups, error %v; want a *DecodeError", when, groups, allErr)
				}
			}
			damage()
			read("imported", c.readable)
			_, err := verify.Repair(ctx, staff, nil)
			check(t, err)
			read("repaired", true)
			damage()
			_, err = staff.Update(ctx, at(1), func(w *worker) error { w.Age++; return nil })
			check(t, err)
			want.Measures["Age"] = index.Stat{Count: 2, Sum: 75, Min: 31, Max: 44}
			read("written", true)
		})
	}
}

// overwriteMembers stores a number in place of the members of a list, as an import does with text of digits.
func overwriteMembers(t *testing.T, s *storagetest.Service, tableName string) {
	t.Helper()
	for _, row := range s.Rows(tableName) {
		if row.Get("Members") == nil {
			continue
		}
		body, err := json.Marshal(map[string]any{"PartitionKey": row.PartitionKey, "RowKey": row.RowKey, "Members": 12})
		check(t, err)
		_, err = s.Tables().NewClient(tableName).UpsertEntity(context.Background(), body, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
		check(t, err)
		return
	}
	t.Fatalf("table %s: got no list; want one", tableName)
}

// TestImportedList: a list whose members were imported as a number is an error of reads and of writes, which would lose its members,
// until verify.Repair has repaired it.
func TestImportedList(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	lists := index.NewLists("name", keys.Text(), func(w *worker) (string, bool) { return w.Last, true }, nil)
	staff, s := newStaff(t, lists)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 44, nil})
	overwriteMembers(t, s, "staff")
	var de *table.DecodeError
	if got, err := lists.Keys(ctx, staff, sales, "Jones"); !errors.As(err, &de) || de.Field != "Members" {
		t.Errorf("Keys: got %v, error %v; want a *DecodeError of Members", got, err)
	}
	if err := onlyError(t, "List", lists.List(ctx, staff, sales, "Jones")); !errors.As(err, &de) {
		t.Errorf("List: got error %v; want a *DecodeError", err)
	}
	if _, err := staff.Insert(ctx, &worker{"S", 3, "Jones", "", 50, nil}); !errors.As(err, &de) {
		t.Errorf("Insert: got error %v; want a *DecodeError", err)
	}
	report, err := verify.Repair(ctx, staff, nil)
	check(t, err)
	if report.Faults > 0 {
		t.Errorf("got report %+v; want sound", report)
	}
	insertAll(t, staff, s, worker{"S", 3, "Jones", "", 50, nil})
	testkit.Expect(t, "members", ids(t, lists.List(ctx, staff, sales, "Jones")), []int{1, 2, 3})
}

// TestImportedDetails: a target whose source was imported as a number is an error of a write, which would take the target of
// another entity, until verify.Repair has repaired it.
func TestImportedDetails(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	heads := index.NewDetails("head", "Head", func(w *worker) (keys.RowKey, bool) { return wid.RowKey(9), w.Last == "Head" }, last)
	staff, s := newStaff(t, heads)
	insertAll(t, staff, s, worker{"S", 9, "Target", "", 30, nil}, worker{"S", 1, "Head", "", 44, nil})
	overwrite(t, s, at(9), func(columns map[string]any) { columns["HeadRowKey"] = 1 })
	var de *table.DecodeError
	if err := staff.DeleteAny(ctx, at(1)); !errors.As(err, &de) || de.Field != "HeadRowKey" {
		t.Errorf("Delete: got error %v; want a *DecodeError of HeadRowKey", err)
	}
	report, err := verify.Repair(ctx, staff, nil)
	check(t, err)
	if report.Faults > 0 {
		t.Errorf("got report %+v; want sound", report)
	}
	check(t, staff.DeleteAny(ctx, at(1)))
	for _, row := range s.Rows("staff") {
		if row.Get("HeadLast") != nil {
			t.Errorf("got row %v; want no details of a deleted entity", row)
		}
	}
}

// TestImportedOwner: an index row whose owner was imported as a number is an error of reads until the row is deleted, as the error says,
// and verify.Repair has written it again.
func TestImportedOwner(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byLast)
	insertAll(t, staff, s, worker{"S", 1, "Jones", "", 30, nil}, worker{"S", 2, "Jones", "", 44, nil})
	row := rowAt("last_Jones!_w_000001")
	overwrite(t, s, row, func(columns map[string]any) { columns["_sys"] = 1 })
	const want = "property _sys is Edm.Int32 in the row ('S','last_Jones!_w_000001'), not Edm.String: another program has stored it; delete the row, and verify.Repair writes it again"
	if err := onlyError(t, "List", byLast.List(ctx, staff, sales, "Jones")); !strings.HasSuffix(err.Error(), want) {
		t.Errorf("List: got error %v; want %q at its end", err, want)
	}
	if report, err := verify.Repair(ctx, staff, nil); err != nil || report.Faults == 0 {
		t.Errorf("verify.Repair before the row is deleted: got report %+v, error %v; want a report that is not sound", report, err)
	}
	check(t, rawTable(t, s).DeleteAny(ctx, row))
	if report, err := verify.Repair(ctx, staff, nil); err != nil || report.Faults > 0 {
		t.Errorf("verify.Repair after the row is deleted: got report %+v, error %v; want a sound report", report, err)
	}
	testkit.Expect(t, "workers", ids(t, byLast.List(ctx, staff, sales, "Jones")), []int{1, 2})
}

// readsOf returns what each way to read the definitions of TestStoredTypes returns: the values as text, or the error.
func readsOf(staff *table.Table[worker], ages *index.Summary[worker, string], names *index.Lists[worker, string]) map[string]any {
	ctx := context.Background()
	reads := map[string]any{}
	note := func(name string, got any, err error) {
		reads[name] = fmt.Sprint(got)
		if err != nil {
			reads[name] = err
		}
	}
	entities := func(name string, list iter.Seq2[*table.Entity[worker], error]) {
		var all []int
		var failed error
		for e, err := range list {
			failed = err
			if err == nil {
				all = append(all, e.Value.ID)
			}
		}
		note(name, all, failed)
	}
	g, err := ages.Get(ctx, staff, sales, "all")
	if g == nil {
		g = new(index.Group[string])
	}
	note("Summary.Get", *g, err)
	var groups []index.Group[string]
	err = nil
	for g, failed := range ages.All(ctx, staff, sales) {
		err = failed
		if failed == nil {
			groups = append(groups, *g)
		}
	}
	note("Summary.All", groups, err)
	members, err := names.Keys(ctx, staff, sales, "Jones")
	note("Lists.Keys", members, err)
	entities("Lists.List", names.List(ctx, staff, sales, "Jones"))
	e, err := byEmail.Get(ctx, staff, sales, "a@x")
	id := 0
	if err == nil {
		id = e.Value.ID
	}
	note("Get of full copies", id, err)
	entities("List of full copies", byEmail.List(ctx, staff, sales, "a@x"))
	entities("List of pointers", byLast.List(ctx, staff, sales, "Jones"))
	var ks []keys.Key
	err = nil
	for k, failed := range byLast.Keys(ctx, staff, table.Query[worker]{Partition: sales}) {
		err = failed
		if failed == nil {
			ks = append(ks, k)
		}
	}
	note("Keys of pointers", ks, err)
	entities("List of projected copies", byAge.List(ctx, staff, sales, 30))
	return reads
}

// TestStoredTypes stores each property of each derived row with each type: a read returns what it returned before, or an error that
// names the property.
func TestStoredTypes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	own := map[string]bool{"Dept": true, "ID": true, "Last": true, "Email": true, "Age": true, "Tags": true, reserved.OperationID: true}
	age := []index.Measure[worker]{{Name: "Years", ExactUpTo: -1, Of: func(w *worker) (int64, bool) { return int64(w.Age), true }}}
	ages := index.NewSummary("ages", keys.Text(), func(*worker) (string, bool) { return "all", true }, nil, age...)
	names := index.NewLists("names", keys.Text(), func(w *worker) (string, bool) { return w.Last, true }, nil)
	newScene := func(t *testing.T) (*table.Table[worker], *storagetest.Service) {
		staff, s := newStaff(t, ages, names, byEmail, byLast, byAge)
		insertAll(t, staff, s, worker{"S", 1, "Jones", "a@x", 30, nil}, worker{"S", 2, "Jones", "b@x", 30, nil}, worker{"S", 3, "Cao", "c@x", 20, nil})
		check(t, staff.DeleteAny(ctx, at(3))) // the bounds are approximate
		return staff, s
	}
	staff, s := newScene(t)
	want := readsOf(staff, ages, names)
	for name, got := range want {
		if err, is := got.(error); is {
			t.Fatalf("%s: got error %v; want none", name, err)
		}
	}
	damaged := 0
	for _, row := range s.Rows("staff") {
		if wid.Rows().All().Contains(row.RowKey) {
			continue // an entity
		}
		for _, p := range row.Properties {
			if own[p.Name] {
				continue
			}
			n, _ := p.Value.(int64)
			_, isText := p.Value.(string)
			for typ, column := range testkit.EachType(p.Name, n) {
				if isText && typ == "text" {
					continue // another member, or another owner
				}
				damaged++
				staff, s := newScene(t)
				body := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,%s}`, row.PartitionKey, row.RowKey, column)
				_, err := s.Tables().NewClient("staff").UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
				check(t, err)
				for name, got := range readsOf(staff, ages, names) {
					err, failed := got.(error)
					var de *table.DecodeError
					switch {
					case failed && !errors.As(err, &de) && !errors.Is(err, table.ErrForeignRow):
						t.Errorf("%s, property %s of %s as %s: got error %v; want a *DecodeError or ErrForeignRow", name, p.Name, row.RowKey, typ, err)
					case failed && de != nil && de.Field != p.Name:
						t.Errorf("%s, property %s of %s as %s: got error %v; want one that names the property", name, p.Name, row.RowKey, typ, err)
					case !failed && got != want[name]:
						t.Errorf("%s, property %s of %s as %s: got %v; want %v or an error", name, p.Name, row.RowKey, typ, got, want[name])
					}
				}
			}
		}
	}
	if damaged < 100 {
		t.Errorf("got %d damaged properties; want at least 100", damaged)
	}
}
