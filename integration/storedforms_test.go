package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// formed has fields whose columns other programs store as text, or as a Double.
type formed struct {
	N     int
	At    time.Time  `table:",text"`
	Due   *time.Time `table:",text"`
	Count int        `table:",text"`
	Old   bool       `table:",text"`
	Bytes []byte     `table:",text"`
	Size  int64      `table:",double"`
}

var formedSchema = table.Schema[formed]{Partition: keys.OnePartition[formed]("p"), Row: keys.Row(keys.Digits[int](3), func(r *formed) *int { return &r.N })}

// putRows stores the rows of a table as another program does, from the JSON of their properties. They are numbered in their order.
func putRows(e *env, tableName string, properties ...string) {
	e.Helper()
	raw := e.acc.Tables().NewClient(tableName)
	for i, p := range properties {
		_, err := raw.AddEntity(context.Background(), fmt.Appendf(nil, `{"PartitionKey":"p","RowKey":"%03d"%s}`, i, p), nil)
		e.must(err)
	}
	e.counter.Take()
}

// numbers returns the numbers of the rows that a condition selects.
func numbers(e *env, t *table.Table[formed], what string, c table.Cond[formed]) string {
	e.Helper()
	var got []string
	for v, err := range t.List(context.Background(), table.Query[formed]{Where: c}) {
		if err != nil {
			e.Errorf("%s: got error %v; want none", what, err)
			break
		}
		got = append(got, fmt.Sprint(v.Value.N))
	}
	e.wantRequests("1 query")
	return joined(got)
}

