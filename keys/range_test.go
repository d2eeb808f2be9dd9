package keys_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/keys"
)

// TestRanges checks keys inside and outside of each kind of range.
func TestRanges(t *testing.T) {
	t.Parallel()
	empid := keys.Digits[int](6).Named("empid")
	bare := keys.Digits[int](6)
	reviews := pairOf(keys.Digits[int](6), keys.Digits[int](4))
	newest := pairOf(keys.Text(), keys.Desc(keys.Digits[int](2)))
	email := keys.Text().Named("email")
	three := tripleOf(keys.Text(), keys.Digits[uint64](2), keys.Digits[uint64](2))
	for _, c := range []struct {
		r       keys.RowRange
		in, out string
	}{
		{empid.Rows().All(), "empid_000000 empid_999999", "empid empie_1 email_a empida"},
		{empid.Rows().Between(100, 199), "empid_000100 empid_000199", "empid_000099 empid_000200 empid_000199_2012"},
		{empid.Rows().AtLeast(100), "empid_000100 empid_999999", "empid_000099 empie_1"},
		{empid.Rows().AtMost(100), "empid_000100 empid_000000", "empid_000101 email_a"},
		{bare.Rows().All(), "000000 000123 999999", "Jones email_a ~i|1 999999_1"},
		{reviews.All(), "000000_0000 999999_9999", "000000 Jones ~i|1"},
		{reviews.Under(123).All(), "000123_0000 000123_9999", "000123 000124_0000 0001230_2012 000122_9999"},
		{reviews.Under(123).Between(2010, 2012), "000123_2010 000123_2012", "000123_2009 000123_2013 000124_2011"},
		{reviews.Under(123).AtLeast(2010), "000123_2010 000123_9999", "000123_2009 000124_2011"},
		{newest.Under("web").AtLeast(10), "web_89 web_00", "web_90 web_99 wec_00"},
		{newest.Under("web").AtMost(10), "web_89 web_99", "web_88 wec_90"},
		{newest.Under("web").Between(10, 20), "web_89 web_79", "web_90 web_78"},
		{email.Rows().Starting("a"), "email_a email_aa email_a=20b email_azz", "email_b email_A email_ empid_a"},
		{email.Rows().Starting(""), "email_a email_", "empid_a email"},
		{three.Under("a").All(), "a_01_02", "a b_01_02 aa_01_02"},
		{three.Under2("a", 1).All(), "a_01_02", "a_02_02"},
		{three.Under2("a", 1).Between(2, 3), "a_01_02 a_01_03", "a_01_01 a_01_04"},
		{three.Under2("a", 1).AtLeast(2), "a_01_02 a_01_99", "a_01_01 a_02_01"},
		{three.Under2("a", 1).AtMost(2), "a_01_02 a_01_00", "a_01_03 a_00_01"},
		{bare.RowKey(123).Family(), "000123 000123_2012 000123_", "000124 0001234 000123-a 000122"},
		{keys.RawRow("Jones").Family(), "Jones Jones_000152", "Jones-Smith JonesA Jonesa Jone"},
		{empid.RowKey(223).Point(), "empid_000223", "empid_000224 empid_0002230"},
		{keys.Ordered().RowKey("abc").Family(), "abc abc!_0001", "abc_0001 abcd abc! abcd!_0001"},
		{keys.Bytes().RowKey([]byte{1}).Family(), "01 01!_0001", "0101 01_0001"},
		{keys.Text().Rows().Between("", "b"), "a b 0", "c"},
		{keys.Text().Rows().AtLeast(""), "a 0", "~i|1"},
		{keys.RawRows("a/", "~"), "a0 z", "a. ~"},
		{keys.RawRows("a", "c"), "a b bzz", "c A"},
		{keys.RawRows("", "c"), "a 0", "c"},
		{keys.RawRows("b", ""), "b z } Ö \u00a0 \uffff 😀", "a ~ ~i ~\uffff"},
		{keys.RawRows("", ""), "! } Ö \u00a0 \uffff 😀", "~ ~i ~\uffff"},
		{keys.RawRows("", "~"), "! } }\uffff", "~ ~i \u00a0 Ö 😀"},
		{keys.RawRows("~", ""), "\u00a0 Ö 😀 \uffff", "} ~ ~i"},
		{keys.RawRows("b", "Ö"), "b } \u00a0 Õ", "~ ~i Ö 😀 a"},
		{keys.RawRows("Ö", "\ue000"), "Ö Ü 😀", "Õ \ue000 ~x b"},
	} {
		if c.r.Err() != nil || !c.r.IsSet() {
			t.Errorf("%v: got %v, want no error", c.r, c.r.Err())
			continue
		}
		for s := range strings.SplitSeq(c.in, " ") { // U+00A0 is a space, too
			if !c.r.Contains(s) {
				t.Errorf("%v contains %q: got false, want true", c.r, s)
			}
		}
		for s := range strings.SplitSeq(c.out, " ") {
			if c.r.Contains(s) {
				t.Errorf("%v contains %q: got true, want false", c.r, s)
			}
		}
	}
	if !empid.RowKey(1).Point().IsPoint() || empid.Rows().Between(1, 2).IsPoint() || !empid.Rows().Between(1, 1).IsPoint() {
		t.Error("IsPoint: want true for ranges of one key only")
	}
}

