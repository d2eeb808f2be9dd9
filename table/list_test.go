package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// pagesOf serves queries from rows, $top at a time, whatever the filter.
func pagesOf(rows []string) *fakeTransport {
	return &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		q := r.URL.Query()
		top, _ := strconv.Atoi(q.Get("$top"))
		from, _ := strconv.Atoi(q.Get("NextRowKey"))
		to := min(from+top, len(rows))
		var h []string
		if to < len(rows) {
			h = []string{"x-ms-continuation-NextPartitionKey", "p", "x-ms-continuation-NextRowKey", strconv.Itoa(to)}
		}
		return jsonResponse(200, `{"value":[`+strings.Join(rows[from:to], ",")+`]}`, h...), nil
	}}
}

// TestLimitAmongForeignRows: foreign rows do not cost a request each.
func TestLimitAmongForeignRows(t *testing.T) {
	t.Parallel()
	type user struct{ Name string }
	var rows []string
	for i := range 100 {
		rows = append(rows, fmt.Sprintf(`{"odata.etag":"e","PartitionKey":"p","RowKey":"000_%03d"}`, i))
	}
	rows = append(rows, `{"odata.etag":"e","PartitionKey":"p","RowKey":"zoe"}`)
	w := pagesOf(rows)
	users, err := bare.NewTable(sdkClient(t, w), "users", table.Schema[user]{Row: keys.Row(keys.Text(), func(u *user) *string { return &u.Name })}, singleAttempt())
	noError(t, err)
	var found []string
	var stats table.Stats
	for e, err := range users.List(context.Background(), table.Query[user]{Partition: keys.RawPartition("p"), Limit: 1, Stats: &stats}) {
		noError(t, err)
		found = append(found, e.Value.Name)
	}
	if fmt.Sprint(found) != "[zoe]" || w.requests() != "GET GET" || stats != (table.Stats{Requests: 2, Rows: 101, Foreign: 100}) {
		t.Errorf(`got %v by %s, %+v; want found == "[zoe]" and w.requests() == "GET GET" and stats == table.Stats{Requests: 2, Rows: 101, Foreign: 100}`, found, w.requests(), stats)
	}
}

// TestRepeatedToken: a list ends with an error if the service repeats a token.
func TestRepeatedToken(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) {
		return jsonResponse(200, `{"value":[]}`, "x-ms-continuation-NextPartitionKey", "p"), nil
	}}
	var err error
	for _, err = range newStaff(t, sdkClient(t, w)).List(context.Background(), table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
	}
	var de *table.DecodeError
	if !errors.As(err, &de) || w.requests() != "GET GET" {
		t.Errorf(`got %v after %s; want a *DecodeError and w.requests() == "GET GET"`, err, w.requests())
	}
}

// TestScansOmitLibraryRows: the filter of a scan leaves out the library's rows by both keys.
func TestScansOmitLibraryRows(t *testing.T) {
	t.Parallel()
	w := pagesOf(nil)
	staff := newStaff(t, sdkClient(t, w))
	for range staff.Rows(context.Background(), table.Query[employee]{TableScan: true}) {
	}
	for range staff.List(context.Background(), table.Query[employee]{TableScan: true}) {
	}
	var filters []string
	for _, s := range w.sent {
		q, _ := url.ParseQuery(s.query)
		filters = append(filters, q.Get("$filter"))
	}
	if fmt.Sprintf("%q", filters) != `["(PartitionKey lt '~' or PartitionKey ge '\u00a0') and (RowKey lt '~' or RowKey ge '\u00a0')" "(PartitionKey lt '~' or PartitionKey ge '\u00a0') and RowKey ge 'empid_' and RowKey lt 'empid`+"`"+`'"]` {
		t.Errorf("got %q; want fmt.Sprintf(\"%%q\", filters) == `[\"(PartitionKey lt '~' or PartitionKey ge '\\u00a0') and (RowKey lt '~' or RowKey ge '\\u00a0')\" \"(PartitionKey lt '~' or PartitionKey ge '\\u00a0') and RowKey ge 'empid_' and RowKey lt 'empid`+\"`\"+`'\"]`", filters)
	}
}

// TestForeignPartition: a list of a partition that the layout cannot have is refused before any request.
func TestForeignPartition(t *testing.T) {
	t.Parallel()
	type row struct{ ID int }
	w := pagesOf(nil)
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[row]{Partition: keys.OnePartition[row]("all"), Row: keys.Row(empid, func(r *row) *int { return &r.ID })}, singleAttempt())
	noError(t, err)
	q := table.Query[row]{Partition: keys.RawPartition("other")}
	for _, err = range tab.List(context.Background(), q) {
	}
	var ke *keys.KeyError
	if !errors.As(err, &ke) || ke.Key != "PartitionKey" || w.requests() != "" {
		t.Errorf(`got %v, %s; want a *keys.KeyError and ke.Key == "PartitionKey" and w.requests() == ""`, err, w.requests())
	}
	for _, err := range tab.Rows(context.Background(), q) {
		t.Errorf("rows of any partition: got %v; want none", err)
	}
	if w.requests() != "GET" {
		t.Errorf("got %q; want %q", w.requests(), "GET")
	}
}

