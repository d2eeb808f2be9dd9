package table_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestWideBulkDelete: bulk work by a handle without parts leaves no parts behind.
func TestWideBulkDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	_, err := pages.Insert(ctx, &page{Site: "s", Path: "big", Note: "n"})
	testkit.NoError(t, err)
	old, err := bare.NewTable(s.Tables(), "pages", table.Schema[narrow]{
		Partition: keys.Partition(keys.Text(), func(p *narrow) *string { return &p.Site }),
		Row:       keys.Row(keys.Text().Named("page"), func(p *narrow) *string { return &p.Path }),
	}, nil)
	testkit.NoError(t, err)
	if _, err := table.BulkDelete(ctx, old, table.Query[narrow]{Partition: keys.RawPartition("s")}, nil); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("got %v, want ErrUnknownParts", err)
	}
	testkit.Expect(t, "rows", storedPages(s), "page_big page_big!20")
}

type wideLoads struct {
	do func(ctx context.Context, p *extend.Plan, c *extend.Change[narrow]) error
}

func (wideLoads) Name() string { return "loads" }
func (wideLoads) MaxRows() int { return 2 }
func (m wideLoads) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[narrow]) error {
	return m.do(ctx, p, c)
}

// TestWideLoadedRows: a maintainer that loads the head of an entity with parts can change it, but not lose its parts, and no other row claims them.
func TestWideLoadedRows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	_, err := pages.Insert(ctx, &page{Site: "s", Path: "big", Title: "T", Note: "n"})
	testkit.NoError(t, err)
	for what, do := range map[string]func(ctx context.Context, p *extend.Plan, c *extend.Change[narrow]) error{
		"remove": func(ctx context.Context, p *extend.Plan, c *extend.Change[narrow]) error {
			if _, err := p.Load(ctx, keys.RawRow("page_big")); err != nil {
				return err
			}
			return p.Remove(keys.RawRow("page_big"))
		},
		"replace": func(ctx context.Context, p *extend.Plan, c *extend.Change[narrow]) error {
			if _, err := p.Load(ctx, keys.RawRow("page_big")); err != nil {
				return err
			}
			return p.Put(&table.Row{Key: bigKey})
		},
		"entity": func(ctx context.Context, p *extend.Plan, c *extend.Change[narrow]) error {
			r, err := p.Entity(ctx, keys.RawRow("page_big"))
			if err == nil {
				if v, _ := r.Get("Note"); v != "n" {
					t.Error("the row of the entity lacks its parts")
				}
			}
			return err
		},
		"copy": func(ctx context.Context, p *extend.Plan, c *extend.Change[narrow]) error {
			r, err := p.Load(ctx, keys.RawRow("page_big"))
			if err != nil {
				return err
			}
			return p.Put(r.At(keys.Raw("s", "copy")))
		},
		"change": func(ctx context.Context, p *extend.Plan, c *extend.Change[narrow]) error {
			r, err := p.Load(ctx, keys.RawRow("page_big"))
			if err != nil {
				return err
			}
			if err := r.Set("Title", "U"); err != nil {
				return err
			}
			return p.Put(r)
		},
	} {
		old, err := bare.NewTable(s.Tables(), "pages", table.Schema[narrow]{
			Partition: keys.Partition(keys.Text(), func(p *narrow) *string { return &p.Site }),
			Row:       keys.Row(keys.Text().Named("narrow"), func(p *narrow) *string { return &p.Path }),
		}, nil)
		testkit.NoError(t, err)
		with, err := bare.With(old, wideLoads{do})
		testkit.NoError(t, err)
		_, err = with.Insert(ctx, &narrow{"s", what, "x"})
		if ok := what == "change" || what == "copy"; ok != (err == nil) || !ok && !errors.Is(err, table.ErrNotDeclared) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	got, err := pages.Get(ctx, bigKey)
	testkit.NoError(t, err)
	testkit.Expect(t, "note", got.Value.Title+got.Value.Note, "Un")
	for _, r := range s.Rows("pages") {
		if r.RowKey == "copy" {
			if strings.Contains(fmt.Sprint(r), "_parts") {
				t.Error("the copy claims to have parts")
			}
		}
	}
}

type scanning struct{ seen *int }