// TestInclusive checks the first and the last key of ranges.
func TestInclusive(t *testing.T) {
	t.Parallel()
	empid := keys.Digits[int](6).Named("empid")
	for _, c := range []struct {
		r           keys.RowRange
		first, last string
	}{
		{empid.Rows().All(), "empid_", "empid_~"},
		{empid.Rows().Between(100, 199), "empid_000100", "empid_000199"},
		{empid.RowKey(7).Point(), "empid_000007", "empid_000007"},
		{keys.RawRows("ann", "ano"), "ann", "ann\uffff"},
		{keys.RawRows("a", "b0"), "a", "b.\uffff"}, // / sorts before 0, but no key contains it
		{keys.RawRows("a", "b "), "a", "b"},
		{keys.RawRows("a", "annä"), "a", "annã\uffff"},
		{keys.RawRows("a", "ann\u00a0"), "a", "ann~\uffff"}, // control characters lie between ~ and U+00A0
		{keys.RawRows("a", "b\ue000"), "a", "b\U0010ffff\uffff"},
		{keys.RawRows("a", "b😀"), "a", "b\U0001f5ff\uffff"},
		{keys.RawRows("a", "b\U00010000"), "a", "b\ud7ff\uffff"},
		{keys.RawRows("a", "~"), "a", "}\uffff"},
		{keys.RawRows("a", "\u00a0"), "a", "}\uffff"},
		{keys.RawRows("~", ""), "\u00a0", ""},
		{keys.RawRows("Ö", ""), "Ö", ""},
		{keys.RawRows("Ö", "Ü"), "Ö", "Û\uffff"},
	} {
		first, last, err := c.r.Inclusive()
		if first != c.first || last != c.last || err != nil {
			t.Errorf("%v: got %q to %q, %v, want %q to %q", c.r, first, last, err, c.first, c.last)
		}
	}
	for what, r := range map[string]keys.RowRange{"unset": {}, "invalid": empid.Rows().Between(2, 1), "a family": empid.RowKey(1).Family(), "empty": keys.RawRows("", " "),
		"split": keys.RawRows("a", ""), "split, open": keys.RawRows("", ""), "split, bounded": keys.RawRows("a", "Ö")} {
		var ke *keys.KeyError
		if first, last, err := r.Inclusive(); !errors.As(err, &ke) {
			t.Errorf("%s: got %q to %q, %v, want a *KeyError", what, first, last, err)
		}
	}
}

// TestRangesProperty checks ranges of ascending and descending numbers and of text.
func TestRangesProperty(t *testing.T) {
	t.Parallel()
	rangesOf(t, "digits", keys.Digits[uint8](3), rapid.Uint8(), cmp.Compare)
	rangesOf(t, "desc", keys.Desc(keys.Digits[uint8](3)), rapid.Uint8(), cmp.Compare)
	rangesOf(t, "ordered", keys.Ordered(), texts, compareTexts)
}

