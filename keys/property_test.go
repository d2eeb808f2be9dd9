package keys_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/keys"
)

// laws states the theorem of the package for one kind of part: injective, read back exactly, in order wherever the part
// stands (dir -1 = descending), never leaking into its neighbour, within the alphabet.
func laws[A any](t *testing.T, name string, p keys.Part[A], gen *rapid.Generator[A], order func(a, b A) int, dir int) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		alone := keys.Tuple1(p)
		lead := keys.Tuple2(p, keys.Ordered())
		named := keys.Tuple3(keys.Ordered(), p, p).Named("n")
		rapid.Check(t, func(t *rapid.T) {
			a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
			x, y := texts.Draw(t, "x"), texts.Draw(t, "y")

			ka, kb := lead.Of(a, x), lead.Of(b, y)
			if ka.Err() != nil || kb.Err() != nil {
				t.Fatalf("%v, %v", ka.Err(), kb.Err())
			}
			for _, k := range []keys.Enc{ka, kb, named.Of(x, a, b)} {
				alphabet(t, k.String())
			}
			if got, gx, err := lead.Decode(ka.String()); err != nil || order(got, a) != 0 || gx != x {
				t.Fatalf("%q was read as %v %q, %v", ka, got, gx, err)
			}
			if gx, ga, gb, err := named.Decode(named.Of(x, a, b).String()); err != nil || order(ga, a) != 0 || order(gb, b) != 0 || gx != x {
				t.Fatalf("%q was read as %q %v %v, %v", named.Of(x, a, b), gx, ga, gb, err)
			}
			want := order(a, b) * dir
			if want == 0 {
				want = strings.Compare(x, y)
			}
			if got := strings.Compare(ka.String(), kb.String()); got != want {
				t.Fatalf("%q and %q compare as %d, their values as %d", ka, kb, got, want)
			}
			if in := lead.Prefix(a).Contains(kb.String()); in != (order(a, b) == 0) || !lead.Prefix(a).Contains(ka.String()) {
				t.Fatalf("the range of %v holds %q: %v", a, kb, in)
			}
			for _, r := range []keys.Range{lead.Prefix(a), lead.All(), named.All(), lead.AtLeast(a, x), lead.AtMost(a, x)} {
				first, last, err := r.Inclusive()
				for _, k := range []string{ka.String(), kb.String(), named.Of(x, a, b).String()} {
					if in := keys.Compare(first, k) <= 0 && keys.Compare(k, last) <= 0; err != nil || in != r.Contains(k) {
						t.Fatalf("%v from %q to %q holds %q: %v, %v", r, first, last, k, in, err)
					}
				}
			}
			if !lead.All().Contains(ka.String()) || !named.All().Contains(named.Of(x, a, b).String()) {
				t.Fatalf("%q is outside the range of its layout %v", ka, lead.All())
			}
			if k, err := alone.Of(a).Result(); err == nil { // the empty text is no key
				if !alone.All().Contains(k) || !alone.AtLeast(a).Contains(k) || !alone.AtMost(a).Contains(k) {
					t.Fatalf("%q is outside its own ranges", k)
				}
				if l, err := alone.Of(b).Result(); err == nil {
					if alone.AtLeast(a).Contains(l) != (order(b, a) >= 0) {
						t.Fatalf("at least %q: %q", k, l)
					}
					if alone.AtMost(a).Contains(l) != (order(b, a) <= 0) {
						t.Fatalf("at most %q: %q", k, l)
					}
					between := alone.Between(a, b)
					if (between.Err() == nil) != (order(a, b) <= 0) {
						t.Fatalf("between %q and %q: %v", k, l, between)
					}
					c := gen.Draw(t, "c")
					if m, err := alone.Of(c).Result(); err == nil && between.Err() == nil && between.Contains(m) != (order(a, c) <= 0 && order(c, b) <= 0) {
						t.Fatalf("between %q and %q: %q", k, l, m)
					}
					// A family is a key and what is below it, and nobody else's.
					family := keys.Family(alone.Of(a))
					below, other := keys.Tuple2(p, keys.Uint(1)).Of(a, 7).String(), keys.Tuple2(p, keys.Uint(1)).Of(b, 7).String()
					if !family.Contains(k) || !family.Contains(below) || family.Contains(l) != (k == l) || family.Contains(other) != (k == l) {
						t.Fatalf("the family %v of %q: %q, %q, %q", family, k, below, l, other)
					}
				}
			}
		})
	})
}

