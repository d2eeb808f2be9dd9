package keys_test

import (
	"math"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
)

// TestSignedExtremes: the smallest and the largest number of each width have keys, and no number beyond them has one.
func TestSignedExtremes(t *testing.T) {
	t.Parallel()
	most := int64(0)
	for width := 1; width <= 18; width++ {
		most = most*10 + 9
		l := keys.Int[int64](width)
		for _, n := range []int64{-most, -most + 1, most, most - 1} {
			s, err := l.RowKey(n).Result()
			if err != nil {
				t.Errorf("%d with %d digits: got %v, want a key", n, width, err)
			} else if got, err := l.Decode(s); got != n || err != nil {
				t.Errorf("decoding %q: got %d, %v, want %d", s, got, err, n)
			}
		}
		for _, n := range []int64{-most - 1, most + 1} {
			if s, err := l.RowKey(n).Result(); err == nil {
				t.Errorf("%d with %d digits: got %q, want an error", n, width, s)
			}
		}
		if first := l.RowKey(-most).String(); first != "-"+strings.Repeat("0", width) || first >= l.RowKey(-most+1).String() {
			t.Errorf("%d digits: got first key %q, want - and zeros, below all others", width, first)
		}
	}
	l := keys.Int[int64](19)
	for _, n := range []int64{math.MinInt64, math.MaxInt64} {
		if got, err := l.Decode(l.RowKey(n).String()); got != n || err != nil {
			t.Errorf("got %d, %v, want %d", got, err, n)
		}
	}
}
