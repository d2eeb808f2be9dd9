package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestPagesByIndex: the pages of each kind of index are together what its list yields, each entity once, with the requests of a
// list.
func TestPagesByIndex(t *testing.T) {
	t.Parallel()
	whole := index.New("last", keys.Ordered(), name, nil)
	for _, c := range []struct {
		what     string
		index    *index.Index[worker, string]
		limit    int
		requests []string // of each page
	}{
		{"full copies", whole, 4, []string{"1 query", "1 query", "1 query"}},
		{"full copies", whole, 5, []string{"1 query", "1 query"}},
		{"full copies without a limit", whole, 0, []string{"1 query"}},
		{"projected copies", whole.Only(last), 4, []string{"1 query", "1 query", "1 query"}},
		{"pointers", whole.Only(), 4, []string{"4 get, 1 query", "4 get, 1 query", "2 get, 1 query"}},
		{"pointers without a limit", whole.Only(), 0, []string{"10 get, 1 query"}},
		{"pointers", whole.Only(), 5, []string{"5 get, 1 query", "5 get, 1 query"}},
	} {
		t.Run(fmt.Sprint(c.what, ", ", c.limit), func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			ix := c.index
			staff, s := newStaff(t, ix)
			var want []int
			for i := range 10 {
				insertAll(t, staff, s, worker{"S", i, "Cao", "", 30, nil})
				want = append(want, i)
			}
			insertAll(t, staff, s, worker{"S", 10, "Jones", "", 30, nil}) // behind the range
			q := table.Query[worker]{Partition: sales, Rows: ix.Value("Cao"), Limit: c.limit}
			var got []int
			var requests []string
			for token := ""; ; {
				page, err := ix.Page(ctx, staff, q, token)
				check(t, err)
				requests = append(requests, s.Count().String())
				for _, e := range page.Entities {
					got = append(got, e.Value.ID)
				}
				again, err := ix.Page(ctx, staff, q, token)
				check(t, err)
				s.Count()
				if len(again.Entities) != len(page.Entities) || again.Token != page.Token {
					t.Errorf("the same token again: got %d entities, token %q; want %d, %q", len(again.Entities), again.Token, len(page.Entities), page.Token)
				}
				if token = page.Token; token == "" {
					break
				}
			}
			testkit.Expect(t, "entities", got, want)
			testkit.Expect(t, "requests", requests, c.requests)
		})
	}
}

// TestPageBehindReadAhead: the token of a page is behind its last entity, although index rows beyond it were read, some of them of
// entities that have changed.
func TestPageBehindReadAhead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byLast)
	base := openAs(t, s.ConnectionString(), s, schema)
	for i := range 12 {
		insertAll(t, staff, s, worker{"S", i, "Cao", "", 1, nil})
	}
	for _, i := range []int{1, 2, 11} { // other programs write these without the index
		check(t, base.DeleteAny(ctx, at(i)))
	}
	q := table.Query[worker]{Partition: sales, Rows: byLast.Value("Cao"), Limit: 3}
	var pages [][]int
	for token, first := "", true; token != "" || first; first = false {
		page, err := byLast.Page(ctx, staff, q, token)
		check(t, err)
		var of []int
		for _, e := range page.Entities {
			of = append(of, e.Value.ID)
		}
		pages, token = append(pages, of), page.Token
	}
	testkit.Expect(t, "pages", pages, [][]int{{0, 3, 4}, {5, 6, 7}, {8, 9, 10}, nil})
}

// TestPageErrors: a page that cannot be read whole is an error, and with a budget it is returned as far as it was read.
func TestPageErrors(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	staff, s := newStaff(t, byLast, byEmail)
	for i := range 6 {
		insertAll(t, staff, s, worker{"S", i, "Cao", fmt.Sprint("m", i), 1, nil})
	}
	q := table.Query[worker]{Partition: sales, Limit: 2}
	page, err := byLast.Page(ctx, staff, q, "")
	check(t, err)
	s.Count()
	var te *table.ValueError
	for what, err := range map[string]error{
		"another index": second(byEmail.Page(ctx, staff, q, page.Token)),
		"the table":     second(staff.Page(ctx, q, page.Token)),
		"damaged":       second(byLast.Page(ctx, staff, q, page.Token[1:])),
	} {
		if !errors.As(err, &te) {
			t.Errorf("%s: got %v; want a *TokenError", what, err)
		}
	}
	var ve *table.ValueError
	q.Cursor = table.NewCursor("")
	if _, err := byLast.Page(ctx, staff, q, ""); !errors.As(err, &ve) || ve.Field != "Query.Cursor" {
		t.Errorf("got %v; want a *ValueError about the cursor", err)
	}
	q.Cursor = nil
	if _, err := byLast.Page(ctx, nil, q, ""); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError about the table", err)
	}
	q.Limit = -1
	if _, err := byLast.Page(ctx, staff, q, ""); !errors.As(err, &ve) {
		t.Errorf("got %v; want a *ValueError about the limit", err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "none")

	q.Limit, q.Budget = 5, table.Budget{Requests: 3}
	page, err = byLast.Page(ctx, staff, q, "")
	if !errors.Is(err, table.ErrBudget) || len(page.Entities) != 2 || page.Token == "" {
		t.Fatalf("got %+v, %v; want 2 entities, a token and ErrBudget", page, err)
	}
	q.Budget = table.Budget{}
	rest, err := byLast.Page(ctx, staff, q, page.Token)
	check(t, err)
	testkit.Expect(t, "the rest", len(rest.Entities), 4)

	s.SetFaults(storagetest.OfKind(requests.Get, storagetest.Refuse(400, "InvalidInput")))
	if page, err := byLast.Page(ctx, staff, q, ""); err == nil || page != nil {
		t.Errorf("got %v, %v; want an error and no page", page, err)
	}
}

// second returns the error of a call.
func second[X any](_ X, err error) error { return err }
