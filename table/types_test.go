package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// person is the third version of a type: the first had Name, the second First and Last, the third calls Last Family.
type person struct {
	ID            int
	First, Family string
	Age           int32
}

// personSchema upgrades both older versions.
func personSchema() table.Schema[person] {
	return table.Schema[person]{
		Partition: keys.OnePartition[person]("p"),
		Row:       keys.Row(keys.Digits[int](3), func(p *person) *int { return &p.ID }),
		Type:      "person",
		Version:   2,
		Upgrade: map[int]func(*table.Row) error{
			0: func(r *table.Row) error {
				name, _ := r.Get("Name")
				first, last, ok := strings.Cut(fmt.Sprint(name), " ")
				if !ok {
					return errors.New("a name without a space")
				}
				r.Delete("Name")
				return errors.Join(r.Set("First", first), r.Set("Last", last))
			},
			1: func(r *table.Row) error {
				last, _ := r.Get("Last")
				r.Delete("Last")
				return r.Set("Family", last)
			},
		},
	}
}

// personTable is the table of a service that contains one row and accepts every write.
func personTable(t testing.TB, properties string) (*table.Table[person], *fakeTransport) {
	t.Helper()
	row := `{"odata.etag":"W/\"x\"","PartitionKey":"p","RowKey":"007",` + properties + `}`
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		switch {
		case r.Method != http.MethodGet:
			return noContent(), nil
		case strings.Contains(r.URL.Path, "()"):
			return jsonResponse(200, `{"value":[`+row+`]}`), nil
		}
		return jsonResponse(200, row), nil
	}}
	tab, err := bare.NewTable(sdkClient(t, w), "people", personSchema(), singleAttempt())
	noError(t, err)
	return tab, w
}

var personKey = keys.At(keys.RawPartition("p"), keys.RawRow("007"))

// TestVersions: rows of each older version are read as the newest version, and written as it.
func TestVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	family := table.FieldOf(func(p *person) *string { return &p.Family })
	for stored, old := range map[string]bool{
		`"Name":"James Bond","Age":40,"Badge":"x","_life":"o"`:                                      true,
		`"_type":"person","Name":"James Bond","Age":40,"Badge":"x","_life":"o"`:                     true,
		`"First":"James","Last":"Bond","Age":40,"Badge":"x","_type":"person","_v":1,"_life":"o"`:    true,
		`"_type":"person","_v":2,"First":"James","Family":"Bond","Age":40,"Badge":"x","_life":"o"`:  false,
		`"_v@odata.type":"Edm.Int64","_v":"2","First":"James","Family":"Bond","Age":40,"Badge":"x"`: false,
	} {
		tab, w := personTable(t, stored)
		e, err := tab.Get(ctx, personKey)
		if err != nil || e.Value != (person{7, "James", "Bond", 40}) {
			t.Errorf(`%s: got %+v, %v; want no error and e.Value == person{7, "James", "Bond", 40}`, stored, e, err)
			continue
		}
		for l, err := range tab.List(ctx, table.Query[person]{}) {
			if err != nil || l.Value != e.Value {
				t.Errorf("%s, listed: got %+v, %v; want no error and l.Value == e.Value", stored, l, err)
			}
		}
		if n, err := tab.Count(ctx, table.Query[person]{}); n != 1 || err != nil {
			t.Errorf("%s: got %d, %v; want n == 1 and no error", stored, n, err)
		}
		if err := tab.Merge(ctx, e, family.Set("Bourne")); errors.Is(err, errs.ErrOldVersion) != old || !old && err != nil {
			t.Errorf("%s: Merge: got %v; want ErrOldVersion: %v", stored, err, old)
		}
		e, err = tab.Get(ctx, personKey)
		noError(t, err)
		e.Value.Age++
		if err := tab.Replace(ctx, e); err != nil {
			t.Errorf("%s: got %v; want no error", stored, err)
		}
		body := w.last().body
		for _, want := range []string{`"_type":"person"`, `"_v":2`, `"Age":41`, `"Badge":"x"`, `"Family":"Bond"`} {
			if strings.Count(body, want) != 1 {
				t.Errorf("%s: got body %s; want %s in it once", stored, body, want)
			}
		}
		if strings.Contains(body, `"Name"`) || strings.Contains(body, `"Last"`) || strings.Contains(stored, "_life") != strings.Contains(body, `"_life":"o"`) {
			t.Errorf("%s: got body %s; want `\"Name\"` not in body and `\"Last\"` not in body and \"_life\" in stored == %v", stored, body, strings.Contains(body, `"_life":"o"`))
		}
		if err := tab.Merge(ctx, e, family.Set("Bourne")); err != nil {
			t.Errorf("Merge after the replace: got %v; want no error", err)
		}
		if body := w.last().body; strings.Contains(body, "_v") {
			t.Errorf("Merge: got body %s; want no _v in it", body)
		}
	}
	tab, w := personTable(t, `"_type":"person","_v":2`)
	for _, family := range []string{"Bond", strings.Repeat("B", 20_000)} { // the second and its first name are a large entity
		if _, err := tab.Insert(ctx, &person{7, family, family, 40}); err != nil || strings.Count(w.last().body, `"_type":"person","_v":2`) != 1 {
			t.Errorf("insert: got error %v, body %.200s; want no error, and `\"_type\":\"person\",\"_v\":2` once", err, w.last().body)
		}
	}
}

