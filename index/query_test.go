package index_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// failing is a service that does not answer when one row is read by its key.
type failing struct {
	*storagetest.Service
	row string
}

func (f *failing) Do(r *http.Request) (*http.Response, error) {
	if f.row != "" && r.Method == http.MethodGet && strings.Contains(r.URL.Path, f.row) {
		return nil, gone{errors.New("nobody is there")}
	}
	return f.Service.Do(r)
}

// gone is an error after which the SDK does not try again.
type gone struct{ error }

func (gone) NonRetriable() {}

// TestCursorOfPointers: a list by pointers can end by a break, its limit, an error or its context, and resumes behind the last
// entity that it has yielded.
func TestCursorOfPointers(t *testing.T) {
	t.Parallel()
	var want []int
	old, s := newStaff(t, byLast, byAge)
	for i := range 30 {
		insertAll(t, old, s, worker{"S", i, "Cao", "", 1, nil})
		want = append(want, i)
	}
	// Its rows are pointers, so that look-ups read the entities, one by one.
	pointers := index.New("last", keys.Ordered(), name, nil).Only()
	projections := index.New("last", keys.Ordered(), name, nil).Only(age, last)
	for what, ix := range map[string]*index.Index[worker, string]{"pointers": pointers, "projections to be": projections} {
		for how, o := range map[string]struct {
			limit, after int
			fail, cancel bool
		}{
			"break": {after: 7}, "break at once": {after: 1}, "limit": {limit: 3}, "error": {fail: true}, "context": {after: 12, cancel: true},
		} {
			f := &failing{Service: s}
			staff, err := baretest.Attach(openAs(t, s.ConnectionString(), f, schema), ix)
			check(t, err)
			token, got, rounds := "", []int(nil), 0
			for over := false; !over && rounds < 100; rounds++ {
				ctx, cancel := context.WithCancel(context.Background())
				if f.row = ""; o.fail && rounds%2 == 0 {
					f.row = at(rounds).RowKey()
				}
				c := table.NewCursor(token)
				n := 0
				for e, err := range ix.Query(ctx, staff, table.Query[worker]{Partition: sales, Limit: o.limit, Cursor: c}) {
					if err != nil {
						if !o.fail && !o.cancel {
							t.Error(err)
						}
						break
					}
					got = append(got, e.Value.ID)
					if n++; n == o.after {
						if !o.cancel {
							break
						}
						cancel()
					}
				}
				cancel()
				token, over = c.Token(), c.Done()
			}
			testkit.Expect(t, what+", "+how, got, want)
		}
	}
}

// concurrencyGate is a service that answers no read of a single row until ten of them wait.
type concurrencyGate struct {
	*storagetest.Service
	n   atomic.Int32
	ten chan bool
}

func (c *concurrencyGate) Do(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "RowKey=") {
		if c.n.Add(1) == 10 {
			close(c.ten)
		}
		select {
		case <-c.ten:
		case <-time.After(10 * time.Second):
			return nil, errors.New("nobody else has come")
		}
	}
	return c.Service.Do(r)
}

// TestPagesOfPointers: a page takes the requests of a list, and several at a time.
func TestPagesOfPointers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byLast)
	for i := range 50 {
		insertAll(t, staff, s, worker{"S", i, "Cao", "", 1, nil})
	}
	s.Count()
	slow, err := baretest.Attach(openAs(t, s.ConnectionString(), &concurrencyGate{Service: s, ten: make(chan bool)}, schema), byLast)
	check(t, err)
	c := table.NewCursor("")
	var stats table.Stats
	page := table.Query[worker]{Partition: sales, Rows: byLast.Value("Cao"), Cursor: c, Limit: 20, Stats: &stats}
	testkit.Expect(t, "entities", len(ids(t, byLast.Query(ctx, slow, page))), 20)
	testkit.Expect(t, "requests", s.Count().String(), "20 get, 1 query")
	testkit.Expect(t, "stats", stats, table.Stats{Requests: 21, Rows: 20})
	page.Cursor, page.Limit, page.Budget = table.NewCursor(c.Token()), 0, table.Budget{Requests: 11}
	var got []int
	for e, err := range byLast.Query(ctx, staff, page) {
		if err != nil {
			if !errors.Is(err, table.ErrBudget) {
				t.Error(err)
			}
			break
		}
		got = append(got, e.Value.ID)
	}
	testkit.Expect(t, "requests", s.Count().String(), "10 get, 1 query")
	page.Cursor, page.Budget = table.NewCursor(page.Cursor.Token()), table.Budget{Time: time.Hour}
	testkit.Expect(t, "all", len(got)+len(ids(t, byLast.Query(ctx, staff, page))), 30)
}

// emptyFirst is a service whose first page of each list holds nothing, but the token of the next.
type emptyFirst struct{ transport }

func (e emptyFirst) Do(r *http.Request) (*http.Response, error) {
	resp, err := e.transport.Do(r)
	if err == nil && r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "filter") && !strings.Contains(r.URL.RawQuery, "NextPartitionKey") {
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(`{"value":[]}`)), -1
		resp.Header.Del("Content-Length")
	}
	return resp, err
}

// TestBudgetsMakeProgress: a query that its budget ends and that is resumed reaches its end, however small the budget is.
func TestBudgetsMakeProgress(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	base, s := newStaff(t, byEmail, byLast)
	for i := range 30 {
		insertAll(t, base, s, worker{"S", i, "Jones", fmt.Sprint("m", i), i, nil})
	}
	s.SetFaults(storagetest.OfKind(requests.Query, storagetest.ShortPage(3)))
	for what, tr := range map[string]transport{"short pages": s, "an empty one": emptyFirst{s}} {
		staff, err := baretest.Attach(openAs(t, s.ConnectionString(), tr, schema), byEmail, byLast)
		check(t, err)
		want := 30
		if what == "an empty one" {
			want -= 3 // of the page that was emptied
		}
		for _, ix := range []*index.Index[worker, string]{byEmail, byLast} {
			for _, q := range []table.Query[worker]{{Budget: table.Budget{Requests: 1}}, {Budget: table.Budget{Requests: 5}}, {PageSize: 2, Budget: table.Budget{Requests: 5}},
				{Budget: table.Budget{Requests: 40}}} {
				c, got, calls := &table.Cursor{}, 0, 0
				q.Partition, q.Cursor = sales, c
				for ; calls < 100 && !c.Done(); calls++ {
					for _, err := range ix.Query(ctx, staff, q) {
						if errors.Is(err, table.ErrBudget) {
							break
						}
						check(t, err)
						got++
					}
				}
				if !c.Done() || got < want {
					t.Errorf("%s, %s, %+v: %d of %d in %d calls", what, ix.Name(), q.Budget, got, want, calls)
				}
			}
		}
	}
}
