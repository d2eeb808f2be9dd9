package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestWideSizes: values of every length at the borders of chunks are read as they were written, and a text is not cut inside a
// character. An entity beyond one transaction is refused before anything is sent, and the error names the way on.
func TestWideSizes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, _, counter := newPages(t, nil)
	for _, n := range testkit.Some([]int{0, 1, 65535, 65536, 65537, 1<<20 - 1, 1 << 20, 1<<20 + 1, 2 << 20, 2_600_000}) {
		p := page{Site: "s", Path: "scan", Scan: bytes.Repeat([]byte{7}, n)}
		e, err := pages.Upsert(ctx, &p, table.ReplaceExisting)
		testkit.NoError(t, err)
		got, err := pages.Get(ctx, e.Key)
		testkit.NoError(t, err)
		if !bytes.Equal(got.Value.Scan, p.Scan) || got.Value.Scan == nil {
			t.Errorf("%d bytes: got %d", n, len(got.Value.Scan))
		}
	}
	for _, char := range []string{"x", "é", "€", "\U0001F600"} {
		for lead := range 3 {
			for _, n := range testkit.Some([]int{15998, 15999, 16000, 31998, 31999, 32000, 32001, 64000}) {
				p := page{Site: "s", Path: "text", Article: strings.Repeat("-", lead) + strings.Repeat(char, n)}
				e, err := pages.Upsert(ctx, &p, table.ReplaceExisting)
				testkit.NoError(t, err)
				got, err := pages.Get(ctx, e.Key)
				testkit.NoError(t, err)
				if got.Value.Article != p.Article {
					t.Errorf("%d and %d of %q: got %d bytes, want %d", lead, n, char, len(got.Value.Article), len(p.Article))
				}
			}
		}
	}
	counter.Take()
	for what, c := range map[string]struct {
		p    page
		want string
	}{
		"too large":     {page{Site: "s", Path: "p", Scan: make([]byte, 2_800_000)}, "store its large values in blobs (package largeentity)"},
		"too many":      {page{Site: "s", Path: "p", Scan: make([]byte, 60<<16)}, "Scan"},
		"no UTF-8":      {page{Site: "s", Path: "p", Article: strings.Repeat("x", 40000) + "\xff"}, "not valid UTF-8"},
		"many elements": {page{Site: "s", Path: "p", Visits: make([]int32, 366)}, "elements"},
	} {
		if _, err := pages.Insert(ctx, &c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", what, err, c.want)
		}
	}
	testkit.Expect(t, "requests", counter.Take().String(), "none")
}

