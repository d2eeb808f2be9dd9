package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type embedded struct{ Department string }

type manager struct {
	embedded
	ID     int
	Report *embedded `table:"-"`
}

// TestNewRefuses: New refuses a schema that cannot work.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	s := sdkClient(t, &fakeTransport{})
	var other embedded
	for what, schema := range map[string]table.Schema[manager]{
		"an accessor of another value": {Partition: keys.Partition(dept, func(*manager) *string { return &other.Department })},
		"an accessor that panics":      {Partition: keys.Partition(dept, func(m *manager) *string { return &m.Report.Department })},
		"a folded key, both ways":      {Row: keys.Row(keys.Fold(keys.Text()), func(m *manager) *string { return &m.Department })},
		"a width of zero":              {Row: keys.Row(keys.Digits[int](0), func(m *manager) *int { return &m.ID })},
	} {
		if _, err := bare.NewTable(s, "staff", schema, singleAttempt()); err == nil {
			t.Errorf("%s: got no error; want one", what)
		}
	}
	for _, name := range []string{"", "ab", "1ab", "a-b", "my_table", strings.Repeat("x", 64), "größe", "a b", "Tables"} {
		if _, err := bare.NewTable(s, name, staffSchema, singleAttempt()); err == nil {
			t.Errorf("name %q: got no error; want one", name)
		}
	}
	if _, err := bare.NewTable(s, "größe", staffSchema, singleAttempt()); err == nil || !strings.Contains(err.Error(), "contains 'ö' at byte 2") {
		t.Errorf(`got %v; want an error and "contains 'ö' at byte 2" in the error`, err)
	}
	var te *table.TypeError
	if _, err := bare.NewTable(s, "staff", table.Schema[struct{ C chan int }]{}, singleAttempt()); !errors.As(err, &te) || te.Field != "C" {
		t.Errorf(`got %v; want a *TypeError and te.Field == "C"`, err)
	}
	if _, err := bare.NewTable(s, "staff", table.Schema[int]{}, singleAttempt()); !errors.As(err, &te) {
		t.Errorf("got %v; want a *TypeError", err)
	}
	if _, err := bare.NewTable(s, "staff", table.Schema[manager]{
		Partition: keys.Partition(dept, func(m *manager) *string { return &m.Department }),
		Row:       keys.Row(empid, func(m *manager) *int { return &m.ID }),
	}, singleAttempt()); err != nil {
		t.Errorf("a key field of an embedded struct: got %v; want no error", err)
	}
}

// TestInvalidFields: an invalid accessor of a field is an error at its first use.
func TestInvalidFields(t *testing.T) {
	t.Parallel()
	type a struct{ Name string }
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) { return noContent(), nil }}
	type fixed struct {
		Inner  struct{ Deep string } `table:",json"`
		Name   string
		Hidden string `table:"-"`
	}
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[fixed]{}, singleAttempt())
	noError(t, err)
	var elsewhere string
	k := keys.At(keys.RawPartition("p"), keys.RawRow("r"))
	for what, f := range map[string]table.Field[fixed, string]{
		"another value":   table.FieldOf(func(*fixed) *string { return &elsewhere }),
		"inside a field":  table.FieldOf(func(f *fixed) *string { return &f.Inner.Deep }),
		"not stored":      table.FieldOf(func(f *fixed) *string { return &f.Hidden }),
		"nil":             table.FieldOf(func(*fixed) *string { return nil }),
		"panic":           table.FieldOf(func(*fixed) *string { panic("no") }),
		"the zero handle": {},
	} {
		if err := tab.MergeAny(context.Background(), k, f.Set("x")); err == nil {
			t.Errorf("MergeAny with %s: got no error; want one", what)
		}
		if _, err := tab.Explain(table.Query[fixed]{Partition: keys.RawPartition("p"), Where: f.Eq("x")}); err == nil {
			t.Errorf("Explain with %s: got no error; want one", what)
		}
	}
	if w.requests() != "" {
		t.Errorf("got %q; want %q", w.requests(), "")
	}
	type namedEffect struct {
		a
		Name string `table:"Outer"`
	}
	tn, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[namedEffect]{}, singleAttempt())
	noError(t, err)
	for f, want := range map[string]table.Field[namedEffect, string]{
		"PartitionKey eq 'p' and (RowKey lt '~' or RowKey ge '\u00a0') and (Outer eq 'x')": table.FieldOf(func(x *namedEffect) *string { return &x.Name }),
		"PartitionKey eq 'p' and (RowKey lt '~' or RowKey ge '\u00a0') and (Name eq 'x')":  table.FieldOf(func(x *namedEffect) *string { return &x.a.Name }),
	} {
		if ex, err := tn.Explain(table.Query[namedEffect]{Partition: keys.RawPartition("p"), Where: want.Eq("x")}); err != nil || ex.Filter != f {
			t.Errorf("got %+v, %v; want %s", ex, err, f)
		}
	}
}

// TestSameFieldInBothKeys: a field bound to both keys must have one value. A row with two values is an error.
func TestSameFieldInBothKeys(t *testing.T) {
	t.Parallel()
	type row struct{ ID int }
	id := keys.Digits[int](3)
	w := &fakeTransport{}
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[row]{
		Partition: keys.Partition(id, func(r *row) *int { return &r.ID }),
		Row:       keys.Row(id, func(r *row) *int { return &r.ID }),
	}, singleAttempt())
	noError(t, err)
	for body, ok := range map[string]bool{
		`{"odata.etag":"e","PartitionKey":"001","RowKey":"001"}`: true,
		`{"odata.etag":"e","PartitionKey":"001","RowKey":"002"}`: false,
		`{"odata.etag":"e","PartitionKey":"002","RowKey":"001"}`: false,
	} {
		w.respond = func(*http.Request, string) (*http.Response, error) {
			return jsonResponse(200, `{"value":[`+body+`]}`), nil
		}
		var err error
		for _, err = range tab.List(context.Background(), table.Query[row]{TableScan: true}) {
		}
		var ke *keys.KeyError
		if ok != (err == nil) || !ok && !errors.As(err, &ke) {
			t.Errorf("%s: got %v; want ok == %v and (ok or a *keys.KeyError)", body, err, err == nil)
		}
	}
}

// TestHandlesOfOneTable: With and Exact return handles of the same table, even if its service cannot be compared.
func TestHandlesOfOneTable(t *testing.T) {
	t.Parallel()
	s := &testkit.Hooked{Service: storagetest.New(nil)}
	staff, err := bare.NewTable(serviceSlice{serviceOf(t, s)}, "staff", staffSchema, noWaitOptions())
	noError(t, err)
	noError(t, tabledoor.Ensure(context.Background(), staff))
	if _, err := table.Transact(context.Background(), staff.InsertOp(&employee{"D", 1, "a", 1}), staff.Exact().InsertOp(&employee{"D", 2, "b", 2})); err != nil {
		t.Error(err)
	}
	handles := []*table.Table[employee]{staff, staff.Exact()}
	_, err = table.Bulk(context.Background(), stream(50, func(i int) table.Op {
		return handles[i%2].UpsertOp(&employee{"D", 1, "a", int32(i)}, table.ReplaceExisting)
	}), nil)
	if got := s.Rows("staff")[0].Get("Age"); err != nil || got != int32(49) {
		t.Errorf("got %v, %v; want no error and int32(49)", got, err)
	}
}

// serviceSlice is a service that cannot be compared.
type serviceSlice []engine.Service

func (s serviceSlice) NewClient(name string) *aztables.Client { return s[0].NewClient(name) }
