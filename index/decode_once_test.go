package index_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// color is a text that counts how often one is decoded. TestRowDecodedOnce alone uses it.
type color string

var colorsDecoded atomic.Int64

func (c color) MarshalText() ([]byte, error) { return []byte(c), nil }

func (c *color) UnmarshalText(b []byte) error { *c = color(b); colorsDecoded.Add(1); return nil }

// paint is an entity with a color.
type paint struct {
	Shop  string
	ID    int
	Color color
}

// TestRowDecodedOnce: a write that reads the row first decodes what is stored once, and what will be stored once, however many definitions
// derive rows from them.
func TestRowDecodedOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, n := range []int{1, 8} {
		var definitions []extend.Definition[paint]
		for i := range n {
			colorOf := func(p *paint) (string, bool) { return fmt.Sprint(i, string(p.Color)), true }
			definitions = append(definitions, index.New(fmt.Sprint("by", i), keys.Text(), colorOf, nil))
		}
		s := storagetest.New(nil)
		base := openAs(t, s.ConnectionString(), s, table.Schema[paint]{
			Partition: keys.Partition(keys.Text(), func(p *paint) *string { return &p.Shop }),
			Row:       keys.Row(keys.Digits[int](6), func(p *paint) *int { return &p.ID }),
		})
		check(t, tabledoor.Ensure(ctx, base))
		paints, err := baretest.Attach(base, definitions...)
		check(t, err)
		_, err = paints.Insert(ctx, &paint{"S", 1, "red"})
		check(t, err)
		colorsDecoded.Store(0)
		_, err = paints.Upsert(ctx, &paint{"S", 1, "blue"}, table.ReplaceExisting)
		check(t, err)
		if got := colorsDecoded.Load(); got != 2 {
			t.Errorf("%d definitions: got %d decodings of the row by an Upsert; want 2, one before and one after the change", n, got)
		}
	}
}
