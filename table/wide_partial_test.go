package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestWideHasAfterMerge: a merge of an entity of which some parts were read leaves what is known of its parts.
func TestWideHasAfterMerge(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, _, _ := newPages(t, nil)
	big := bigPage("big")
	_, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	e, err := pages.GetFields(ctx, bigKey, pageVisits)
	testkit.NoError(t, err)
	testkit.NoError(t, pages.Merge(ctx, e, pageTitle.Set("x")))
	testkit.Expect(t, "has", e.Has(pageVisits), true)
	testkit.Expect(t, "has", e.Has(pageNote), false)
}

// TestWideChunksInHead: a value in chunks that begins in the head does not keep a partial read from other fields.
func TestWideChunksInHead(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type doc struct {
		Site, Path string
		Title      string
		Text       []byte `table:",chunks"`
		Other      string `table:",part=1"`
	}
	_, s, _ := newPages(t, nil)
	docs, err := bare.NewTable(s.Tables(), "pages", table.Schema[doc]{}, nil)
	testkit.NoError(t, err)
	k := keys.At(keys.RawPartition("s"), keys.RawRow("k"))
	e, err := docs.InsertAt(ctx, k, &doc{Site: "s", Title: "t", Text: make([]byte, 1<<20), Other: "o"})
	testkit.NoError(t, err)
	title := table.FieldOf(func(d *doc) *string { return &d.Title })
	text := table.FieldOf(func(d *doc) *[]byte { return &d.Text })
	got, err := docs.GetFields(ctx, e.Key, title)
	testkit.NoError(t, err)
	testkit.Expect(t, "title", got.Value.Title, "t")
	testkit.Expect(t, "has", got.Has(text), false)
	testkit.Expect(t, "len", len(got.Value.Text), 0)
}

// TestGetFieldsOfRow: a handle for rows of any type does not know the part of a property, so it reads all parts.
func TestGetFieldsOfRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	big := bigPage("big")
	_, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	rows, err := bare.NewTable(s.Tables(), "pages", table.Schema[table.Row]{Parts: 98}, nil)
	testkit.NoError(t, err)
	f := table.PropertyOf[int32]("Day300")
	e, err := rows.GetFields(ctx, bigKey, f)
	testkit.NoError(t, err)
	v, ok := e.Value.Get("Day300")
	if v != int32(301) || !ok || !e.Has(f) {
		t.Errorf("got %v, %v, Has %v; want 301, true, true", v, ok, e.Has(f))
	}
}

// TestWideMergeExisting: a merge of a shorter value in chunks would leave the surplus chunks, so it is refused.
func TestWideMergeExisting(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, _, _ := newPages(t, nil)
	big := bigPage("big")
	_, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	_, err = pages.Upsert(ctx, &page{Site: "s", Path: "big", Article: "short", Scan: []byte{1}}, table.MergeExisting)
	var ve *table.ValueError
	if !errors.As(err, &ve) {
		t.Errorf("got %v, want a *ValueError", err)
	}
	_, err = pages.Upsert(ctx, &page{Site: "s", Path: "big", Note: "m"}, table.MergeExisting)
	testkit.NoError(t, err)
	got, err := pages.Get(ctx, bigKey)
	testkit.NoError(t, err)
	big.Note, big.Title = "m", ""
	expectPage(t, "merged", got.Value, big)
}

// TestWideHeadJSON: the head of an entity does not become JSON without its parts.
func TestWideHeadJSON(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	big := bigPage("big")
	_, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	rows, err := bare.NewTable(s.Tables(), "pages", table.Schema[table.Row]{}, nil)
	testkit.NoError(t, err)
	head, err := tabledoor.GetRow(ctx, rows, bigKey)
	testkit.NoError(t, err)
	b, err := json.Marshal(head)
	if !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("got %s, %v; want ErrUnknownParts", b, err)
	}
}

// TestWideVersions: a partial read knows the version of the row, so a merge accepts it, also the second one.
func TestWideVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := newPages(t, nil)
	schema := pageSchema()
	schema.Version = 1
	pages, err := bare.NewTable(s.Tables(), "pages", schema, nil)
	testkit.NoError(t, err)
	big := bigPage("big")
	_, err = pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	e, err := pages.GetFields(ctx, bigKey, pageTitle)
	testkit.NoError(t, err)
	testkit.NoError(t, pages.Merge(ctx, e, day(3).Set(4)))
	testkit.NoError(t, pages.Merge(ctx, e, day(3).Set(5)))
}