// TestVersionsRefused: a row of an unknown version is not read, and a write that could mix two versions is refused.
func TestVersionsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	newer, w := personTable(t, `"_type":"person","_v":3,"First":"James"`)
	_, err := newer.Get(ctx, personKey)
	var ve *table.VersionError
	if !errors.As(err, &ve) || ve.Got != 3 || ve.Want != 2 || ve.Type != "person" {
		t.Errorf(`got %v; want a *VersionError and ve.Got == 3 and ve.Want == 2 and ve.Type == "person"`, err)
	}
	_, err = newer.Update(ctx, personKey, func(*person) error { t.Error("Update called its function; want no call"); return nil })
	if !errors.As(err, &ve) {
		t.Errorf("got %v; want a *VersionError", err)
	}
	for _, err := range newer.List(ctx, table.Query[person]{}) {
		if !errors.As(err, &ve) {
			t.Errorf("got %v; want a *VersionError", err)
		}
	}
	if _, err := newer.Count(ctx, table.Query[person]{}); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *VersionError", err)
	}

	old, _ := personTable(t, `"Name":"Madonna"`)
	if _, err := old.Get(ctx, personKey); err == nil || !strings.Contains(err.Error(), "upgrade from version 0: a name without a space") {
		t.Errorf(`got %v; want an error and "upgrade from version 0: a name without a space" in the error`, err)
	}
	type age struct{ Age int32 }
	ages, err := table.ViewOf[age](old)
	noError(t, err)
	if _, err := ages.Get(ctx, personKey); !errors.As(err, &ve) || ve.Got != 0 || ve.Want != 2 {
		t.Errorf("got %v; want a *VersionError and ve.Got == 0 and ve.Want == 2", err)
	}
	var value *table.ValueError
	if err := old.MergeAny(ctx, personKey, table.FieldOf(func(p *person) *int32 { return &p.Age }).Set(1)); !errors.As(err, &value) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	if _, err := old.Upsert(ctx, &person{ID: 7}, table.MergeExisting); !errors.As(err, &value) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	// A merge of an entity of unknown version is refused.
	family := table.FieldOf(func(p *person) *string { return &p.Family })
	if err := old.Merge(ctx, &table.Entity[person]{Key: personKey, ETag: etag}, family.Set("Bourne")); !errors.Is(err, table.ErrNotRead) {
		t.Errorf("got %v; want ErrPartial", err)
	}
	schema := personSchema()
	schema.Version, schema.Upgrade = 1, nil
	added, err := bare.NewTable(sdkClient(t, w), "people", schema, singleAttempt())
	noError(t, err)
	if _, err := added.Upsert(ctx, &person{ID: 7}, table.MergeExisting); !errors.As(err, &value) {
		t.Errorf("Upsert that merges into any version: got %v; want a *ValueError", err)
	}
	if err := added.MergeAny(ctx, personKey, family.Set("x")); !errors.As(err, &value) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	// The first release of a program has no versions, and reads a row of a later release.
	schema.Type, schema.Version = "", 0
	first, err := bare.NewTable(sdkClient(t, w), "people", schema, singleAttempt())
	noError(t, err)
	if _, err := first.Update(ctx, personKey, func(*person) error { t.Error("Update called its function; want no call"); return nil }); !errors.As(err, &ve) || ve.Got != 3 || ve.Want != 0 {
		t.Errorf("the first release: got %v; want a *VersionError and ve.Got == 3 and ve.Want == 0", err)
	}
	for _, err := range newer.GetMany(ctx, personKey) {
		if !errors.As(err, &ve) {
			t.Errorf("got %v; want a *VersionError", err)
		}
	}
	for _, odd := range []string{`"_v":"two"`, `"_v":-1`, `"_type":5`} {
		tab, _ := personTable(t, odd)
		if _, err := tab.Get(ctx, personKey); err == nil {
			t.Errorf("%s: got no error; want one", odd)
		}
	}
	w.sent = nil
	for what, change := range map[string]func(*table.Schema[person]){
		"negative":    func(s *table.Schema[person]) { s.Version = -1 },
		"no function": func(s *table.Schema[person]) { s.Upgrade = map[int]func(*table.Row) error{0: nil} },
		"the newest":  func(s *table.Schema[person]) { s.Upgrade = map[int]func(*table.Row) error{2: s.Upgrade[0]} },
		"below 0":     func(s *table.Schema[person]) { s.Upgrade = map[int]func(*table.Row) error{-1: s.Upgrade[0]} },
	} {
		s := personSchema()
		change(&s)
		if _, err := bare.NewTable(sdkClient(t, w), "people", s, singleAttempt()); !errors.As(err, &value) {
			t.Errorf("%s: got %v; want a *ValueError", what, err)
		}
	}
}

