package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

func entityLifecycle(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, blindWrites())
	v := jones
	in, err := staff.Insert(ctx, &v)
	e.must(err)
	e.wantRequests("1 insert")
	if in.Value != jones || in.Key != at("Sales", 223) || in.ETag == "" || in.Timestamp.IsZero() {
		e.Errorf("Insert: got %+v; want %+v with ETag and Timestamp", in, jones)
	}
	got, err := staff.Get(ctx, at("Sales", 223))
	e.must(err)
	e.wantRequests("1 get")
	if got.Value != jones || got.Key != in.Key || got.ETag != in.ETag || !got.Timestamp.Equal(in.Timestamp) {
		e.Errorf("Get: got %+v; want %+v", got, in)
	}
	got.Value.Age++
	before := got.ETag
	e.must(staff.Replace(ctx, got))
	e.wantRequests("1 replace")
	if got.ETag == before || got.ETag == "" {
		e.Errorf("ETag after Replace: got %q; want a new one", got.ETag)
	}
	e.must(staff.Merge(ctx, got, last.Set("Smith")))
	e.wantRequests("1 merge")
	again, err := staff.Get(ctx, got.Key)
	e.must(err)
	if again.Value != got.Value || again.ETag != got.ETag || again.Value.Age != 45 || again.Value.Last != "Smith" {
		e.Errorf("Get after Merge: got %+v; want %+v", again, got)
	}
	e.counter.Take()
	e.must(staff.Delete(ctx, got))
	e.wantRequests("1 delete")
	if _, err := staff.Get(ctx, got.Key); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("Get after Delete: got error %v; want ErrNotFound", err)
	}
}

// conditions: each refused write has its own error, which wraps the SDK's, and changes neither the entity nor the row.
func conditions(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, blindWrites())
	missing, err := bare.NewTable(e.tables, freshName(), staffSchema, nil)
	e.must(err)
	v := jones
	mine, err := staff.Insert(ctx, &v)
	e.must(err)
	theirs, err := staff.Get(ctx, mine.Key)
	e.must(err)
	e.must(staff.Merge(ctx, theirs, age.Set(50)))
	deleted, err := staff.Insert(ctx, &employee{Department: "Sales", ID: 1})
	e.must(err)
	e.must(staff.DeleteAny(ctx, deleted.Key))
	mine.Value.Age = 1

	_, exists := staff.Insert(ctx, &v)
	_, notFound := staff.Get(ctx, at("Sales", 2))
	_, noTable := missing.Get(ctx, at("Sales", 2))
	_, noTableInsert := missing.Insert(ctx, &v)
	var noTableList error
	for _, noTableList = range missing.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
	}
	for what, c := range map[string]struct{ got, want error }{
		"insert twice":            {exists, table.ErrExists},
		"get of a missing row":    {notFound, table.ErrNotFound},
		"get, missing table":      {noTable, table.ErrNotCreated},
		"insert, missing table":   {noTableInsert, table.ErrNotCreated},
		"list, missing table":     {noTableList, table.ErrNotCreated},
		"replace, changed":        {staff.Replace(ctx, mine), table.ErrChanged},
		"merge, changed":          {staff.Merge(ctx, mine, age.Set(3)), table.ErrChanged},
		"delete, changed":         {staff.Delete(ctx, mine), table.ErrChanged},
		"replace, deleted":        {staff.Replace(ctx, deleted), table.ErrNotFound},
		"merge, deleted":          {staff.Merge(ctx, deleted, age.Set(3)), table.ErrNotFound},
		"delete, deleted":         {staff.Delete(ctx, deleted), table.ErrNotFound},
		"delete any, deleted":     {staff.DeleteAny(ctx, deleted.Key), table.ErrNotFound},
		"merge any, deleted":      {staff.MergeAny(ctx, deleted.Key, age.Set(3)), table.ErrNotFound},
		"replace without an ETag": {staff.Replace(ctx, &table.Entity[employee]{Value: v, Key: mine.Key}), table.ErrNotRead},
	} {
		if !errors.Is(c.got, c.want) {
			e.Errorf("%s: got error %v; want %v", what, c.got, c.want)
		}
		var re *azcore.ResponseError
		if c.want != table.ErrNotRead && (!errors.As(c.got, &re) || re.StatusCode < 400) {
			e.Errorf("%s: got error %v; want one that wraps the service's", what, c.got)
		}
		var oe *table.OpError
		if !errors.As(c.got, &oe) || strings.Contains(c.got.Error(), "\n") || c.want != table.ErrNotRead && oe.Code == "" {
			e.Errorf("%s: got error %v; want an *OpError with a code, in one line", what, c.got)
		}
	}
	if mine.Value.Age != 1 || mine.Value.Last != "Jones" {
		e.Errorf("entity after refused writes: got %+v; want it unchanged", mine.Value)
	}
	if now, err := staff.Get(ctx, mine.Key); err != nil || now.Value.Age != 50 {
		e.Errorf("row after refused writes: got %+v, error %v; want it unchanged", now, err)
	}
}

