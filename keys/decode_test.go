package keys_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/keyrange"
	"github.com/aztablekit/aztablekit/keys"
)

// TestDecodeRefusesOtherTexts: a component decodes only the texts that it writes, so that no two keys have one value.
func TestDecodeRefusesOtherTexts(t *testing.T) {
	t.Parallel()
	refused(t, "bytes", keys.Bytes(), "0", "0g", "g0", "AB", "00f")
	refused(t, "UUID", keys.UUID[[16]byte](), "debc44d5-0102-0304-0506-0708090A0bff", "debc44d5+0102-0304-0506-0708090a0bff", "debc44d500102-0304-0506-0708090a0bff", "debc44d-00102-0304-0506-0708090a0bff")
	refused(t, "int", keys.Int[int8](3), "0x00", "1001", "0200", "-499", "-999", "+001")
	refused(t, "digits", keys.Digits[int8](3), "128", "-01", "1 0")
	refused(t, "float", keys.Float[float64](), "BFF0000000000000", "bff000000000000g", "fff8000000000000", "7fffffffffffffff")
	refused(t, "float32", keys.Float[float32](), "bff0000000000001", "ffe0000000000000")
	refused(t, "bool", keys.Bool(), "2", "x")
	refused(t, "inverted bool", keys.Desc(keys.Bool()), "7", "x")
	refused(t, "time", keys.Time(), "3155378976000000000", "063542419200000000x")
	refused(t, "inverted time", keys.Desc(keys.Time()), "3155378976000000000", "063542419200000000x")
	refused(t, "date", keys.Date(), "2014-02-30", "0000-01-01", "2014-7-31a", "2014/07/31")
	refused(t, "spread", keys.Spread(keys.Text(), 16), "02")
	refused(t, "zero component", keys.Component[int]{}, "1")
	refused(t, "enum", keys.Enum("new", "done"), "old", "ne=77")
	surrogate := "|DLt" // U+D800
	asBytes := keys.Ordered().RowKey("\xc3").String() + keys.Ordered().RowKey("\xa9").String()
	for _, p := range []keys.Component[string]{keys.Text(), keys.Ordered()} {
		refused(t, "text", p, "{0", "|00", "}000", "{0!", "{0_", "~", "é", surrogate, asBytes, "}3enZ", "}3epc", "}3erh", "}zzzz", "=", "=7B", "=2", "^7B")
	}
}

func refused[A any](t *testing.T, name string, p keys.Component[A], texts ...string) {
	t.Helper()
	for _, s := range texts {
		var ke *keys.KeyError
		if v, err := p.Decode(s); !errors.As(err, &ke) {
			t.Errorf("%s decoded %q: got %v, %v; want a *KeyError", name, s, v, err)
		}
	}
}

// TestInvertedTwice: Desc of an inverted component is the component, also through Map.
func TestInvertedTwice(t *testing.T) {
	t.Parallel()
	digits := keys.Desc(keys.Desc(keys.Digits[int](3)))
	if got := digits.RowKey(7).String(); got != "007" {
		t.Errorf("digits: got %s, want 007", got)
	}
	type moment struct{ time.Time }
	mapped := keys.Map(keys.Time(), func(m moment) time.Time { return m.Time }, func(t time.Time) (moment, error) { return moment{t}, nil })
	at := time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		got  keys.RowKey
		want keys.RowKey
	}{
		"inverted": {keys.Desc(mapped).RowKey(moment{at}), keys.Desc(keys.Time()).RowKey(at)},
		"twice":    {keys.Desc(keys.Desc(mapped)).RowKey(moment{at}), keys.Time().RowKey(at)},
	} {
		if c.got != c.want {
			t.Errorf("mapped time, %s: got %v, want %v", name, c.got, c.want)
		}
	}
	if back, err := keys.Desc(mapped).Decode(keys.Desc(keys.Time()).RowKey(at).String()); !back.Equal(at) || err != nil {
		t.Errorf("mapped time, inverted: got %v, %v, want %v", back, err, at)
	}
}

// TestErrorsOfLayouts: each range and each key of an invalid layout, and of an invalid value, is an error.
func TestErrorsOfLayouts(t *testing.T) {
	t.Parallel()
	broken, three := keys.Digits[int](0), keys.Digits[int](3)
	year10k := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	zero := valuesOf(&keys.RowOf2[hired, string, int]{})
	_, zeroDecode := zero.Decode("a")
	suffixed := suffixedBy(broken, "x")
	_, _, suffixedDecode := suffixed.Decode("x_1_r")
	var badKey keys.Key
	for what, err := range map[string]error{
		"all, first component":       pairOf(broken, three).All().Err(),
		"all, second component":      pairOf(three, broken).All().Err(),
		"all, third component":       tripleOf(three, three, broken).All().Err(),
		"at least, layout":           pairOf(three, broken).Under(1).AtLeast(1).Err(),
		"at least, value":            three.Rows().AtLeast(1000).Err(),
		"at most, value":             three.Rows().AtMost(-1).Err(),
		"between, lower":             three.Rows().Between(-1, 5).Err(),
		"starting, name":             keys.Text().Named("a_b").Rows().Starting("x").Err(),
		"broken component, inverted": keys.Desc(broken).RowKey(1).Err(),
		"spread of a negative":       keys.Spread(three, 4).RowKey(-1).Err(),
		"date past the year":         keys.Date().RowKey(year10k).Err(),
		"zero compound, key":         zero.RowKey(hired{}).Err(),
		"zero compound, decode":      zeroDecode,
		"zero compound, all":         zero.Rows().All().Err(),
		"starting, broken":           namedAs(keys.Text(), "a_b").Rows().Starting("x").Err(),
		"suffix, decode":             suffixedDecode,
		"suffix, prefix":             suffixed.Prefix(1).Err(),
		"key without JSON":           json.Unmarshal([]byte(`[1]`), &badKey),
		"last key, open":             inclusive(keyrange.Stored("~~", "")),
		"named component of two":     pairOf(three, three.Named("b")).Of(1, 1).Err(),
		"zero key":                   (&keys.RowOf[review, int]{}).Of(1).Err(),
		"zero key of two, range":     (&keys.RowOf2[review, int, int]{}).Under(1).Between(1, 2).Err(),
		"zero ranges":                (&keys.RowRanges[int]{}).Before(1).Err(),
		"partition of several keys":  keyrange.Partition(keys.RawPartitions("a", "b")).Err(),
		"map of another's error":     keys.Map(three, func(i int) int { return i }, func(int) (int, error) { return 0, errors.New("no") }).RowKey(-1).Err(),
	} {
		if err == nil {
			t.Errorf("%s: got no error, want one", what)
		}
	}
}

