package index_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/derived"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// wideDoc is an entity with parts.
type wideDoc struct {
	Site  string
	ID    int
	Title string
	Days  []int32 `table:"Day,each=300,part=1"`
	Text  string  `table:",chunks,omitempty,part=4"`
	Size  int64   `table:",part=9"`
}

// TestWideIndex: an index copies entities with parts, their copies are written as others are, and Verify finds no fault.
func TestWideIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	base, err := bare.NewTable(s.Tables(), "docs", table.Schema[wideDoc]{
		Partition: keys.Partition(keys.Text(), func(d *wideDoc) *string { return &d.Site }),
		Row:       keys.Row(keys.Digits[int](6).Named("doc"), func(d *wideDoc) *int { return &d.ID }),
	}, nil)
	testkit.NoError(t, err)
	testkit.NoError(t, tabledoor.Ensure(ctx, base))
	size := table.FieldOf(func(d *wideDoc) *int64 { return &d.Size })
	full := index.New("full", keys.Text().Named("title"), func(d *wideDoc) (string, bool) { return d.Title, true }, nil)
	only := index.New("only", keys.Digits[int64](9).Named("size"), func(d *wideDoc) (int64, bool) { return d.Size, true }, nil).Only(size)
	docs, err := baretest.Attach(base, full, only)
	testkit.NoError(t, err)
	var ops []table.Op
	for i := range 60 {
		ops = append(ops, docs.UpsertOp(&wideDoc{"s", i, fmt.Sprint("t", i%3), make([]int32, i*4), strings.Repeat("x", i), int64(i % 5)}, table.ReplaceExisting))
	}
	_, err = table.Bulk(ctx, func(yield func(table.Op, error) bool) {
		for _, op := range ops {
			if !yield(op, nil) {
				return
			}
		}
	}, nil)
	testkit.NoError(t, err)
	n := 0
	for e, err := range full.List(ctx, docs, keys.RawPartition("s"), "t1") {
		testkit.NoError(t, err)
		if n++; len(e.Value.Days) != e.Value.ID*4 || len(e.Value.Text) != e.Value.ID || e.Value.Size != int64(e.Value.ID%5) {
			t.Errorf("got %+v", e.Value)
		}
		e.Value.Title = "new"
		testkit.NoError(t, docs.Replace(ctx, e))
		if n == 5 {
			break
		}
	}
	for e, err := range docs.List(ctx, table.Query[wideDoc]{Partition: keys.RawPartition("s"), PageSize: 7}) {
		testkit.NoError(t, err)
		if len(e.Value.Days) != e.Value.ID*4 || len(e.Value.Text) != e.Value.ID || e.Value.Size != int64(e.Value.ID%5) {
			t.Errorf("got %+v", e.Value)
		}
	}
	r, err := verify.Check(ctx, docs, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "entities", r.Rows, 60)
	testkit.Expect(t, "faults", len(derived.Kinds(r)), 0)
}
