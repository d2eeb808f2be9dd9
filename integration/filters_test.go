package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// filters: a filter compares values of every type that it supports.
func filters(e *env) {
	ctx := context.Background()
	type row struct {
		N    int
		S    string
		I32  int32
		I64  int64
		F    float64
		B    bool
		T    time.Time
		G    [16]byte
		Bin  []byte
		Opt  *int32
		Kind kind
	}
	schema := table.Schema[row]{Partition: keys.OnePartition[row]("p"), Row: keys.Row(keys.Digits[int](3), func(r *row) *int { return &r.N })}
	tab := newTable(e, schema, nil)
	base := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for i := range 5 {
		r := row{i, fmt.Sprint("s", i), int32(i - 2), int64(i) << 40, float64(i) / 2, i%2 == 0, base.Add(time.Duration(i) * time.Second), [16]byte{byte(i)}, []byte{byte(i), 255}, nil, kind(i)}
		if i > 2 {
			n := int32(i)
			r.Opt = &n
		}
		_, err := tab.Insert(ctx, &r)
		e.must(err)
	}
	s := table.FieldOf(func(r *row) *string { return &r.S })
	i32 := table.FieldOf(func(r *row) *int32 { return &r.I32 })
	i64 := table.FieldOf(func(r *row) *int64 { return &r.I64 })
	double := table.FieldOf(func(r *row) *float64 { return &r.F })
	b := table.FieldOf(func(r *row) *bool { return &r.B })
	tm := table.FieldOf(func(r *row) *time.Time { return &r.T })
	g := table.FieldOf(func(r *row) *[16]byte { return &r.G })
	bin := table.FieldOf(func(r *row) *[]byte { return &r.Bin })
	opt := table.FieldOf(func(r *row) **int32 { return &r.Opt })
	kd := table.FieldOf(func(r *row) *kind { return &r.Kind })
	four := int32(4)
	e.counter.Take()
	for what, c := range map[string]struct {
		c    table.Cond[row]
		want string
	}{
		"none":            {table.Cond[row]{}, "0 1 2 3 4"},
		"string eq":       {s.Eq("s3"), "3"},
		"string ge":       {s.Ge("s3"), "3 4"},
		"int32 lt":        {i32.Lt(0), "0 1"},
		"int32 le":        {i32.Le(0), "0 1 2"},
		"int64 gt":        {i64.Gt(1 << 41), "3 4"},
		"int64 eq":        {i64.Eq(1 << 42), "4"},
		"double eq whole": {double.Eq(1), "2"},
		"double ge":       {double.Ge(1.5), "3 4"},
		"double huge":     {double.Lt(1e300), "0 1 2 3 4"},
		"double tiny":     {double.Gt(5e-324), "1 2 3 4"},
		"bool":            {b.Eq(false), "1 3"},
		"time":            {tm.Gt(base.Add(2 * time.Second)), "3 4"},
		"time, elsewhere": {tm.Eq(base.Add(time.Second).In(time.FixedZone("", 5*3600))), "1"},
		"guid":            {g.Eq([16]byte{2}), "2"},
		"binary":          {bin.Eq([]byte{2, 255}), "2"},
		"pointer":         {opt.Eq(&four), "4"},
		"nil":             {opt.Eq(nil), "0 1 2"},
		"not nil":         {opt.Ne(nil), "3 4"},
		"set":             {table.And(s.IsSet(), i32.IsSet(), i64.IsSet(), double.IsSet(), b.IsSet(), tm.IsSet(), kd.IsSet()), "0 1 2 3 4"},
		"set bytes":       {table.And(g.IsSet(), bin.IsSet()), "0 1 2 3 4"},
		"not set":         {table.Or(s.IsNotSet(), i32.IsNotSet(), double.IsNotSet(), b.IsNotSet(), tm.IsNotSet(), g.IsNotSet(), bin.IsNotSet(), kd.IsNotSet()), ""},
		"marshaler":       {kd.Eq(3), "3"},
		"ne":              {s.Ne("s3"), "0 1 2 4"},
		"and":             {table.And(i32.Ge(-1), i32.Le(1)), "1 2 3"},
		"or":              {table.Or(i32.Eq(-2), i32.Eq(2)), "0 4"},
		"not":             {table.Not(i32.Eq(0)), "0 1 3 4"},
		"nested":          {table.And(table.Or(b.Eq(true), i32.Eq(1)), table.Not(table.And(s.Eq("s0"), b.Eq(true)))), "2 3 4"},
		"at the limit":    {table.And(slices.Repeat([]table.Cond[row]{i32.Ge(1)}, 12)...), "3 4"},
	} {
		var got []string
		for v, err := range tab.List(ctx, table.Query[row]{Where: c.c}) {
			if err != nil {
				e.Errorf("%s: got error %v; want none", what, err)
				break
			}
			got = append(got, fmt.Sprint(v.Value.N))
		}
		if joined(got) != c.want {
			e.Errorf("%s: got %s; want %s", what, joined(got), c.want)
		}
		e.wantRequests("1 query")
	}
	var le *table.LimitError
	_, err := tab.Explain(table.Query[row]{Where: table.And(slices.Repeat([]table.Cond[row]{i32.Ge(1)}, 13)...)})
	if !errors.As(err, &le) || le.Got != 16 || le.Max != 15 {
		e.Errorf("16 comparisons, 3 of them of keys: got error %v; want a *LimitError of 16 and 15", err)
	}
	n := table.FieldOf(func(r *row) *int { return &r.N })
	for what, c := range map[string]table.Cond[row]{"less than nil": opt.Lt(nil), "key field": n.Eq(1), "empty and": table.And[row](), "zero inside": table.Not(table.Cond[row]{}), "year 1600": tm.Gt(base.AddDate(-426, 0, 0))} {
		for _, err := range tab.List(ctx, table.Query[row]{Where: c}) {
			var ve *table.ValueError
			if !errors.As(err, &ve) {
				e.Errorf("%s: got error %v; want a *ValueError", what, err)
			}
		}
	}
	e.wantRequests("none")
}

// kind is a type with a text form.
type kind int

// filterText: a text in a filter stays a text, whatever characters it contains.
func filterText(e *env) {
	ctx := context.Background()
	staff := newStaff(e, 8)
	for _, s := range []string{"O'Brien", "Müller", "x' or PartitionKey ne 'z", "' or '1' eq '1", "'", "''", "a&b=c#?%27+d", "日本😀", `"\`} {
		want := ""
		if s == "O'Brien" || s == "Müller" {
			want = listIDs(e, staff, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Where: last.Eq(s)})
			if len(strings.Fields(want)) != 2 {
				e.Errorf("LastName %q: got %q; want 2 employees", s, want)
			}
			continue
		}
		if got := listIDs(e, staff, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Where: last.Eq(s)}); got != "" {
			e.Errorf("LastName %q: got %s; want none", s, got)
		}
		got, err := staff.Insert(ctx, &employee{Department: "Text", ID: len(s), Last: s})
		e.must(err)
		if found := listIDs(e, staff, table.Query[employee]{Partition: dept.PartitionKey("Text"), Where: last.Eq(s)}); found != fmt.Sprint(len(s)) {
			e.Errorf("LastName %q: got %q; want %d", s, found, len(s))
		}
		e.must(staff.Delete(ctx, got))
	}
}

func (k kind) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "kind-%d", int(k)), nil }

func (k *kind) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "kind-%d", (*int)(k))
	return err
}
