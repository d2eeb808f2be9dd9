package transfer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
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
		report, err := transfer.Export(ctx, paged(b, func() {}), &memory, &transfer.ExportOptions{Concurrency: 1})
		testkit.NoError(t, err)
		if !report.Snapshots || report.Torn != c.torn {
			t.Errorf("written %q: got %+v; want snapshots, and %d torn", c.write, report, c.torn)
		}
	}
}

// TestTornBetweenCalls: a partition in several chunks of two calls that was written while the first
// call read it is torn.
func TestTornBetweenCalls(t *testing.T) {
	t.Parallel()
	found := 0
	for _, chunk := range []int{450, 750} {
		o := &transfer.ExportOptions{Concurrency: 1, ChunkBytes: chunk}
		for crash := 3; crash <= 6; crash++ {
			for at := 3; at <= 14; at++ {
				b := newBank(t, map[string]int{"a": 7})
				var memory transfer.Memory
				n := 0
				counters := paged(b, func() {
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
				if len(torn) > report.Torn {
					t.Errorf("chunks of %d bytes, crash %d, written before request %d: got %d torn partitions; want %q", chunk, crash, at, report.Torn, torn)
				}
				found += len(torn)
			}
		}
	}
	if found == 0 {
		t.Error("got no torn partition; want some")
	}
}