// rangesOf checks that the ranges of layouts with leading components contain exactly the keys of their values.
func rangesOf[A any](t *testing.T, name string, p keys.Component[A], gen *rapid.Generator[A], order func(a, b A) int) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		two, three := pairOf(keys.Ordered(), p), tripleOf(keys.Text().Named("n"), keys.Digits[uint64](1), p)
		rapid.Check(t, func(t *rapid.T) {
			lo, hi, v := gen.Draw(t, "lo"), gen.Draw(t, "hi"), gen.Draw(t, "v")
			if order(lo, hi) > 0 {
				lo, hi = hi, lo
			}
			x, y := texts.Draw(t, "x"), texts.Draw(t, "y")
			n, m := rapid.Uint64Range(0, 1).Draw(t, "n"), rapid.Uint64Range(0, 1).Draw(t, "m")
			k2, k3 := two.Of(y, v).String(), three.Of(y, m, v).String()
			atLeast, atMost := order(v, lo) >= 0, order(v, hi) <= 0
			for _, c := range []struct {
				r    keys.RowRange
				k    string
				want bool
			}{
				{two.Under(x).AtLeast(lo), k2, x == y && atLeast},
				{two.Under(x).AtMost(hi), k2, x == y && atMost},
				{two.Under(x).Between(lo, hi), k2, x == y && atLeast && atMost},
				{three.Under(x).All(), k3, x == y},
				{three.Under(x).AtLeast(n), k3, x == y && m >= n},
				{three.Under(x).AtMost(n), k3, x == y && m <= n},
				{three.Under(x).Before(n), k3, x == y && m < n},
				{three.Under(x).Between(0, n), k3, x == y && m <= n},
				{three.Under2(x, n).All(), k3, x == y && n == m},
				{three.Under2(x, n).AtLeast(lo), k3, x == y && n == m && atLeast},
				{three.Under2(x, n).AtMost(hi), k3, x == y && n == m && atMost},
				{three.Under2(x, n).Between(lo, hi), k3, x == y && n == m && atLeast && atMost},
			} {
				if c.r.Err() != nil || c.r.Contains(c.k) != c.want {
					t.Fatalf("%v, %v contains %q: got %v, want %v", c.r, c.r.Err(), c.k, !c.want, c.want)
				}
			}
		})
	})
}

// TestIntersect: a key is in the intersection of two ranges if it is in both, and behind a key if it is greater.
func TestIntersect(t *testing.T) {
	t.Parallel()
	month := keys.Partition(keys.Ordered(), func(s *string) *string { return s })
	key := rapid.StringMatching(`[ab~ö]{1,3}`)
	bounds := func(t *rapid.T, name string) (lo, hi string) {
		lo, hi = key.Draw(t, name+" from"), key.Draw(t, name+" to")
		if keys.Compare(lo, hi) > 0 {
			lo, hi = hi, lo
		}
		return lo, hi
	}
	draw := func(t *rapid.T, name string) keys.PartitionRange {
		lo, hi := bounds(t, name)
		switch rapid.IntRange(0, 4).Draw(t, name) {
		case 0:
			return keys.RawPartitions("", "")
		case 1:
			return keys.RawPartitions(lo, "")
		case 2:
			return month.Between(lo, hi)
		case 3:
			return keys.RawPartition(lo).Point()
		}
		return keys.RawPartitions(lo, hi)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		if a.Err() != nil || b.Err() != nil {
			t.Skip("bounds that begin with ~")
		}
		k, after := key.Draw(t, "key"), key.Draw(t, "after")
		both, behind := a.Intersect(b), a.Behind(keys.Raw(after, "").Partition())
		if got, want := both.Contains(k), a.Contains(k) && b.Contains(k); got != want || both.Err() != nil {
			t.Fatalf("%v of %v and %v contains %q: got %v, want %v", both, a, b, k, got, want)
		}
		if got, want := behind.Contains(k), a.Contains(k) && keys.Compare(k, after) > 0; got != want || behind.Err() != nil {
			t.Fatalf("%v behind %q, contains %q: got %v, want %v", a, after, k, got, want)
		}
		if a.Contains(k) && b.Contains(k) && !keyrange.PartitionsOverlap(a, b) {
			t.Fatalf("%v overlaps %v: got false, want true because of %q", a, b, k)
		}
	})
	invalid := month.Between("b", "a")
	for what, r := range map[string]keys.PartitionRange{"unset": {}, "invalid": invalid} {
		if both := month.All().Intersect(r); both.Err() == nil {
			t.Errorf("intersection with a range that is %s: got no error, want one", what)
		}
	}
	if r := month.All().Behind(keys.PartitionKey{}); r.Err() == nil {
		t.Error("behind an unset key: got no error, want one")
	}
}