// systemProperties: Replace and Update preserve the system properties of a row, which the entity's fields do not contain.
func systemProperties(e *env) {
	ctx := context.Background()
	type bag struct {
		Extra map[string]any `table:",extra"`
	}
	bags := newTable(e, table.Schema[bag]{Version: 3}, nil)
	body := []byte(`{"PartitionKey":"p","RowKey":"r","Name":"a","_op":"00f","_life":"b2","_v":3}`)
	_, err := e.acc.Tables().NewClient(bags.Name()).AddEntity(ctx, body, nil)
	e.must(err)
	k := keys.At(keys.RawPartition("p"), keys.RawRow("r"))
	_, err = bags.Update(ctx, k, func(b *bag) error {
		if len(b.Extra) != 1 {
			e.Errorf("Extra: got %v; want Name alone", b.Extra)
		}
		b.Extra = map[string]any{"Name": "b"}
		return nil
	})
	e.must(err)
	got, err := bags.Get(ctx, k)
	e.must(err)
	row, err := got.Row()
	e.must(err)
	for name, want := range map[string]any{"Name": "b", "_life": "b2", "_v": int32(3)} {
		if v, _ := row.Get(name); v != want {
			e.Errorf("property %s: got %v; want %v", name, v, want)
		}
	}
	if op, _ := row.Get("_op"); op == "00f" || len(testkit.OperationID(op)) != 26 {
		e.Errorf("property _op: got %v; want a new operation ID", op)
	}
}

// explicitKeys: each method of a table without bindings takes a key.
func explicitKeys(e *env) {
	ctx := context.Background()
	type note struct{ Text string }
	notes := newTable(e, table.Schema[note]{}, nil)
	k := keys.At(keys.RawPartition("2026"), keys.RawRow("first"))
	in, err := notes.InsertAt(ctx, k, &note{"a"})
	e.must(err)
	in.Value.Text = "b"
	e.must(notes.Replace(ctx, in))
	_, err = baretest.UpsertAt(ctx, notes, keys.At(keys.RawPartition("2026"), keys.RawRow("second")), &note{"c"}, table.ReplaceExisting)
	e.must(err)
	var got []string
	for n, err := range notes.List(ctx, table.Query[note]{Partition: keys.RawPartition("2026")}) {
		e.must(err)
		got = append(got, n.Key.RowKey()+"="+n.Value.Text)
	}
	if joined(got) != "first=b second=c" {
		e.Errorf("List: got %q; want first=b and second=c", got)
	}
	var ke *keys.KeyError
	if _, err := notes.Insert(ctx, &note{"x"}); !errors.As(err, &ke) {
		e.Errorf("Insert without a key: got error %v; want a *KeyError", err)
	}
	staff := newTable(e, staffSchema, blindWrites())
	v := jones
	if _, err := staff.InsertAt(ctx, at("Sales", 224), &v); !errors.As(err, &ke) {
		e.Errorf("InsertAt another key than the entity's: got error %v; want a *KeyError", err)
	}
	e.wantRequests("none")
}

// merge: Merge writes the named fields only. Other changes of the entity remain local.
func merge(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, blindWrites())
	v := jones
	in, err := staff.Insert(ctx, &v)
	e.must(err)
	in.Value.Age = 99
	e.must(staff.Merge(ctx, in, last.Set("Smith"), mail.Set("smithj@contoso.com")))
	if in.Value.Age != 99 || in.Value.Last != "Smith" {
		e.Errorf("entity after Merge: got %+v; want age 99 and last name Smith", in.Value)
	}
	got, err := staff.Get(ctx, in.Key)
	e.must(err)
	if got.Value.Age != 44 || got.Value.Last != "Smith" || got.Value.Email != "smithj@contoso.com" || got.Value.First != "Jessy" {
		e.Errorf("Get after Merge: got %+v; want only the merged properties changed", got.Value)
	}
	row, err := in.Row()
	e.must(err)
	if n, _ := row.Get("LastName"); n != "Smith" || len(maps.Collect(row.All())) != 5 {
		e.Errorf("Row after Merge: got %+v; want 5 properties with LastName Smith", row)
	}
	e.must(staff.Replace(ctx, in)) // by the renewed ETag, with the local change
	if got, err = staff.Get(ctx, in.Key); err != nil || got.Value.Age != 99 {
		e.Errorf("Get after Replace: got %+v, error %v; want age 99", got, err)
	}
	e.counter.Take()
	var ve *table.ValueError
	if err := staff.Merge(ctx, in); !errors.As(err, &ve) {
		e.Errorf("Merge of nothing: got error %v; want a *ValueError", err)
	}
	if err := staff.Merge(ctx, in, age.Set(1), age.Set(2)); !errors.As(err, &ve) {
		e.Errorf("Merge of one field twice: got error %v; want a *ValueError", err)
	}
	id := table.FieldOf(func(e *employee) *int { return &e.ID })
	if err := staff.Merge(ctx, in, id.Set(1)); !errors.As(err, &ve) || ve.Field != "ID" {
		e.Errorf("Merge of a key field: got error %v; want a *ValueError of ID", err)
	}
	e.wantRequests("none")
}

