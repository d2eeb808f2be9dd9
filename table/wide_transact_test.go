package table_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// byTitle keeps the title of each page, and the number of its visits of day 300, in a row of its own.
type byTitle struct{ seen *[]string }

func (byTitle) Name() string { return "title" }
func (byTitle) MaxRows() int { return 2 }
func (m byTitle) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[page]) error {
	for _, old := range c.State() {
		if err := p.Remove(keys.RawRow(old)); err != nil {
			return err
		}
	}
	if c.Old != nil {
		*m.seen = append(*m.seen, strings.Repeat("v", len(c.Old.Visits)/100))
	}
	row, err := c.Row()
	if err != nil || row == nil {
		return err
	}
	under := keys.At(keys.RawPartition(c.Key.PartitionKey()), keys.RawRow("title_"+c.New.Title))
	c.SetState(under.RowKey())
	small := row.At(under)
	for name := range row.All() {
		if name != "Title" && name != "Day300" {
			small.Delete(name)
		}
	}
	return p.Insert(small, errTaken)
}

// TestWideMaintainers: maintainers see the whole entity, their rows are written in the transaction of the parts, and 97 rows are for
// both together.
func TestWideMaintainers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	base, s, counter := newPages(t, nil)
	var seen []string
	pages, err := bare.With(base, byTitle{&seen})
	testkit.NoError(t, err)
	big := bigPage("big")
	e, err := pages.Insert(ctx, &big)
	testkit.NoError(t, err)
	counter.Take()
	testkit.NoError(t, pages.Merge(ctx, e, day(300).Set(5)))
	testkit.Expect(t, "merge: requests", counter.Take().String(), "1 transaction")
	testkit.NoError(t, pages.MergeAny(ctx, e.Key, pageTitle.Set("U")))
	testkit.Expect(t, "merge by key: requests", counter.Take().String(), "1 query, 1 transaction")
	part, err := pages.GetFields(ctx, e.Key)
	testkit.NoError(t, err)
	testkit.NoError(t, pages.Merge(ctx, part, day(300).Set(6)))
	got, err := pages.Get(ctx, e.Key)
	testkit.NoError(t, err)
	big.Visits[300], big.Title = 6, "U"
	expectPage(t, "merged", got.Value, big)
	testkit.Expect(t, "old values", strings.Join(seen, " "), "vvv vvv vvv")
	rows := storedPages(s)
	if !strings.HasSuffix(rows, " title_U") || strings.Contains(rows, "title_T") {
		t.Errorf("got rows %s, want title_U", rows)
	}
	if err := base.Merge(ctx, got, day(2).Set(1)); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("a handle without the maintainer: got %v, want ErrUnknownMaintainer", err)
	}
	part, err = base.GetFields(ctx, e.Key)
	testkit.NoError(t, err)
	if err := base.Delete(ctx, part); !errors.Is(err, table.ErrNotDeclared) {
		t.Errorf("a handle without the maintainer: got %v, want ErrUnknownMaintainer", err)
	}
	taken := page{Site: "s", Path: "other", Title: "U", Visits: make([]int32, 300)}
	if _, err := pages.Insert(ctx, &taken); !errors.Is(err, errTaken) {
		t.Errorf("got %v, want the error of a taken title", err)
	}
	testkit.NoError(t, pages.Delete(ctx, got))
	testkit.Expect(t, "rows", storedPages(s), "")

	var le *table.LimitError
	if _, err := bare.With(base, manyTitles{}); !errors.As(err, &le) {
		t.Errorf("got %v, want a *LimitError: 90 rows and 20 parts do not fit one transaction", err)
	}
}

// manyTitles asks for more rows than the parts of a page leave.
type manyTitles struct{ byTitle }

func (manyTitles) MaxRows() int { return 90 }

// TestWideTransactions: several entities with parts change in one transaction, under new keys too.
func TestWideTransactions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, s, counter := newPages(t, nil)
	a, b := page{Site: "s", Path: "a", Visits: make([]int32, 300)}, page{Site: "s", Path: "b", Note: "b"}
	_, err := table.Transact(ctx, pages.InsertOp(&a), pages.InsertOp(&b))
	testkit.NoError(t, err)
	testkit.Expect(t, "rows", storedPages(s), "page_a page_a!01 page_a!02 page_b page_b!20")
	e, err := pages.Get(ctx, keys.Raw("s", "page_a"))
	testkit.NoError(t, err)
	e.Value.Path, e.Value.Note = "c", "moved"
	testkit.NoError(t, pages.Move(ctx, e))
	testkit.Expect(t, "rows", storedPages(s), "page_b page_b!20 page_c page_c!01 page_c!02 page_c!20")
	counter.Take()
	second, err := pages.Get(ctx, keys.Raw("s", "page_b"))
	testkit.NoError(t, err)
	second.Value.Visits = append(second.Value.Visits, 1)
	gone, made := keys.Raw("s", "page_c"), &page{Site: "s", Path: "d", Note: "d"}
	_, err = table.Transact(ctx, pages.ReplaceOp(second), pages.DeleteAnyOp(gone), pages.UpsertOp(made, table.ReplaceExisting))
	testkit.NoError(t, err)
	testkit.Expect(t, "requests", counter.Take().String(), "2 get, 1 query, 1 transaction")
	testkit.Expect(t, "rows", storedPages(s), "page_b page_b!01 page_b!20 page_d page_d!20")
	// A partial merge beside another operation.
	_, err = table.Transact(ctx, baretest.MergeAnyOp(pages, keys.Raw("s", "page_b"), pageNote.Set("x")), pages.DeleteAnyOp(keys.Raw("s", "page_d")))
	testkit.NoError(t, err)
	got, err := pages.Get(ctx, keys.Raw("s", "page_b"))
	testkit.NoError(t, err)
	expectPage(t, "b", got.Value, page{Site: "s", Path: "b", Note: "x", Visits: []int32{1}})
}

// TestWideChangedInPlace: a program that changes the bytes of a value in place, without a new slice, changes the entity.
func TestWideChangedInPlace(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pages, _, _ := newPages(t, nil)
	for _, size := range []int{10, 100_000} {
		for what, load := range map[string]func(*table.Entity[page]) (*table.Entity[page], error){
			"after the write": func(e *table.Entity[page]) (*table.Entity[page], error) { return e, nil },
			"after a read":    func(e *table.Entity[page]) (*table.Entity[page], error) { return pages.Get(ctx, e.Key) },
			"after a partial read of all parts": func(e *table.Entity[page]) (*table.Entity[page], error) {
				return pages.GetFields(ctx, e.Key, pageScan, pageVisits, table.FieldOf(func(p *page) *[]byte { return &p.Thumb }))
			},
		} {
			e, err := pages.Upsert(ctx, &page{Site: "s", Path: "p", Scan: make([]byte, size), Thumb: []byte{1}, Visits: []int32{1}}, table.ReplaceExisting)
			testkit.NoError(t, err)
			e, err = load(e)
			testkit.NoError(t, err)
			e.Value.Scan[3], e.Value.Visits[0], e.Value.Thumb[0] = 7, 8, 9
			testkit.NoError(t, pages.Replace(ctx, e))
			got, err := pages.Get(ctx, e.Key)
			testkit.NoError(t, err)
			if got.Value.Scan[3] != 7 || got.Value.Visits[0] != 8 || got.Value.Thumb[0] != 9 {
				t.Errorf("%s, %d bytes: got %d, %d and %d; want 7, 8 and 9", what, size, got.Value.Scan[3], got.Value.Visits[0], got.Value.Thumb[0])
			}
		}
	}
}
