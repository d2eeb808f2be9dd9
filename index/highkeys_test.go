package index_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// village is an entity under keys that follow no layout.
type village struct {
	Country, Name, River string
	People               int
}

// TestKeysAboveTilde: entities with keys above ~ are read like all others, so that their derived rows are found sound and stay.
func TestKeysAboveTilde(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	for what, schema := range map[string]table.Schema[village]{
		"bound": {Partition: keys.RawPartitionOf(func(v *village) *string { return &v.Country }), Row: keys.RawRowOf(func(v *village) *string { return &v.Name })},
		"free":  {},
	} {
		base, err := bare.NewTable(s.Tables(), "villages"+what, schema, nil)
		check(t, err)
		check(t, tabledoor.Ensure(ctx, base))
		byRiver := index.New("river", keys.Text(), func(v *village) (string, bool) { return v.River, true }, &index.Options{Reserved: true})
		lists := index.NewLists("list", keys.Text(), func(v *village) (string, bool) { return v.River, true }, &index.ListOptions{Reserved: true})
		sums := index.NewSummary("sum", keys.Text(), func(v *village) (string, bool) { return v.River, true }, &index.SummaryOptions{Reserved: true}, index.Measure[village]{Name: "People", Of: func(v *village) (int64, bool) { return int64(v.People), true }})
		villages, err := baretest.Attach(base, byRiver, lists, sums)
		check(t, err)
		names := []string{"Graz", "\u00a0", "Öblarn", "😀", "\uffff"}
		for i, name := range names {
			_, err := villages.InsertAt(ctx, keys.At(keys.RawPartition("Österreich"), keys.RawRow(name)), &village{"Österreich", name, "Enns", i})
			check(t, err)
		}
		for i := range 2 {
			r, err := verify.Repair(ctx, villages, nil)
			if err != nil || r.Faults > 0 || r.Changed != 0 || r.Rows != len(names) || r.Counts["partitions"] != 1 {
				t.Errorf("%s, run %d: verify with repair: got %+v, error %v; want a sound report of %d entities in 1 partition, and nothing repaired", what, i, r, err, len(names))
			}
		}
		g, err := sums.Get(ctx, villages, keys.RawPartition("Österreich"), "Enns")
		if err != nil || g.Count != int64(len(names)) {
			t.Errorf("%s: summary of Enns: got %+v, error %v; want count %d", what, g, err, len(names))
		}
		listed, err := lists.Keys(ctx, villages, keys.RawPartition("Österreich"), "Enns")
		if err != nil || len(listed) != len(names) {
			t.Errorf("%s: list of Enns: got %v, error %v; want %d keys", what, listed, err, len(names))
		}
		// The greatest is deleted: the group is counted again from the entities that are left.
		check(t, villages.DeleteAny(ctx, keys.Raw("Österreich", "\uffff")))
		if g, err = sums.Get(ctx, villages, keys.RawPartition("Österreich"), "Enns"); err != nil || fmt.Sprint(g.Count, g.Measures["People"].Max) != "4 3" {
			t.Errorf("%s: summary of Enns after a delete: got %+v, error %v; want count 4 and a maximum of 3", what, g, err)
		}
	}
}

// TestLookUpOfNoEntity: a look-up whose response is not an entity fails, and not with ErrNotFound.
func TestLookUpOfNoEntity(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := &gatekeeper{Service: storagetest.New(nil)}
	acc, err := account.FromTransport(s, nil)
	check(t, err)
	base, err := bare.NewTable(acc.Tables(), "workers", schema, nil)
	check(t, err)
	check(t, tabledoor.Ensure(ctx, base))
	workers, err := baretest.Attach(base, byEmail, byLast)
	check(t, err)
	_, err = workers.Insert(ctx, &worker{Dept: "S", ID: 1, Last: "Jones", Email: "j"})
	check(t, err)
	for _, body := range []string{`{}`, `{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"x"}}}`, `{"message":"ok"}`, `{"value":[{}]}`, `[]`} {
		s.body = body
		_, err := byEmail.Get(ctx, workers, sales, "j")
		var de *table.DecodeError
		if !errors.As(err, &de) || errors.Is(err, table.ErrNotFound) {
			t.Errorf("%s: look-up: got error %v; want a *DecodeError, which is not ErrNotFound", body, err)
		}
		n := 0
		for _, err = range byLast.List(ctx, workers, sales, "Jones") {
			n++
		}
		if !errors.As(err, &de) || n != 1 {
			t.Errorf("%s: list: got %d results, the last with error %v; want 1 with a *DecodeError", body, n, err)
		}
	}
	s.body = ""
	_, err = byEmail.Get(ctx, workers, sales, "j")
	check(t, err)
}

// gatekeeper answers reads with a body of its own, as a proxy may.
type gatekeeper struct {
	*storagetest.Service
	body string
}

func (g *gatekeeper) Do(r *http.Request) (*http.Response, error) {
	resp, err := g.Service.Do(r)
	if err == nil && r.Method == http.MethodGet && g.body != "" {
		resp.Body.Close()
		resp.Body, resp.ContentLength = http.NoBody, int64(len(g.body))
		resp.Body = readCloser{strings.NewReader(g.body)}
	}
	return resp, err
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }
