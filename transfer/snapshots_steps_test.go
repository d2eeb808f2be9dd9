package transfer_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// paged opens the store of a bank whose lists have pages of some rows, and calls a function before each request.
func paged(b *bank, rows int, before func()) *table.Table[counter] {
	acc, err := account.FromTransport(&testkit.Hooked{Service: b.service, BeforeRequest: func(r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "()") {
			q := r.URL.Query()
			q.Set("$top", strconv.Itoa(rows))
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
	testkit.Long(t)
	t.Parallel()
	runs, found := 0, 0
	for _, counters := range []int{4, 5} {
		b := newBank(t, map[string]int{"a": counters, "b": counters})
		for _, chunk := range []int{450, 1, 300, 550, 750, 900, 1000, 1 << 20} {
			for _, meanwhile := range []string{"a write", "an export and a write", "a write and an export"} {
				sample := testkit.Sample(6)
				if counters == 4 && chunk == 1000 && !testkit.Few() { // chunks end with pages, and some partitions with both
					sample = 1
				}
				crashes := meanwhile == "a write" && (chunk == 450 || chunk >= 750 && chunk <= 1000)
				for crash := 0; ; crash++ {
					x := &steps{bank: b, counters: counters, chunk: chunk, meanwhile: meanwhile, crash: crash}
					for at := 1 + runs%sample; at <= max(x.requests, sample); at += sample {
						found += x.run(t, at)
						runs++
					}
					if !crashes || crash > 0 && !x.crashed {
						break
					}
				}
			}
		}
	}
	t.Logf("%d runs, %d torn partitions", runs, found)
	if found == 0 {
		t.Error("got no torn partition; want some")
	}
}

// steps are exports beside writes and crashes.
type steps struct {
	*bank
	counters, chunk int
	meanwhile       string
	crash           int // the request to the place before which the export crashes; 0 for none

	requests int  // of an export, so far
	crashed  bool // an export has
}

// run makes an export that is disturbed before a request, and returns how many partitions are torn.
func (x *steps) run(t *testing.T, at int) int {
	t.Helper()
	o := &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: x.chunk}
	var memory transfer.Memory
	export := func() {
		_, err := transfer.Export(t.Context(), paged(x.bank, 2, func() {}), &memory, o)
		testkit.NoError(t, err)
	}
	n := 0
	counted := paged(x.bank, 2, func() {
		if n++; n != at {
			return
		}
		if x.meanwhile == "an export and a write" {
			export()
		}
		for _, team := range []string{"a", "b"} {
			testkit.NoError(t, x.add(context.Background(), team, x.counters))
		}
		if x.meanwhile == "a write and an export" {
			export()
		}
	})
	report, err := transfer.Export(t.Context(), counted, &transfer.Crashing{Place: &memory, At: x.crash, How: transfer.Before}, o)
	if errors.Is(err, transfer.ErrCrash) {
		x.crashed = true
		report, err = transfer.Export(t.Context(), counted, &memory, o)
	}
	testkit.NoError(t, err)
	x.requests = max(x.requests, n)
	torn := tornIn(t, &memory)
	if len(torn) > report.Counts["torn"] || report.Counts["snapshots"] != 1 {
		t.Errorf("%d counters, chunks of %d bytes, %s before request %d, crash %d: got %d torn partitions; want %q or more",
			x.counters, x.chunk, x.meanwhile, at, x.crash, report.Counts["torn"], torn)
	}
	return len(torn)
}

// TestSnapshotsDamaged: an export whose manifest has lost lines within a partition is finished, and the partition is torn if it was written meanwhile.
func TestSnapshotsDamaged(t *testing.T) {
	t.Parallel()
	found := 0
	for from := range 3 {
		for at := 1; at < 30; at++ {
			b := newBank(t, map[string]int{"a": 7})
			var memory transfer.Memory
			_, err := transfer.Export(t.Context(), paged(b, 2, func() {}), &memory, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, ChunkBytes: 1})
			testkit.NoError(t, err)
			memory.Cut(from, from+2)
			n := 0
			report, err := transfer.Export(t.Context(), paged(b, 2, func() {
				if n++; n == at {
					testkit.NoError(t, b.add(context.Background(), "a", 7))
				}
			}), &memory, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}})
			testkit.NoError(t, err)
			torn := tornIn(t, &memory)
			if len(torn) > report.Counts["torn"] {
				t.Errorf("without lines %d and %d, written before request %d: got %d torn partitions; want %q", from, from+1, at, report.Counts["torn"], torn)
			}
			found += len(torn)
		}
	}
	if found == 0 {
		t.Error("got no torn partition; want some")
	}
}
