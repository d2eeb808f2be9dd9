package table_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/table"
)

// TestStaleVersions: an entity made of a key and an ETag is written if the row has that version, and refused otherwise, even if
// maintainers need the row.
func TestStaleVersions(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	made := func(e *table.Entity[resident]) *table.Entity[resident] {
		return &table.Entity[resident]{Key: e.Key, ETag: e.ETag}
	}
	for method, op := range map[string]func(*table.Table[resident], *table.Entity[resident]) table.Op{
		"Merge": func(p *table.Table[resident], e *table.Entity[resident]) table.Op {
			return p.MergeOp(e, lastName.Set("Li"))
		},
		"Delete": func(p *table.Table[resident], e *table.Entity[resident]) table.Op { return p.DeleteOp(e) },
		"Touch":  func(p *table.Table[resident], e *table.Entity[resident]) table.Op { return baretest.TouchOp(p, e) },
	} {
		people, s := newTown(t, nil)
		e := insertAll(t, people, s, resident{"S", 1, "Jones", "a"})[0]
		stale := made(e)
		noError(t, people.Merge(ctx, e, lastName.Set("Cao")))
		before := fmt.Sprint(s.Rows("people"))
		if _, err := table.Transact(ctx, op(people, stale)); !errors.Is(err, table.ErrChanged) {
			t.Errorf("%s, of a version that is gone: got %v; want ErrChanged", method, err)
		}
		var skipped error
		if r, err := door.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(op(people, stale), nil) },
			&engine.BulkOptions{Skip: func(_ int, err error) bool { skipped = err; return true }}); err != nil || r.Applied != 0 || !errors.Is(skipped, table.ErrChanged) {
			t.Errorf("%s in bulk: got %v %v %v; want no error and r.Done == 0 and skipped to be ErrChanged", method, r, err, skipped)
		}
		if after := fmt.Sprint(s.Rows("people")); after != before {
			t.Errorf("%s: got %s; want %s", method, after, before)
		}
		if _, err := table.Transact(ctx, op(people, made(e))); err != nil {
			t.Errorf("%s, of the version that is there: got %v; want no error", method, err)
		}
		if err := checkDerivedRows(s.Service); err != nil {
			t.Errorf("%v: got %v; want no error", method, err)
		}
	}
}
