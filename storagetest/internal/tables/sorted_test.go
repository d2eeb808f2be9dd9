package tables

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest/internal/odata"
)

type item struct {
	key   string
	value int
}

func (i item) sortKey() string { return i.key }

// TestSorted: a sorted list contains what a map contains after the same changes, in order.
func TestSorted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		random := rand.New(rand.NewPCG(seed, 0))
		var list sorted[item]
		want := map[string]int{}
		for n := range 30_000 {
			key := fmt.Sprint(random.IntN(4000))
			switch most := random.IntN(10); {
			case most < 6 && n < 20_000 || most < 3:
				list.put(item{key, n})
				want[key] = n
			default:
				list.remove(key)
				delete(want, key)
			}
			got, ok := list.get(key)
			if value, in := want[key]; ok != in || got.value != value {
				t.Fatalf("seed %d: got %v, %v under %s; want %d, %v", seed, got, ok, key, value, in)
			}
		}
		keys := slices.SortedFunc(maps.Keys(want), odata.CompareText)
		from := fmt.Sprint(random.IntN(4000))
		i, _ := slices.BinarySearchFunc(keys, from, odata.CompareText)
		var got, rest []string
		for x := range list.startingAt("") {
			got = append(got, x.key)
		}
		for x := range list.startingAt(from) {
			rest = append(rest, x.key)
		}
		if !slices.Equal(got, keys) || !slices.Equal(rest, keys[i:]) || list.empty() != (len(keys) == 0) {
			t.Errorf("seed %d: got %d keys, %d from %s; want %d, %d", seed, len(got), len(rest), from, len(keys), len(keys)-i)
		}
		for _, b := range list.blocks {
			if len(b) == 0 || len(b) > maxBlock {
				t.Errorf("seed %d: got a block of %d; want 1 to %d", seed, len(b), maxBlock)
			}
		}
	}
}
