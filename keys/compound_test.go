package keys_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/keys"
)

type hired struct {
	Title string
	On    int
}

var byTitle = keys.Struct2(keys.Tuple2(keys.Ordered(), keys.Digits[int](4)), func(h *hired) (*string, *int) { return &h.Title, &h.On })

// TestFollowed: a value and the key behind it are read back, stay apart, and stand in the order of values; each range holds the
// keys of its values and no others, whatever follows them.
func TestFollowed(t *testing.T) {
	t.Parallel()
	following(t, "ordered", keys.Tuple1(keys.Ordered()), texts, strings.Compare, 1)
	following(t, "numbers", keys.Tuple1(keys.Int[int](5)), rapid.IntRange(-9999, 9999), cmp.Compare[int], 1)
	following(t, "inverted", keys.Tuple1(keys.Desc(keys.Int[int](5))), rapid.IntRange(-9999, 9999), cmp.Compare[int], -1)
	following(t, "compound", byTitle, rapid.Custom(func(t *rapid.T) hired {
		return hired{texts.Draw(t, "title"), rapid.IntRange(0, 9999).Draw(t, "on")}
	}), func(a, b hired) int { return cmp.Or(strings.Compare(a.Title, b.Title), cmp.Compare(a.On, b.On)) }, 1)
}

func following[K any](t *testing.T, name string, l keys.Layout[K], gen *rapid.Generator[K], order func(a, b K) int, dir int) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		f := keys.WithSuffix(l, "ix")
		alone := keys.NamedAs(l, "ix")
		rapid.Check(t, func(t *rapid.T) {
			a, b, c := gen.Draw(t, "a"), gen.Draw(t, "b"), gen.Draw(t, "c")
			rest := rapid.SampledFrom([]string{"empid_000123", "a'b", "_", "é%~", "0"}).Draw(t, "rest")
			k := f.Of(a, keys.Stored("p", rest).Row())
			if got, r, err := f.Decode(k.String()); err != nil || order(got, a) != 0 || r != rest {
				t.Fatalf("%q was read as %v, %q, %v", k, got, r, err)
			}
			if got, err := alone.Decode(alone.Of(a).String()); err != nil || order(got, a) != 0 {
				t.Fatalf("%q was read as %v, %v", alone.Of(a), got, err)
			}
			other := f.Of(b, keys.Raw("x"))
			if n := order(a, b) * dir; n != 0 && strings.Compare(k.String(), other.String()) != n {
				t.Fatalf("%q and %q are in the wrong order", k, other)
			}
			for _, s := range []struct {
				r  keys.Range
				is bool
			}{
				{f.All(), true}, {f.Prefix(b), order(a, b) == 0},
				{f.AtLeast(b), order(a, b) >= 0}, {f.AtMost(b), order(a, b) <= 0},
			} {
				if s.r.Contains(k.String()) != s.is {
					t.Fatalf("%v holds %q: %v", s.r, k, !s.is)
				}
			}
			between := f.Between(b, c)
			if (between.Err() == nil) != (order(b, c) <= 0) {
				t.Fatalf("between %v and %v: %v", b, c, between)
			}
			if between.Err() == nil {
				if between.Contains(k.String()) != (order(b, a) <= 0 && order(a, c) <= 0) {
					t.Fatalf("%v and %q", between, k)
				}
				if alone.Between(b, c).Contains(alone.Of(a).String()) != (order(b, a) <= 0 && order(a, c) <= 0) {
					t.Fatalf("%v and %q", alone.Between(b, c), alone.Of(a))
				}
			}
			if alone.AtLeast(b).Contains(alone.Of(a).String()) != (order(a, b) >= 0) || alone.AtMost(b).Contains(alone.Of(a).String()) != (order(a, b) <= 0) {
				t.Fatalf("%v, %v and %q", alone.AtLeast(b), alone.AtMost(b), alone.Of(a))
			}
		})
	})
}

// TestFollowedText: text before another key is found by its value and by its beginning, and has no order.
func TestFollowedText(t *testing.T) {
	t.Parallel()
	last := keys.WithSuffix(keys.Tuple1(keys.Fold(keys.Text())), "last")
	jones := last.Of("JONES", keys.Raw("empid_000001"))
	if jones.String() != "last_jones_empid_000001" {
		t.Fatal(jones)
	}
	for _, s := range []string{"jones", "jo", ""} {
		if !last.Starting(s).Contains(jones.String()) {
			t.Error(s, last.Starting(s))
		}
	}
	if last.Starting("jones-").Contains(jones.String()) || last.Prefix("jone").Contains(jones.String()) {
		t.Error("it holds what it should not")
	}
	var ke *keys.KeyError
	for _, r := range []keys.Range{last.Between("a", "b"), last.AtLeast("a"), last.AtMost("b")} {
		if !errors.As(r.Err(), &ke) || !strings.Contains(ke.Reason, "Ordered") {
			t.Error(r)
		}
	}
}

