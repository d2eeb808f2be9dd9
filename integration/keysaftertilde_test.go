package integration

import (
	"context"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// place is an entity under keys without a layout: towns of a country.
type place struct {
	Country, Town string
	People        int
}

// keysAfterTilde: rows of other programs, whose keys sort after ~, are listed, indexed and deleted like other rows.
func keysAfterTilde(e *env) {
	ctx := context.Background()
	places := newTable(e, table.Schema[place]{
		Partition: keys.RawPartitionOf(func(p *place) *string { return &p.Country }),
		Row:       keys.RawRowOf(func(p *place) *string { return &p.Town }),
	}, nil)
	raw := e.acc.Tables().NewClient(places.Name())
	for _, k := range [][2]string{{"Österreich", "Öblarn"}, {"Österreich", "Graz"}, {"Schweiz", "Ägeri"}, {"Österreich", "~library"}, {"~library", "Öblarn"}} {
		_, err := raw.AddEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q,"People@odata.type":"Edm.Int64","People":"5"}`, k[0], k[1]), nil)
		e.must(err)
	}
	for _, town := range []string{"Ⴀ", "😀", "\uffff", "Überlingen", "\u00a0"} {
		_, err := places.Insert(ctx, &place{"Deutschland", town, 5})
		e.must(err)
	}
	e.counter.Take()
	towns := func(q table.Query[place]) string {
		var all []string
		for p, err := range places.List(ctx, q) {
			e.must(err)
			all = append(all, p.Value.Town)
		}
		return strings.Join(all, " ")
	}
	for what, c := range map[string]struct {
		q    table.Query[place]
		want string
	}{
		"a partition":     {table.Query[place]{Partition: keys.RawPartition("Österreich")}, "Graz Öblarn"},
		"every partition": {table.Query[place]{TableScan: true}, "\u00a0 Überlingen Ⴀ 😀 \uffff Ägeri Graz Öblarn"},
		"from one on":     {table.Query[place]{Partition: keys.RawPartition("Deutschland"), Rows: keys.RawRows("Ü", "")}, "Überlingen Ⴀ 😀 \uffff"},
		"around ~":        {table.Query[place]{Partition: keys.RawPartition("Österreich"), Rows: keys.RawRows("H", "Ö~")}, "Öblarn"},
		"below ~":         {table.Query[place]{Partition: keys.RawPartition("Österreich"), Rows: keys.RawRows("", "~")}, "Graz"},
	} {
		if got := towns(c.q); got != c.want {
			e.Errorf("%s: got %q; want %q", what, got, c.want)
		}
		e.wantRequests("1 query")
	}
	var countries []string
	for pk, err := range places.Partitions(ctx, keys.PartitionRange{}) {
		e.must(err)
		countries = append(countries, pk.String())
	}
	if joined(countries) != "Deutschland Schweiz Österreich" {
		e.Errorf("partitions: got %q; want Deutschland, Schweiz, Österreich", countries)
	}
	e.wantRequests("4 query")

	// Verify creates the missing derived rows of such rows, and finds none to repair after that.
	all, err := baretest.Attach(places, index.New("people", keys.Digits[int](3), func(p *place) (int, bool) { return p.People, true }, &index.Options{Reserved: true}))
	e.must(err)
	for i, want := range []int{8, 0} {
		r, err := verify.Repair(ctx, all, nil)
		if e.must(err); r.Changed != want || r.Rows != 8 {
			e.Errorf("Verify %d: got %+v; want %d repaired of 8 entities", i, r, want)
		}
	}
	result, err := table.BulkDelete(ctx, all, table.Query[place]{Partition: keys.RawPartition("Schweiz")}, nil)
	if e.must(err); result.Changed != 1 {
		e.Errorf("DeleteQuery: got %d done; want 1", result.Changed)
	}
}
