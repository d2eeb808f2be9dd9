package requests_test

import (
	"slices"
	"testing"

	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
)

// TestTexts: each kind has a text of its own, and no text has another spelling.
func TestTexts(t *testing.T) {
	t.Parallel()
	all := kinds.All()
	if got, want := len(slices.Compact(slices.Sorted(slices.Values(all)))), len(all); got != want || want != 42 {
		t.Errorf("got %d texts of %d kinds; want 42 of 42", got, want)
	}
	for _, kind := range []requests.Kind{
		requests.Get, requests.Query, requests.Insert, requests.Replace, requests.Merge, requests.Delete, requests.Transaction,
	} {
		if !slices.Contains(all, string(kind)) {
			t.Errorf("%s: got no such kind in %v", kind, all)
		}
	}
}

// TestCounts: counts are sorted by the names of their kinds.
func TestCounts(t *testing.T) {
	t.Parallel()
	for want, counts := range map[string]requests.Counts{
		"none": nil,
		"1 get, 2 insert-or-merge, 3 message-put, 4 other": {kinds.Other: 4, kinds.MessagePut: 3, kinds.InsertOrMerge: 2, requests.Get: 1},
	} {
		total := 0
		for _, n := range counts {
			total += n
		}
		if counts.String() != want || counts.Total() != total {
			t.Errorf("got %s with total %d, want %s with total %d", counts, counts.Total(), want, total)
		}
	}
}
