package table_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// shortPages is a service with employees of Sales, whose pages have as many rows as draw returns, possibly none. Its tokens are
// the IDs at which the next page begins.
func shortPages(ids *[]int, draw func(most int) int) *fakeTransport {
	return &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		q := r.URL.Query()
		top, _ := strconv.Atoi(q.Get("$top"))
		from, _ := strconv.Atoi(q.Get("NextRowKey"))
		n, next := draw(top), 0
		var rows []string
		for _, id := range *ids {
			switch {
			case id < from:
			case len(rows) < n:
				rows = append(rows, fmt.Sprintf(`{"odata.etag":"e","PartitionKey":"Sales","RowKey":"empid_%06d","LastName":"x","Age":1}`, id))
			case next == 0:
				next = id
			}
		}
		var h []string
		if next > 0 {
			// The time makes the tokens of two empty pages different, as the service's are.
			h = []string{"x-ms-continuation-NextPartitionKey", fmt.Sprint("p", len(rows), time.Now().UnixNano()), "x-ms-continuation-NextRowKey", strconv.Itoa(next)}
		}
		return jsonResponse(200, `{"value":[`+strings.Join(rows, ",")+`]}`, h...), nil
	}}
}

var inSales = table.Query[employee]{Partition: dept.PartitionKey("Sales")}

// TestCursorAnywhere: a list that stops anywhere and resumes in another process, over short and empty pages, yields every row
// once and in order. A row that a concurrent writer inserts or deletes is yielded at most once.
func TestCursorAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var ids []int
		for id := range 40 {
			if rapid.Bool().Draw(rt, "there") {
				ids = append(ids, 2*id+2)
			}
		}
		always := map[int]bool{}
		for _, id := range ids {
			always[id] = true
		}
		w := shortPages(&ids, func(most int) int { return rapid.IntRange(0, min(most, 7)).Draw(rt, "page") })
		var got []int
		token, ended := "", false
		for !ended {
			staff := newStaff(t, sdkClient(t, w)) // as in another process
			q := inSales
			q.Cursor = table.NewCursor(token)
			q.Limit = rapid.IntRange(0, 4).Draw(rt, "limit")
			q.PageSize = rapid.IntRange(0, 9).Draw(rt, "size")
			stop := rapid.IntRange(1, 12).Draw(rt, "stop")
			n := 0
			for e, err := range staff.List(context.Background(), q) {
				noError(rt, err)
				got = append(got, e.Value.ID)
				if n++; n == stop {
					break
				}
			}
			token, ended = q.Cursor.Token(), q.Cursor.Done()
			if ended != (token == "") {
				rt.Fatalf("got done %v, token %q; want an empty token if done, and no other", ended, token)
			}
			// Concurrent writers insert and delete, before and behind the position. An inserted ID is odd, and may be yielded or not.
			switch x := rapid.IntRange(0, 80).Draw(rt, "x"); {
			case len(ids) > 0 && x%3 == 0:
				i := x % len(ids)
				delete(always, ids[i])
				ids = append(ids[:i:i], ids[i+1:]...)
			case x%3 == 1 && !slices.Contains(ids, 2*x+1):
				ids = append(slices.Clone(ids), 2*x+1)
				slices.Sort(ids)
			}
		}
		seen := map[int]bool{}
		for i, id := range got {
			if i > 0 && got[i-1] >= id {
				rt.Fatalf("got %v; want ascending IDs", got)
			}
			seen[id] = true
		}
		for id := range always {
			if !seen[id] {
				rt.Fatalf("got %v; want %d in it", got, id)
			}
		}
	})
}