// TestOneWayKeys: if only the computed key shows that a row belongs to the type, List skips foreign rows, and Get returns an
// error that says why.
func TestOneWayKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type user struct{ Email string }
	folded := keys.Fold(keys.Text())
	w := pagesOf([]string{`{"odata.etag":"W/\"e\"","PartitionKey":"p","RowKey":"jones@x","Email":"Jones@x"}`, `{"odata.etag":"e","PartitionKey":"p","RowKey":"note_1","Text":"hello"}`})
	users, err := bare.NewTable(sdkClient(t, w), "users", table.Schema[user]{Row: keys.RowFunc(folded, func(u *user) string { return u.Email })}, singleAttempt())
	noError(t, err)
	var stats table.Stats
	var found []string
	for e, err := range users.List(ctx, table.Query[user]{Partition: keys.RawPartition("p"), Stats: &stats}) {
		noError(t, err)
		found = append(found, e.Value.Email)
	}
	if fmt.Sprint(found) != "[Jones@x]" || stats.Foreign != 1 {
		t.Errorf(`got %v, %+v; want found == "[Jones@x]" and stats.Foreign == 1`, found, stats)
	}

	// A merge must not change the property from which the key is computed.
	email := table.FieldOf(func(u *user) *string { return &u.Email })
	w.respond = func(r *http.Request, _ string) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return jsonResponse(200, `{"odata.etag":"W/\"e\"","PartitionKey":"p","RowKey":"jones@x","Email":"Jones@x"}`), nil
		}
		return noContent(), nil
	}
	e, err := users.Get(ctx, keys.At(keys.RawPartition("p"), folded.RowKey("JONES@x")))
	noError(t, err)
	if err := users.Merge(ctx, e, email.Set("other@x")); !errors.Is(err, table.ErrKeyChanged) || e.Value.Email != "Jones@x" {
		t.Errorf(`got %v, %+v; want ErrKeyChanged and e.Value.Email == "Jones@x"`, err, e.Value)
	}
	var ve *table.ValueError
	if err := users.MergeAny(ctx, e.Key, email.Set("other@x")); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError", err)
	}
	if err := users.Merge(ctx, e, email.Set("JONES@x")); err != nil || e.Value.Email != "JONES@x" {
		t.Errorf(`a merge that leaves the key: got %v; want no error and e.Value.Email == "JONES@x"`, err)
	}
}

// TestForeignKeys: a row with a foreign key that keys.Raw refuses can be read and replaced.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type row struct{ P, R, Name string }
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return jsonResponse(200, `{"odata.etag":"W/\"e\"","PartitionKey":"p","RowKey":"Ärger","Name":"a"}`), nil
		}
		return noContent(), nil
	}}
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[row]{
		Partition: keys.RawPartitionOf(func(r *row) *string { return &r.P }),
		Row:       keys.RawRowOf(func(r *row) *string { return &r.R }),
	}, singleAttempt())
	noError(t, err)
	e, err := tab.Get(ctx, keys.Raw("p", "Ärger"))
	noError(t, err)
	e.Value.Name = "b"
	if err := tab.Replace(ctx, e); err != nil {
		t.Error(err)
	}
	if err := tab.Rekey(ctx, e); err != nil || w.last().method != http.MethodPut {
		t.Errorf("Rekey to the same key: got %v, %s; want no error and w.last().method == http.MethodPut", err, w.last().method)
	}
	e.Value.R = "Ö"
	if err := tab.Replace(ctx, e); !errors.Is(err, table.ErrKeyChanged) {
		t.Errorf("got %v; want ErrKeyChanged", err)
	}
}

// TestEmptyPages: a list follows empty and short pages, and tokens without a RowKey, to the end.
func TestEmptyPages(t *testing.T) {
	t.Parallel()
	one := func(id int) string {
		return strings.Replace(strings.Replace(employeeJSON, "000223", fmt.Sprintf("%06d", id), 1), "44", strconv.Itoa(id), 1)
	}
	pages := []struct{ body, nextPK, nextRK string }{
		{`{"value":[]}`, "1!8!U2FsZXM-", ""},
		{`{"value":[` + one(1) + `]}`, "1!8!U2FsZXM-", "1!4!Mg--"},
		{`{"value":[]}`, "1!8!U2FsZXM-", "1!4!Mw--"},
		{`{"value":[` + one(2) + `,` + one(3) + `]}`, "", ""},
	}
	n := 0
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		q := r.URL.Query()
		if n > 0 && (q.Get("NextPartitionKey") != pages[n-1].nextPK || q.Has("NextRowKey") != (pages[n-1].nextRK != "") || q.Get("NextRowKey") != pages[n-1].nextRK) {
			t.Errorf("page %d: got the parameters %v; want NextPartitionKey %s, NextRowKey %s", n, q, pages[n-1].nextPK, pages[n-1].nextRK)
		}
		p := pages[n]
		n++
		return jsonResponse(200, p.body, "x-ms-continuation-NextPartitionKey", p.nextPK, "x-ms-continuation-NextRowKey", p.nextRK), nil
	}}
	var got []int
	for e, err := range newStaff(t, sdkClient(t, w)).List(context.Background(), table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
		noError(t, err)
		got = append(got, e.Value.ID)
	}
	if fmt.Sprint(got) != "[1 2 3]" || n != 4 {
		t.Errorf(`got %v, %v; want "[1 2 3]" and n == 4`, got, n)
	}
}

// TestTableScanNamesTheWayOut: a list without a partition sends nothing, and its error names the two options.
func TestTableScanNamesTheWayOut(t *testing.T) {
	t.Parallel()
	w := pagesOf(nil)
	staff := newStaff(t, sdkClient(t, w))
	var err error
	for _, err = range staff.List(context.Background(), table.Query[employee]{}) {
	}
	want := "table: List staff: the query would scan the table; set Query.Partition, or Query.TableScan if that is meant"
	if !errors.Is(err, table.ErrTableScan) || err.Error() != want {
		t.Errorf("got error %v; want %s", err, want)
	}
	if got := len(w.sent); got != 0 {
		t.Errorf("got %d requests; want none", got)
	}
}