// TestWideDamage: an entity of which a part is missing, foreign or altered is an error, never an entity with zero values. It can
// still be deleted and replaced.
func TestWideDamage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, damage := range testkit.SomeNamed(map[string]func(ctx context.Context, raw *table.Table[table.Row], part *table.Entity[table.Row]) error{
		"missing": func(ctx context.Context, raw *table.Table[table.Row], part *table.Entity[table.Row]) error {
			return raw.DeleteAny(ctx, part.Key)
		},
		"of another version": func(ctx context.Context, raw *table.Table[table.Row], part *table.Entity[table.Row]) error {
			return sendRaw(ctx, raw, part.Key, "_part", "OTHER000")
		},
		"no part": func(ctx context.Context, raw *table.Table[table.Row], part *table.Entity[table.Row]) error {
			return errors.Join(raw.Delete(ctx, part), sendRaw(ctx, raw, part.Key, "Title", "x"))
		},
		"with a system property": func(ctx context.Context, raw *table.Table[table.Row], part *table.Entity[table.Row]) error {
			return sendRaw(ctx, raw, part.Key, "_life", "x")
		},
		"with a property of the head": func(ctx context.Context, raw *table.Table[table.Row], part *table.Entity[table.Row]) error {
			return sendRaw(ctx, raw, part.Key, "Title", "x")
		},
		"with a directory that is none": func(ctx context.Context, raw *table.Table[table.Row], part *table.Entity[table.Row]) error {
			return sendRaw(ctx, raw, bigKey, "_parts", "9")
		},
	}) {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			pages, s, _ := newPages(t, nil)
			big := bigPage("big")
			e, err := pages.Insert(ctx, &big)
			testkit.NoError(t, err)
			raw, err := bare.NewTable(s.Tables(), "pages", table.Schema[table.Row]{}, &table.Options{BlindWrites: true})
			testkit.NoError(t, err)
			part, err := raw.Get(ctx, keys.Raw("s", "page_big!01"))
			testkit.NoError(t, err)
			testkit.NoError(t, damage(ctx, raw, part))

			var de *table.DecodeError
			if _, err := pages.Get(ctx, e.Key); !errors.As(err, &de) {
				t.Errorf("Get: got %v, want a *DecodeError", err)
			}
			if _, err := pages.GetFields(ctx, e.Key, pageVisits); !errors.As(err, &de) {
				t.Errorf("GetFields: got %v, want a *DecodeError", err)
			}
			_, err = table.Collect(pages.List(ctx, table.Query[page]{Partition: keys.RawPartition("s")}))
			if !errors.As(err, &de) {
				t.Errorf("List: got %v, want a *DecodeError", err)
			}
			skipped := 0
			_, err = table.Collect(pages.List(ctx, table.Query[page]{Partition: keys.RawPartition("s"), Skip: func(keys.Key, error) bool { skipped++; return true }}))
			want := 1
			if what == "no part" { // a row of its own, with a key that the layout cannot read
				want = 2
			}
			if err != nil || skipped != want {
				t.Errorf("List with Skip: got %d skipped, %v; want %d, nil", skipped, err, want)
			}
			if strings.Contains(what, "directory") || what == "no part" {
				return
			}
			_, err = pages.Upsert(ctx, &big, table.ReplaceExisting)
			testkit.NoError(t, err)
			got, err := pages.Get(ctx, e.Key)
			testkit.NoError(t, err)
			expectPage(t, "repaired", got.Value, big)
			testkit.NoError(t, damage(ctx, raw, part))
			testkit.NoError(t, pages.DeleteAny(ctx, e.Key))
			testkit.Expect(t, "rows", storedPages(s), "")
		})
	}
}

var bigKey = keys.Raw("s", "page_big")

