package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/bulk"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

func TestRevHas(t *testing.T) {
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

func TestRevChunks(t *testing.T) {
	ctx := context.Background()
	type doc struct { // x
		Site, Path string
		Title      string
		Text       []byte   `table:",chunks"`
		Other      string   `table:",part=1"`
	}
	_, s, _ := newPages(t, nil)
	docs, err := table.New(s.Tables(), "pages", table.Schema[doc]{}, nil)
	testkit.NoError(t, err)
	k := keys.At(keys.Raw("s"), keys.Raw("k"))
	e, err := docs.InsertAt(ctx, k, &doc{Site: "s", Title: "t", Text: make([]byte, 1<<20), Other: "o"})
	testkit.NoError(t, err)
	title := table.FieldOf(func(d *doc) *string { return &d.Title })
	text := table.FieldOf(func(d *doc) *[]byte { return &d.Text })
	got, err := docs.GetFields(ctx, e.Key, title)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Expect(t, "title", got.Value.Title, "t")
	testkit.Expect(t, "has", got.Has(text), false)
	testkit.Expect(t, "len", len(got.Value.Text), 0)
}

func TestRevRowFields(t *testing.T) {
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	big := bigPage("big")
	_, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	rows, err := table.New(s.Tables(), "pages", table.Schema[table.Row]{Parts: 98}, nil)
	testkit.NoError(t, err)
	f := table.PropertyOf[int32]("Day300")
	e, err := rows.GetFields(ctx, bigKey, f)
	testkit.NoError(t, err)
	v, ok := e.Value.Get("Day300")
	t.Log(v, ok, e.Has(f), e.Partial())
	if e.Has(f) && !ok {
		t.Error("has it, but it is not there")
	}
}

func TestRevMergeExisting(t *testing.T) {
	ctx := context.Background()
	pages, _, _ := newPages(t, nil)
	big := bigPage("big")
	_, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	_, err = pages.Upsert(ctx, &page{Site: "s", Path: "big", Article: "short", Scan: []byte{1}}, table.MergeExisting)
	t.Log(err)
	_, err = pages.Get(ctx, bigKey)
	testkit.NoError(t, err)
}

func TestRevLongKey(t *testing.T) {
	ctx := context.Background()
	pages, _, counter := newPages(t, nil)
	counter.Take()
	p := page{Site: "s", Path: strings.Repeat("x", 512-5-1), Note: "n"}
	_, err := pages.Insert(ctx, &p)
	var le *table.LimitError
	if !errors.As(err, &le) {
		t.Errorf("got %v", err)
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
		t.Errorf("got %v", err)
	}
	testkit.Expect(t, "requests", counter.Take().String(), "none")
	p.Path = p.Path[3:]
	p.Note = "n"
	_, err = pages.Insert(ctx, &p)
	testkit.NoError(t, err)
}

func TestRevHeadJSON(t *testing.T) {
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	big := bigPage("big")
	_, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	rows, err := table.New(s.Tables(), "pages", table.Schema[table.Row]{}, nil)
	testkit.NoError(t, err)
	head, err := rows.GetRow(ctx, bigKey)
	testkit.NoError(t, err)
	b, err := json.Marshal(head)
	if !errors.Is(err, table.ErrUnknownParts) {
		t.Errorf("got %s, %v", b, err)
	}
}

func TestRevVersion(t *testing.T) {
	ctx := context.Background()
	_, s, _ := newPages(t, nil)
	schema := pageSchema()
	schema.Version = 1
	pages, err := table.New(s.Tables(), "pages", schema, nil)
	testkit.NoError(t, err)
	big := bigPage("big")
	_, err = pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	e, err := pages.GetFields(ctx, bigKey, pageTitle)
	testkit.NoError(t, err)
	testkit.NoError(t, pages.Merge(ctx, e, day(3).Set(4)))
	testkit.NoError(t, pages.Merge(ctx, e, day(3).Set(5)))
}

func TestRevBudget(t *testing.T) {
	ctx := context.Background()
	pages, _, _ := newPages(t, nil)
	for i := range 8 {
		_, err := pages.Insert(ctx, &page{Site: "s", Path: string(rune('a' + i)), Note: "n", Visits: []int32{1}})
		testkit.NoError(t, err)
	}
	for rows := 1; rows < 30; rows++ {
		q := table.Query[page]{Partition: keys.Raw("s"), Limit: 1, Budget: table.Budget{Rows: rows}}
		got := ""
		token := ""
		for i := 0; i < 200; i++ {
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
		}
		testkit.Expect(t, "all", got, "abcdefgh")
	}
}
func TestRevBudgetRequests(t *testing.T) {
	ctx := context.Background()
	pages, _, counter := newPages(t, nil)
	for i := range 8 {
		_, err := pages.Insert(ctx, &page{Site: "s", Path: string(rune('a' + i)), Title: "x", Note: "n", Visits: []int32{1}})
		testkit.NoError(t, err)
	}
	counter.Take()
	q := table.Query[page]{Partition: keys.Raw("s"), Where: pageTitle.Eq("x"), Budget: table.Budget{Requests: 3}}
	all, err := table.Collect(pages.List(ctx, q))
	t.Log(len(all), err, counter.Take())
}

func TestRevDeleteNarrow(t *testing.T) {
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	_, err := pages.Insert(ctx, &page{Site: "s", Path: "big", Note: "n"})
	testkit.NoError(t, err)
	old, err := table.New(s.Tables(), "pages", table.Schema[narrow]{
		Partition: keys.Bind1(keys.Tuple1(keys.Text()), func(p *narrow) *string { return &p.Site }),
		Row:       keys.Bind1(keys.Tuple1(keys.Text()).Named("page"), func(p *narrow) *string { return &p.Path }),
	}, nil)
	testkit.NoError(t, err)
	if _, err := bulk.Delete(ctx, old, table.Query[narrow]{Partition: keys.Raw("s")}, nil); !errors.Is(err, table.ErrUnknownParts) {
		t.Errorf("got %v, want ErrUnknownParts", err)
	}
	testkit.Expect(t, "rows", storedPages(s), "page_big page_big!20")
}

type wideLoads struct{ do func(ctx context.Context, p *maintain.Plan, c *maintain.Change[narrow]) error }

func (wideLoads) Name() string { return "loads" }
func (wideLoads) MaxRows() int { return 2 }
func (m wideLoads) Maintain(ctx context.Context, p *maintain.Plan, c *maintain.Change[narrow]) error {
	return m.do(ctx, p, c)
}

func TestRevLoads(t *testing.T) {
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	_, err := pages.Insert(ctx, &page{Site: "s", Path: "big", Title: "T", Note: "n"})
	testkit.NoError(t, err)
	for what, do := range map[string]func(ctx context.Context, p *maintain.Plan, c *maintain.Change[narrow]) error{
		"remove": func(ctx context.Context, p *maintain.Plan, c *maintain.Change[narrow]) error {
			if _, err := p.Load(ctx, keys.Raw("page_big")); err != nil {
				return err
			}
			return p.Remove(keys.Raw("page_big"))
		},
		"replace": func(ctx context.Context, p *maintain.Plan, c *maintain.Change[narrow]) error {
			if _, err := p.Load(ctx, keys.Raw("page_big")); err != nil {
				return err
			}
			return p.Put(&table.Row{Key: bigKey})
		},
		"entity": func(ctx context.Context, p *maintain.Plan, c *maintain.Change[narrow]) error {
			r, err := p.Entity(ctx, keys.Raw("page_big"))
			if err == nil {
				if v, _ := r.Get("Note"); v != "n" {
					t.Error("the row of the entity lacks its parts")
				}
			}
			return err
		},
		"copy": func(ctx context.Context, p *maintain.Plan, c *maintain.Change[narrow]) error {
			r, err := p.Load(ctx, keys.Raw("page_big"))
			if err != nil {
				return err
			}
			return p.Put(r.At(keys.Stored("s", "copy")))
		},
		"change": func(ctx context.Context, p *maintain.Plan, c *maintain.Change[narrow]) error {
			r, err := p.Load(ctx, keys.Raw("page_big"))
			if err != nil {
				return err
			}
			if err := r.Set("Title", "U"); err != nil {
				return err
			}
			return p.Put(r)
		},
	} {
		old, err := table.New(s.Tables(), "pages", table.Schema[narrow]{
			Partition: keys.Bind1(keys.Tuple1(keys.Text()), func(p *narrow) *string { return &p.Site }),
			Row:       keys.Bind1(keys.Tuple1(keys.Text()).Named("narrow"), func(p *narrow) *string { return &p.Path }),
		}, nil)
		testkit.NoError(t, err)
		with, err := maintain.With(old, wideLoads{do})
		testkit.NoError(t, err)
		_, err = with.Insert(ctx, &narrow{"s", what, "x"})
		if ok := what == "change" || what == "copy"; ok != (err == nil) || !ok && !errors.Is(err, table.ErrUnknownParts) {
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
