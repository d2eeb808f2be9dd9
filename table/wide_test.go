package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// page is a wide entity: visits by the day, and a long text and a scan in chunks.
type page struct {
	Site    string
	Path    string
	Title   string
	Visits  []int32 `table:"Day,each=365,part=1"`
	Article string  `table:",chunks,omitempty,part=3"`
	Scan    []byte  `table:",chunks,part=10"`
	Note    string  `table:",omitempty,part=20"`
	Thumb   []byte  `table:",part=21"`
}

func pageSchema() table.Schema[page] {
	return table.Schema[page]{
		Partition: keys.Partition(keys.Text(), func(p *page) *string { return &p.Site }),
		Row:       keys.Row(keys.Text().Named("page"), func(p *page) *string { return &p.Path }),
	}
}

func newPages(t *testing.T, o *table.Options) (*table.Table[page], *storagetest.Service, *requests.Counter) {
	t.Helper()
	s := storagetest.New(nil)
	counter := new(requests.Counter)
	acc, err := account.FromTransport(s, &account.Options{Counter: counter})
	testkit.NoError(t, err)
	pages, err := bare.NewTable(acc.Tables(), "pages", pageSchema(), o)
	testkit.NoError(t, err)
	testkit.NoError(t, tabledoor.Ensure(context.Background(), pages))
	return pages, s, counter
}

var (
	pageTitle  = table.FieldOf(func(p *page) *string { return &p.Title })
	pageVisits = table.FieldOf(func(p *page) *[]int32 { return &p.Visits })
	pageText   = table.FieldOf(func(p *page) *string { return &p.Article })
	pageScan   = table.FieldOf(func(p *page) *[]byte { return &p.Scan })
	pageNote   = table.FieldOf(func(p *page) *string { return &p.Note })
)

func day(i int) table.Field[page, int32] {
	return table.ElementOf(func(p *page) *[]int32 { return &p.Visits }, i)
}

// bigPage returns a page with values in all its parts.
func bigPage(path string) page {
	p := page{Site: "s", Path: path, Title: "T", Note: "n", Scan: bytes.Repeat([]byte{1, 2, 3}, 400_000), Article: strings.Repeat("ab\U0001F600", 50_000)}
	for i := range 365 {
		p.Visits = append(p.Visits, int32(i+1))
	}
	return p
}