// upsert: replacing deletes the properties that the value lacks, merging preserves them.
func upsert(e *env) {
	ctx := context.Background()
	type row struct {
		P, R string
		A, B *int32
	}
	schema := table.Schema[row]{
		Partition: keys.RawPartitionOf(func(r *row) *string { return &r.P }),
		Row:       keys.RawRowOf(func(r *row) *string { return &r.R }),
	}
	tab := newTable(e, schema, blindWrites())
	one, two := int32(1), int32(2)
	k := keys.At(keys.RawPartition("p"), keys.RawRow("r"))
	stored := func() string {
		got, err := tab.Get(ctx, k)
		e.must(err)
		e.counter.Take()
		s := ""
		for _, p := range []*int32{got.Value.A, got.Value.B} {
			if p == nil {
				s += "-"
			} else {
				s += fmt.Sprint(*p)
			}
		}
		return s
	}
	_, err := tab.Upsert(ctx, &row{"p", "r", &one, &one}, table.MergeExisting)
	e.must(err)
	e.wantRequests("1 insert-or-merge")
	if s := stored(); s != "11" {
		e.Errorf("after the first Upsert: got %s; want 11", s)
	}
	up, err := tab.Upsert(ctx, &row{P: "p", R: "r", A: &two}, table.MergeExisting)
	e.must(err)
	if s := stored(); s != "21" {
		e.Errorf("after a merging Upsert: got %s; want 21", s)
	}
	if err := tab.Replace(ctx, up); !errors.Is(err, table.ErrNotRead) {
		e.Errorf("Replace of an entity that is known in part: got error %v; want ErrPartial", err)
	}
	if r, err := up.Row(); r != nil || err != nil {
		e.Errorf("Row of an entity that is known in part: got %v, error %v; want neither", r, err)
	}
	b := table.FieldOf(func(r *row) **int32 { return &r.B })
	e.must(tab.Merge(ctx, up, b.Set(&two)))
	if s := stored(); s != "22" {
		e.Errorf("after Merge: got %s; want 22", s)
	}
	var ve *table.ValueError
	if err := tab.Merge(ctx, up, b.Set(nil)); !errors.As(err, &ve) || ve.Field != "B" || !strings.Contains(err.Error(), "Replace") {
		e.Errorf("Merge of an absent value: got error %v; want a *ValueError of B that names Replace", err)
	}
	up, err = tab.Upsert(ctx, &row{P: "p", R: "r", B: &one}, table.ReplaceExisting)
	e.must(err)
	e.wantRequests("1 insert-or-replace")
	if s := stored(); s != "-1" {
		e.Errorf("after a replacing Upsert: got %s; want -1", s)
	}
	up.Value.B = nil
	e.must(tab.Replace(ctx, up))
	if s := stored(); s != "--" {
		e.Errorf("after Replace: got %s; want --", s)
	}
	if _, err := tab.Upsert(ctx, &row{P: "p", R: "r"}, 0); !errors.As(err, &ve) {
		e.Errorf("Upsert without a mode: got error %v; want a *ValueError", err)
	}
	e.wantRequests("none")
}