// TestCursorRequests: resuming costs no request at the end of a page, and one request in the middle of a page.
func TestCursorRequests(t *testing.T) {
	t.Parallel()
	ids := []int{1, 2, 3, 4, 5, 6, 7}
	w := shortPages(&ids, func(most int) int { return most })
	staff := newStaff(t, sdkClient(t, w))
	cursor := new(table.Cursor)
	q := inSales
	q.Cursor, q.Limit = cursor, 3
	list := func(stop int) (got []int) {
		w.sent = nil
		for e, err := range staff.List(context.Background(), q) {
			noError(t, err)
			if got = append(got, e.Value.ID); len(got) == stop {
				break
			}
		}
		return got
	}
	for i, c := range []struct {
		stop     int
		want     string
		requests string
	}{
		{0, "[1 2 3]", "GET"}, {0, "[4 5 6]", "GET"}, {0, "[7]", "GET"}, {0, "[]", ""},
	} {
		if got := list(c.stop); fmt.Sprint(got) != c.want || w.requests() != c.requests {
			t.Errorf("%d: got %v by %q; want %q and w.requests() == %q", i, got, w.requests(), c.want, c.requests)
		}
	}
	if !cursor.Done() || cursor.Token() != "" {
		t.Errorf("got done %v, token %q; want the end", cursor.Done(), cursor.Token())
	}
	cursor = table.NewCursor("")
	q.Cursor, q.Limit = cursor, 0
	for i, c := range []struct {
		stop     int
		want     string
		requests string
	}{
		{2, "[1 2]", "GET"}, {3, "[3 4 5]", "GET"}, {1, "[6]", "GET"}, {1, "[7]", "GET"}, {1, "[]", ""},
	} {
		if got := list(c.stop); fmt.Sprint(got) != c.want || w.requests() != c.requests {
			t.Errorf("in the middle of a page, %d: got %v by %q; want %q and w.requests() == %q", i, got, w.requests(), c.want, c.requests)
		}
	}
}

// TestPage: Page returns pages for a program that shows them.
func TestPage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ids := []int{1, 2, 3, 4, 5}
	short := 0
	w := shortPages(&ids, func(most int) int {
		if short++; short%2 == 1 {
			return 0
		}
		return min(most, 2)
	})
	staff := newStaff(t, sdkClient(t, w))
	page := func(q table.Query[employee], token string) (string, string) {
		w.sent = nil
		p, err := staff.Page(ctx, q, token)
		noError(t, err)
		var got []int
		for _, e := range p.Entities {
			got = append(got, e.Value.ID)
		}
		return fmt.Sprintf("%v by %s", got, w.requests()), p.Token
	}
	// Without a limit, each page is one request, empty or not.
	var all []string
	for got, token := page(inSales, ""); ; got, token = page(inSales, token) {
		if all = append(all, got); token == "" {
			break
		}
	}
	if got := strings.Join(all, "; "); got != "[] by GET; [1 2] by GET; [] by GET; [3 4] by GET; [] by GET; [5] by GET" {
		t.Errorf("got %q; want %q", got, "[] by GET; [1 2] by GET; [] by GET; [3 4] by GET; [] by GET; [5] by GET")
	}
	// With a limit, pages are full.
	q := inSales
	q.Limit = 3
	first, token := page(q, "")
	second, end := page(q, token)
	if first != "[1 2 3] by GET GET GET GET" || second != "[4 5] by GET GET" || end != "" {
		t.Errorf(`got %s; %s; %q; want first == "[1 2 3] by GET GET GET GET" and second == "[4 5] by GET GET" and end == ""`, first, second, end)
	}
	// The same token returns the same page again.
	if again, _ := page(q, token); again != "[4 5] by GET GET" {
		t.Errorf("got %q; want %q", again, "[4 5] by GET GET")
	}
}

