package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// unevenPages serves rows of Sales: of an ID of employees, or of other rows for negative numbers. Each page has as many rows as
// sizes says, by the number of the page. Equal requests get equal responses.
func unevenPages(rows, sizes []int) *fakeTransport {
	return &fakeTransport{respond: func(r *http.Request, _ string) (*http.Response, error) {
		q := r.URL.Query()
		top, _ := strconv.Atoi(q.Get("$top"))
		number, _ := strconv.Atoi(strings.TrimPrefix(q.Get("NextPartitionKey"), "p"))
		from, _ := strconv.Atoi(q.Get("NextRowKey"))
		to := min(from+min(top, sizes[number%len(sizes)]), len(rows))
		var page []string
		for i := from; i < to; i++ {
			rk := fmt.Sprintf("empid_%06d", rows[i])
			if rows[i] < 0 {
				rk = fmt.Sprintf("empid_%06d_x", -rows[i])
			}
			page = append(page, fmt.Sprintf(`{"odata.etag":"e","PartitionKey":"Sales","RowKey":%q,"LastName":"x","Age":1}`, rk))
		}
		var h []string
		if to < len(rows) {
			h = []string{"x-ms-continuation-NextPartitionKey", fmt.Sprint("p", number+1), "x-ms-continuation-NextRowKey", strconv.Itoa(to)}
		}
		return jsonResponse(200, `{"value":[`+strings.Join(page, ",")+`]}`, h...), nil
	}}
}

// listed is what a loop over a list has seen.
type listed struct {
	ids   []int
	err   string
	stats table.Stats
	token string
	done  bool

	sent []string // the queries of the requests
}

// TestReadAheadSame: with ReadAhead, a list yields the same entities, errors, statistics and positions, by the same requests. Only a
// loop that ends early may have sent 1 request more.
func TestReadAheadSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var rows []int
		for i := range rapid.IntRange(0, 60).Draw(rt, "rows") {
			if rapid.IntRange(0, 9).Draw(rt, "other") == 0 {
				rows = append(rows, -i-1)
			} else {
				rows = append(rows, i+1)
			}
		}
		sizes := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 3, 10, 1000, 1000}), 1, 5).Draw(rt, "sizes")
		if !slices.ContainsFunc(sizes, func(n int) bool { return n > 0 }) {
			sizes[0] = 1
		}
		zeroOr := func(most int, what string) int {
			return max(0, rapid.IntRange(-most, most).Draw(rt, what))
		}
		token := ""
		for range 3 {
			q := inSales
			q.Limit, q.PageSize = zeroOr(50, "limit"), zeroOr(10, "size")
			q.Budget = table.Budget{Requests: zeroOr(6, "budget of requests"), Rows: zeroOr(50, "budget of rows")}
			stop := zeroOr(30, "stop")
			method := rapid.SampledFrom([]string{"List", "List", "Rows", "Page"}).Draw(rt, "method")
			run := func(ahead bool) (l listed) {
				w := unevenPages(rows, sizes)
				staff := newStaff(t, sdkClient(t, w))
				q, stats := q, new(table.Stats)
				q.ReadAhead, q.Stats = ahead, stats
				fail := func(err error) {
					if l.err = fmt.Sprint(err); errors.Is(err, table.ErrBudget) {
						l.err = "budget: " + l.err
					}
				}
				switch method {
				case "Page":
					p, err := staff.Page(context.Background(), q, token)
					if err != nil {
						fail(err)
					}
					if p != nil {
						for _, e := range p.Entities {
							l.ids = append(l.ids, e.Value.ID)
						}
						l.token = p.Token
					}
				case "List":
					q.Cursor = table.NewCursor(token)
					for e, err := range staff.List(context.Background(), q) {
						if err != nil {
							fail(err)
							break
						}
						if l.ids = append(l.ids, e.Value.ID); len(l.ids) == stop {
							break
						}
					}
					l.token, l.done = q.Cursor.Token(), q.Cursor.Done()
				case "Rows":
					for r, err := range staff.Rows(context.Background(), q) {
						if err != nil {
							fail(err)
							break
						}
						n, _ := strconv.Atoi(strings.Trim(r.Key.RowKey(), "empid_x"))
						if l.ids = append(l.ids, n); len(l.ids) == stop {
							break
						}
					}
				}
				l.stats = *stats
				for _, s := range w.sent {
					l.sent = append(l.sent, s.query)
				}
				return l
			}
			want, got := run(false), run(true)
			if got.stats.Requests == want.stats.Requests+1 && method != "Page" && len(got.ids) == stop {
				got.stats.Requests--
				got.sent = got.sent[:min(len(got.sent), len(want.sent))] // a request that was cancelled at once may not have been sent
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
				rt.Fatalf("%s: got %+v; want %+v", method, got, want)
			}
			if method == "List" {
				token = want.token
			}
		}
	})
}