// TestPinnedOldVersion: a pinned row of an older version keeps its version.
func TestPinnedOldVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tab, w := personTable(t, `"Name":"James Bond"`)
	e, err := tab.Get(ctx, personKey)
	noError(t, err)
	w.respond = func(*http.Request, string) (*http.Response, error) { return batchResponse(batchBody(donePart(1))) }
	if _, err := table.Transact(ctx, tabledoor.PinOp(tab, e)); err != nil || string(e.ETag) != etagOf(1) {
		t.Fatalf("got %v; want no error and string(e.ETag) == etagOf(1)", err)
	}
	if err := tab.Merge(ctx, e, table.FieldOf(func(p *person) *string { return &p.Family }).Set("Bourne")); !errors.Is(err, errs.ErrOldVersion) {
		t.Errorf("Merge of another version: got %v; want ErrOldVersion", err)
	}
	if _, err := table.Transact(ctx, tab.ReplaceOp(e)); err != nil || !strings.Contains(w.last().body, `"Family":"Bond"`) {
		t.Errorf("got %v, %s; want no error and `\"Family\":\"Bond\"` in w.last().body", err, w.last().body)
	}
}

// TestOtherType: a row with the name of another type is foreign, even if its RowKey fits.
func TestOtherType(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tab, w := personTable(t, `"_type":"company","Name":"Contoso"`)
	if _, err := tab.Get(ctx, personKey); !errors.Is(err, table.ErrForeignRow) {
		t.Errorf("got %v; want ErrOtherType", err)
	}
	var stats table.Stats
	for e, err := range tab.List(ctx, table.Query[person]{Stats: &stats}) {
		t.Errorf("got %+v, %v; want no entity", e, err)
	}
	if stats.Foreign != 1 {
		t.Errorf("got %+v; want stats.Foreign == 1", stats)
	}
	type age struct{ Age int32 }
	ages, err := table.ViewOf[age](tab)
	noError(t, err)
	for e, err := range ages.List(ctx, table.Query[person]{}) {
		t.Errorf("got %+v, %v; want no entity", e, err)
	}
	if q := w.last().query; !strings.Contains(q, "%24select=PartitionKey%2CRowKey%2C_type%2C_v%2CAge") {
		t.Errorf(`got %q; want "%%24select=PartitionKey%%2CRowKey%%2C_type%%2C_v%%2CAge" in q`, q)
	}
	if n, err := tab.Count(ctx, table.Query[person]{}); n != 0 || err != nil {
		t.Errorf("got %v, %v; want n == 0 and no error", n, err)
	}
	if yes, err := baretest.Exists(ctx, tab, personKey); !yes || err != nil {
		t.Errorf("got %v, %v; want yes and no error", yes, err)
	}
}