// sendRaw writes a property past the library.
func sendRaw(ctx context.Context, raw *table.Table[table.Row], k keys.Key, name string, value any) error {
	body := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,%q:%q}`, k.PartitionKey(), k.RowKey(), name, value)
	_, err := door.Table(raw).Service.NewClient("pages").UpsertEntity(ctx, []byte(body), nil)
	return err
}

// narrow is what another release of the program knows of a page: nothing of its parts.
type narrow struct {
	Site, Path string
	Title      string
}

// TestWideOtherHandles: a handle that does not know of parts neither reads nor writes an entity that has some.
func TestWideOtherHandles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	big := bigPage("big")
	_, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	old, err := bare.NewTable(s.Tables(), "pages", table.Schema[narrow]{
		Partition: keys.Partition(keys.Text(), func(p *narrow) *string { return &p.Site }),
		Row:       keys.Row(keys.Text().Named("page"), func(p *narrow) *string { return &p.Path }),
	}, nil)
	testkit.NoError(t, err)
	var de *table.DecodeError
	if _, err := old.Get(ctx, bigKey); !errors.As(err, &de) {
		t.Errorf("Get: got %v, want a *DecodeError", err)
	}
	for what, err := range map[string]error{
		"delete": old.DeleteAny(ctx, bigKey),
		"upsert": errorOf(old.Upsert(ctx, &narrow{"s", "big", "T"}, table.ReplaceExisting)),
		"merge":  old.MergeAny(ctx, bigKey, table.FieldOf(func(n *narrow) *string { return &n.Title }).Set("x")),
		"replace": func() error {
			rows, err := bare.NewTable(s.Tables(), "pages", table.Schema[table.Row]{}, nil)
			testkit.NoError(t, err)
			e, err := rows.Get(ctx, bigKey)
			testkit.NoError(t, err)
			return rows.Replace(ctx, e)
		}(),
	} {
		if !errors.Is(err, table.ErrNotDeclared) {
			t.Errorf("%s: got %v, want ErrUnknownParts", what, err)
		}
	}
	// A handle for rows of any type, with parts.
	rows, err := bare.NewTable(s.Tables(), "pages", table.Schema[table.Row]{Parts: 98}, nil)
	testkit.NoError(t, err)
	e, err := rows.Get(ctx, bigKey)
	testkit.NoError(t, err)
	if v, _ := e.Value.Get("Day300"); v != int32(301) {
		t.Errorf("got Day300 = %v, want 301", v)
	}
	testkit.NoError(t, e.Value.Set("Day300", int32(9)))
	testkit.NoError(t, rows.Replace(ctx, e))
	got, err := pages.Get(ctx, bigKey)
	testkit.NoError(t, err)
	big.Visits[300] = 9
	expectPage(t, "replaced as a row", got.Value, big)
	reader, err := table.NewMixed(pages, old)
	if err == nil {
		_, err = reader.Get(ctx, bigKey)
	}
	if err == nil {
		t.Error("mixed: got no error, want one: the types cannot be told apart")
	}
	for what, o := range map[string]func() error{
		"blind": func() error {
			_, err := bare.NewTable(s.Tables(), "pages", pageSchema(), &table.Options{BlindWrites: true})
			return err
		},
		"parts": func() error {
			schema := pageSchema()
			schema.Parts = 99
			_, err := bare.NewTable(s.Tables(), "pages", schema, nil)
			return err
		},
	} {
		if err := o(); err == nil {
			t.Errorf("%s: got no error, want one", what)
		}
	}
}

func errorOf[X any](_ X, err error) error { return err }

// TestWideLists: queries of every kind return whole entities, and the parts belong to no one else.
func TestWideLists(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, counter := newPages(t, nil)
	var ops []table.Op
	for i := range 12 {
		p := page{Site: "s", Path: fmt.Sprintf("p%02d", i), Title: fmt.Sprint(i % 3), Visits: make([]int32, i*30+1), Note: "n"}
		ops = append(ops, pages.InsertOp(&p))
	}
	_, err := table.Transact(ctx, ops...)
	testkit.NoError(t, err)
	all := func(q table.Query[page]) string {
		q.Partition = keys.RawPartition("s")
		var got []string
		for e, err := range pages.List(ctx, q) {
			testkit.NoError(t, err)
			var i int
			fmt.Sscanf(e.Value.Path, "p%d", &i)
			if len(e.Value.Visits) != i*30+1 || e.Value.Note != "n" {
				t.Errorf("%s: got %d visits and note %q", e.Value.Path, len(e.Value.Visits), e.Value.Note)
			}
			got = append(got, e.Value.Path[1:])
		}
		return strings.Join(got, " ")
	}
	const everything = "00 01 02 03 04 05 06 07 08 09 10 11"
	counter.Take()
	testkit.Expect(t, "all", all(table.Query[page]{}), everything)
	testkit.Expect(t, "all: requests", counter.Take().String(), "1 query")
	for size := 1; size < 9; size++ {
		testkit.Expect(t, fmt.Sprint("pages of ", size), all(table.Query[page]{PageSize: size}), everything)
	}
	counter.Take()
	testkit.Expect(t, "limit", all(table.Query[page]{Limit: 3}), "00 01 02")
	testkit.Expect(t, "condition", all(table.Query[page]{Where: pageTitle.Eq("1")}), "01 04 07 10")
	testkit.Expect(t, "condition: requests", counter.Take().String(), "6 query")
	if _, err := table.Collect(pages.List(ctx, table.Query[page]{Partition: keys.RawPartition("s"), Where: pageNote.Eq("n")})); err == nil {
		t.Error("a condition on a part: got no error, want one")
	}
	// Page by page, with a stored token.
	for _, q := range []table.Query[page]{{Limit: 5}, {PageSize: 4}, {Limit: 1}, {PageSize: 1}} {
		var got []string
		q.Partition = keys.RawPartition("s")
		for token := ""; ; {
			p, err := pages.Page(ctx, q, token)
			testkit.NoError(t, err)
			for _, e := range p.Entities {
				got = append(got, e.Value.Path[1:])
			}
			if token = p.Token; token == "" {
				break
			}
		}
		testkit.Expect(t, fmt.Sprintf("pages of %+v", q.Limit), strings.Join(got, " "), everything)
	}
	titles, err := table.ViewOf[struct{ Title, Note string }](pages)
	testkit.NoError(t, err)
	n := 0
	for p, err := range titles.List(ctx, table.Query[page]{Partition: keys.RawPartition("s")}) {
		testkit.NoError(t, err)
		if n++; p.Value.Note != "n" {
			t.Errorf("view: got note %q, want n", p.Value.Note)
		}
	}
	testkit.Expect(t, "view", n, 12)
	found, err := baretest.Exists(ctx, pages, keys.Raw("s", "page_p03"))
	testkit.NoError(t, err)
	testkit.Expect(t, "exists", found, true)
	i := 0
	for e, err := range pages.GetMany(ctx, keys.Raw("s", "page_p03"), keys.Raw("s", "page_no"), keys.Raw("s", "page_p11")) {
		if i == 1 {
			if !errors.Is(err, table.ErrNotFound) {
				t.Errorf("GetMany: got %v, want ErrNotFound", err)
			}
		} else {
			testkit.NoError(t, err)
			testkit.Expect(t, "GetMany", e.Value.Note, "n")
		}
		i++
	}
	counter.Take()
	r, err := table.BulkDelete(ctx, pages, table.Query[page]{Partition: keys.RawPartition("s"), Where: pageTitle.Eq("1")}, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "deleted", r.Changed, 4)
	testkit.Expect(t, "delete: requests", counter.Take().String(), "1 query, 1 transaction")
	_, err = table.BulkDelete(ctx, pages, table.Query[page]{Partition: keys.RawPartition("s")}, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "rows", storedPages(s), "")
}

// TestWideForeignPart: a row of another program in the place of a part is not replaced.
func TestWideForeignPart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, _ := newPages(t, nil)
	raw, err := bare.NewTable(s.Tables(), "pages", table.Schema[table.Row]{}, &table.Options{BlindWrites: true})
	testkit.NoError(t, err)
	testkit.NoError(t, sendRaw(ctx, raw, keys.Raw("s", "page_big!01"), "Theirs", "x"))
	big := bigPage("big")
	if _, err := pages.Insert(ctx, &big); !errors.Is(err, table.ErrForeignRow) {
		t.Errorf("got %v, want ErrForeignRow", err)
	}
	testkit.Expect(t, "rows", storedPages(s), "page_big!01")
	// A remnant of an entity is replaced.
	testkit.NoError(t, sendRaw(ctx, raw, keys.Raw("s", "page_big!01"), "_part", "REMNANT0"))
	_, err = pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	got, err := pages.Get(ctx, bigKey)
	testkit.NoError(t, err)
	expectPage(t, "inserted", got.Value, big)
}

// TestWideMovedField: another release of the program has given a field another part. A merge of a loaded entity changes the field
// where it is, and a replacement moves it.
func TestWideMovedField(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	type moved struct {
		Site, Path string
		Note       string `table:",omitempty,part=7"`
	}
	pages, s, _ := newPages(t, nil)
	_, err := pages.Insert(ctx, &page{Site: "s", Path: "p", Note: "old", Title: "kept"})
	testkit.NoError(t, err)
	next, err := bare.NewTable(s.Tables(), "pages", table.Schema[moved]{
		Partition: keys.Partition(keys.Text(), func(p *moved) *string { return &p.Site }),
		Row:       keys.Row(keys.Text().Named("page"), func(p *moved) *string { return &p.Path }),
		Parts:     20,
	}, nil)
	testkit.NoError(t, err)
	e, err := next.Get(ctx, keys.Raw("s", "page_p"))
	testkit.NoError(t, err)
	testkit.NoError(t, next.Merge(ctx, e, table.FieldOf(func(m *moved) *string { return &m.Note }).Set("new")))
	testkit.Expect(t, "rows", storedPages(s), "page_p page_p!20")
	for _, want := range []string{"new", "newer"} {
		got, err := pages.Get(ctx, e.Key)
		testkit.NoError(t, err)
		testkit.Expect(t, "note", got.Value.Note+" "+got.Value.Title, want+" kept")
		if want == "new" {
			e.Value.Note = "newer"
			testkit.NoError(t, next.Replace(ctx, e))
			testkit.Expect(t, "rows", storedPages(s), "page_p page_p!07")
		}
	}
}