func (scanning) Name() string { return "scan" }
func (scanning) MaxRows() int { return 1 }
func (m scanning) Maintain(ctx context.Context, p *extend.Plan, c *extend.Change[page]) error {
	for r, err := range p.Scan(ctx, keyrange.Stored("page_", "page_~")) {
		if err != nil {
			return err
		}
		if v, _ := r.Get("Note"); v == "n" && r.Type("Title") != "" {
			*m.seen++
		}
	}
	return nil
}

// TestWideScan: a maintainer scans whole entities, also in a transaction that begins with an operation of a handle without parts.
func TestWideScan(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	_, s, _ := newPages(t, nil)
	tables := s.Tables()
	base, err := bare.NewTable(tables, "pages", pageSchema(), nil)
	testkit.NoError(t, err)
	for i := range 3 {
		_, err := base.Insert(ctx, &page{Site: "s", Path: fmt.Sprint(i), Note: "n"})
		testkit.NoError(t, err)
	}
	seen := 0
	pages, err := bare.With(base, scanning{&seen})
	testkit.NoError(t, err)
	old, err := bare.NewTable(tables, "pages", table.Schema[narrow]{
		Partition: keys.Partition(keys.Text(), func(p *narrow) *string { return &p.Site }),
		Row:       keys.Row(keys.Text().Named("narrow"), func(p *narrow) *string { return &p.Path }),
	}, nil)
	testkit.NoError(t, err)
	_, err = table.Transact(ctx, old.InsertOp(&narrow{"s", "a", "x"}), pages.InsertOp(&page{Site: "s", Path: "x", Note: "n"}))
	testkit.NoError(t, err)
	testkit.Expect(t, "seen", seen, 3)
}

// TestWideView: a view of a handle without parts fails for an entity with parts, and does not return zero values.
func TestWideView(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	e, err := pages.Insert(ctx, &page{Site: "s", Path: "p", Title: "T", Note: "n"})
	testkit.NoError(t, err)
	type flat struct{ Title, Note string }
	flats, err := bare.NewTable(s.Tables(), "pages", table.Schema[flat]{}, nil)
	testkit.NoError(t, err)
	notes, err := table.ViewOf[struct{ Note string }](flats)
	testkit.NoError(t, err)
	var de *table.DecodeError
	if p, err := notes.Get(ctx, e.Key); !errors.As(err, &de) {
		t.Errorf("got %+v, %v; want a *DecodeError", p, err)
	}
}

// TestWideDeletedMeanwhile: a list finds an entity that lacks a part on its page, and that is deleted before it is read again. The list
// leaves it out.
func TestWideDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	memory, s, _ := newPages(t, nil)
	for _, path := range []string{"a", "b", "c"} {
		p := bigPage(path)
		_, err := memory.Insert(ctx, &p)
		testkit.NoError(t, err)
	}
	remove := func(suffix string) {
		for _, r := range s.Rows("pages") {
			if strings.HasPrefix(r.RowKey, "page_b") && strings.HasSuffix(r.RowKey, suffix) {
				_, err := s.Tables().NewClient("pages").DeleteEntity(ctx, r.PartitionKey, r.RowKey, nil)
				testkit.NoError(t, err)
			}
		}
	}
	remove("!03")
	h := &testkit.Hooked{Service: s, Serial: true}
	acc, err := account.FromTransport(h, nil)
	testkit.NoError(t, err)
	pages, err := bare.NewTable(acc.Tables(), "pages", pageSchema(), nil)
	testkit.NoError(t, err)
	again := false
	h.BeforeRequest = func(r *http.Request) {
		if filter := r.URL.Query().Get("$filter"); strings.Contains(filter, "page_b") || strings.Contains(r.URL.Path, "page_b") {
			again = true
			remove("")
		}
	}
	var got []string
	var stats table.Stats
	for e, err := range pages.List(ctx, table.Query[page]{TableScan: true, Stats: &stats}) {
		testkit.NoError(t, err)
		got = append(got, e.Value.Path)
	}
	testkit.Expect(t, "the entity was read again", again, true)
	testkit.Expect(t, "foreign rows", stats.Foreign, 0)
	testkit.Expect(t, "pages", got, []string{"a", "c"})
}
