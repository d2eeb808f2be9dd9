package keys_test

import (
	"slices"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
)

// TestSpreadIsEven: 1600 values spread evenly over 16 buckets.
func TestSpreadIsEven(t *testing.T) {
	t.Parallel()
	l := keys.Spread(keys.Digits[uint64](6), 16)
	count := map[string]int{}
	for i := range uint64(1600) {
		count[l.RowKey(i).String()]++
	}
	var all []int
	for _, n := range count {
		all = append(all, n)
	}
	if len(count) != 16 || slices.Min(all) < 50 || slices.Max(all) > 150 {
		t.Errorf("got %v, want 16 buckets with 50 to 150 values", count)
	}
}