// TestWide: an entity with parts is read as it was written, by each way, and each costs the requests of its documentation.
func TestWide(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, counter := newPages(t, nil)
	costs := func(what, want string) {
		t.Helper()
		testkit.Expect(t, what+": requests", counter.Take().String(), want)
	}
	counter.Take()
	big := bigPage("big")
	e, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	costs("insert", "1 transaction")
	_, err = pages.Insert(ctx, &page{Site: "s", Path: "small", Title: "Small"})
	testkit.NoError(t, err)
	costs("insert small", "1 insert")
	testkit.Expect(t, "rows", storedPages(s), "page_big page_big!01 page_big!02 page_big!03 page_big!10 page_big!11 page_big!20 page_small")

	got, err := pages.Get(ctx, e.Key)
	testkit.NoError(t, err)
	costs("get", "1 query")
	expectPage(t, "get", got.Value, big)
	testkit.Expect(t, "get: ETag", got.ETag, e.ETag)

	n := 0
	for e, err := range pages.List(ctx, table.Query[page]{Partition: keys.RawPartition("s")}) {
		testkit.NoError(t, err)
		if n++; e.Value.Path == "big" {
			expectPage(t, "list", e.Value, big)
		}
	}
	testkit.Expect(t, "listed", n, 2)
	costs("list", "1 query")
	n, err = pages.Count(ctx, table.Query[page]{Partition: keys.RawPartition("s")})
	testkit.NoError(t, err)
	testkit.Expect(t, "count", n, 2)
	costs("count", "1 query")

	// A merge of one part.
	testkit.NoError(t, pages.Merge(ctx, got, day(300).Set(7)))
	costs("merge", "1 transaction")
	testkit.Expect(t, "merge: the largest request's operations", lastOperations(s), 2)
	big.Visits[300] = 7
	expectPage(t, "merged", got.Value, big)
	read, err := pages.Get(ctx, e.Key)
	testkit.NoError(t, err)
	expectPage(t, "merged and read", read.Value, big)
	counter.Take()
	// A merge of the head.
	testkit.NoError(t, pages.Merge(ctx, got, pageTitle.Set("New")))
	costs("merge of the head", "1 merge")
	big.Title = "New"

	// A replacement writes what has changed: the head and part 20.
	got.Value.Note = "other"
	big.Note = "other"
	testkit.NoError(t, pages.Replace(ctx, got))
	costs("replace", "1 transaction")
	testkit.Expect(t, "replace: operations", lastOperations(s), 2)
	read, err = pages.Get(ctx, e.Key)
	testkit.NoError(t, err)
	expectPage(t, "replaced", read.Value, big)

	// Shrinking deletes parts.
	read.Value.Scan, read.Value.Visits = []byte{1}, read.Value.Visits[:3]
	big.Scan, big.Visits = read.Value.Scan, read.Value.Visits
	testkit.NoError(t, pages.Replace(ctx, read))
	testkit.Expect(t, "rows", storedPages(s), "page_big page_big!01 page_big!03 page_big!10 page_big!20 page_small")
	counter.Take()
	read, err = pages.Get(ctx, e.Key)
	testkit.NoError(t, err)
	expectPage(t, "shrunk", read.Value, big)
	counter.Take()
	_, err = pages.Upsert(ctx, &page{Site: "s", Path: "big", Note: "only"}, table.ReplaceExisting)
	testkit.NoError(t, err)
	costs("upsert", "1 get, 1 transaction")
	testkit.Expect(t, "rows", storedPages(s), "page_big page_big!20 page_small")
	testkit.NoError(t, pages.DeleteAny(ctx, e.Key))
	costs("delete", "1 get, 1 transaction")
	testkit.Expect(t, "rows", storedPages(s), "page_small")
	if _, err = pages.Get(ctx, e.Key); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func expectPage(t *testing.T, what string, got, want page) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got a page with %d visits, %d bytes of text, %d of scan, title %q, note %q; want %d, %d, %d, %q, %q", what,
			len(got.Visits), len(got.Article), len(got.Scan), got.Title, got.Note, len(want.Visits), len(want.Article), len(want.Scan), want.Title, want.Note)
	}
}

func storedPages(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("pages") {
		all = append(all, r.RowKey)
	}
	return strings.Join(all, " ")
}

// lastOperations returns the number of operations of the last transaction.
func lastOperations(s *storagetest.Service) int {
	all := s.Requests()
	return len(all[len(all)-1].Operations)
}

// TestWideRandom: random values of random sizes are read as they were written, by replacements and merges in any order.
func TestWideRandom(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, _, _ := newPages(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		return strings.Repeat("x", n%7) + strings.Repeat("\U0001F600é", n/3)
	}
	var e *table.Entity[page]
	want := page{Site: "s", Path: "p"}
	for i := range 60 {
		var err error
		switch {
		case e == nil:
			e, err = pages.Insert(ctx, &want)
		case r.IntN(2) == 0:
			want.Visits = make([]int32, r.IntN(366))
			if len(want.Visits) == 0 {
				want.Visits = nil
			}
			want.Article, want.Scan, want.Note = text(r.IntN(70_000)), make([]byte, r.IntN(3)*65536+r.IntN(3)), fmt.Sprint(i)
			e.Value = want
			err = pages.Replace(ctx, e)
		default:
			n := r.IntN(len(want.Visits) + 1)
			for len(want.Visits) <= n {
				want.Visits = append(want.Visits, 0)
			}
			want.Visits[n], want.Note = int32(i), fmt.Sprint("m", i)
			err = pages.Merge(ctx, e, day(n).Set(int32(i)), pageNote.Set(want.Note))
		}
		testkit.NoError(t, err)
		got, err := pages.Get(ctx, e.Key)
		testkit.NoError(t, err)
		expectPage(t, fmt.Sprint("write ", i), got.Value, want)
		expectPage(t, fmt.Sprint("entity after write ", i), e.Value, want)
		if r.IntN(3) == 0 {
			e = got
		}
	}
}