// TestReadAheadRequests: which pages are read ahead, with limits and budgets.
func TestReadAheadRequests(t *testing.T) {
	t.Parallel()
	ids := make([]int, 20)
	for i := range ids {
		ids[i] = i + 1
	}
	for _, c := range []struct {
		what     string
		change   func(q *table.Query[employee])
		stop     int
		ids      int
		requests int // by Stats, while the first entity is worked on, and in the end
		first    int
	}{
		{"the whole list", func(*table.Query[employee]) {}, 0, 20, 5, 2},
		{"the list ends early", func(*table.Query[employee]) {}, 1, 1, 2, 2},
		{"the list ends on its second page", func(*table.Query[employee]) {}, 5, 5, 3, 2},
		{"a limit of one page", func(q *table.Query[employee]) { q.Limit = 4 }, 0, 4, 1, 1},
		{"a limit within the second page", func(q *table.Query[employee]) { q.Limit = 7 }, 0, 7, 2, 1},
		{"a limit of two pages", func(q *table.Query[employee]) { q.Limit = 8 }, 0, 8, 2, 2},
		{"a limit of three pages", func(q *table.Query[employee]) { q.Limit = 12 }, 0, 12, 3, 2},
		{"a budget of rows of one page", func(q *table.Query[employee]) { q.Budget.Rows = 4 }, 0, 4, 1, 1},
		{"a budget of rows of two pages", func(q *table.Query[employee]) { q.Budget.Rows = 8 }, 0, 8, 2, 2},
		{"a budget of one request", func(q *table.Query[employee]) { q.Budget.Requests = 1 }, 0, 4, 1, 1},
		{"a budget of two requests", func(q *table.Query[employee]) { q.Budget.Requests = 2 }, 0, 8, 2, 2},
		{"a page of all", func(q *table.Query[employee]) { q.PageSize = 0 }, 0, 20, 1, 1},
	} {
		w := unevenPages(ids, []int{1000})
		staff := newStaff(t, sdkClient(t, w))
		q := inSales
		q.PageSize, q.ReadAhead, q.Stats = 4, true, new(table.Stats)
		c.change(&q)
		n, first := 0, 0
		for _, err := range staff.List(context.Background(), q) {
			if err != nil {
				if !errors.Is(err, table.ErrBudget) {
					t.Errorf("%s: got error %v; want none or ErrBudget", c.what, err)
				}
				break
			}
			if n++; n == 1 {
				first = q.Stats.Requests
			}
			if n == c.stop {
				break
			}
		}
		if n != c.ids || q.Stats.Requests != c.requests || first != c.first || len(w.sent) > c.requests || c.stop == 0 && len(w.sent) != c.requests {
			t.Errorf("%s: got %d entities, %d requests, %d of them at the first entity, %d sent; want %d, %d, %d, %d", c.what, n, q.Stats.Requests, first, len(w.sent), c.ids, c.requests, c.first, c.requests)
		}
	}
}

// TestReadAheadTime: pages travel while the caller works. In a bubble, the time over a service that takes 5 ms for each request is
// exact.
func TestReadAheadTime(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[bool]time.Duration{false: 200 * time.Millisecond, true: 105 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			people, s := mailTown(t, 1, 200, 1)
			s.SetFaults(storagetest.OfKind(requests.Query, storagetest.Slow(5*time.Millisecond)))
			start, n := time.Now(), 0
			for _, err := range people.List(context.Background(), table.Query[resident]{Partition: dept.PartitionKey("S"), PageSize: 10, ReadAhead: ahead}) {
				noError(t, err)
				if n++; n%10 == 0 {
					time.Sleep(5 * time.Millisecond)
				}
			}
			if took, got := time.Since(start), s.Count().String(); took != want || got != "20 query" || n != 200 {
				t.Errorf("ReadAhead %v: got %d residents in %v by %s; want 200 in %v by 20 query", ahead, n, took, got, want)
			}
		})
	}
}

