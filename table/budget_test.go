package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/table"
)

// TestBudgets: each bound of a budget ends a list. The entities before the bound are yielded, and the cursor resumes behind
// them.
func TestBudgets(t *testing.T) {
	t.Parallel()
	ids := []int{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for what, c := range map[string]struct {
		budget   table.Budget
		want     string
		requests int
		over     bool
	}{
		"requests":         {table.Budget{Requests: 2}, "[1 2 3 4]", 2, true},
		"rows":             {table.Budget{Rows: 5}, "[1 2 3 4 5]", 3, true},
		"requests, enough": {table.Budget{Requests: 5}, "[1 2 3 4 5 6 7 8 9]", 5, false},
		"rows, enough":     {table.Budget{Rows: 9}, "[1 2 3 4 5 6 7 8 9]", 5, false},
		"time":             {table.Budget{Time: time.Nanosecond}, "[]", 0, true},
		"time, enough":     {table.Budget{Time: time.Hour}, "[1 2 3 4 5 6 7 8 9]", 5, false},
	} {
		w := shortPages(&ids, func(most int) int { return min(most, 2) })
		staff := newStaff(t, sdkClient(t, w))
		q := inSales
		q.Budget, q.Cursor, q.Stats = c.budget, new(table.Cursor), new(table.Stats)
		list := func() (got []int, err error) {
			for e, lerr := range staff.List(context.Background(), q) {
				if lerr != nil {
					return got, lerr
				}
				got = append(got, e.Value.ID)
			}
			return got, nil
		}
		got, err := list()
		if fmt.Sprint(got) != c.want && !(got == nil && c.want == "[]") || errors.Is(err, table.ErrBudget) != c.over || !c.over && err != nil || q.Stats.Requests != c.requests && c.requests > 0 {
			t.Errorf("%s: got %v, %v, %+v; want %s, ErrBudget: %v, %d requests", what, got, err, q.Stats, c.want, c.over, c.requests)
		}
		if !c.over {
			continue
		}
		q.Budget = table.Budget{}
		rest, err := list()
		if all := append(got, rest...); err != nil || fmt.Sprint(all) != fmt.Sprint(ids) {
			t.Errorf("%s, resumed: got %v, %v; want no error and all == %q", what, all, err, fmt.Sprint(ids))
		}
	}
	staff := newStaff(t, sdkClient(t, noRequests(t)))
	for _, b := range []table.Budget{{Requests: -1}, {Rows: -1}, {Time: -1}} {
		q := inSales
		q.Budget = b
		var ve *table.ValueError
		for _, err := range staff.List(context.Background(), q) {
			if !errors.As(err, &ve) {
				t.Errorf("%+v: got %v; want a *ValueError", b, err)
			}
		}
	}
}

// TestBudgetResumed: resuming in the middle of a page costs one request, and only new rows count against the budget.
func TestBudgetResumed(t *testing.T) {
	t.Parallel()
	var ids []int
	for id := range 1000 {
		ids = append(ids, id+1)
	}
	w := shortPages(&ids, func(most int) int { return most })
	staff := newStaff(t, sdkClient(t, w))
	q := inSales
	q.Cursor, q.Stats = new(table.Cursor), new(table.Stats)
	list := func(stop int) (n int, err error) {
		w.sent = nil
		for _, err = range staff.List(context.Background(), q) {
			if err == nil {
				n++
			}
			if n == stop {
				break
			}
		}
		return n, err
	}
	if n, err := list(900); n != 900 || err != nil {
		t.Fatalf("got %v, %v; want n == 900 and no error", n, err)
	}
	q.Budget.Rows = 10
	for _, want := range []int{10, 10} {
		if n, err := list(0); n != want || !errors.Is(err, table.ErrBudget) || w.requests() != "GET" || q.Stats.Rows != 10 {
			t.Errorf(`got %d, %v by %s, %+v; want n == %v and ErrBudget and w.requests() == "GET" and q.Stats.Rows == 10`, n, err, w.requests(), *q.Stats, want)
		}
	}
	q.Budget.Rows = 0
	if n, err := list(0); n != 80 || err != nil {
		t.Errorf("got %v, %v; want n == 80 and no error", n, err)
	}
}

// TestBudgetOfForeignRows: a list that reads only foreign rows reaches its end after several budgets.
func TestBudgetOfForeignRows(t *testing.T) {
	t.Parallel()
	const last = 100
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		top, _ := strconv.Atoi(r.URL.Query().Get("$top"))
		from, _ := strconv.Atoi(r.URL.Query().Get("NextRowKey"))
		var rows, h []string
		for id := from; id <= last && len(rows) < top; id++ {
			key := fmt.Sprintf("empid_%06d", id)
			if id > 1 {
				key += "_x" // a key outside of the layout
			}
			rows = append(rows, fmt.Sprintf(`{"odata.etag":"e","PartitionKey":"Sales","RowKey":%q}`, key))
		}
		if next := from + len(rows); next <= last {
			h = []string{"x-ms-continuation-NextPartitionKey", "p", "x-ms-continuation-NextRowKey", strconv.Itoa(next)}
		}
		return jsonResponse(200, `{"value":[`+strings.Join(rows, ",")+`]}`, h...), nil
	}}
	staff := newStaff(t, sdkClient(t, w))
	q := inSales
	q.Cursor = new(table.Cursor)
	for range staff.List(context.Background(), q) { // empid_000000, in the middle of a page
		break
	}
	q.Budget.Rows = 30
	found, attempts := 1, 0
	for ; !q.Cursor.Done() && attempts < 10; attempts++ {
		for _, err := range staff.List(context.Background(), q) {
			if err != nil && !errors.Is(err, table.ErrBudget) {
				t.Fatalf("got %v; want no error or ErrBudget", err)
			} else if err == nil {
				found++
			}
		}
	}
	if found != 2 || attempts != 4 {
		t.Errorf("got %d entities in %d attempts; want 2 in 4", found, attempts)
	}
}