// TestCompoundFaults: what is wrong with a layout is said by everything that is made with it.
func TestCompoundFaults(t *testing.T) {
	t.Parallel()
	loose := keys.Struct2(keys.Tuple2(keys.Text(), keys.Text()), func(h *[2]string) (*string, *string) { return &h[0], &h[1] })
	if r := loose.Between([2]string{"a", "a"}, [2]string{"b", "b"}); r.Err() == nil {
		t.Error(r)
	}
	if got := keys.NamedAs(keys.Tuple1(keys.Text()).Named("own"), "given").Of("x").String(); got != "own_x" {
		t.Error(got)
	}
	three := keys.Struct3(keys.Tuple3(keys.Ordered(), keys.Date(), keys.Bool()), func(h *struct {
		S string
		D time.Time
		B bool
	}) (*string, *time.Time, *bool) {
		return &h.S, &h.D, &h.B
	})
	for name, err := range map[string]error{
		"nil accessor":  keys.Struct2[hired](keys.Tuple2(keys.Ordered(), keys.Digits[int](4)), nil).Of(hired{}).Err(),
		"broken part":   keys.WithSuffix(keys.Tuple1(keys.Digits[int](0)), "x").Of(1, keys.Raw("r")).Err(),
		"broken name":   keys.WithSuffix(keys.Tuple1(keys.Text()), "x_").Of("a", keys.Raw("r")).Err(),
		"no rest":       keys.WithSuffix(keys.Tuple1(keys.Text()), "x").Of("a", keys.Enc{}).Err(),
		"too long":      keys.WithSuffix(keys.Tuple1(keys.Text()), "x").Of(strings.Repeat("a", 500), keys.Raw("0123456789abc")).Err(),
		"no beginnings": byTitle.Starting(hired{}).Err(),
		"three beginnings": three.Starting(struct {
			S string
			D time.Time
			B bool
		}{}).Err(),
		"numbers begin": keys.WithSuffix(keys.Tuple1(keys.Digits[int](3)), "x").Starting(1).Err(),
	} {
		var ke *keys.KeyError
		if !errors.As(err, &ke) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := keys.WithSuffix(keys.Tuple1(keys.Text()), "x").Decode("x_a_"); err == nil {
		t.Error("it ends behind its value")
	}
}

// TestMixedOrder: of a compound with one inverted part, lo is the value that sorts first, and AtLeast is what sorts behind it.
func TestMixedOrder(t *testing.T) {
	t.Parallel()
	type pair struct{ A, B int }
	two := keys.Struct2(keys.Tuple2(keys.Desc(keys.Digits[int](2)), keys.Digits[int](2)), func(p *pair) (*int, *int) { return &p.A, &p.B })
	between := two.Between(pair{5, 1}, pair{3, 9})
	if between.Err() != nil {
		t.Fatal(between.Err())
	}
	for _, c := range []struct {
		p                       pair
		within, atLeast, atMost bool // of pair{5, 1} and pair{3, 9}, of pair{5, 1}, of pair{5, 1}
	}{{pair{6, 0}, false, false, true}, {pair{5, 0}, false, false, true}, {pair{5, 1}, true, true, true}, {pair{5, 2}, true, true, false}, {pair{3, 9}, true, true, false}, {pair{3, 10}, false, true, false}, {pair{2, 0}, false, true, false}} {
		k := two.Of(c.p).String()
		if got := [3]bool{between.Contains(k), two.AtLeast(pair{5, 1}).Contains(k), two.AtMost(pair{5, 1}).Contains(k)}; got != [3]bool{c.within, c.atLeast, c.atMost} {
			t.Errorf("%v: %v, want %v", c.p, got, c)
		}
	}
	type triple struct{ A, B, C int }
	for what, l := range map[string]keys.Layout3[int, int, int]{
		"first":  keys.Tuple3(keys.Desc(keys.Digits[int](2)), keys.Digits[int](2), keys.Digits[int](2)),
		"second": keys.Tuple3(keys.Digits[int](2), keys.Desc(keys.Digits[int](2)), keys.Digits[int](2)),
		"third":  keys.Tuple3(keys.Digits[int](2), keys.Digits[int](2), keys.Desc(keys.Digits[int](2))),
	} {
		three := keys.Struct3(l, func(p *triple) (*int, *int, *int) { return &p.A, &p.B, &p.C })
		all := []triple{{1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {2, 1, 1}}
		slices.SortFunc(all, func(a, b triple) int { return strings.Compare(three.Of(a).String(), three.Of(b).String()) })
		for i, lo := range all {
			for j, at := range all {
				if got, want := three.AtLeast(lo).Contains(three.Of(at).String()), j >= i; got != want {
					t.Errorf("%s part inverted, at least %v: %v: %v, want %v", what, lo, at, got, want)
				}
			}
		}
		if r := three.Between(all[0], all[3]); r.Err() != nil {
			t.Errorf("%s part inverted: %v", what, r.Err())
		}
	}
}