// rangesOf states that the ranges of layouts with leading parts hold just what they say.
func rangesOf[A any](t *testing.T, name string, p keys.Part[A], gen *rapid.Generator[A], order func(a, b A) int) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		two, three := keys.Tuple2(keys.Ordered(), p), keys.Tuple3(keys.Text(), keys.Uint(1), p).Named("n")
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
				r    keys.Range
				k    string
				want bool
			}{
				{two.AtLeast(x, lo), k2, x == y && atLeast},
				{two.AtMost(x, hi), k2, x == y && atMost},
				{two.Between(x, lo, hi), k2, x == y && atLeast && atMost},
				{three.Prefix1(x), k3, x == y},
				{three.Prefix2(x, n), k3, x == y && n == m},
				{three.AtLeast(x, n, lo), k3, x == y && n == m && atLeast},
				{three.AtMost(x, n, hi), k3, x == y && n == m && atMost},
				{three.Between(x, n, lo, hi), k3, x == y && n == m && atLeast && atMost},
			} {
				if c.r.Err() != nil || c.r.Contains(c.k) != c.want {
					t.Fatalf("%v holds %q: %v, want %v", c.r, c.k, !c.want, c.want)
				}
			}
		})
	})
}

// TestRangesProperty: ascending, descending, and text.
func TestRangesProperty(t *testing.T) {
	t.Parallel()
	rangesOf(t, "digits", keys.Digits[uint8](3), rapid.Uint8(), cmp.Compare)
	rangesOf(t, "desc", keys.Desc(keys.Digits[uint8](3)), rapid.Uint8(), cmp.Compare)
	rangesOf(t, "ordered", keys.Ordered(), texts, strings.Compare)
}

// texts holds what breaks escaping: separators, escape characters, neighbours of every interval, non-ASCII, broken UTF-8.
var texts = rapid.Custom(func(t *rapid.T) string {
	const al = "\x00 !-./019:=@AZ[^_`az{|~\x7f\xc3\xa9\xff"
	n := rapid.IntRange(0, 5).Draw(t, "n")
	b := make([]byte, n)
	for i := range b {
		b[i] = al[rapid.IntRange(0, len(al)-1).Draw(t, "c")]
	}
	return string(b)
})

func alphabet(t *rapid.T, k string) {
	if strings.ContainsAny(k, `/\#?'%~`) || k[0] >= '~' {
		t.Fatalf("%q holds what no key may hold", k)
	}
	for i := range len(k) {
		if k[i] <= ' ' || k[i] >= utf8.RuneSelf {
			t.Fatalf("%q is not printable ASCII", k)
		}
	}
}

func both[A any](t *testing.T, name string, p keys.Part[A], gen *rapid.Generator[A], order func(a, b A) int) {
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
	both(t, "uint", keys.Uint(20), rapid.Uint64(), cmp.Compare)
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
	laws(t, "ordered", keys.Ordered(), texts, strings.Compare, 1)
	laws(t, "mapped", keys.Map(keys.Digits[int](3), func(n int8) int { return int(n) + 128 }, func(n int) (int8, error) {
		if n > 255 {
			return 0, fmt.Errorf("is over 255")
		}
		return int8(n - 128), nil
	}), rapid.Int8(), cmp.Compare, 1)
}

// TestTextStaysApart is what Text promises beside reading back: no text's range holds another's keys; and order, for the
// characters that stand for themselves, in the last part.
func TestTextStaysApart(t *testing.T) {
	t.Parallel()
	l := keys.Tuple2(keys.Text(), keys.Text())
	rapid.Check(t, func(t *rapid.T) {
		a, b, x, y := texts.Draw(t, "a"), texts.Draw(t, "b"), texts.Draw(t, "x"), texts.Draw(t, "y")
		k, m := l.Of(a, x), l.Of(b, y)
		alphabet(t, k.String())
		if ga, gx, err := l.Decode(k.String()); ga != a || gx != x || err != nil {
			t.Fatalf("%q was read as %q %q, %v", k, ga, gx, err)
		}
		if (k == m) != (a == b && x == y) || l.Prefix(a).Contains(m.String()) != (a == b) {
			t.Fatalf("%q and %q", k, m)
		}
	})
	plain := rapid.StringMatching(`[0-9A-Za-z@.+-]{1,6}`)
	one := keys.Tuple1(keys.Text()).Named("email")
	rapid.Check(t, func(t *rapid.T) {
		a, b := plain.Draw(t, "a"), plain.Draw(t, "b")
		if strings.Compare(one.Of(a).String(), one.Of(b).String()) != strings.Compare(a, b) {
			t.Fatalf("%q and %q are out of order", a, b)
		}
		if one.Starting(a).Contains(one.Of(b).String()) != strings.HasPrefix(b, a) {
			t.Fatalf("the range of %q is wrong about %q", a, b)
		}
	})
}

