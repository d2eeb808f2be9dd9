package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/tracing"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

type embedded struct{ Department string }

type manager struct {
	embedded
	ID     int
	Report *embedded `table:"-"`
}

// TestNewRefuses: what cannot work is an error of New, not of the first use.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	s := bare(&wire{})
	var other embedded
	for what, schema := range map[string]table.Schema[manager]{
		"an accessor to elsewhere": {Partition: keys.Bind1(dept, func(*manager) *string { return &other.Department })},
		"an accessor that panics":  {Partition: keys.Bind1(dept, func(m *manager) *string { return &m.Report.Department })},
		"a folded key, both ways":  {Row: keys.Bind1(keys.Tuple1(keys.Fold(keys.Text())), func(m *manager) *string { return &m.Department })},
		"a width of zero":          {Row: keys.Bind1(keys.Tuple1(keys.Digits[int](0)), func(m *manager) *int { return &m.ID })},
	} {
		if _, err := table.New(s, "staff", schema, once()); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	for _, name := range []string{"", "ab", "1ab", "a-b", "my_table", strings.Repeat("x", 64), "größe", "a b", "Tables"} {
		if _, err := table.New(s, name, staffSchema, once()); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
	if _, err := table.New(s, "größe", staffSchema, once()); err == nil || !strings.Contains(err.Error(), "contains 'ö' at byte 2") {
		t.Error(err)
	}
	var te *table.TypeError
	if _, err := table.New(s, "staff", table.Schema[struct{ C chan int }]{}, once()); !errors.As(err, &te) || te.Field != "C" {
		t.Error(err)
	}
	if _, err := table.New(s, "staff", table.Schema[int]{}, once()); !errors.As(err, &te) {
		t.Error(err)
	}
	if _, err := table.New(s, "staff", table.Schema[manager]{
		Partition: keys.Bind1(dept, func(m *manager) *string { return &m.Department }),
		Row:       keys.Bind1(empid, func(m *manager) *int { return &m.ID }),
	}, once()); err != nil {
		t.Errorf("a key field of an embedded struct: %v", err)
	}
}

// TestBadFields: a mistake in a field's accessor is an error of its first use, and never names another field.
func TestBadFields(t *testing.T) {
	t.Parallel()
	type a struct{ Name string }
	w := &wire{answer: func(*http.Request, string) (*http.Response, error) { return done(), nil }}
	type fixed struct {
		Inner  struct{ Deep string } `table:",json"`
		Name   string
		Hidden string `table:"-"`
	}
	tab, err := table.New(bare(w), "ttt", table.Schema[fixed]{}, once())
	if err != nil {
		t.Fatal(err)
	}
	var elsewhere string
	k := keys.At(keys.Raw("p"), keys.Raw("r"))
	for what, f := range map[string]table.Field[fixed, string]{
		"elsewhere":       table.FieldOf(func(*fixed) *string { return &elsewhere }),
		"inside a field":  table.FieldOf(func(f *fixed) *string { return &f.Inner.Deep }),
		"not stored":      table.FieldOf(func(f *fixed) *string { return &f.Hidden }),
		"nil":             table.FieldOf(func(*fixed) *string { return nil }),
		"panic":           table.FieldOf(func(*fixed) *string { panic("no") }),
		"the zero handle": {},
	} {
		if err := tab.MergeAny(context.Background(), k, f.Set("x")); err == nil {
			t.Errorf("merged: %s", what)
		}
		if _, err := tab.Explain(table.Query[fixed]{Partition: keys.Raw("p"), Where: f.Eq("x")}); err == nil {
			t.Errorf("compared: %s", what)
		}
	}
	if w.requests() != "" {
		t.Error(w.requests())
	}
	type named struct {
		a
		Name string `table:"Outer"`
	}
	tn, err := table.New(bare(w), "ttt", table.Schema[named]{}, once())
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[string]table.Field[named, string]{
		"PartitionKey eq 'p' and (RowKey lt '~' or RowKey ge '\u00a0') and (Outer eq 'x')": table.FieldOf(func(x *named) *string { return &x.Name }),
		"PartitionKey eq 'p' and (RowKey lt '~' or RowKey ge '\u00a0') and (Name eq 'x')":  table.FieldOf(func(x *named) *string { return &x.a.Name }),
	} {
		if ex, err := tn.Explain(table.Query[named]{Partition: keys.Raw("p"), Where: want.Eq("x")}); err != nil || ex.Filter != f {
			t.Errorf("%+v, %v, want %s", ex, err, f)
		}
	}
}

// TestSameFieldInBothKeys: the two must agree, and a row where they do not is an error.
func TestSameFieldInBothKeys(t *testing.T) {
	t.Parallel()
	type row struct{ ID int }
	id := keys.Tuple1(keys.Digits[int](3))
	w := &wire{}
	tab, err := table.New(bare(w), "ttt", table.Schema[row]{
		Partition: keys.Bind1(id, func(r *row) *int { return &r.ID }),
		Row:       keys.Bind1(id, func(r *row) *int { return &r.ID }),
	}, once())
	if err != nil {
		t.Fatal(err)
	}
	for body, ok := range map[string]bool{
		`{"odata.etag":"e","PartitionKey":"001","RowKey":"001"}`: true,
		`{"odata.etag":"e","PartitionKey":"001","RowKey":"002"}`: false,
		`{"odata.etag":"e","PartitionKey":"002","RowKey":"001"}`: false,
	} {
		w.answer = func(*http.Request, string) (*http.Response, error) { return reply(200, `{"value":[`+body+`]}`), nil }
		var err error
		for _, err = range tab.List(context.Background(), table.Query[row]{TableScan: true}) {
		}
		var ke *keys.KeyError
		if ok != (err == nil) || !ok && !errors.As(err, &ke) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestCounter counts every try, by kind.
func TestCounter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	busy := 0
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		if busy++; busy <= 2 {
			return failure(503, "ServerBusy"), nil
		}
		if r.Method == http.MethodGet {
			return reply(200, row, "ETag", etag), nil
		}
		return done(), nil
	}}
	var c table.Counter
	o := azcore.ClientOptions{Transport: w}
	o.Retry.RetryDelay = 1
	s, err := aztables.NewServiceClientWithNoCredential("http://127.0.0.1:1/account", &aztables.ClientOptions{ClientOptions: table.ClientOptions(o, &c)})
	if err != nil {
		t.Fatal(err)
	}
	staff := newStaff(t, s)
	e, err := staff.Get(ctx, at("Sales", 223))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Take(); got[table.KindGet] != 3 || got.Total() != 3 || got.String() != "3 get" {
		t.Errorf("%v", got)
	}
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { _, err := staff.Insert(ctx, &e.Value); return err }, "1 insert"},
		{func() error { return staff.Replace(ctx, e) }, "1 replace"},
		{func() error { return staff.Merge(ctx, e, age.Set(1)) }, "1 merge"},
		{func() error { _, err := staff.Upsert(ctx, &e.Value, table.ReplaceExisting); return err }, "1 insert-or-replace"},
		{func() error { _, err := staff.Upsert(ctx, &e.Value, table.MergeExisting); return err }, "1 insert-or-merge"},
		{func() error { return staff.Delete(ctx, e) }, "1 delete"},
		{func() error { _, err := s.DeleteTable(ctx, "staff", nil); return err }, "1 table-delete"},
	} {
		if err := step.do(); err != nil {
			t.Errorf("%s: %v", step.want, err)
		}
		if got := c.Take().String(); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
	}
	if got := c.Take().String(); got != "none" {
		t.Error(got)
	}
}

// TestSpans: a verb is one span, its requests are children, and the SDK's own method spans are left out.
func TestSpans(t *testing.T) {
	t.Parallel()
	var names []string
	provider := tracing.NewProvider(func(string, string) tracing.Tracer {
		return tracing.NewTracer(func(ctx context.Context, name string, _ *tracing.SpanOptions) (context.Context, tracing.Span) {
			names = append(names, name)
			return ctx, tracing.NewSpan(tracing.SpanImpl{})
		}, nil)
	}, nil)
	w := &wire{answer: func(r *http.Request, _ string) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return reply(200, row, "ETag", etag), nil
		}
		return done(), nil
	}}
	o := once()
	o.Tracing = provider
	staff, err := table.New(bare(w, func(c *azcore.ClientOptions) { c.TracingProvider = provider }), "staff", staffSchema, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := staff.Update(context.Background(), at("Sales", 223), func(*employee) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(names, ", "); got != "aztablekit.Table.Update, HTTP GET, HTTP PUT" {
		t.Error(got)
	}
}
