package logtail_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestTypesOfRecords: a log reads the records of an older version as Options.Upgrade makes them,
// and stores its own in its Type and Version. A log of another Type refuses them.
func TestTypesOfRecords(t *testing.T) {
	t.Parallel()
	type before struct{ Text string }
	type after struct{ Message string }
	s := storagetest.New(nil)
	h := &host.Host{Tables: s.Tables()}
	old := logtail.New[before](h, "claims", &logtail.Options{Type: "claim"})
	testkit.NoError(t, old.Ensure(t.Context()))
	_, err := old.Append(t.Context(), &before{"first"})
	testkit.NoError(t, err)
	now := logtail.New[after](h, "claims", &logtail.Options{
		Type: "claim", Version: 1, Upgrade: map[int]func(*table.Row) error{0: func(r *table.Row) error {
			text, _ := r.Get("Text")
			return r.Set("Message", text)
		}},
	})
	_, err = now.Append(t.Context(), &after{"second"})
	testkit.NoError(t, err)
	var got []string
	for r, err := range now.Tail(t.Context(), 10) {
		testkit.NoError(t, err)
		got = append(got, r.Value.Message)
	}
	testkit.Expect(t, "records", len(got), 2)
	if got[0] != "second" || got[1] != "first" {
		t.Errorf("got %q; want the second, and the first as it is upgraded", got)
	}
	stored := 0
	for _, row := range s.Rows("claims") {
		if row.Get("_type") == "claim" && row.Get("_v") == int32(1) && row.Get("Message") == "second" {
			stored++
		}
	}
	testkit.Expect(t, "rows of the type and the version", stored, 1)
}