// TestPageBudget: a page that a budget cuts short is returned with its token.
func TestPageBudget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	ids := []int{1, 2, 3, 4, 5, 6}
	w := shortPages(&ids, func(most int) int { return min(most, 2) })
	staff := newStaff(t, sdkClient(t, w))
	q := inSales
	q.Limit, q.Budget.Requests = 5, 2
	p, err := staff.Page(ctx, q, "")
	if !errors.Is(err, table.ErrBudget) || p == nil || len(p.Entities) != 4 || p.Token == "" {
		t.Fatalf(`got %+v, %v; want ErrBudget and p != nil and len(p.Entities) == 4 and p.Token != ""`, p, err)
	}
	p, err = staff.Page(ctx, q, p.Token)
	if err != nil || len(p.Entities) != 2 || p.Entities[0].Value.ID != 5 || p.Token != "" {
		t.Errorf(`got %+v, %v; want no error and len(p.Entities) == 2 and p.Entities[0].Value.ID == 5 and p.Token == ""`, p, err)
	}
	q.Cursor = new(table.Cursor)
	var ve *table.ValueError
	if _, err := staff.Page(ctx, q, ""); !errors.As(err, &ve) {
		t.Errorf("Page with a cursor: got %v; want a *ValueError", err)
	}
}

// TestBudgetOfAHungService: Budget.Time also ends a request under way. The error differs from that of the caller's own
// deadline.
func TestBudgetOfAHungService(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}}
	staff := newStaff(t, sdkClient(t, w))
	q := inSales
	q.Budget.Time = time.Millisecond
	for _, err := range staff.List(context.Background(), q) {
		if !errors.Is(err, table.ErrBudget) {
			t.Errorf("got %v; want ErrBudget", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	q.Budget.Time = time.Hour
	for _, err := range staff.List(ctx, q) {
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, table.ErrBudget) {
			t.Errorf("got %v; want context.DeadlineExceeded and not ErrBudget", err)
		}
	}
}
