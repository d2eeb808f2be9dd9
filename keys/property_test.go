package keys_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/keys"
)

// laws checks the guarantees of the package for one kind of component at any place of a layout: different values have different keys,
// Decode returns the value, keys sort as values do (dir is -1 for descending), ranges contain exactly their values, and characters
// are valid.
func laws[A any](t *testing.T, name string, p keys.Component[A], gen *rapid.Generator[A], order func(a, b A) int, dir int) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		alone := p
		lead := pairOf(p, keys.Ordered())
		named := tripleOf(keys.Ordered().Named("n"), p, p)
		rapid.Check(t, func(t *rapid.T) {
			a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
			x, y := texts.Draw(t, "x"), texts.Draw(t, "y")

			ka, kb := lead.Of(a, x), lead.Of(b, y)
			if ka.Err() != nil || kb.Err() != nil {
				t.Fatalf("got %v, %v, want two keys", ka.Err(), kb.Err())
			}
			for _, k := range []keys.RowKey{ka, kb, named.Of(x, a, b)} {
				alphabet(t, k.String())
			}
			if got, gx, err := lead.Decode(ka); err != nil || order(got, a) != 0 || gx != x {
				t.Fatalf("decoding %q: got %v, %q, %v, want %v, %q", ka, got, gx, err, a, x)
			}
			if gx, ga, gb, err := named.Decode(named.Of(x, a, b)); err != nil || order(ga, a) != 0 || order(gb, b) != 0 || gx != x {
				t.Fatalf("decoding %q: got %q, %v, %v, %v, want %q, %v, %v", named.Of(x, a, b), gx, ga, gb, err, x, a, b)
			}
			want := order(a, b) * dir
			if want == 0 {
				want = compareTexts(x, y)
			}
			if got := strings.Compare(ka.String(), kb.String()); got != want {
				t.Fatalf("%q and %q: got order %d, want %d", ka, kb, got, want)
			}
			if in := lead.Under(a).All().Contains(kb.String()); in != (order(a, b) == 0) || !lead.Under(a).All().Contains(ka.String()) {
				t.Fatalf("the range of %v contains %q: got %v, want %v", a, kb, in, order(a, b) == 0)
			}
			for _, r := range []keys.RowRange{lead.Under(a).All(), lead.All(), named.All(), lead.Under(a).AtLeast(x), lead.Under(a).AtMost(x)} {
				first, last, err := r.Inclusive()
				for _, k := range []string{ka.String(), kb.String(), named.Of(x, a, b).String()} {
					if in := keys.Compare(first, k) <= 0 && keys.Compare(k, last) <= 0; err != nil || in != r.Contains(k) {
						t.Fatalf("%v from %q to %q contains %q: got %v, %v, want %v", r, first, last, k, in, err, r.Contains(k))
					}
				}
			}
			for what, r := range map[string]struct {
				r    keys.RowRange
				want bool
			}{
				"at least": {lead.AtLeast(a), order(b, a) >= 0}, "at most": {lead.AtMost(a), order(b, a) <= 0}, "before": {lead.Before(a), order(b, a) < 0},
			} {
				if got := r.r.Contains(kb.String()); got != r.want {
					t.Fatalf("%s the first value %v contains %q: got %v, want %v", what, a, kb, got, r.want)
				}
			}
			if !lead.All().Contains(ka.String()) || !named.All().Contains(named.Of(x, a, b).String()) {
				t.Fatalf("the range %v of the layout does not contain %q", lead.All(), ka)
			}
			if k, err := alone.RowKey(a).Result(); err == nil { // the empty text is not a valid key
				if !alone.Rows().All().Contains(k) || !alone.Rows().AtLeast(a).Contains(k) || !alone.Rows().AtMost(a).Contains(k) {
					t.Fatalf("a range of the value %v does not contain its key %q", a, k)
				}
				if l, err := alone.RowKey(b).Result(); err == nil {
					if alone.Rows().AtLeast(a).Contains(l) != (order(b, a) >= 0) {
						t.Fatalf("at least %q contains %q: got %v, want %v", k, l, order(b, a) < 0, order(b, a) >= 0)
					}
					if alone.Rows().AtMost(a).Contains(l) != (order(b, a) <= 0) {
						t.Fatalf("at most %q contains %q: got %v, want %v", k, l, order(b, a) > 0, order(b, a) <= 0)
					}
					if before := alone.Rows().Before(a); before.Contains(l) != (order(b, a) < 0) {
						t.Fatalf("before %q contains %q: got %v, want %v", k, l, order(b, a) >= 0, order(b, a) < 0)
					}
					between := alone.Rows().Between(a, b)
					if (between.Err() == nil) != (order(a, b) <= 0) {
						t.Fatalf("between %q and %q: got %v, want an error if the bounds are swapped", k, l, between)
					}
					c := gen.Draw(t, "c")
					if m, err := alone.RowKey(c).Result(); err == nil && between.Err() == nil && between.Contains(m) != (order(a, c) <= 0 && order(c, b) <= 0) {
						t.Fatalf("between %q and %q contains %q: got %v", k, l, m, between.Contains(m))
					}
					// A family contains its key and the keys that extend it, and no other keys.
					family := alone.RowKey(a).Family()
					below, other := pairOf(p, keys.Digits[uint64](1)).Of(a, 7).String(), pairOf(p, keys.Digits[uint64](1)).Of(b, 7).String()
					if !family.Contains(k) || !family.Contains(below) || family.Contains(l) != (k == l) || family.Contains(other) != (k == l) {
						t.Fatalf("%v: want %q and %q, and of another key neither %q nor %q", family, k, below, l, other)
					}
				}
			}
		})
	})
}

