package keys_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/keys"
)

// TestFold: texts that differ only in case or in their Unicode form have the same key.
func TestFold(t *testing.T) {
	t.Parallel()
	l := keys.Fold(keys.Ordered())
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringN(1, 8, 40).Draw(t, "s")
		folded, err := l.Decode(l.RowKey(s).String())
		if err != nil || l.RowKey(folded) != l.RowKey(s) {
			t.Fatalf("%q folded twice: got %q, %v, want %q", s, l.RowKey(folded), err, l.RowKey(s))
		}
		for _, form := range []norm.Form{norm.NFC, norm.NFD} {
			if l.RowKey(form.String(s)) != l.RowKey(s) {
				t.Fatalf("%q in another form: got %q, want %q", s, l.RowKey(form.String(s)), l.RowKey(s))
			}
		}
	})
	// Every pair of characters that differ only in case, in both directions.
	for r := rune(1); r < 0x1ffff; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			if l.RowKey(string(r)) != l.RowKey(string(o)) {
				t.Errorf("%q and %q: got %q and %q, want equal keys", r, o, l.RowKey(string(r)), l.RowKey(string(o)))
			}
		}
	}
}

// TestTextRanges: the range of a text contains no keys of other texts, and texts of unchanged characters sort by their bytes in the
// last component.
func TestTextRanges(t *testing.T) {
	t.Parallel()
	l := pairOf(keys.Text(), keys.Text())
	rapid.Check(t, func(t *rapid.T) {
		a, b, x, y := texts.Draw(t, "a"), texts.Draw(t, "b"), texts.Draw(t, "x"), texts.Draw(t, "y")
		k, m := l.Of(a, x), l.Of(b, y)
		alphabet(t, k.String())
		if ga, gx, err := l.Decode(k); ga != a || gx != x || err != nil {
			t.Fatalf("decoding %q: got %q, %q, %v, want %q, %q", k, ga, gx, err, a, x)
		}
		if (k == m) != (a == b && x == y) || l.Under(a).All().Contains(m.String()) != (a == b) {
			t.Fatalf("keys %q and %q, and the range %v: want equal keys for equal values only", k, m, l.Under(a).All())
		}
	})
	plain := rapid.StringMatching(`[0-9A-Za-z@.+-]{1,6}`)
	one := keys.Text().Named("email")
	rapid.Check(t, func(t *rapid.T) {
		a, b := plain.Draw(t, "a"), plain.Draw(t, "b")
		if strings.Compare(one.RowKey(a).String(), one.RowKey(b).String()) != strings.Compare(a, b) {
			t.Fatalf("the keys of %q and %q: got another order than that of the texts", a, b)
		}
		if one.Rows().Starting(a).Contains(one.RowKey(b).String()) != strings.HasPrefix(b, a) {
			t.Fatalf("the range of texts that begin with %q contains %q: got %v, want %v", a, b, !strings.HasPrefix(b, a), strings.HasPrefix(b, a))
		}
	})
}

// TestStarting: the range of texts that begin with a text contains all that begin with its characters, and no others. A text that ends
// inside a character is refused.
func TestStarting(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]keys.Component[string]{"text": keys.Text(), "ordered": keys.Ordered()} {
		rapid.Check(t, func(t *rapid.T) {
			a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
			if rapid.Bool().Draw(t, "begins") {
				b = a + b
			}
			r := p.Named("n").Rows().Starting(a)
			last, n := utf8.DecodeLastRuneInString(a)
			if inside := last == utf8.RuneError && n == 1; inside != (r.Err() != nil) {
				t.Fatalf("%s: the range of %q: got error %v; want one: %t", name, a, r.Err(), inside)
			}
			if r.Err() != nil {
				return
			}
			k := p.Named("n").RowKey(b).String()
			begins := len(points(b)) >= len(points(a)) && slices.Equal(points(b)[:len(points(a))], points(a))
			if r.Contains(k) != begins {
				t.Fatalf("%s: the range of %q contains %q: got %t; want %t", name, a, b, !begins, begins)
			}
		})
	}
	var ke *keys.KeyError
	if err := keys.Text().Rows().Starting("\xe0\xb8").Err(); !errors.As(err, &ke) || !strings.Contains(ke.Reason, "inside a character") {
		t.Errorf("two bytes of three: got %v; want a *KeyError", err)
	}
}

// TestOrderOfCharacters: each character has another key than the one before it, which sorts behind, and decodes.
func TestOrderOfCharacters(t *testing.T) {
	t.Parallel()
	p := keys.Ordered()
	last := ""
	check := func(s string) {
		k := p.RowKey(s).String()
		if got, err := p.Decode(k); got != s || err != nil {
			t.Fatalf("%q, decoded from %s: got %q, %v", s, k, got, err)
		}
		if k <= last {
			t.Fatalf("%q: got the key %s, which does not sort after %s", s, k, last)
		}
		last = k
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) {
			check(string(r))
		}
	}
	for b := 0x80; b <= 0xff; b++ {
		check(string([]byte{byte(b)}))
	}
}

// FuzzText: every text component decodes any text unchanged, alone and among other components.
func FuzzText(f *testing.F) {
	f.Add("jonesj@contoso.com", "O'Brien")
	f.Add("", "_")
	f.Add("~\x00\xff", "=5F-2D")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, p := range []keys.Component[string]{keys.Text(), keys.Ordered()} {
			l := pairOf(p, p)
			k, err := l.Of(a, b).Result()
			if err != nil {
				continue // too long
			}
			if ga, gb, err := l.Decode(keys.RawRow(k)); ga != a || gb != b || err != nil {
				t.Errorf("decoding %q: got %q, %q, %v, want %q, %q", k, ga, gb, err, a, b)
			}
			if !l.Under(a).All().Contains(k) || keys.RawRow(k).Err() != nil {
				t.Errorf("got %q, outside its range or not valid as a raw key", k)
			}
		}
	})
}