// TestReadAheadMarks: residents that are being moved are listed as they are committed.
func TestReadAheadMarks(t *testing.T) {
	t.Parallel()
	for at, want := range map[int]int{2: 27, 3: 30} {
		people, s := mailTown(t, 1, 30, 1)
		for _, id := range []int{6, 16, 26} {
			noError(t, people.DeleteAny(context.Background(), residentAt(id)))
			_, err := people.Insert(context.Background(), &resident{"M", id, "old", ""})
			noError(t, err)
		}
		crashedMoves(t, s, "M", "S", at, 6, 16, 26)
		var counts, ids []string
		for _, ahead := range []bool{false, true} {
			s.Count()
			var all []int
			for e, err := range people.List(context.Background(), table.Query[resident]{Partition: dept.PartitionKey("S"), PageSize: 7, ReadAhead: ahead}) {
				noError(t, err)
				all = append(all, e.Value.ID)
			}
			counts, ids = append(counts, s.Count().String()), append(ids, fmt.Sprint(all))
			testkit.Expect(t, "residents", len(all), want)
		}
		if counts[0] != counts[1] || ids[0] != ids[1] {
			t.Errorf("moves before transaction %d: got %s by %s; want %s by %s", at, ids[1], counts[1], ids[0], counts[0])
		}
	}
}

// TestReadAheadWide: entities of which a page does not contain all parts are read by their keys, with the same requests.
func TestReadAheadWide(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	for i := range 6 {
		p := bigPage(fmt.Sprint("p", i))
		p.Scan = p.Scan[:100_000]
		_, err := pages.Insert(ctx, &p)
		noError(t, err)
	}
	for _, change := range testkit.Some([]func(q *table.Query[page]){
		func(*table.Query[page]) {},
		func(q *table.Query[page]) { q.Limit = 2 },
		func(q *table.Query[page]) { q.Budget.Requests = 2 },
		func(q *table.Query[page]) { q.Budget.Requests = 3 },
		func(q *table.Query[page]) { q.Budget.Requests = 4 },
		func(q *table.Query[page]) { q.Budget.Rows = 9 },
	}) {
		var got []string
		for _, ahead := range []bool{false, true} {
			s.Count()
			q := table.Query[page]{Partition: keys.RawPartition("s"), PageSize: 4, ReadAhead: ahead, Stats: new(table.Stats)}
			change(&q)
			text := ""
			for e, err := range pages.List(ctx, q) {
				if err != nil {
					text += fmt.Sprint(errors.Is(err, table.ErrBudget))
				} else {
					text += fmt.Sprint(e.Value.Path, len(e.Value.Scan), len(e.Value.Article), " ")
				}
			}
			got = append(got, text+fmt.Sprintf("%+v %s", *q.Stats, s.Count()))
		}
		testkit.Expect(t, "ReadAhead", got[1], got[0])
	}
}

// TestLimitRows: a list with a limit asks for no more rows than are wanted, until rows come in vain.
func TestLimitRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what  string
		query table.Query[resident]
		every int    // how many residents there are between two rows of other types; 0 for no others
		tops  string // the rows of each request
	}{
		{"a small limit", table.Query[resident]{Limit: 10}, 0, "10"},
		{"a large limit", table.Query[resident]{Limit: 1010}, 0, "1000 10"},
		{"a large limit, ahead", table.Query[resident]{Limit: 1010, ReadAhead: true}, 0, "1000 10"},
		{"pages", table.Query[resident]{Limit: 10, PageSize: 4}, 0, "4 4 2"},
		{"pages, ahead", table.Query[resident]{Limit: 10, PageSize: 4, ReadAhead: true}, 0, "4 4 2"},
		{"a condition", table.Query[resident]{Limit: 10, Where: lastName.Eq("old")}, 0, "10"},
		{"rows of other types", table.Query[resident]{Limit: 10}, 8, "10 1000"},
	} {
		people, s := mailTown(t, 1, 1200, 1)
		if c.every > 0 {
			rows := residentRows(t, s)
			_, err := table.Bulk(context.Background(), stream(1200/c.every, func(i int) table.Op {
				return rows.UpsertOp(residentRow(t, fmt.Sprintf("p_%06d_x", (i+1)*c.every), nil), table.ReplaceExisting)
			}), nil)
			noError(t, err)
		}
		var tops []string
		s.BeforeRequest = func(r *http.Request) { tops = append(tops, r.URL.Query().Get("$top")) }
		c.query.Partition = dept.PartitionKey("S")
		n := 0
		for _, err := range people.List(context.Background(), c.query) {
			noError(t, err)
			n++
		}
		testkit.Expect(t, c.what+": residents", n, c.query.Limit)
		testkit.Expect(t, c.what+": rows of the requests", strings.Join(tops, " "), c.tops)
	}
}
