package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// TestTornWithoutStamp: a partition of more than a page that was not written since the table has
// snapshots has no stamp, and is torn; one that fits on a page is not.
func TestTornWithoutStamp(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), storagetest.New(nil)
	old := openBank(s, testLease)
	testkit.NoError(t, old.Ensure(ctx))
	for team, n := range map[string]int{"a": 5, "b": 1, "c": 5} {
		for i := range n {
			_, err := old.counters.Insert(ctx, &counter{Team: team, ID: i})
			testkit.NoError(t, err)
		}
	}
	b := openBank(s, testLease, transfer.Snapshots[counter]("snapshots"))
	testkit.NoError(t, b.Ensure(ctx))
	_, err := b.Fill(ctx, nil)
	testkit.NoError(t, err)
	for _, c := range []struct {
		write string
		torn  int
	}{{"", 2}, {"a", 1}, {"c", 0}} {
		if c.write != "" {
			testkit.NoError(t, b.add(ctx, c.write, 5))
		}
		var memory transfer.Memory
		report, err := transfer.Export(ctx, paged(b, 2, func() {}), &memory, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}})
		testkit.NoError(t, err)
		if report.Counts["snapshots"] != 1 || report.Counts["torn"] != c.torn {
			t.Errorf("written %q: got %+v; want snapshots, and %d torn", c.write, report, c.torn)
		}
	}
}

// TestTornBetweenCalls: a partition in several chunks of two calls that was written while the first
// call read it is torn.
func TestTornBetweenCalls(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	found := 0
	for _, chunk := range []int{450, 750} {
		o := &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: chunk}
		for crash := 3; crash <= 6; crash++ {
			for at := 3; at <= 14; at++ {
				b := newBank(t, map[string]int{"a": 7})
				var memory transfer.Memory
				n := 0
				counters := paged(b, 2, func() {
					if n++; n == at {
						testkit.NoError(t, b.add(context.Background(), "a", 7))
					}
				})
				report, err := transfer.Export(t.Context(), counters, &transfer.Crashing{Place: &memory, At: crash, How: transfer.Before}, o)
				if errors.Is(err, transfer.ErrCrash) {
					report, err = transfer.Export(t.Context(), counters, &memory, o)
				}
				testkit.NoError(t, err)
				torn := tornIn(t, &memory)
				if len(torn) > report.Counts["torn"] {
					t.Errorf("chunks of %d bytes, crash %d, written before request %d: got %d torn partitions; want %q", chunk, crash, at, report.Counts["torn"], torn)
				}
				found += len(torn)
			}
		}
	}
	if found == 0 {
		t.Error("got no torn partition; want some")
	}
}

// TestSnapshotsRequests: an export with snapshots reads a partition again that goes on behind its page; one that has more rows than a page once more behind its stamp,
// and the stamp again at its end, and at that of each chunk within it. One without a stamp costs one look for it.
func TestSnapshotsRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		sizes   map[string]int
		stamped bool
		chunk   int
		want    string
	}{
		{"a page", map[string]int{"a": 10, "b": 10, "c": 10}, true, 0, "2 query"},
		{"a partition goes on behind a page", map[string]int{"a": 60, "b": 60}, true, 0, "3 query"},
		{"a partition has three pages", map[string]int{"a": 10, "b": 210, "c": 10}, true, 0, "3 get, 6 query"},
		{"a partition has three pages, and so many chunks", map[string]int{"a": 10, "b": 210, "c": 10}, true, 6000, "5 get, 7 query"},
		{"a partition has three pages, and no stamp", map[string]int{"a": 10, "b": 210, "c": 10}, false, 6000, "1 get, 7 query"},
	} {
		b := newBank(t, c.sizes)
		if !c.stamped {
			for _, r := range b.service.Rows("counters") {
				if r.RowKey == "~s" {
					_, err := b.service.Tables().NewClient("counters").DeleteEntity(t.Context(), r.PartitionKey, r.RowKey, nil)
					testkit.NoError(t, err)
				}
			}
		}
		counters := paged(b, 100, func() {})
		b.service.Count()
		_, err := transfer.Export(t.Context(), counters, &transfer.Memory{}, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: c.chunk})
		testkit.NoError(t, err)
		testkit.Expect(t, c.name, b.service.Count().String(), c.want)
	}
}

// TestSnapshotsOfNoPartition: rows that another program has stored with an empty PartitionKey are part of
// an export of snapshots.
func TestSnapshotsOfNoPartition(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]int{"a page": 1, "several pages": 5} {
		ctx := t.Context()
		b := newBank(t, map[string]int{"a": 3})
		for i := range rows {
			row := jsonRow("", fmt.Sprint("row", i), `"N":1`)
			_, err := b.service.Tables().NewClient("counters").AddEntity(ctx, []byte(row), nil)
			testkit.NoError(t, err)
		}
		var memory transfer.Memory
		counters := paged(b, 2, func() {})
		_, err := transfer.Export(ctx, counters, &memory, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: 200})
		testkit.NoError(t, err)
		restored := storagetest.New(nil)
		to := tableOf(t, restored, "counters")
		_, err = transfer.Import(ctx, transfer.Exported(&memory), to, nil)
		testkit.NoError(t, err)
		for d, err := range transfer.Compare(ctx, transfer.Of(counters), transfer.Of(to), nil) {
			t.Errorf("%s: got a difference %v, %v; want none", name, d, err)
		}
		testkit.Expect(t, name+": rows", len(restored.Rows("counters")), len(b.service.Rows("counters")))
	}
}
