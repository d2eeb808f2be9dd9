package keys_test

import (
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/keys"
)

// TestSignedExtremes: the smallest and the largest number of each width have keys, and the next ones have none.
func TestSignedExtremes(t *testing.T) {
	t.Parallel()
	most := int64(0)
	for width := 1; width <= 18; width++ {
		most = most*10 + 9
		l := keys.Tuple1(keys.Int[int64](width))
		for _, n := range []int64{-most, -most + 1, most, most - 1} {
			s, err := l.Of(n).Result()
			if err != nil {
				t.Errorf("%d of %d digits: %v", n, width, err)
			} else if got, err := l.Decode(s); got != n || err != nil {
				t.Errorf("%q is %d, %v, want %d", s, got, err, n)
			}
		}
		for _, n := range []int64{-most - 1, most + 1} {
			if s, err := l.Of(n).Result(); err == nil {
				t.Errorf("%d of %d digits: %q", n, width, s)
			}
		}
		if first := l.Of(-most).String(); first != "-"+strings.Repeat("0", width) || first >= l.Of(-most+1).String() {
			t.Errorf("%d digits: the first key is %q", width, first)
		}
	}
	l := keys.Tuple1(keys.Int[int64](19))
	for _, n := range []int64{math.MinInt64, math.MaxInt64} {
		if got, err := l.Decode(l.Of(n).String()); got != n || err != nil {
			t.Errorf("%d, %v, want %d", got, err, n)
		}
	}
}

// TestKeysInLogs: keys can be read in JSON and in logs.
func TestKeysInLogs(t *testing.T) {
	t.Parallel()
	k := keys.At(keys.Raw("Sales"), keys.Raw(`O'Brien "x"`))
	b, err := json.Marshal(map[string]any{"enc": keys.Raw("a"), "key": k})
	if want := `{"enc":"a","key":{"PartitionKey":"Sales","RowKey":"O'Brien \"x\""}}`; string(b) != want || err != nil {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	var back struct{ Key keys.Key }
	if err := json.Unmarshal(b, &back); err != nil || back.Key != k {
		t.Errorf("%v, %v, want %v", back.Key, err, k)
	}
	if b, err := json.Marshal([]any{keys.At(keys.Raw(""), keys.Raw("r"))}); err == nil {
		t.Errorf("a key that is none: %s", b)
	}
	if b, err := json.Marshal([]any{keys.Enc{}}); err == nil {
		t.Errorf("a key that was not set: %s", b)
	}
	var text strings.Builder
	slog.New(slog.NewJSONHandler(&text, nil)).Info("m", "key", k, "enc", keys.Raw("a"), "unset", keys.Enc{}, "range", keys.RawBetween("a", "b"))
	if got := text.String(); !strings.Contains(got, `"key":"('Sales','O''Brien \"x\"')","enc":"a","unset":"(keys: key is not set)","range":"[a, b)"`) {
		t.Error(got)
	}
}
