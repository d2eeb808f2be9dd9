package requests_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/aztablekit/aztablekit/requests"
)

// TestNames: each kind has a name of its own, also in JSON and as a key in JSON, and a number that is no kind has none.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, kind := range requests.Kinds() {
		name := kind.String()
		if name == "" || seen[name] {
			t.Errorf("kind %d: got name %q, want a name of its own", int(kind), name)
		}
		seen[name] = true
		counts := requests.Counts{kind: 3}
		text, err := json.Marshal(counts)
		if want := fmt.Sprintf(`{"%s":3}`, name); err != nil || string(text) != want {
			t.Errorf("%v: got %s, %v; want %s", kind, text, err, want)
		}
		var got requests.Counts
		if err := json.Unmarshal(text, &got); err != nil || !maps.Equal(got, counts) {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, counts)
		}
	}
	for _, kind := range []requests.Kind{-1, requests.Kind(len(seen))} {
		if got, want := kind.String(), fmt.Sprintf("Kind(%d)", int(kind)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if text, err := kind.MarshalText(); err == nil {
			t.Errorf("%v: got text %s, want an error", kind, text)
		}
	}
	for _, name := range []string{"insrt", "", "Insert", "upsert", "update", "message", "insert "} {
		kind := requests.Query
		if err := kind.UnmarshalText([]byte(name)); err == nil || kind != requests.Query {
			t.Errorf("%q: got %v, %v; want an error and no change", name, kind, err)
		}
	}
}

// TestCounts: counts are sorted by the names of their kinds.
func TestCounts(t *testing.T) {
	t.Parallel()
	for want, counts := range map[string]requests.Counts{
		"none": nil,
		"1 get, 2 insert-or-merge, 3 message-put, 4 other": {requests.Other: 4, requests.MessagePut: 3, requests.InsertOrMerge: 2, requests.Get: 1},
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