// TestRowsAreEntities: a Table[Row] reads, changes and writes rows of unknown types, and keeps their types and system
// properties.
func TestRowsAreEntities(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, w := personTable(t, `"_type":"person","_v":2,"First":"James","D":3.0,"L@odata.type":"Edm.Int64","L":"5","_life":"o"`)
	rows, err := bare.NewTable(sdkClient(t, w), "people", table.Schema[table.Row]{}, singleAttempt())
	noError(t, err)
	e, err := rows.Update(ctx, personKey, func(r *table.Row) error {
		r.Delete("First")
		r.Delete("_life") // which Delete ignores
		return errors.Join(r.Set("Seen", time.Unix(0, 0)), r.Set("L", int64(6)), r.Set("Nothing", nil))
	})
	noError(t, err)
	if got := w.last().body; got != `{"D":3,"D@odata.type":"Edm.Double","L":"6","L@odata.type":"Edm.Int64","PartitionKey":"p","RowKey":"007","Seen":"1970-01-01T00:00:00Z","Seen@odata.type":"Edm.DateTime","_life":"o","_type":"person","_v":2}` {
		t.Errorf("got %q; want %q", got, `{"D":3,"D@odata.type":"Edm.Double","L":"6","L@odata.type":"Edm.Int64","PartitionKey":"p","RowKey":"007","Seen":"1970-01-01T00:00:00Z","Seen@odata.type":"Edm.DateTime","_life":"o","_type":"person","_v":2}`)
	}
	if e.Value.Key != personKey || e.Key != personKey {
		t.Errorf("got %+v; want e.Value.Key == personKey and e.Key == personKey", e)
	}
	// A copy does not share changes.
	copied := e.Value
	noError(t, copied.Set("D", 4.0))
	if d, _ := e.Value.Get("D"); d != 3.0 {
		t.Errorf("after a change of the copy: got %v; want 3.0", d)
	}
	// Another row as the value keeps the entity's system properties, and adds none of its own.
	_, other := personTable(t, `"_type":"company","_life":"theirs","_ix":"theirs","First":"Jim"`)
	strangers, err := bare.NewTable(sdkClient(t, other), "people", table.Schema[table.Row]{}, singleAttempt())
	noError(t, err)
	stranger, err := strangers.Get(ctx, personKey)
	noError(t, err)
	e.Value = stranger.Value
	if err := rows.Replace(ctx, e); err != nil || w.last().body != `{"First":"Jim","PartitionKey":"p","RowKey":"007","_life":"o","_type":"person","_v":2}` {
		t.Errorf("got %v, %s; want no error and w.last().body == `{\"First\":\"Jim\",\"PartitionKey\":\"p\",\"RowKey\":\"007\",\"_life\":\"o\",\"_type\":\"person\",\"_v\":2}`", err, w.last().body)
	}
	// The key of a row cannot be changed.
	e.Value.Key = keys.At(keys.RawPartition("p"), keys.RawRow("008"))
	if err := rows.Replace(ctx, e); !errors.Is(err, table.ErrKeyChanged) {
		t.Errorf("got %v; want ErrKeyChanged", err)
	}
	var fresh table.Row
	fresh.Key = keys.At(keys.RawPartition("p"), keys.RawRow("009"))
	noError(t, fresh.Set("Age", int32(1)))
	if _, err := rows.Insert(ctx, &fresh); err != nil || w.last().body != `{"Age":1,"PartitionKey":"p","RowKey":"009"}` {
		t.Errorf("got %v, %s; want no error and w.last().body == `{\"Age\":1,\"PartitionKey\":\"p\",\"RowKey\":\"009\"}`", err, w.last().body)
	}
	if _, err := rows.InsertAt(ctx, personKey, &fresh); err == nil {
		t.Error("InsertAt with another key: got no error; want one")
	}
	if _, err := rows.Insert(ctx, &table.Row{}); err == nil {
		t.Error("Insert without a key: got no error; want one")
	}
	var (
		ve *table.ValueError
		le *table.LimitError
	)
	for _, value := range []any{strings.Repeat("x", 40_000), make([]byte, 70_000)} {
		if err := fresh.Set("Big", value); !errors.As(err, &le) {
			t.Errorf("%T: got %v; want a *LimitError", value, err)
		}
	}
	for name, value := range map[string]any{"Bytes": "\xff", "Year": time.Date(1500, 1, 1, 0, 0, 0, 0, time.UTC), "_op": "x", "a-b": 1, "PartitionKey": "x", "Age": struct{}{}, "Text": []string{"a"}} {
		if err := fresh.Set(name, value); !errors.As(err, &ve) {
			t.Errorf("%s = %v: got %v; want a *ValueError", name, value, err)
		}
	}
	// Merges and conditions use properties by name.
	age := table.PropertyOf[int32]("Age")
	if err := rows.MergeAny(ctx, personKey, age.Set(50)); err != nil || w.last().body != `{"Age":50,"PartitionKey":"p","RowKey":"007"}` {
		t.Errorf("got %v, %s; want no error and w.last().body == `{\"Age\":50,\"PartitionKey\":\"p\",\"RowKey\":\"007\"}`", err, w.last().body)
	}
	e, err = rows.Get(ctx, personKey)
	noError(t, err)
	if err := rows.Merge(ctx, e, age.Set(51)); err != nil {
		t.Error(err)
	}
	if got, _ := e.Value.Get("Age"); got != int32(51) {
		t.Errorf("got %v; want int32(51)", got)
	}
	for _, bad := range []table.Set[table.Row]{table.PropertyOf[string]("_op").Set("x"), table.PropertyOf[string]("a-b").Set("x"), table.PropertyOf[*int]("Age").Set(nil), table.PropertyOf[chan int]("Age").Set(nil)} {
		if err := rows.MergeAny(ctx, personKey, bad); !errors.As(err, &ve) {
			t.Errorf("got %v; want a *ValueError", err)
		}
	}
	if err := rows.MergeAny(ctx, personKey, age.Set(1), age.Set(2)); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	ex, err := rows.Explain(table.Query[table.Row]{Partition: keys.RawPartition("p"), Where: table.And(age.Ge(30), table.PropertyOf[string]("_type").Eq("person"))})
	if err != nil || ex.Filter != "PartitionKey eq 'p' and (RowKey lt '~' or RowKey ge '\u00a0') and ((Age ge 30) and (_type eq 'person'))" {
		t.Errorf(`got %+v, %v; want no error and ex.Filter == "PartitionKey eq 'p' and (RowKey lt '~' or RowKey ge '\u00a0') and ((Age ge 30) and (_type eq 'person'))"`, ex, err)
	}
	if _, err := rows.Explain(table.Query[table.Row]{Partition: keys.RawPartition("p"), Where: table.PropertyOf[int]("x' or 1 eq 1").Eq(1)}); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	// Entity returns the row as Get would read it.
	people, err := bare.NewTable(sdkClient(t, w), "people", personSchema(), singleAttempt())
	noError(t, err)
	p, err := people.Entity(&e.Value)
	if err != nil || p.Value.First != "James" || p.Value.ID != 7 || p.ETag != e.Value.ETag || p.ETag == "" {
		t.Errorf(`got %+v, %v; want no error and p.Value.First == "James" and p.Value.ID == 7 and p.ETag == %q and p.ETag != ""`, p, err, e.Value.ETag)
	}
	if _, err := people.Entity(&fresh); err == nil || !strings.Contains(err.Error(), "upgrade") { // the row lacks the properties that the upgrade needs
		t.Errorf(`got %v; want an error and "upgrade" in the error`, err)
	}
	if _, err := people.Entity(nil); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
}