// TestGetFields: only the parts of the fields are read, and the entity knows which.
func TestGetFields(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, _, counter := newPages(t, nil)
	big := bigPage("big")
	made, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	for _, c := range []struct {
		fields []table.FieldIn[page]
		has    string
		costs  string
	}{
		{nil, "title", "1 get"},
		{[]table.FieldIn[page]{pageTitle}, "title", "1 get"},
		{[]table.FieldIn[page]{day(3)}, "title day3", "1 query"},
		{[]table.FieldIn[page]{pageVisits}, "title day3 visits", "1 query"},
		{[]table.FieldIn[page]{pageNote}, "title note", "1 get, 1 query"},
		{[]table.FieldIn[page]{pageScan, pageText}, "title text scan", "1 get, 1 query"},
		{[]table.FieldIn[page]{pageTitle, pageVisits, pageText, pageScan, pageNote}, "title day3 visits text scan note", "1 query"},
	} {
		counter.Take()
		e, err := pages.GetFields(ctx, made.Key, c.fields...)
		testkit.NoError(t, err)
		testkit.Expect(t, "requests", counter.Take().String(), c.costs)
		var has []string
		for _, f := range []struct {
			name string
			f    table.FieldIn[page]
		}{{"title", pageTitle}, {"day3", day(3)}, {"visits", pageVisits}, {"text", pageText}, {"scan", pageScan}, {"note", pageNote}} {
			if e.Has(f.f) {
				has = append(has, f.name)
			}
		}
		testkit.Expect(t, "fields", strings.Join(has, " "), c.has)
		want := page{Site: "s", Path: "big", Title: "T"}
		if e.Has(pageVisits) {
			want.Visits = big.Visits
		} else if e.Has(day(3)) {
			want.Visits = big.Visits[:200]
		}
		if e.Has(pageText) {
			want.Article = big.Article
		}
		if e.Has(pageScan) {
			want.Scan = big.Scan
		}
		if e.Has(pageNote) {
			want.Note = big.Note
		}
		expectPage(t, c.has, e.Value, want)
		if whole := c.costs == "1 query" && len(c.fields) == 5; whole == e.Partial() {
			t.Errorf("%s: got Partial %v, want the opposite", c.has, e.Partial())
		} else if err := pages.Replace(ctx, e); !whole && !errors.Is(err, table.ErrNotRead) {
			t.Errorf("%s: Replace: got %v, want ErrPartial", c.has, err)
		}
	}
	// A merge into a part needs no other part.
	e, err := pages.GetFields(ctx, made.Key, pageTitle)
	testkit.NoError(t, err)
	counter.Take()
	testkit.NoError(t, pages.Merge(ctx, e, day(300).Set(9)))
	testkit.Expect(t, "merge: requests", counter.Take().String(), "1 transaction")
	testkit.NoError(t, pages.Merge(ctx, e, day(301).Set(10)))
	testkit.Expect(t, "second merge: requests", counter.Take().String(), "1 get, 1 transaction")
	got, err := pages.Get(ctx, made.Key)
	testkit.NoError(t, err)
	big.Visits[300], big.Visits[301] = 9, 10
	expectPage(t, "merged", got.Value, big)
	e, err = pages.GetFields(ctx, made.Key)
	testkit.NoError(t, err)
	counter.Take()
	testkit.NoError(t, pages.Delete(ctx, e))
	testkit.Expect(t, "delete: requests", counter.Take().String(), "1 transaction")
	if _, err := pages.GetFields(ctx, made.Key, pageNote); !errors.Is(err, table.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}