// storedForms: a field reads each form of its value in one column, finds it by conditions in each form, and writes one.
func storedForms(e *env) {
	ctx := context.Background()
	tab := newTable(e, formedSchema, nil)
	putRows(e, tab.Name(),
		`,"Count":"7","Old":"True","Bytes":"AAH/","Size@odata.type":"Edm.Double","Size":7.0,"At":"2026-01-02T03:04:05Z"`,
		`,"Count":7,"Old":true,"Bytes@odata.type":"Edm.Binary","Bytes":"AAH/","Size":7,"At@odata.type":"Edm.DateTime","At":"2026-01-02T03:04:05Z"`,
		`,"Count@odata.type":"Edm.Int64","Count":"7","Old":"true","At":"2026-01-02T05:04:05.000+02:00"`,
		`,"Count@odata.type":"Edm.Double","Count":7.0,"Old":"FALSE","Bytes":"","Size@odata.type":"Edm.Double","Size":8.0,"At":""`,
		`,"Count":"-5000000000","Old":false,"At":"0001-01-01T00:00:00Z"`,
		`,"Count@odata.type":"Edm.Int64","Count":"-5000000000","Old":"","Size@odata.type":"Edm.Int64","Size":"-5000000000"`,
		`,"Count@odata.type":"Edm.Double","Count":-5000000000.0,"Size@odata.type":"Edm.Double","Size":-5000000000.0,"Due":"2026-01-02T03:04:05.1234567Z"`,
		`,"Count@odata.type":"Edm.Int64","Count":"9007199254740993"`,
		``)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	due := at.Add(123456700)
	for n, want := range []formed{
		{Count: 7, Old: true, Bytes: []byte{0, 1, 255}, Size: 7, At: at}, {Count: 7, Old: true, Bytes: []byte{0, 1, 255}, Size: 7, At: at},
		{Count: 7, Old: true, At: at}, {Count: 7, Size: 8, Bytes: []byte{}}, {Count: -5_000_000_000}, {Count: -5_000_000_000, Size: -5_000_000_000},
		{Count: -5_000_000_000, Size: -5_000_000_000, Due: &due}, {Count: 1<<53 + 1}, {},
	} {
		want.N = n
		got, err := tab.Get(ctx, tab.Key(formed{N: n}))
		e.must(err)
		if show(got.Value) != show(want) {
			e.Errorf("row %d: got %s; want %s", n, show(got.Value), show(want))
		}
	}
	e.counter.Take()

	count, size := table.FieldOf(func(r *formed) *int { return &r.Count }), table.FieldOf(func(r *formed) *int64 { return &r.Size })
	old, bytes := table.FieldOf(func(r *formed) *bool { return &r.Old }), table.FieldOf(func(r *formed) *[]byte { return &r.Bytes })
	when, until := table.FieldOf(func(r *formed) *time.Time { return &r.At }), table.FieldOf(func(r *formed) **time.Time { return &r.Due })
	for _, c := range []struct {
		what string
		c    table.Cond[formed]
		want string
	}{
		{"Count eq", count.Eq(7), "0 1 2 3"},
		{"Count ne", count.Ne(7), "4 5 6 7"},
		{"Count eq, large", count.Eq(-5_000_000_000), "4 5 6"},
		{"Count ne, large", count.Ne(-5_000_000_000), "0 1 2 3 7"},
		{"Count eq, beyond 2^53", count.Eq(1<<53 + 1), "7"},
		{"Old eq", old.Eq(true), "0 1 2"},
		{"Old ne", old.Ne(true), "3 4"},
		{"Bytes eq", bytes.Eq([]byte{0, 1, 255}), "0 1"},
		{"Bytes ne", bytes.Ne([]byte{1}), "0 1 3"},
		{"Size eq", size.Eq(7), "0 1"},
		{"Size ne", size.Ne(7), "3 5 6"},
		{"Size gt", size.Gt(7), "3"},
		{"Size lt", size.Lt(7), "5 6"},
		{"At is set", when.IsSet(), "0 1 2"},
		{"At is not set", when.IsNotSet(), "3 4 5 6 7 8"},
		{"Due is set", until.IsSet(), "6"},
		{"Due ne nil", until.Ne(nil), "6"},
		{"Due eq nil", until.Eq(nil), "0 1 2 3 4 5 7 8"},
		{"Old is not set", old.IsNotSet(), "5 6 7 8"},
		{"Bytes is set", bytes.IsSet(), "0 1 3"},
		{"Size is not set", size.IsNotSet(), "2 4 7 8"},
		{"Count is set", count.IsSet(), "0 1 2 3 4 5 6 7"},
	} {
		if got := numbers(e, tab, c.what, c.c); got != c.want {
			e.Errorf("%s: got %s; want %s", c.what, got, c.want)
		}
	}
	for what, c := range map[string]table.Cond[formed]{"the order of numbers": count.Lt(7), "the order of booleans": old.Ge(true), "a time": when.Eq(at), "the order of times": when.Ge(at)} {
		var ve *table.ValueError
		if _, err := tab.Explain(table.Query[formed]{Where: c}); !errors.As(err, &ve) || !strings.Contains(err.Error(), "is stored as text") {
			e.Errorf("%s: got error %v; want a *ValueError that says that the property is stored as text", what, err)
		}
	}

	// A write stores the form of the option, whatever was stored.
	raw := e.acc.Tables().NewClient(tab.Name())
	for n := range 3 {
		got, err := tab.Get(ctx, tab.Key(formed{N: n}))
		e.must(err)
		got.Value.Due = &due
		e.must(tab.Replace(ctx, got))
		row, err := raw.GetEntity(ctx, "p", fmt.Sprintf("%03d", n), nil)
		e.must(err)
		var stored aztables.EDMEntity
		e.must(stored.UnmarshalJSON(row.Value))
		p := stored.Properties
		if p["Count"] != "7" || p["Old"] != "true" || p["At"] != "2026-01-02T03:04:05Z" || p["Due"] != "2026-01-02T03:04:05.1234567Z" || fmt.Sprint(p["Size"]) != fmt.Sprint(got.Value.Size) || n < 2 && p["Bytes"] != "AAH/" {
			e.Errorf("row %d is stored as %v; want the forms of the options", n, p)
		}
	}
}

