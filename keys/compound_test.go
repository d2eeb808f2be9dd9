package keys_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

type hired struct {
	Title string
	On    int
}

var byTitle = keys.Row2(keys.Ordered(), keys.Digits[int](4), func(h *hired) (*string, *int) { return &h.Title, &h.On })

// TestInvalidCompounds: keys and ranges of an invalid layout contain its error.
func TestInvalidCompounds(t *testing.T) {
	t.Parallel()
	texts := keys.Row2(keys.Text(), keys.Text(), func(h *[2]string) (*string, *string) { return &h[0], &h[1] })
	if r := valuesOf(texts).Rows().Between([2]string{"a", "a"}, [2]string{"b", "b"}); r.Err() == nil {
		t.Errorf("an interval of texts before another component: got %v, want an error", r)
	}
	if got := namedAs(keys.Text().Named("own"), "given").RowKey("x").String(); got != "own_x" {
		t.Errorf("got %s, want own_x", got)
	}
	three := keys.Row3(keys.Ordered(), keys.Date(), keys.Bool(), func(h *struct {
		S string
		D time.Time
		B bool
	}) (*string, *time.Time, *bool) {
		return &h.S, &h.D, &h.B
	})
	for name, err := range map[string]error{
		"nil accessor":     valuesOf(keys.Row2[hired](keys.Ordered(), keys.Digits[int](4), nil)).RowKey(hired{}).Err(),
		"broken component": suffixedBy(keys.Digits[int](0), "x").Of(1, keys.RawRow("r")).Err(),
		"broken name":      suffixedBy(keys.Text(), "x_").Of("a", keys.RawRow("r")).Err(),
		"no suffix":        suffixedBy(keys.Text(), "x").Of("a", keys.RowKey{}).Err(),
		"too long":         suffixedBy(keys.Text(), "x").Of(strings.Repeat("a", 500), keys.RawRow("0123456789abc")).Err(),
		"no prefixes":      valuesOf(byTitle).Rows().Starting(hired{}).Err(),
		"prefixes of three components": valuesOf(three).Rows().Starting(struct {
			S string
			D time.Time
			B bool
		}{}).Err(),
		"prefix of a number": suffixedBy(keys.Digits[int](3), "x").Starting(1).Err(),
	} {
		var ke *keys.KeyError
		if !errors.As(err, &ke) {
			t.Errorf("%s: got %v, want a *KeyError", name, err)
		}
	}
	if _, _, err := suffixedBy(keys.Text(), "x").Decode("x_a_"); err == nil {
		t.Error("decoding a key without a suffix: got no error, want one")
	}
}

// TestMixedOrder: in a compound with one inverted component, lo is the value that sorts first, and AtLeast contains the keys from it on.
func TestMixedOrder(t *testing.T) {
	t.Parallel()
	type pair struct{ A, B int }
	two := valuesOf(keys.Row2(keys.Desc(keys.Digits[int](2)), keys.Digits[int](2), func(p *pair) (*int, *int) { return &p.A, &p.B }))
	between := two.Rows().Between(pair{5, 1}, pair{3, 9})
	if between.Err() != nil {
		t.Fatalf("between 5, 1 and 3, 9: got error %v; want a range", between.Err())
	}
	for _, c := range []struct {
		p                       pair
		within, atLeast, atMost bool // of pair{5, 1} and pair{3, 9}, of pair{5, 1}, of pair{5, 1}
	}{{pair{6, 0}, false, false, true}, {pair{5, 0}, false, false, true}, {pair{5, 1}, true, true, true}, {pair{5, 2}, true, true, false}, {pair{3, 9}, true, true, false}, {pair{3, 10}, false, true, false}, {pair{2, 0}, false, true, false}} {
		k := two.RowKey(c.p).String()
		if got := [3]bool{between.Contains(k), two.Rows().AtLeast(pair{5, 1}).Contains(k), two.Rows().AtMost(pair{5, 1}).Contains(k)}; got != [3]bool{c.within, c.atLeast, c.atMost} {
			t.Errorf("%v: got %v, want %v", c.p, got, c)
		}
	}
	type numbers = triple[int, int, int]
	at := func(n *numbers) (*int, *int, *int) { return &n.a, &n.b, &n.c }
	ascending, inverted := keys.Digits[int](2), keys.Desc(keys.Digits[int](2))
	for what, layout := range map[string]keys.Layout[numbers]{
		"first":  keys.Row3(inverted, ascending, ascending, at),
		"second": keys.Row3(ascending, inverted, ascending, at),
		"third":  keys.Row3(ascending, ascending, inverted, at),
	} {
		three := valuesOf(layout)
		all := []numbers{{1, 1, 1}, {1, 1, 2}, {1, 2, 1}, {2, 1, 1}}
		slices.SortFunc(all, func(a, b numbers) int {
			return strings.Compare(three.RowKey(a).String(), three.RowKey(b).String())
		})
		for i, lo := range all {
			for j, at := range all {
				if got, want := three.Rows().AtLeast(lo).Contains(three.RowKey(at).String()), j >= i; got != want {
					t.Errorf("%s component inverted, at least %v contains %v: got %v, want %v", what, lo, at, got, want)
				}
			}
		}
		if r := three.Rows().Between(all[0], all[3]); r.Err() != nil {
			t.Errorf("%s component inverted: got %v, want a range", what, r.Err())
		}
	}
}
