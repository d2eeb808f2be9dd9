package logtail

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// TestSeen: the set has the numbers that were added, in any order, and no others, until they are dropped.
func TestSeen(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	at := func(n int) position { return position{start.Add(time.Duration(n) * time.Second), "W", int64(n)} }
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s seen
		added := map[int]bool{}
		for range r.IntN(60) {
			n := r.IntN(40)
			s.add(keys.Key{}, at(n))
			added[n] = true
		}
		spans := s.Writers["W"]
		for i, sp := range spans {
			if sp.Last < sp.First || i > 0 && sp.First <= spans[i-1].Last+1 || sp.Ticks != ticksOf(at(int(sp.Last)).time) {
				t.Fatalf("seed %d: got spans %v; want them ascending, with gaps, each with the time of its last number", seed, spans)
			}
		}
		from := r.IntN(40)
		for n := range 40 {
			if got := s.has(keys.Key{}, at(n)); got != added[n] {
				t.Fatalf("seed %d: number %d: got it in the set: %v; want %v", seed, n, got, added[n])
			}
		}
		s.dropBefore(at(from).time)
		for n := from; n < 40; n++ {
			if got := s.has(keys.Key{}, at(n)); got != added[n] {
				t.Fatalf("seed %d: number %d after the numbers before %d are dropped: got it in the set: %v; want %v", seed, n, from, got, added[n])
			}
		}
		older, after := 0, s.Writers["W"]
		for _, sp := range after {
			if sp.Last < int64(from) {
				older++
			}
		}
		if older > 1 {
			t.Errorf("seed %d: got spans %v after the numbers before %d are dropped; want at most 1 of these", seed, after, from)
		}
	}
}