// TestForeignTokens: a token of another table, query or version, and a damaged token, are refused before any request.
func TestForeignTokens(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ids := []int{1, 2, 3, 4, 5}
	w := shortPages(&ids, func(most int) int { return min(most, 2) })
	s := sdkClient(t, w)
	staff := newStaff(t, s)
	other, err := bare.NewTable(s, "others", staffSchema, singleAttempt())
	noError(t, err)
	upper, err := bare.NewTable(s, "STAFF", staffSchema, singleAttempt())
	noError(t, err)
	p, err := staff.Page(ctx, inSales, "")
	if err != nil || p.Token == "" {
		t.Fatalf(`got %+v, %v; want no error and p.Token != ""`, p, err)
	}
	refused := func(what string, in *table.Table[employee], q table.Query[employee], token string) {
		t.Helper()
		w.sent = nil
		_, err := in.Page(ctx, q, token)
		var te *table.ValueError
		if !errors.As(err, &te) || te.Reason == "" || w.requests() != "" {
			t.Errorf(`%s: got %v, %s; want a *TokenError and te.Reason != "" and w.requests() == ""`, what, err, w.requests())
		}
	}
	q := inSales
	q.Where = age.Ge(2)
	refused("another condition", staff, q, p.Token)
	q = inSales
	q.Rows = empid.Rows().AtLeast(1)
	refused("another range", staff, q, p.Token)
	q.Rows = empid.RowKey(1).Family()
	family, err := staff.Page(ctx, q, "")
	noError(t, err)
	from, to, _ := q.Rows.Bounds()
	q.Rows = keys.RawRows(from, to)
	refused("the family's range", staff, q, family.Token)
	refused("another partition", staff, table.Query[employee]{Partition: dept.PartitionKey("Marketing")}, p.Token)
	refused("another table", other, inSales, p.Token)
	refused("nonsense", staff, inSales, "nonsense")
	refused("not base64", staff, inSales, "!"+p.Token)
	raw, err := base64.RawURLEncoding.DecodeString(p.Token)
	noError(t, err)
	for i := 1; i < len(raw); i++ {
		for _, bit := range []byte{1, 0x80} {
			b := append([]byte(nil), raw...)
			b[i] ^= bit
			refused(fmt.Sprintf("byte %d of %d changed", i, len(raw)), staff, inSales, base64.RawURLEncoding.EncodeToString(b))
		}
		refused(fmt.Sprintf("cut to %d bytes", i), staff, inSales, base64.RawURLEncoding.EncodeToString(raw[:i]))
	}
	// An equal query with other sizes resumes.
	q = inSales
	q.Limit, q.PageSize, q.Rows = 1, 500, empid.Rows().All()
	for _, in := range []*table.Table[employee]{staff, upper} {
		next, err := in.Page(ctx, q, p.Token)
		if err != nil || len(next.Entities) != 1 || next.Entities[0].Value.ID != 3 {
			t.Errorf("got %+v, %v; want no error and len(next.Entities) == 1 and next.Entities[0].Value.ID == 3", next, err)
		}
	}
	// Types that share keys do not share positions, since a list skips foreign rows.
	typed := func(typ string) *table.Table[employee] {
		s2 := staffSchema
		s2.Type = typ
		in, err := bare.NewTable(s, "staff", s2, singleAttempt())
		noError(t, err)
		return in
	}
	of, err := typed("employee").Page(ctx, inSales, "")
	noError(t, err)
	refused("another type", typed("manager"), inSales, of.Token)
	// A projection resumes a list of entities. A list of rows of every type does not.
	type name struct {
		Last string `table:"LastName"`
	}
	names, err := table.ViewOf[name](staff)
	noError(t, err)
	q = inSales
	q.Cursor = table.NewCursor(p.Token)
	for n, err := range names.List(ctx, q) {
		if err != nil || n.Key != employeeKey("Sales", 3) {
			t.Errorf(`got %+v, %v; want no error and n.Key == employeeKey("Sales", 3)`, n, err)
		}
		break
	}
	q.Cursor = table.NewCursor(p.Token)
	for _, err := range staff.Rows(ctx, q) {
		var te *table.ValueError
		if !errors.As(err, &te) {
			t.Errorf("got %v; want a *TokenError", err)
		}
	}
	// A refused query does not move the cursor.
	if q.Cursor.Token() != p.Token {
		t.Errorf("got %q after a refused query; want %q", q.Cursor.Token(), p.Token)
	}
}

// TestCursorOrder: the cursor keeps the service's order, in which characters above U+FFFF sort before U+FFFD.
func TestCursorOrder(t *testing.T) {
	t.Parallel()
	rows := `{"odata.etag":"e","PartitionKey":"p","RowKey":"a\ud83d\ude00"},{"odata.etag":"e","PartitionKey":"p","RowKey":"a\ufffd"},{"odata.etag":"e","PartitionKey":"p","RowKey":"b"}`
	w := &fakeTransport{respond: func(*http.Request, string) (*http.Response, error) {
		return jsonResponse(200, `{"value":[`+rows+`]}`), nil
	}}
	tab, err := bare.NewTable(sdkClient(t, w), "ttt", table.Schema[table.Row]{}, singleAttempt())
	noError(t, err)
	cursor := new(table.Cursor)
	var got []string
	for range 5 {
		for e, err := range tab.List(context.Background(), table.Query[table.Row]{Partition: keys.RawPartition("p"), Cursor: cursor}) {
			noError(t, err)
			got = append(got, e.Key.RowKey())
			break
		}
	}
	if fmt.Sprintf("%q", got) != `["a😀" "a�" "b"]` {
		t.Errorf("got %q; want fmt.Sprintf(\"%%q\", got) == `[\"a😀\" \"a�\" \"b\"]`", got)
	}
}
