package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// paged opens the store of a bank whose lists have two rows on a page, and calls a function before each request.
func paged(b *bank, before func()) *table.Table[counter] {
	acc, err := account.FromTransport(&testkit.Hooked{Service: b.service, BeforeRequest: func(r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "()") {
			q := r.URL.Query()
			q.Set("$top", "2")
			r.URL.RawQuery = q.Encode()
		}
		before()
	}}, nil)
	if err != nil {
		panic(err)
	}
	return aztablekit.Table(aztablekit.Open(acc, "bank", nil), "counters", counterTeam, counterID, transfer.Snapshots[counter]("snapshots"))
}

// tornIn returns the partitions of an export whose first and last counter differ.
func tornIn(t testing.TB, at transfer.Place) (torn []string) {
	t.Helper()
	s := storagetest.New(nil)
	_, err := transfer.Import(t.Context(), transfer.Exported(at), tableOf(t, s, "counters"), &transfer.ImportOptions{OtherDefinitions: true})
	testkit.NoError(t, err)
	first := map[string]any{}
	last := map[string]any{}
	for _, r := range s.Rows("counters") {
		if n := r.Get("N"); n != nil && !strings.HasPrefix(r.RowKey, "~") {
			if _, is := first[r.PartitionKey]; !is {
				first[r.PartitionKey] = n
			}
			last[r.PartitionKey] = n
		}
	}
	for team := range first {
		if first[team] != last[team] {
			torn = append(torn, team)
		}
	}
	return torn
}

// TestSnapshotsSteps: an export of two partitions, beside a write of both before any of its requests, alone or with a whole export into the same place before or after the
// write; or with a crash at any request to the place, after which another call ends the export. Wherever pages and chunks end, a partition of two moments is torn.
func TestSnapshotsSteps(t *testing.T) {
	t.Parallel()
	for _, counters := range testkit.Some([]int{4, 5}) {
		for _, chunk := range testkit.Some([]int{450, 1, 300, 550, 750, 900, 1000, 1 << 20}) {
			for _, meanwhile := range testkit.Some([]string{"a write", "an export and a write", "a write and an export"}) {
				t.Run(fmt.Sprintf("%d counters, chunks of %d bytes, %s", counters, chunk, meanwhile), func(t *testing.T) {
					t.Parallel()
					found := 0
					for at := 1; ; at++ {
						requests, torn := snapshotSteps(t, counters, chunk, meanwhile, at)
						found += torn
						if requests < at {
							break
						}
					}
					if found == 0 && meanwhile == "a write" { // else the chunks of the other export may be those that are read
						t.Error("got no torn partition; want some")
					}
				})
			}
		}
	}
}

// snapshotSteps makes the exports with one write, and each crash. It returns how many requests there were, and how many torn partitions.
func snapshotSteps(t *testing.T, counters, chunk int, meanwhile string, at int) (requests, found int) {
	o := &transfer.ExportOptions{Concurrency: 1, ChunkBytes: chunk}
	for crash := 0; ; crash++ {
		b := newBank(t, map[string]int{"a": counters, "b": counters})
		var memory transfer.Memory
		export := func() {
			_, err := transfer.Export(t.Context(), paged(b, func() {}), &memory, o)
			testkit.NoError(t, err)
		}
		n := 0
		writer := func() {
			if n++; n != at {
				return
			}
			if meanwhile == "an export and a write" {
				export()
			}
			for _, team := range []string{"a", "b"} {
				testkit.NoError(t, b.add(context.Background(), team, counters))
			}
			if meanwhile == "a write and an export" {
				export()
			}
		}
		place := &transfer.Crashing{Place: &memory, At: crash, How: transfer.Before}
		counted := paged(b, writer)
		report, err := transfer.Export(t.Context(), counted, place, o)
		if errors.Is(err, transfer.ErrCrash) {
			report, err = transfer.Export(t.Context(), counted, &memory, o)
		}
		testkit.NoError(t, err)
		torn := tornIn(t, &memory)
		if len(torn) > report.Torn || !report.Snapshots {
			t.Fatalf("before request %d, crash %d: got %d torn partitions; want %q or more", at, crash, report.Torn, torn)
		}
		requests, found = max(requests, n), found+len(torn)
		if crashes := meanwhile == "a write" && (chunk == 450 || chunk >= 750 && chunk <= 1000) && !testkit.Few(); !crashes || crash > 0 && place.Requests() < crash {
			return requests, found
		}
	}
}

// TestSnapshotsDamaged: an export whose manifest has lost lines within a partition is finished, and the partition is torn if it was written meanwhile.
func TestSnapshotsDamaged(t *testing.T) {
	t.Parallel()
	found := 0
	for from := range 3 {
		for at := 1; at < 30; at++ {
			b := newBank(t, map[string]int{"a": 7})
			var memory transfer.Memory
			_, err := transfer.Export(t.Context(), paged(b, func() {}), &memory, &transfer.ExportOptions{Concurrency: 1, ChunkBytes: 1})
			testkit.NoError(t, err)
			memory.Cut(from, from+2)
			n := 0
			report, err := transfer.Export(t.Context(), paged(b, func() {
				if n++; n == at {
					testkit.NoError(t, b.add(context.Background(), "a", 7))
				}
			}), &memory, &transfer.ExportOptions{Concurrency: 1})
			testkit.NoError(t, err)
			torn := tornIn(t, &memory)
			if len(torn) > report.Torn {
				t.Errorf("without lines %d and %d, written before request %d: got %d torn partitions; want %q", from, from+1, at, report.Torn, torn)
			}
			found += len(torn)
		}
	}
	if found == 0 {
		t.Error("got no torn partition; want some")
	}
}