func show(v formed) string {
	due := "none"
	if v.Due != nil {
		due = v.Due.Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%d: %v, due %s, %d, %t, %#v, %d", v.N, v.At, due, v.Count, v.Old, v.Bytes, v.Size)
}

// wrongForms: what is no form of a field's value is an error that names the property, and is not changed.
func wrongForms(e *env) {
	ctx := context.Background()
	tab := newTable(e, formedSchema, nil)
	wrong := []string{
		`,"At":"2026-01-02 03:04:05Z"`, `,"At":"2026-01-02T03:04:05"`, `,"At":"2026-02-30T03:04:05Z"`, `,"At":"2026-01-02T3:04:05Z"`, `,"At":"2026-01-02T03:04:05,5Z"`, `,"At":"tomorrow"`, `,"At":"2026-01-02T03:04:05+25:00"`, `,"At":" "`,
		`,"Count":"007"`, `,"Count":"+7"`, `,"Count":"-0"`, `,"Count":"7.0"`, `,"Count":"9223372036854775808"`, `,"Count":"7 "`, `,"Count@odata.type":"Edm.Double","Count":7.5`, `,"Count@odata.type":"Edm.Double","Count":1e300`,
		`,"Old":"1"`, `,"Old":"yes"`, `,"Old":1`, `,"Bytes":"AAH"`, `,"Bytes":"_-8="`, `,"Bytes":"A A="`,
		`,"Size":"7"`, `,"Size@odata.type":"Edm.Double","Size":7.5`, `,"Size@odata.type":"Edm.Double","Size":9007199254740994.0`, `,"Size@odata.type":"Edm.Double","Size":"NaN"`,
	}
	putRows(e, tab.Name(), wrong...)
	for n, properties := range wrong {
		name := strings.Split(properties, `"`)[1]
		name, _, _ = strings.Cut(name, "@")
		var de *table.DecodeError
		if got, err := tab.Get(ctx, tab.Key(formed{N: n})); !errors.As(err, &de) || de.Field != name {
			e.Errorf("%s: got %v, error %v; want a *DecodeError of %s", properties, got, err, name)
		}
	}
	for what, v := range map[string]formed{
		"beyond 2^53":         {Size: 1<<53 + 1},
		"beyond the year":     {At: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"less than -2^53":     {Size: -1<<53 - 1},
		"before the year 0":   {At: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
		"a long base64":       {Bytes: make([]byte, 30_000)},
		"a year in five more": {Due: ptr(time.Date(20_000, 1, 1, 0, 0, 0, 0, time.UTC))},
	} {
		e.counter.Take()
		var ve *table.ValueError
		var le *table.LimitError
		if _, err := tab.Upsert(ctx, &v, table.ReplaceExisting); !errors.As(err, &ve) && !errors.As(err, &le) {
			e.Errorf("%s: got error %v; want a *ValueError or a *LimitError", what, err)
		}
		e.wantRequests("none")
	}
	const timestamp = "the Timestamp"
	e.counter.Take()
	for what, c := range map[string]struct {
		since time.Time
		want  int
	}{timestamp: {time.Now().Add(-time.Hour), len(wrong)}, timestamp + " of the future": {time.Now().Add(time.Hour), 0}} {
		q := table.Query[formed]{Where: table.Timestamp[formed]().Ge(c.since)}
		if got, err := tab.Count(ctx, q); got != c.want || err != nil {
			e.Errorf("%s: got %d rows, error %v; want %d", what, got, err, c.want)
		}
	}
	e.wantRequests("2 query")
}

func ptr[T any](v T) *T { return &v }

// emptyRowKeys: a row of another program that has an empty RowKey is read, written and deleted as any other.
func emptyRowKeys(e *env) {
	ctx := context.Background()
	type saga struct{ ID, Row, State string }
	tab := newTable(e, table.Schema[saga]{
		Partition: keys.RawPartitionOf(func(s *saga) *string { return &s.ID }),
		Row:       keys.RawRowOf(func(s *saga) *string { return &s.Row }),
	}, nil)
	k := keys.Raw("p", "")
	raw := e.acc.Tables().NewClient(tab.Name())
	_, err := raw.AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"","State":"new"}`), nil)
	e.must(err)
	state := table.FieldOf(func(s *saga) *string { return &s.State })
	e.counter.Take()
	s, err := tab.Get(ctx, k)
	e.must(err)
	s.Value.State = "paid"
	e.must(tab.Replace(ctx, s))
	e.must(tab.Merge(ctx, s, state.Set("sent")))
	e.wantRequests("1 get, 1 merge, 1 replace")
	_, err = table.Transact(ctx, tab.ReplaceOp(s), tab.InsertOp(&saga{"p", "note", "new"}))
	e.must(err)
	e.wantRequests("1 transaction")
	_, err = tab.Update(ctx, k, func(s *saga) error { s.State += ", closed"; return nil })
	e.must(err)
	e.wantRequests("1 get, 1 replace")
	var got []string
	for s, err := range tab.List(ctx, table.Query[saga]{Partition: keys.RawPartition("p")}) {
		e.must(err)
		got = append(got, fmt.Sprintf("%q %s", s.Key.RowKey(), s.Value.State))
	}
	if want := `["" sent, closed "note" new]`; fmt.Sprint(got) != want {
		e.Errorf("got %v; want %s", got, want)
	}
	_, err = table.Transact(ctx, tab.DeleteAnyOp(k), tab.DeleteAnyOp(keys.Raw("p", "note")))
	e.must(err)
	if _, err := tab.InsertAt(ctx, k, &saga{ID: "p", State: "again"}); err != nil {
		e.Errorf("InsertAt: got error %v; want none", err)
	}
	e.must(tab.DeleteAny(ctx, k))
	if is, err := baretest.Exists(ctx, tab, k); is || err != nil {
		e.Errorf("got %t, error %v; want no row", is, err)
	}
}
