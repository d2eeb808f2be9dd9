package transfer_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
	"github.com/aztablekit/aztablekit/txn"
)

type page struct {
	Site string
	ID   int
	City string
	A, B string
}

// TestEmptyMark: the empty mark of a large row that a transaction has only read is no content: not
// to verify, and not to exports, imports and comparisons.
func TestEmptyMark(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storagetest.New(nil)
	site := keys.Partition(keys.Text(), func(p *page) *string { return &p.Site })
	id := keys.Row(keys.Digits[int](6), func(p *page) *int { return &p.ID })
	store := aztablekit.Open(s, "pages", &aztablekit.Options{Daily: -1})
	city := func(p *page) (string, bool) { return p.City, true }
	pages := aztablekit.Table(store, "pages", site, id, index.New("copies", keys.Text(), city, nil), index.NewGlobal("all", keys.Text(), city, nil))
	testkit.NoError(t, store.Ensure(ctx))
	large := strings.Repeat("x", 20<<10)
	for _, p := range []page{{"a", 1, "Oslo", large, large}, {"b", 2, "Bern", "", ""}, {"c", 3, "Rome", "", ""}} {
		_, err := pages.Insert(ctx, &p)
		testkit.NoError(t, err)
	}
	testkit.NoError(t, store.Drain(ctx))
	before := transfer.Folder(t.TempDir())
	_, err := transfer.Export(ctx, pages, before, nil)
	testkit.NoError(t, err)
	testkit.NoError(t, txn.Run(ctx, store, func(tx *txn.Tx) error {
		for i, key := range []page{{Site: "a", ID: 1}, {Site: "b", ID: 2}, {Site: "c", ID: 3}} {
			e, err := txn.Get(tx, pages, pages.Key(key))
			if err != nil {
				return err
			}
			if i > 0 {
				e.Value.B = "new"
				tx.Do(pages.ReplaceOp(e))
			}
		}
		return nil
	}))
	testkit.NoError(t, store.Drain(ctx))
	marks := 0
	for _, r := range s.Rows("pages") {
		if v, is := r.Get("_tx").(string); is && v == "" {
			marks++
		}
	}
	if marks != 1 {
		t.Fatalf("got %d rows with an empty _tx, want that of the large entity", marks)
	}
	report, err := store.Verify(ctx, nil)
	testkit.NoError(t, err)
	if report.Faults > 0 {
		t.Errorf("got %+v; want a sound store", report)
	}

	differ := func(what string, first, second transfer.Source) {
		t.Helper()
		for d, err := range transfer.Compare(ctx, first, second, nil) {
			testkit.NoError(t, err)
			if d.Key.PartitionKey() == "a" && !strings.HasPrefix(d.Key.RowKey(), "~") { // the note of the transaction is cleaned up later
				t.Errorf("%s: got the difference %+v of an entity that was only read", what, d)
			}
		}
	}
	differ("before and now", transfer.Exported(before), transfer.Of(pages))
	after, other := transfer.Folder(t.TempDir()), storagetest.New(nil)
	_, err = transfer.Export(ctx, pages, after, nil)
	testkit.NoError(t, err)
	differ("the exports", transfer.Exported(before), transfer.Exported(after))
	for _, from := range []transfer.Source{transfer.Exported(after), transfer.Of(pages)} {
		result, err := transfer.Import(ctx, from, tableOf(t, other, "pages"), nil)
		if err != nil || result.Counts["kept"] != 0 {
			t.Errorf("import: got %+v, %v; want no row that differs", result, err)
		}
	}
	result, err := transfer.Import(ctx, transfer.Exported(before), pages, &transfer.ImportOptions{Pass: table.Pass{Partitions: keys.RawPartition("a").Point()}})
	if err != nil || result.Counts["kept"] != 0 || result.Changed != 0 {
		t.Errorf("import of what is there: got %+v, %v; want all rows the same", result, err)
	}
	for _, r := range other.Rows("pages") {
		if r.Get("_tx") != nil {
			t.Errorf("got the row %s %s with _tx; want the mark left out", r.PartitionKey, r.RowKey)
		}
	}
	var csv bytes.Buffer
	_, err = transfer.WriteCSV(ctx, &csv, transfer.Of(pages), &transfer.FileOptions{All: true})
	testkit.NoError(t, err)
	if strings.Contains(csv.String(), "_tx") {
		t.Error("got a column _tx in the file; want none")
	}
	e, err := pages.Update(ctx, pages.Key(page{Site: "a", ID: 1}), func(p *page) error { p.City = "Bonn"; return nil })
	testkit.NoError(t, err)
	testkit.Expect(t, "city", e.Value.City, "Bonn")
	testkit.NoError(t, store.Drain(ctx))
	report, err = store.Verify(ctx, nil)
	if err != nil || report.Faults > 0 {
		t.Errorf("behind an update: got %+v, %v; want a sound store", report, err)
	}
	n, err := pages.Count(ctx, table.Query[page]{TableScan: true})
	testkit.NoError(t, err)
	testkit.Expect(t, "pages", n, 3)
}