// unconditionalWrites: methods with Any in their names overwrite any version.
func unconditionalWrites(e *env) {
	ctx := context.Background()
	staff := newTable(e, staffSchema, blindWrites())
	v := jones
	stale, err := staff.Insert(ctx, &v)
	e.must(err)
	e.must(staff.MergeAny(ctx, stale.Key, age.Set(50), first.Set("Jess")))
	stale.Value.Last = "Smith"
	if err := staff.Replace(ctx, stale); !errors.Is(err, table.ErrChanged) {
		e.Errorf("Replace of a stale entity: got error %v; want ErrChanged", err)
	}
	e.counter.Take()
	e.must(staff.ReplaceAny(ctx, stale))
	e.wantRequests("1 replace")
	if got, err := staff.Get(ctx, stale.Key); err != nil || got.Value.Age != 44 || got.Value.Last != "Smith" || got.ETag != stale.ETag {
		e.Errorf("Get after ReplaceAny: got %+v, error %v; want age 44, last name Smith and the entity's ETag", got, err)
	}
	e.counter.Take()
	e.must(staff.DeleteAny(ctx, stale.Key))
	e.wantRequests("1 delete")
	stale.ETag = azcore.ETagAny
	if err := staff.Delete(ctx, stale); !errors.Is(err, table.ErrNotRead) {
		e.Errorf("Delete with ETag *: got error %v; want ErrNoETag", err)
	}
}

// unknownColumns: a narrower type changes a row of a wider type, and preserves the other columns and their types.
func unknownColumns(e *env) {
	ctx := context.Background()
	type wide struct {
		Name  string
		Ratio float64
		Big   int64
		When  time.Time
		ID    [16]byte
		Data  []byte
	}
	type narrow struct{ Name string }
	type open_ struct {
		Name  string
		Extra map[string]any `table:",extra"`
	}
	full := wide{"a", 3, 1<<53 + 1, time.Date(2026, 11, 21, 1, 2, 3, 1234500, time.UTC), [16]byte{1}, []byte{}}
	k := keys.At(keys.RawPartition("p"), keys.RawRow("r"))
	w := newTable(e, table.Schema[wide]{}, nil)
	n := sameTable(e, w, table.Schema[narrow]{})
	o := sameTable(e, w, table.Schema[open_]{})
	_, err := w.InsertAt(ctx, k, &full)
	e.must(err)
	got, err := n.Get(ctx, k)
	e.must(err)
	got.Value.Name = "b"
	e.must(n.Replace(ctx, got))
	_, err = n.Update(ctx, k, func(v *narrow) error { v.Name += "c"; return nil })
	e.must(err)
	full.Name = "bc"
	if now, err := w.Get(ctx, k); err != nil || !reflect.DeepEqual(now.Value, full) {
		e.Errorf("Get by the wider type: got %+v, error %v; want %+v", now, err, full)
	}
	bag, err := o.Get(ctx, k)
	e.must(err)
	if len(bag.Value.Extra) != 5 || bag.Value.Extra["Ratio"] != 3.0 || bag.Value.Extra["Big"] != int64(1<<53+1) {
		e.Errorf("Extra: got %#v; want 5 properties with their types", bag.Value.Extra)
	}
	delete(bag.Value.Extra, "Big")
	bag.Value.Extra["New"] = int32(7)
	e.must(o.Replace(ctx, bag))
	row, err := bag.Row()
	e.must(err)
	if _, ok := row.Get("Big"); ok || row.Type("New") != "Edm.Int32" || row.Type("Ratio") != "Edm.Double" {
		e.Errorf("Row: got %+v; want New as Edm.Int32, Ratio as Edm.Double, and no Big", row)
	}
}

func ensure(e *env) {
	ctx := context.Background()
	t, err := bare.NewTable(e.tables, freshName(), staffSchema, nil)
	e.must(err)
	e.wantRequests("none") // New sends nothing
	e.must(tabledoor.Ensure(ctx, t))
	e.must(tabledoor.Ensure(ctx, t))
	e.wantRequests("2 table-create")
}

func canceledContext(e *env) {
	staff := newTable(e, staffSchema, nil)
	ctx, cancel := context.WithCancel(context.Background())
	v := jones
	in, err := staff.Insert(ctx, &v)
	e.must(err)
	e.counter.Take()
	cancel()
	_, errInsert := staff.Insert(ctx, &v)
	_, errGet := staff.Get(ctx, in.Key)
	_, errUpdate := staff.Update(ctx, in.Key, func(*employee) error { return nil })
	var errList error
	for _, errList = range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
	}
	for what, err := range map[string]error{"insert": errInsert, "get": errGet, "update": errUpdate, "list": errList,
		"replace": staff.Replace(ctx, in), "merge": staff.Merge(ctx, in, age.Set(1)), "delete": staff.Delete(ctx, in)} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, table.ErrUnknownOutcome) {
			e.Errorf("%s: got error %v; want context.Canceled, and a known outcome", what, err)
		}
	}
	e.must(staff.Replace(context.Background(), in)) // nothing was sent, so the outcome is known
}
