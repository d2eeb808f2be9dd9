package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

func ranges(e *env) {
	staff := newStaff(e, 30)
	sales := dept.PartitionKey("Sales")
	for _, c := range []struct {
		q     table.Query[employee]
		class string
		want  string
	}{
		{table.Query[employee]{Partition: sales, Rows: empid.RowKey(7).Point()}, "point query", "7"},
		{table.Query[employee]{Partition: sales, Rows: empid.Rows().Between(9, 12)}, "range query", "9 10 11 12"},
		{table.Query[employee]{Partition: sales, Rows: empid.Rows().AtLeast(28)}, "range query", "28 29 30"},
		{table.Query[employee]{Partition: sales, Rows: empid.Rows().AtMost(2)}, "range query", "1 2"},
		{table.Query[employee]{Partition: sales, Rows: empid.RowKey(7).Family()}, "range query", "7"},
		{table.Query[employee]{Partition: sales, Limit: 3}, "partition scan", "1 2 3"},
		{table.Query[employee]{Partition: dept.PartitionKey("Marketing")}, "partition scan", "10 20 30"},
		{table.Query[employee]{Partition: dept.PartitionKey("Legal")}, "partition scan", ""},
		{table.Query[employee]{Partition: sales, Rows: empid.Rows().Between(100, 200)}, "range query", ""},
	} {
		ex, err := staff.Explain(c.q)
		e.must(err)
		if got := listIDs(e, staff, c.q); got != c.want || ex.Class != c.class {
			e.Errorf("%v %v: got %q, %v; want %q, %v", c.q.Partition, c.q.Rows, got, ex.Class, c.want, c.class)
		}
		e.wantRequests("1 query")
	}
	for what, q := range map[string]table.Query[employee]{
		"another layout's range": {Partition: sales, Rows: reviewKey.Under(7).All()},
		"swapped bounds":         {Partition: sales, Rows: empid.Rows().Between(2, 1)},
		"a partition in error":   {Partition: keys.RawPartition("a/b")},
		"an empty partition":     {Partition: keys.RawPartition("")},
	} {
		for _, err := range staff.List(context.Background(), q) {
			var ke *keys.KeyError
			if !errors.As(err, &ke) {
				e.Errorf("%s: got error %v; want a *KeyError", what, err)
			}
		}
	}
	e.wantRequests("none")
}

// keyFamily: Family yields a key and the keys below it, without keys that only begin with the same characters.
func keyFamily(e *env) {
	ctx := context.Background()
	type row struct{ P, R string }
	tab := newTable(e, table.Schema[row]{
		Partition: keys.RawPartitionOf(func(r *row) *string { return &r.P }),
		Row:       keys.RawRowOf(func(r *row) *string { return &r.R }),
	}, nil)
	for _, r := range []string{"Jone", "Jones", "Jones-Smith", "Jones0", "JonesA", "Jones_000152", "Jones_000153", "Jones`", "Jonesa"} {
		_, err := tab.Insert(ctx, &row{"p", r})
		e.must(err)
	}
	e.counter.Take()
	st := new(table.Stats)
	var got []string
	for v, err := range tab.List(ctx, table.Query[row]{Partition: keys.RawPartition("p"), Rows: keys.RawRow("Jones").Family(), Stats: st}) {
		e.must(err)
		got = append(got, v.Value.R)
	}
	if joined(got) != "Jones Jones_000152 Jones_000153" || st.Rows != 6 || st.Foreign != 3 {
		e.Errorf("got %s, %+v; want Jones and two keys below it, of 6 rows, 3 of them foreign", joined(got), *st)
	}
	e.wantRequests("1 query")
}

// pages: a list is the same whatever its page size, sends the documented requests, and can be left and repeated.
func pages(e *env) {
	ctx := context.Background()
	staff := newStaff(e, 25)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), Stats: new(table.Stats)}
	whole := listIDs(e, staff, q)
	e.wantRequests("1 query")
	q.PageSize = 10
	if got := listIDs(e, staff, q); got != whole {
		e.Errorf("pages of 10: got %s; want %s", got, whole)
	}
	e.wantRequests("3 query")
	if *q.Stats != (table.Stats{Requests: 3, Rows: 25}) {
		e.Errorf("Stats: got %+v; want 3 requests and 25 rows", *q.Stats)
	}
	q.Limit = 12
	if got := listIDs(e, staff, q); got != strings.Join(strings.Fields(whole)[:12], " ") {
		e.Errorf("Limit 12: got %s; want the first 12 of %s", got, whole)
	}
	e.wantRequests("2 query")
	if q.Stats.Rows != 12 {
		e.Errorf("rows read for Limit 12: got %d; want 12", q.Stats.Rows)
	}
	list := staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 10})
	e.wantRequests("none") // List sends nothing before the loop
	for range 2 {
		n := 0
		for _, err := range list {
			e.must(err)
			if n++; n == 11 {
				break
			}
		}
		e.wantRequests("2 query")
	}
	var le *table.LimitError
	if _, err := staff.Explain(table.Query[employee]{Partition: dept.PartitionKey("Sales"), PageSize: 1001}); !errors.As(err, &le) {
		e.Errorf("PageSize 1001: got error %v; want a *LimitError", err)
	}
	var ve *table.ValueError
	if _, err := staff.Explain(table.Query[employee]{Partition: dept.PartitionKey("Sales"), Limit: -1}); !errors.As(err, &ve) {
		e.Errorf("Limit -1: got error %v; want a *ValueError", err)
	}
}