// TestIntersectFamilies: a key is in the intersection of a family with a range, or with another family, if it is in both.
func TestIntersectFamilies(t *testing.T) {
	t.Parallel()
	texts := []string{"12", "12_", "12_20", "12_20_a", "12_3", "123", "123_20", "13", "~a"}
	all := []keys.RowRange{keys.RawRows("", ""), keys.RawRows("12_2", "12_3"), keys.RawRow("12_20").Point(), keys.RawRow("13").Point()}
	for _, k := range []string{"12", "12_20", "123", "13"} {
		all = append(all, keys.RawRow(k).Family())
	}
	for _, a := range all {
		for _, b := range all {
			both := a.Intersect(b)
			for _, k := range texts {
				if got, want := both.Contains(k), a.Contains(k) && b.Contains(k); got != want || both.Err() != nil {
					t.Errorf("%v, of %v and %v, contains %q: got %v, error %v; want %v", both, a, b, k, got, both.Err(), want)
				}
			}
		}
		for _, after := range texts {
			behind := keyrange.RowsBehind(a, keys.Raw("", after).Row())
			for _, k := range texts {
				if got, want := behind.Contains(k), a.Contains(k) && keys.Compare(k, after) > 0; got != want {
					t.Errorf("%v, %v behind %q, contains %q: got %v, want %v", behind, a, after, k, got, want)
				}
			}
		}
	}
}

// TestIntersectAll: Intersect and Behind of all ranges of few keys, with each end there is.
func TestIntersectAll(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "aa", "b", "~", "~i|", "\u00a0", "ö"}
	month := keys.Partition(keys.Ordered(), func(s *string) *string { return s })
	all := []keys.PartitionRange{month.All(), month.Between("a", "b"), month.Before("b"), month.AtLeast("aa"), month.AtMost("aa")}
	for _, from := range texts {
		if from != "" {
			all = append(all, keys.Raw(from, "").Partition().Point())
		}
		for _, to := range texts {
			if r := keys.RawPartitions(from, to); r.Err() == nil {
				all = append(all, r)
			}
		}
	}
	for _, a := range all {
		for _, b := range all {
			both := a.Intersect(b)
			from, _, _ := both.Bounds()
			empty := true
			for _, k := range texts[1:] {
				empty = empty && !both.Contains(k)
				if got, want := both.Contains(k), a.Contains(k) && b.Contains(k); got != want {
					t.Errorf("%v, of %v and %v, contains %q: got %v, want %v", both, a, b, k, got, want)
				}
			}
			// A filter of the bounds finds no row of the library, and swaps no ends.
			if _, to, _ := both.Bounds(); !both.IsPoint() && (to != "" && keys.Compare(from, to) > 0 || strings.HasPrefix(from, "~") && !both.IsEmpty()) {
				t.Errorf("%v, of %v and %v: got bounds %q and %q, want an interval", both, a, b, from, to)
			}
			if both.IsEmpty() && !empty {
				t.Errorf("%v, of %v and %v: got an empty range, want its keys", both, a, b)
			}
		}
		for _, after := range texts[1:] {
			behind := a.Behind(keys.Raw(after, "").Partition())
			if from, _, _ := behind.Bounds(); strings.HasPrefix(from, "~") && !behind.IsEmpty() && a.SpansReserved() {
				t.Errorf("%v, %v behind %q: got a bound among the library's keys", behind, a, after)
			}
			for _, k := range texts[1:] {
				if got, want := behind.Contains(k), a.Contains(k) && keys.Compare(k, after) > 0; got != want {
					t.Errorf("%v, %v behind %q, contains %q: got %v, want %v", behind, a, after, k, got, want)
				}
			}
		}
	}
	if r := (keys.PartitionRange{}).Behind(month.Of("a")); !r.Contains("b") || r.Contains("a") {
		t.Errorf("an unset range behind a key: got %v, want all keys behind it", r)
	}
}
