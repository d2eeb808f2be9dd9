package integration

import (
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// survey is an entity with parts.
type survey struct {
	Site, Name string
	Title      string
	Counts     []int32 `table:"Day,each=365,part=1"`
	Text       string  `table:",chunks,omitempty,part=3"`
	Scan       []byte  `table:",chunks,part=10"`
}

// wideEntities: an entity of several rows is written in one transaction and read by one request, of 2.6 MiB too; a merge writes one
// part, and a replacement deletes the parts that are left over.
func wideEntities(e *env) {
	ctx := context.Background()
	surveys, err := bare.NewTable(e.tables, freshName(), table.Schema[survey]{
		Partition: keys.Partition(keys.Text(), func(s *survey) *string { return &s.Site }),
		Row:       keys.Row(keys.Text(), func(s *survey) *string { return &s.Name }),
	}, nil)
	e.must(err)
	e.must(tabledoor.Ensure(ctx, surveys))
	e.counter.Take()
	counts := table.FieldOf(func(s *survey) *[]int32 { return &s.Counts })
	text := table.FieldOf(func(s *survey) *string { return &s.Text })
	title := table.FieldOf(func(s *survey) *string { return &s.Title })
	read := func(what string, k keys.Key, want survey) *table.Entity[survey] {
		e.Helper()
		e.counter.Take()
		got, err := surveys.Get(ctx, k)
		e.must(err)
		e.wantRequests("1 query")
		if !reflect.DeepEqual(got.Value, want) {
			e.Errorf("%s: got %d counts, %d bytes of text, %d of scan; want %d, %d, %d", what, len(got.Value.Counts), len(got.Value.Text), len(got.Value.Scan), len(want.Counts), len(want.Text), len(want.Scan))
		}
		return got
	}

	large := survey{Site: "s", Name: "large", Title: "T", Scan: make([]byte, 2_600_000)}
	for i := range large.Scan {
		large.Scan[i] = byte(i / 3)
	}
	made, err := surveys.Insert(ctx, &large)
	e.must(err)
	e.wantRequests("1 transaction")
	read("2.6 MiB", made.Key, large)

	v := survey{Site: "s", Name: "v", Title: "T", Counts: make([]int32, 365), Text: strings.Repeat("ä\U0001F600", 30_000), Scan: []byte{}}
	made, err = surveys.Insert(ctx, &v)
	e.must(err)
	loaded := read("inserted", made.Key, v)
	e.must(surveys.Merge(ctx, loaded, table.ElementOf(func(s *survey) *[]int32 { return &s.Counts }, 300).Set(7)))
	e.wantRequests("1 transaction")
	v.Counts[300] = 7
	loaded = read("merged", made.Key, v)

	part, err := surveys.GetFields(ctx, made.Key, counts)
	e.must(err)
	e.wantRequests("1 query")
	if !part.Has(counts) || part.Has(text) || len(part.Value.Counts) != 365 {
		e.Errorf("got %d counts, Has(counts) %v, Has(text) %v; want 365, true, false", len(part.Value.Counts), part.Has(counts), part.Has(text))
	}
	e.must(surveys.Merge(ctx, part, table.ElementOf(func(s *survey) *[]int32 { return &s.Counts }, 3).Set(8)))
	e.wantRequests("1 transaction")
	v.Counts[3] = 8
	if err := surveys.Replace(ctx, loaded); !errors.Is(err, table.ErrChanged) {
		e.Errorf("an older version: got %v, want ErrChanged", err)
	}
	loaded = read("merged from a part", made.Key, v)

	v.Text, v.Counts = "", v.Counts[:10]
	loaded.Value = v
	e.must(surveys.Replace(ctx, loaded))
	e.wantRequests("1 transaction")
	read("shrunk", made.Key, v)

	n, with := 0, 0
	for got, err := range surveys.List(ctx, table.Query[survey]{Partition: keys.RawPartition("s"), Where: title.Eq("T")}) {
		e.must(err)
		if n++; got.Value.Name == "v" {
			with = len(got.Value.Counts)
		}
	}
	if n != 2 || with != 10 {
		e.Errorf("list: got %d entities, %d counts; want 2, 10", n, with)
	}
	e.counter.Take()
	e.must(surveys.DeleteAny(ctx, made.Key))
	e.wantRequests("1 get, 1 transaction")
	v.Scan = nil
	e.must(errOf(surveys.Upsert(ctx, &v, table.ReplaceExisting)))
	read("inserted again", made.Key, v)
}

func errOf[X any](_ X, err error) error { return err }