// tableScans: a table scan is refused before it is sent, unless TableScan is set.
func tableScans(e *env) {
	staff := newStaff(e, 20)
	for _, err := range staff.List(context.Background(), table.Query[employee]{Where: age.Ge(30)}) {
		if !errors.Is(err, table.ErrTableScan) {
			e.Errorf("List without a partition: got error %v; want ErrTableScan", err)
		}
	}
	e.wantRequests("none")
	got := listIDs(e, staff, table.Query[employee]{Where: age.Ge(39), TableScan: true})
	if got != "20 19 20" { // Marketing sorts before Sales
		e.Errorf("table scan: got %s; want 20 19 20", got)
	}
	e.wantRequests("1 query")
}

// typesInOnePartition: each of two types in a partition lists its own rows only.
func typesInOnePartition(e *env) {
	ctx := context.Background()
	staff := newStaff(e, 3)
	reviews := sameTable(e, staff, reviewSchema)
	for _, y := range []int{2011, 2012} {
		_, err := reviews.Insert(ctx, &review{"Sales", 2, y, 5})
		e.must(err)
	}
	if got := listIDs(e, staff, table.Query[employee]{Partition: dept.PartitionKey("Sales")}); got != "1 2 3" {
		e.Errorf("employees: got %s; want 1 2 3", got)
	}
	n := 0
	for r, err := range reviews.List(ctx, table.Query[review]{Partition: dept.PartitionKey("Sales"), Rows: reviewKey.Under(2).All()}) {
		e.must(err)
		if n++; r.Value.ID != 2 || r.Value.Rating != 5 || r.Value.Department != "Sales" {
			e.Errorf("review: got %+v; want one of employee 2 with rating 5", r.Value)
		}
	}
	if n != 2 {
		e.Errorf("got %d reviews; want 2", n)
	}
	// A range with rows of both types: foreign rows are skipped and counted.
	st := new(table.Stats)
	if got := listIDs(e, staff, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Rows: keys.RawRows("e", "s"), Stats: st, Limit: 5}); got != "1 2 3" || st.Foreign != 2 {
		e.Errorf("a range with both types: got %s, %+v; want 1 2 3 and 2 foreign rows", got, st)
	}
	var ke *keys.KeyError
	if _, err := staff.Get(ctx, keys.At(dept.PartitionKey("Sales"), reviewKey.Of(2, 2011))); !errors.As(err, &ke) {
		e.Errorf("Get of a review as an employee: got error %v; want a *KeyError", err)
	}
}

// projection: a handle of a narrower type reads only its properties.
func projection(e *env) {
	ctx := context.Background()
	staff := newStaff(e, 5)
	type name struct {
		Last  string `table:"LastName"`
		Email string
	}
	names, err := table.ViewOf[name](staff)
	e.must(err)
	q := table.Query[employee]{Partition: dept.PartitionKey("Sales"), Rows: empid.Rows().Between(2, 3)}
	var got []string
	for p, err := range names.List(ctx, q) {
		e.must(err)
		id, err := empid.Decode(p.Key.RowKey())
		e.must(err)
		got = append(got, fmt.Sprint(id, p.Value.Last, p.Value.Email))
		if p.ETag == "" {
			e.Errorf("projection %v: got no ETag; want one", p.Key)
		}
	}
	if joined(got) != "2O'Briene2@contoso.com 3Müllere3@contoso.com" {
		e.Errorf("projections: got %q; want 2O'Briene2@contoso.com and 3Müllere3@contoso.com", got)
	}
	e.wantRequests("1 query")
	one, err := names.Get(ctx, at("Sales", 4))
	e.must(err)
	if one.Value.Last != "Jones" || one.Key != at("Sales", 4) {
		e.Errorf("Get of a projection: got %+v; want Jones of employee 4", one)
	}
	e.wantRequests("1 query")
	if _, err := names.Get(ctx, at("Sales", 99)); !errors.Is(err, table.ErrNotFound) {
		e.Errorf("Get of a missing projection: got error %v; want ErrNotFound", err)
	}
	for _, err := range names.List(ctx, table.Query[employee]{}) {
		if !errors.Is(err, table.ErrTableScan) {
			e.Errorf("List of projections without a partition: got error %v; want ErrTableScan", err)
		}
	}
	var te *table.TypeError
	if _, err := table.ViewOf[struct{ Salary int }](staff); !errors.As(err, &te) || te.Field != "Salary" {
		e.Errorf("As with an unknown field: got error %v; want a *TypeError of Salary", err)
	}
	if _, err := table.ViewOf[struct{ Age string }](staff); !errors.As(err, &te) {
		e.Errorf("As with a field of another type: got error %v; want a *TypeError", err)
	}
}