func inclusive(r keys.RowRange) error { _, _, err := r.Inclusive(); return err }

// TestCompoundOfThree: Decode returns the fields that Of was given, under the name of Named.
func TestCompoundOfThree(t *testing.T) {
	t.Parallel()
	type visit struct {
		City string
		Day  int
		Paid bool
	}
	l := valuesOf(keys.Row3(keys.Ordered().Named("visit"), keys.Digits[int](3), keys.Bool(), func(v *visit) (*string, *int, *bool) { return &v.City, &v.Day, &v.Paid }))
	want := visit{"linz", 31, true}
	k := l.RowKey(want).String()
	if k != "visit_linz!_031_1" {
		t.Errorf("got key %s, want visit_linz!_031_1", k)
	}
	if got, err := l.Decode(k); got != want || err != nil {
		t.Errorf("decoding %s: got %v, %v, want %v", k, got, err, want)
	}
	if !l.Rows().All().Contains(k) || l.Rows().All().Contains("other_x") {
		t.Errorf("all: got %v, want the keys that begin with visit_", l.Rows().All())
	}
}

// TestRangeTexts: the text of a range says what the range contains.
func TestRangeTexts(t *testing.T) {
	t.Parallel()
	three := keys.Digits[int](3)
	for want, r := range map[string]keys.RowRange{
		"(unset)":           {},
		"[001, 009]":        three.Rows().Between(1, 9),
		"[a, b)":            keys.RawRows("a", "b"),
		"the family of 001": three.RowKey(1).Family(),
		"(keys: \"009\" sorts after \"001\": the bounds are swapped)": three.Rows().Between(9, 1),
	} {
		if got := r.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if b, err := json.Marshal(three.Rows().Between(1, 9)); string(b) != `"[001, 009]"` || err != nil {
		t.Errorf("JSON: got %s, %v, want \"[001, 009]\"", b, err)
	}
	// The value in an error text is cut before a character.
	long := keys.RawRow(strings.Repeat("x", 63) + strings.Repeat("ü", 500)).Err()
	if !strings.Contains(long.Error(), strconv.Quote(strings.Repeat("x", 63)+"…")) {
		t.Errorf("got %v, want 63 characters of the value and an ellipsis", long)
	}
}

// TestOverlaps: two ranges overlap if a key is in both, and a range that spans the library's rows does not contain their keys.
func TestOverlaps(t *testing.T) {
	t.Parallel()
	three := keys.Digits[int](3)
	for _, c := range []struct {
		a, b keys.RowRange
		want bool
	}{
		{three.Rows().Between(1, 5), three.Rows().Between(5, 9), true},
		{three.Rows().Between(1, 4), three.Rows().Between(5, 9), false},
		{keys.RawRows("a", "b"), keys.RawRows("b", "c"), false},
		{keys.RawRows("a", "b"), keys.RawRows("", ""), true},
		{keys.RawRows("", ""), keyrange.Stored("~i", "~j"), false},
		{keys.RawRows("", ""), keys.RawRows("Ö", ""), true},
		{keys.RowRange{}, keys.RawRows("", ""), false},
		{three.Rows().Between(9, 1), keys.RawRows("", ""), false},
	} {
		if got, turned := keyrange.RowsOverlap(c.a, c.b), keyrange.RowsOverlap(c.b, c.a); got != c.want || turned != c.want {
			t.Errorf("%v and %v overlap: got %v and %v, want %v", c.a, c.b, got, turned, c.want)
		}
	}
}

// TestMapOrder: a mapped component sorts by the result of its function.
func TestMapOrder(t *testing.T) {
	t.Parallel()
	p := keys.Map(keys.Digits[int](3), func(s string) int { n, _ := strconv.Atoi(s); return n }, func(n int) (string, error) { return fmt.Sprint(n), nil })
	l := p
	if got, want := strings.Compare(l.RowKey("9").String(), l.RowKey("10").String()), cmp.Compare(9, 10); got != want {
		t.Errorf("9 and 10: got order %d, want %d", got, want)
	}
}
