package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestWideLongKey: a part whose RowKey would be too long is refused before anything is sent.
func TestWideLongKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, _, counter := newPages(t, nil)
	counter.Take()
	p := page{Site: "s", Path: strings.Repeat("x", 512-5-1), Note: "n"}
	_, err := pages.Insert(ctx, &p)
	var le *table.LimitError
	if !errors.As(err, &le) {
		t.Errorf("got %v, want a *LimitError", err)
	}
	testkit.Expect(t, "requests", counter.Take().String(), "none")
	p.Note = ""
	e, err := pages.Insert(ctx, &p)
	testkit.NoError(t, err)
	_, err = pages.Get(ctx, e.Key)
	testkit.NoError(t, err)
	counter.Take()
	err = pages.MergeAny(ctx, e.Key, pageNote.Set("x"))
	if !errors.As(err, &le) {
		t.Errorf("got %v, want a *LimitError", err)
	}
	testkit.Expect(t, "requests", counter.Take().String(), "none")
	p.Path = p.Path[3:]
	p.Note = "n"
	_, err = pages.Insert(ctx, &p)
	testkit.NoError(t, err)
}

// TestWideBudget: a list with a budget of rows advances page by page, and leaves out no entity.
func TestWideBudget(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, _, _ := newPages(t, nil)
	for i := range 8 {
		_, err := pages.Insert(ctx, &page{Site: "s", Path: string(rune('a' + i)), Note: "n", Visits: []int32{1}})
		testkit.NoError(t, err)
	}
	for rows := 1; rows < 30; rows++ {
		q := table.Query[page]{Partition: keys.RawPartition("s"), Limit: 1, Budget: table.Budget{Rows: rows}}
		got, token := "", ""
		for range 200 {
			p, err := pages.Page(ctx, q, token)
			if err != nil && !errors.Is(err, table.ErrBudget) {
				t.Fatal(err)
			}
			for _, e := range p.Entities {
				got += e.Value.Path
			}
			if token = p.Token; token == "" {
				break
			}
			q.Limit = 0 // a page is read again, and ends with the budget
		}
		testkit.Expect(t, "all", got, "abcdefgh")
	}
}

// TestWideKeys: keys with quotes, spaces and ! are as good as others.
func TestWideKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := newPages(t, nil)
	type loose struct {
		Title string
		Note  string `table:",omitempty,part=20"`
	}
	all, err := bare.NewTable(s.Tables(), "pages", table.Schema[loose]{}, nil)
	testkit.NoError(t, err)
	for _, k := range []string{"o'brien", "a!", "a!!", "x''", "a", "a b", "a!0", "ab'!"} {
		key := keys.At(keys.RawPartition("o'p"), keys.RawRow(k))
		_, err := all.InsertAt(ctx, key, &loose{k, "n" + k})
		testkit.NoError(t, err)
		got, err := all.Get(ctx, key)
		testkit.NoError(t, err)
		testkit.Expect(t, k, got.Value.Note, "n"+k)
		got.Value.Note = "m" + k
		testkit.NoError(t, all.Replace(ctx, got))
		note := table.FieldOf(func(l *loose) *string { return &l.Note })
		testkit.NoError(t, all.MergeAny(ctx, key, note.Set("z"+k)))
		part, err := all.GetFields(ctx, key, note)
		testkit.NoError(t, err)
		testkit.Expect(t, k, part.Value.Note, "z"+k)
	}
	n := 0
	for e, err := range all.List(ctx, table.Query[loose]{Partition: keys.RawPartition("o'p"), PageSize: 1}) {
		testkit.NoError(t, err)
		n++
		testkit.Expect(t, "list", e.Value.Note, "z"+e.Key.RowKey())
	}
	testkit.Expect(t, "n", n, 8)
	for e, err := range all.List(ctx, table.Query[loose]{Partition: keys.RawPartition("o'p")}) {
		testkit.NoError(t, err)
		testkit.NoError(t, all.Delete(ctx, e))
	}
	testkit.Expect(t, "rows", storedPages(s), "")
}

// TestWideUpgrade: an upgrade sees all parts, and a replacement stores what it makes of them.
func TestWideUpgrade(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	big := bigPage("big")
	_, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	schema := pageSchema()
	schema.Version = 2
	schema.Upgrade = map[int]func(*table.Row) error{0: func(r *table.Row) error { r.Delete("Day003"); return r.Set("Note", "up") }, 1: func(r *table.Row) error { return r.Set("Thumb", []byte{4}) }}
	next, err := bare.NewTable(s.Tables(), "pages", schema, nil)
	testkit.NoError(t, err)
	want := bigPage("big")
	want.Note, want.Thumb, want.Visits[3] = "up", []byte{4}, 0
	e, err := next.Get(ctx, bigKey)
	testkit.NoError(t, err)
	expectPage(t, "upgraded", e.Value, want)
	_, err = next.GetFields(ctx, bigKey, pageNote)
	var old *table.VersionError
	if !errors.As(err, &old) {
		t.Errorf("GetFields: got %v, want a *VersionError", err)
	}
	testkit.NoError(t, next.Replace(ctx, e))
	got, err := next.Get(ctx, bigKey)
	testkit.NoError(t, err)
	expectPage(t, "stored", got.Value, want)
	testkit.Expect(t, "thumb", string(got.Value.Thumb), "\x04")
}

// TestWideTags: two writes of a part have two tags, also if IDs begin alike.
func TestWideTags(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	n := 0
	o := &table.Options{}
	options.SetNewID(&o.Common, func() string { n++; return fmt.Sprintf("%016d", n) })
	pages, s, _ := newPages(t, o)
	e, err := pages.Insert(ctx, &page{Site: "s", Path: "p", Note: "n"})
	testkit.NoError(t, err)
	raw, err := bare.NewTable(s.Tables(), "pages", table.Schema[table.Row]{}, nil)
	testkit.NoError(t, err)
	head, err := raw.Get(ctx, e.Key)
	testkit.NoError(t, err)
	testkit.NoError(t, pages.Merge(ctx, e, pageNote.Set("m")))
	next, err := raw.Get(ctx, e.Key)
	testkit.NoError(t, err)
	was, _ := head.Value.Get("_parts")
	if is, _ := next.Value.Get("_parts"); is == was {
		t.Errorf("got the directory %v twice", is)
	}
}