// onlyPartition: a query needs no partition if the schema has one only, and is no table scan.
func onlyPartition(e *env) {
	ctx := context.Background()
	type setting struct{ Name, Value string }
	settings := newTable(e, table.Schema[setting]{
		Partition: keys.OnePartition[setting]("settings"),
		Row:       keys.Row(keys.Text(), func(s *setting) *string { return &s.Name }),
	}, nil)
	_, err := settings.Insert(ctx, &setting{"color", "red"})
	e.must(err)
	n := 0
	for s, err := range settings.List(ctx, table.Query[setting]{}) {
		e.must(err)
		if n++; s.Value != (setting{"color", "red"}) || s.Key.PartitionKey() != "settings" {
			e.Errorf("List: got %+v; want color red in partition settings", s)
		}
	}
	if ex, err := settings.Explain(table.Query[setting]{}); n != 1 || err != nil || ex.Class != "partition scan" || ex.Filter != "PartitionKey eq 'settings' and RowKey lt '~'" {
		e.Errorf("got %d settings, explanation %+v, error %v; want 1, a scan of the partition settings", n, ex, err)
	}
}

// oneWayKeys: a key that cannot be decoded is compared with the one that the fields make.
func oneWayKeys(e *env) {
	ctx := context.Background()
	type user struct{ Email, Name string }
	bucket := keys.Spread(keys.Text(), 16)
	folded := keys.Fold(keys.Text())
	schema := table.Schema[user]{
		Partition: keys.PartitionFunc(bucket, func(u *user) string { return u.Email }),
		Row:       keys.RowFunc(folded, func(u *user) string { return u.Email }),
	}
	users := newTable(e, schema, nil)
	in, err := users.Insert(ctx, &user{"JonesJ@Contoso.com", "Jones"})
	e.must(err)
	got, err := users.Get(ctx, keys.At(bucket.PartitionKey("JonesJ@Contoso.com"), folded.RowKey("jonesj@contoso.COM")))
	e.must(err)
	if got.Value != in.Value {
		e.Errorf("Get: got %+v; want %+v", got.Value, in.Value)
	}
	got.Value.Email = "smith@contoso.com"
	if err := users.Replace(ctx, got); !errors.Is(err, table.ErrKeyChanged) {
		e.Errorf("Replace with another key: got error %v; want ErrKeyChanged", err)
	}
	mail := table.FieldOf(func(u *user) *string { return &u.Email })
	if err := users.Merge(ctx, in, mail.Set("other@contoso.com")); !errors.Is(err, table.ErrKeyChanged) {
		e.Errorf("Merge with another key: got error %v; want ErrKeyChanged", err)
	}
	base, err := bare.NewTable(e.tables, users.Name(), table.Schema[user]{}, nil)
	e.must(err)
	e.must(base.MergeAny(ctx, in.Key, mail.Set("other@contoso.com"))) // a writer without the schema's keys
	var ke *keys.KeyError
	if _, err := users.Get(ctx, in.Key); !errors.As(err, &ke) || ke.Key == "" {
		e.Errorf("Get of a row whose fields make another key: got error %v; want a *KeyError", err)
	}
}

// storedRows: Rows yields rows of all types.
func storedRows(e *env) {
	ctx := context.Background()
	staff := newStaff(e, 1)
	reviews := sameTable(e, staff, reviewSchema)
	_, err := reviews.Insert(ctx, &review{"Sales", 1, 2011, 5})
	e.must(err)
	var got []string
	for r, err := range staff.Rows(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
		e.must(err)
		names := slices.Sorted(maps.Keys(maps.Collect(r.All())))
		got = append(got, fmt.Sprint(r.Key, names))
		if r.ETag == "" || r.Timestamp.IsZero() {
			e.Errorf("row: got %+v; want an ETag and a Timestamp", r)
		}
	}
	// Rows also takes the range of another type.
	n := 0
	for r, err := range staff.Rows(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales"), Rows: reviewKey.Under(1).All()}) {
		e.must(err)
		if n++; r.Key.RowKey() != "review_000001_2011" {
			e.Errorf("rows of reviews: got %v; want review_000001_2011", r.Key)
		}
	}
	if n != 1 {
		e.Errorf("got %d reviews; want 1", n)
	}
	want := []string{"('Sales','empid_000001') [Age Email FirstName LastName _op]", "('Sales','review_000001_2011') [Rating _op]"}
	if !slices.Equal(got, want) {
		e.Errorf("Rows: got %q; want %q", got, want)
	}
}