// TestFoldFinds: what differs in case or in Unicode form alone has one key.
func TestFoldFinds(t *testing.T) {
	t.Parallel()
	l := keys.Tuple1(keys.Fold(keys.Ordered()))
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringN(1, 8, 40).Draw(t, "s")
		folded, err := l.Decode(l.Of(s).String())
		if err != nil || l.Of(folded) != l.Of(s) {
			t.Fatalf("%q: folded once %q, twice %q, %v", s, folded, l.Of(folded), err)
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if l.Of(form.String(s)) != l.Of(s) {
				t.Fatalf("%q in another form: %q, %q", s, l.Of(s), l.Of(form.String(s)))
			}
		}
	})
	// Every pair of characters that Unicode calls equal but for case, in both directions.
	for r := rune(1); r < 0x1ffff; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			if l.Of(string(r)) != l.Of(string(o)) {
				t.Errorf("%q and %q: %q, %q", r, o, l.Of(string(r)), l.Of(string(o)))
			}
		}
	}
}

// FuzzDecode: whatever a layout reads, it wrote; and nothing panics.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"empid_000223", "a-2D!_0635424192000000001", "x_y", "web_07_debc44d5-0102-0304-0506-0708090a0bff", "-98_01!_1", "~", "", "a=5F_", "bff0000000000000_2014-07-31", "done_z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		again := func(e keys.Enc, err error) {
			if err == nil && e.String() != s {
				t.Errorf("%q was read, but is written %q", s, e)
			}
		}
		empid := keys.Tuple1(keys.Digits[int16](6)).Named("empid")
		a, err := empid.Decode(s)
		again(empid.Of(a), err)
		log := keys.Tuple2(keys.Ordered(), keys.Desc(keys.Time()))
		b, c, err := log.Decode(s)
		again(log.Of(b, c), err)
		text := keys.Tuple2(keys.Text(), keys.Text())
		d, e, err := text.Decode(s)
		again(text.Of(d, e), err)
		wide := keys.Tuple3(keys.Text(), keys.Digits[uint8](2), keys.UUID[[16]byte]())
		g, h, i, err := wide.Decode(s)
		again(wide.Of(g, h, i), err)
		odd := keys.Tuple3(keys.Int[int8](2), keys.Bytes(), keys.Bool())
		j, k, l, err := odd.Decode(s)
		again(odd.Of(j, k, l), err)
		num := keys.Tuple2(keys.Float[float32](), keys.Date())
		m, n, err := num.Decode(s)
		again(num.Of(m, n), err)
		kind := keys.Tuple2(keys.Enum("new", "done"), keys.Desc(keys.Int[int](1)))
		o, p, err := kind.Decode(s)
		again(kind.Of(o, p), err)
	})
}

// FuzzText: any text round-trips through every part that takes text, alone and among others.
func FuzzText(f *testing.F) {
	f.Add("jonesj@contoso.com", "O'Brien")
	f.Add("", "_")
	f.Add("~\x00\xff", "=5F-2D")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, p := range []keys.Part[string]{keys.Text(), keys.Ordered()} {
			l := keys.Tuple2(p, p)
			k, err := l.Of(a, b).Result()
			if err != nil {
				continue // too long
			}
			if ga, gb, err := l.Decode(k); ga != a || gb != b || err != nil {
				t.Errorf("%q %q became %q, which was read as %q %q, %v", a, b, k, ga, gb, err)
			}
			if !l.Prefix(a).Contains(k) || keys.Raw(k).Err() != nil {
				t.Errorf("%q", k)
			}
		}
	})
}