// TestStoredVersionTypes: the version of a row is a whole number of any type of numbers. Another type is an error that names it.
func TestStoredVersionTypes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for typ, column := range testkit.EachType("_v", 1) {
		s := storagetest.New(nil)
		schema := table.Schema[lodger]{Partition: lodgerSchema.Partition, Row: lodgerSchema.Row, Version: 2, Upgrade: map[int]func(*table.Row) error{1: func(r *table.Row) error { return r.Set("Name", "upgraded") }}}
		lodgers, err := bare.NewTable(serviceOf(t, s), "lodgers", schema, nil)
		noError(t, err)
		noError(t, tabledoor.Ensure(ctx, lodgers))
		_, err = s.Tables().NewClient("lodgers").AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"r",`+column+`}`), nil)
		noError(t, err)
		e, err := lodgers.Get(ctx, keys.Raw("p", "r"))
		var de *table.DecodeError
		switch typ {
		case "Int32", "Int64", "whole Double":
			if err != nil || e.Value.Name != "upgraded" {
				t.Errorf("%s: got %v, error %v; want an upgraded entity", typ, e, err)
			}
		case "Double":
			if !errors.As(err, &de) || !strings.HasSuffix(err.Error(), "property _v is Edm.Double, not a whole number") {
				t.Errorf("%s: got error %v; want one that ends with: property _v is Edm.Double, not a whole number", typ, err)
			}
		default:
			if !errors.As(err, &de) || de.Field != "_v" {
				t.Errorf("%s: got error %v; want a *DecodeError of _v", typ, err)
			}
		}
	}
}
