package keys_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/keys"
)

// TestSuffixed: Decode returns the value and the suffix, keys sort by their values, and each range contains exactly the keys of its
// values, with any suffix.
func TestSuffixed(t *testing.T) {
	t.Parallel()
	following(t, "ordered", keys.Ordered(), texts, compareTexts, 1)
	following(t, "numbers", keys.Int[int](5), rapid.IntRange(-9999, 9999), cmp.Compare[int], 1)
	following(t, "inverted", keys.Desc(keys.Int[int](5)), rapid.IntRange(-9999, 9999), cmp.Compare[int], -1)
	following(t, "compound", byTitle, rapid.Custom(func(t *rapid.T) hired {
		return hired{texts.Draw(t, "title"), rapid.IntRange(0, 9999).Draw(t, "on")}
	}), func(a, b hired) int { return cmp.Or(compareTexts(a.Title, b.Title), cmp.Compare(a.On, b.On)) }, 1)
}

// TestSuffixedText: Text before a suffix is found by its value and by a prefix, and has no intervals.
func TestSuffixedText(t *testing.T) {
	t.Parallel()
	last := suffixedBy(keys.Fold(keys.Text()), "last")
	jones := last.Of("JONES", keys.RawRow("empid_000001"))
	if jones.String() != "last_jones_empid_000001" {
		t.Fatalf("got %v, want last_jones_empid_000001", jones)
	}
	for _, s := range []string{"jones", "jo", ""} {
		if !last.Starting(s).Contains(jones.String()) {
			t.Errorf("the range of %q: got %v; want a range with %v", s, last.Starting(s), jones)
		}
	}
	if last.Starting("jones-").Contains(jones.String()) || last.Prefix("jone").Contains(jones.String()) {
		t.Errorf("the ranges of jones- and jone: got %v and %v; want neither to contain %v", last.Starting("jones-"), last.Prefix("jone"), jones)
	}
	var ke *keys.KeyError
	for _, r := range []keys.RowRange{last.Between("a", "b"), last.AtLeast("a"), last.AtMost("b")} {
		if !errors.As(r.Err(), &ke) || !strings.Contains(ke.Reason, "Ordered") {
			t.Errorf("got %v, want a *KeyError that names Ordered", r)
		}
	}
}

// TestMaker: a Maker recognizes exactly the key that Of returns, and no later call changes a key that was returned.
func TestMaker(t *testing.T) {
	t.Parallel()
	m := suffixedBy(keys.Ordered(), "x").Maker()
	long := strings.Repeat("y", 100)
	a, want := m.Of("a", keys.RawRow("r")), "x_a!_r"
	for _, c := range []struct {
		k      string
		suffix keys.RowKey
		is     bool
	}{
		{"a", keys.RawRow("r"), true}, {"b", keys.RawRow("r"), false}, {"a", keys.RawRow("s"), false}, {long, keys.RawRow("r"), false}, {"ab", keys.RawRow("r"), false},
		{"", keys.RawRow("r"), false}, {"a", keys.RowKey{}, false}, {"a", keys.RawRow("r"), true},
	} {
		if got := m.Is(a.String(), c.k, c.suffix); got != c.is {
			t.Errorf("%v is the key of %q and %v: got %v, want %v", a, c.k, c.suffix, got, c.is)
		}
		if b := m.Of(c.k, c.suffix); b.Err() == nil && !m.Is(b.String(), c.k, c.suffix) {
			t.Errorf("%v is the key of %q and %v: got false, want true", b, c.k, c.suffix)
		}
		if a.String() != want {
			t.Fatalf("after %q and %v: got key %v, want %s", c.k, c.suffix, a, want)
		}
	}
	newest := keys.Desc(keys.Digits[int](3)).Named("age")
	if r, k := newest.Rows().Before(20), suffixedBy(newest, "ix").Of(20, keys.RawRow("r")); r.Contains(k.String()) {
		t.Errorf("before 20 contains %v, an index row of 20: got %v; want a range without it", k, r)
	}
	broken := suffixedBy(keys.Digits[int](0), "x").Maker()
	if broken.Is("x_1_r", 1, keys.RawRow("r")) || broken.Of(1, keys.RawRow("r")).Err() == nil {
		t.Error("a broken layout: got a key, want none")
	}
}

func following[K any](t *testing.T, name string, l keys.Layout[K], gen *rapid.Generator[K], order func(a, b K) int, dir int) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		f := suffixedBy(l, "ix")
		alone := namedAs(l, "ix")
		rapid.Check(t, func(t *rapid.T) {
			a, b, c := gen.Draw(t, "a"), gen.Draw(t, "b"), gen.Draw(t, "c")
			suffix := rapid.SampledFrom([]string{"empid_000123", "a'b", "_", "é%~", "0"}).Draw(t, "suffix")
			k := f.Of(a, keys.Raw("p", suffix).Row())
			if got, s, err := f.Decode(k.String()); err != nil || order(got, a) != 0 || s != suffix {
				t.Fatalf("decoding %q: got %v, %q, %v, want %v, %q", k, got, s, err, a, suffix)
			}
			if got, err := alone.Decode(alone.RowKey(a).String()); err != nil || order(got, a) != 0 {
				t.Fatalf("decoding %q: got %v, %v, want %v", alone.RowKey(a), got, err, a)
			}
			other := f.Of(b, keys.RawRow("x"))
			if n := order(a, b) * dir; n != 0 && strings.Compare(k.String(), other.String()) != n {
				t.Fatalf("%q and %q: got order %d, want %d", k, other, strings.Compare(k.String(), other.String()), n)
			}
			for _, s := range []struct {
				r    keys.RowRange
				want bool
			}{
				{f.All(), true}, {f.Prefix(b), order(a, b) == 0},
				{f.AtLeast(b), order(a, b) >= 0}, {f.AtMost(b), order(a, b) <= 0},
			} {
				if got := s.r.Contains(k.String()); got != s.want {
					t.Fatalf("%v contains %q: got %v, want %v", s.r, k, got, s.want)
				}
			}
			between := f.Between(b, c)
			if (between.Err() == nil) != (order(b, c) <= 0) {
				t.Fatalf("between %v and %v: got %v, want an error if the bounds are swapped", b, c, between)
			}
			if between.Err() == nil {
				want := order(b, a) <= 0 && order(a, c) <= 0
				if between.Contains(k.String()) != want {
					t.Fatalf("%v contains %q: got %v, want %v", between, k, !want, want)
				}
				if alone.Rows().Between(b, c).Contains(alone.RowKey(a).String()) != want {
					t.Fatalf("%v contains %q: got %v, want %v", alone.Rows().Between(b, c), alone.RowKey(a), !want, want)
				}
			}
			if alone.Rows().AtLeast(b).Contains(alone.RowKey(a).String()) != (order(a, b) >= 0) || alone.Rows().AtMost(b).Contains(alone.RowKey(a).String()) != (order(a, b) <= 0) {
				t.Fatalf("%v and %v contain %q: got %v and %v; want %v and %v", alone.Rows().AtLeast(b), alone.Rows().AtMost(b), alone.RowKey(a),
					alone.Rows().AtLeast(b).Contains(alone.RowKey(a).String()), alone.Rows().AtMost(b).Contains(alone.RowKey(a).String()), order(a, b) >= 0, order(a, b) <= 0)
			}
		})
	})
}