// texts generates texts that are hard to escape: separators, escape characters, neighbours of every interval, non-ASCII, invalid
// UTF-8.
var texts = rapid.Custom(func(t *rapid.T) string {
	const ascii = "\x00 !-./019:=@AZ[^_`az{|~\x7f"
	wide := []string{"\u0080", "é", "ÿ", "Ж", "ก", "\u0f7e", "\u0f7f", "日", "\ud7ff", "\ue000", "\ufffd", "😀", "\U0003b276", "\U0003b277",
		"\U0010ffff", "\x80", "\xa9", "\xc3", "\xe0\xb8", "\xed\xa0\x80", "\xff"}
	var b strings.Builder
	for range rapid.IntRange(0, 5).Draw(t, "n") {
		if c := rapid.IntRange(0, len(ascii)+len(wide)-1).Draw(t, "c"); c < len(ascii) {
			b.WriteByte(ascii[c])
		} else {
			b.WriteString(wide[c-len(ascii)])
		}
	}
	return b.String()
})

// compareTexts compares code points. Bytes that are not UTF-8 are above all of them.
func compareTexts(a, b string) int { return slices.Compare(points(a), points(b)) }

func points(s string) (all []rune) {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			r = utf8.MaxRune + 1 + rune(s[0])
		}
		all = append(all, r)
		s = s[n:]
	}
	return all
}

func alphabet(t *rapid.T, k string) {
	if strings.ContainsAny(k, `/\#?'%~`) || k[0] >= '~' {
		t.Fatalf("got %q, want a key without reserved characters", k)
	}
	for i := range len(k) {
		if k[i] <= ' ' || k[i] >= utf8.RuneSelf {
			t.Fatalf("got %q, want printable ASCII", k)
		}
	}
}

func both[A any](t *testing.T, name string, p keys.Component[A], gen *rapid.Generator[A], order func(a, b A) int) {
	laws(t, name, p, gen, order, 1)
	laws(t, "desc "+name, keys.Desc(p), gen, order, -1)
}

func TestLaws(t *testing.T) {
	t.Parallel()
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).Unix()
	moments := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(first, last).Draw(t, "s"), rapid.Int64Range(0, 9_999_999).Draw(t, "ticks")*100)
	})
	days := rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(first/86400, last/86400).Draw(t, "d")*86400, 0).UTC()
	})
	both(t, "uint", keys.Digits[uint64](20), rapid.Uint64(), cmp.Compare)
	both(t, "digits", keys.Digits[uint8](3), rapid.Uint8(), cmp.Compare)
	both(t, "int64", keys.Int[int64](19), rapid.Int64(), cmp.Compare)
	both(t, "int8", keys.Int[int8](3), rapid.Int8(), cmp.Compare)
	both(t, "float64", keys.Float[float64](), rapid.Float64(), cmp.Compare)
	both(t, "float32", keys.Float[float32](), rapid.Float32(), cmp.Compare)
	both(t, "infinities", keys.Float[float64](), rapid.SampledFrom([]float64{math.Inf(-1), -1, 0, 5e-324, 1, math.MaxFloat64, math.Inf(1)}), cmp.Compare)
	both(t, "bool", keys.Bool(), rapid.Bool(), func(a, b bool) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	both(t, "time", keys.Time(), moments, time.Time.Compare)
	both(t, "date", keys.Date(), days, time.Time.Compare)
	both(t, "uuid", keys.UUID[[16]byte](), rapid.Custom(func(t *rapid.T) [16]byte {
		return [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid"))
	}), func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	laws(t, "bytes", keys.Bytes(), rapid.SliceOfN(rapid.Byte(), 0, 6), bytes.Compare, 1)
	laws(t, "ordered", keys.Ordered(), texts, compareTexts, 1)
	laws(t, "mapped", keys.Map(keys.Digits[int](3), func(n int8) int { return int(n) + 128 }, func(n int) (int8, error) {
		if n > 255 {
			return 0, fmt.Errorf("is over 255")
		}
		return int8(n - 128), nil
	}), rapid.Int8(), cmp.Compare, 1)
}
