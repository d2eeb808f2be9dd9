package split

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/keys"
)

// TestMiddle: a key in the middle of two keys, which is where a range is divided.
func TestMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{"0", "9", "4"},
		{"customer-000001", "customer-010000", "customer-005"},
		{"2026-01", "2026-12", "2026-06"},
		{"00ab", "00ff", "00d"},
		{"a", "", "o"},
		{"", "", "O"},
		{"a", "a ", ""},
		{"α", "ω", "ν"},
		{"Öblarn", "Österreich", "Ök"},
	} {
		if got, _ := Middle(c.from, c.to); got != c.want {
			t.Errorf("middle of %q and %q: got %q, want %q", c.from, c.to, got, c.want)
		}
	}
	key := rapid.StringMatching(`[0-9a-z~ö_ -]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		from, to := key.Draw(t, "from"), key.Draw(t, "to")
		if to != "" && keys.Compare(from, to) > 0 {
			from, to = to, from
		}
		m, is := Middle(from, to)
		if is && (keys.Compare(m, from) <= 0 || to != "" && keys.Compare(m, to) >= 0) {
			t.Fatalf("middle of %q and %q: got %q, want a key between them", from, to, m)
		}
		if is {
			if s := Share(from, m, to); s < 0 || s > 1 {
				t.Fatalf("share of %q between %q and %q: got %v, want 0 to 1", m, from, to, s)
			}
		}
	})
}

// TestHalves: each key of a table is in exactly one half, and the halves of many keys are about the same size.
func TestHalves(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"customer-%06d", "%d", "%08x", "2026-%04d/x", "%c"} {
		var all []string
		for i := range 500 {
			if form == "%c" {
				i += 0x3b1 // Greek
			}
			all = append(all, fmt.Sprintf(form, i))
		}
		slices.SortFunc(all, keys.Compare)
		probes := 0
		first := func(_ context.Context, s Span) (string, bool, error) {
			probes++
			in := s.keys(all)
			return append(in, "")[0], len(in) > 0, nil
		}
		parts, most := []Span{{}}, 0
		for range 5 {
			var next []Span
			for _, s := range parts {
				probes = 0
				h, _, err := Halves(t.Context(), s, first)
				if err != nil {
					t.Fatal(err)
				}
				next = append(next, h...)
				most = max(most, probes)
			}
			parts = next
		}
		n, largest := 0, 0
		for _, s := range parts {
			n += len(s.keys(all))
			largest = max(largest, len(s.keys(all)))
		}
		t.Logf("%s: %d parts, the largest with %d of %d keys, at most %d probes", form, len(parts), largest, len(all), most)
		if largest > 130 {
			t.Errorf("%s: got a part with %d keys; want none that is much larger than the others", form, largest)
		}
		if n != len(all) {
			t.Errorf("%s: got %d keys in the halves, want %d", form, n, len(all))
		}
	}
}

// keys returns the keys of a Span.
func (s Span) keys(all []string) (in []string) {
	for _, k := range all {
		if keys.Compare(k, s.From) >= 0 && (s.To == "" || keys.Compare(k, s.To) < 0) {
			in = append(in, k)
		}
	}
	return in
}
