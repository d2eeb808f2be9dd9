package keys_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

type employeeID uint32

// TestAsPrintedInTheGuide: the keys of the design guide come out to the letter.
func TestAsPrintedInTheGuide(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]keys.Enc{
		"empid_000223":             keys.Tuple1(keys.Digits[employeeID](6)).Named("empid").Of(223),
		"email_jonesj@contoso.com": keys.Tuple1(keys.Text()).Named("email").Of("jonesj@contoso.com"),
		"000123_2012":              keys.Tuple2(keys.Uint(6), keys.Uint(4)).Of(123, 2012),
		"00000123":                 keys.Tuple1(keys.Uint(8)).Of(123),
		"Sales":                    keys.Tuple1(keys.Text()).Of("Sales"),
	} {
		if s, err := got.Result(); s != want || err != nil {
			t.Errorf("got %q, %v; the guide prints %q", s, err, want)
		}
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_900, time.UTC)
	for _, c := range []struct {
		t        time.Time
		ticks    int64
		up, down string
	}{
		{first, 0, "0000000000000000000", "3155378975999999999"},
		{last, 3155378975999999999, "3155378975999999999", "0000000000000000000"},
		{time.Unix(0, 0), 621355968000000000, "0621355968000000000", "2534023007999999999"},
		{time.Date(2014, 7, 31, 18, 0, 0, 100, time.FixedZone("", 2*3600)), 635424192000000001, "0635424192000000001", "2519954783999999998"},
	} {
		n, err := keys.Ticks(c.t)
		inv, err2 := keys.InvertedTicks(c.t)
		if n != c.ticks || inv != keys.MaxTicks-c.ticks || err != nil || err2 != nil {
			t.Errorf("%v: %d and %d, %v, %v", c.t, n, inv, err, err2)
		}
		back, err := keys.FromTicks(n)
		back2, err2 := keys.FromInvertedTicks(inv)
		if !back.Equal(c.t) || !back2.Equal(c.t) || back.Location() != time.UTC || err != nil || err2 != nil {
			t.Errorf("%v came back as %v and %v, %v, %v", c.t, back, back2, err, err2)
		}
		up, down := keys.Tuple1(keys.Time()), keys.Tuple1(keys.Desc(keys.Time()))
		if up.Of(c.t).String() != c.up || down.Of(c.t).String() != c.down {
			t.Errorf("%v: %v and %v", c.t, up.Of(c.t), down.Of(c.t))
		}
		if twice := keys.Tuple1(keys.Desc(keys.Desc(keys.Time()))); twice.Of(c.t).String() != c.up {
			t.Errorf("inverted twice: %v", twice.Of(c.t))
		}
	}
	for _, bad := range []time.Time{first.Add(-1), last.Add(100), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if _, err := keys.Ticks(bad); err == nil {
			t.Errorf("%v has ticks", bad)
		}
		if keys.Tuple1(keys.Desc(keys.Time())).Of(bad).Err() == nil {
			t.Errorf("%v has a key", bad)
		}
	}
	if _, err := keys.FromTicks(-1); err == nil {
		t.Error("-1 ticks are a time")
	}
	if _, err := keys.FromInvertedTicks(-1); err == nil {
		t.Error("-1 inverted ticks are a time")
	}
}

// TestEncodings pins what is stored: a changed line here breaks every table that was written before.
func TestEncodings(t *testing.T) {
	t.Parallel()
	id := [16]byte{0xde, 0xbc, 0x44, 0xd5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0xff}
	for _, c := range []struct {
		got  keys.Enc
		want string
	}{
		{keys.Tuple1(keys.Int[int](2)).Of(42), "042"},
		{keys.Tuple1(keys.Int[int](2)).Of(-1), "-98"},
		{keys.Tuple1(keys.Desc(keys.Int[int](2))).Of(-1), "001"},
		{keys.Tuple1(keys.Int[int64](19)).Of(math.MinInt64), "-0776627963145224191"},
		{keys.Tuple1(keys.Int[int64](19)).Of(math.MaxInt64), "09223372036854775807"},
		{keys.Tuple1(keys.Uint(20)).Of(math.MaxUint64), "18446744073709551615"},
		{keys.Tuple1(keys.Desc(keys.Uint(20))).Of(math.MaxUint64), "81553255926290448384"},
		{keys.Tuple1(keys.Desc(keys.Digits[int](3))).Of(7), "992"},
		{keys.Tuple1(keys.Float[float64]()).Of(1), "bff0000000000000"},
		{keys.Tuple1(keys.Float[float64]()).Of(math.Copysign(0, -1)), "8000000000000000"},
		{keys.Tuple1(keys.Float[float32]()).Of(-1), "400fffffffffffff"},
		{keys.Tuple1(keys.Bool()).Of(true), "1"},
		{keys.Tuple1(keys.Desc(keys.Bool())).Of(true), "8"},
		{keys.Tuple1(keys.Date()).Of(time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)), "2014-07-31"},
		{keys.Tuple1(keys.Desc(keys.Date())).Of(time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)), "7985-92-68"},
		{keys.Tuple1(keys.UUID[[16]byte]()).Of(id), "debc44d5-0102-0304-0506-0708090a0bff"},
		{keys.Tuple1(keys.Bytes()).Of([]byte{0, 255}), "00ff"},
		{keys.Tuple2(keys.Bytes(), keys.Bool()).Of([]byte{1}, false), "01!_0"},
		{keys.Tuple1(keys.Enum("new", "done")).Of("done"), "done"},
		{keys.Tuple1(keys.Text()).Of("O'Brien & Söhne_1/2~"), "O=27Brien=20=26=20S=C3=B6hne=5F1=2F2=7E"},
		{keys.Tuple1(keys.Ordered()).Of("a-Z_1{é"), "a-2DZ^5F1|7B|C3|A9"},
		{keys.Tuple2(keys.Ordered(), keys.Uint(2)).Of("a", 7), "a!_07"},
		{keys.Tuple2(keys.Text(), keys.Text()).Of("", ""), "_"},
		{keys.Tuple1(keys.Fold(keys.Text())).Of("JonesJ@Contoso.COM"), "jonesj@contoso.com"},
		{keys.Tuple1(keys.Fold(keys.Text())).Of("STRASSE"), "strasse"},
		{keys.Tuple1(keys.Fold(keys.Text())).Of("Straße"), "strasse"},
		{keys.Tuple1(keys.Fold(keys.Text())).Of("e\u0301"), "=C3=A9"},
		{keys.Tuple1(keys.Spread(keys.Text(), 16)).Of("jonesj"), "02"},
		{keys.Tuple3(keys.Text(), keys.Spread(keys.Uint(6), 10), keys.Desc(keys.Time())).Named("log").Of("web", 123, time.Unix(0, 0)), "log_web_1_2534023007999999999"},
	} {
		if s, err := c.got.Result(); s != c.want || err != nil {
			t.Errorf("got %q, %v; want %q", s, err, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	day := time.Date(2014, 7, 31, 1, 0, 0, 0, time.UTC)
	for what, e := range map[string]keys.Enc{
		"width 0":              keys.Tuple1(keys.Uint(0)).Of(1),
		"width 21":             keys.Tuple1(keys.Uint(21)).Of(1),
		"signed width 20":      keys.Tuple1(keys.Int[int](20)).Of(1),
		"negative":             keys.Tuple1(keys.Digits[int](3)).Of(-1),
		"too many digits":      keys.Tuple1(keys.Int[int](2)).Of(-100),
		"NaN":                  keys.Tuple1(keys.Float[float64]()).Of(math.NaN()),
		"time of day":          keys.Tuple1(keys.Date()).Of(day),
		"not of the enum":      keys.Tuple1(keys.Enum("a", "b")).Of("c"),
		"enum without names":   keys.Tuple1(keys.Enum[string]()).Of("c"),
		"enum of odd names":    keys.Tuple1(keys.Enum("a_b")).Of("a_b"),
		"inverted text":        keys.Tuple1(keys.Desc(keys.Text())).Of("a"),
		"one bucket":           keys.Tuple1(keys.Spread(keys.Text(), 1)).Of("a"),
		"odd name":             keys.Tuple1(keys.Uint(3)).Named("a_b").Of(1),
		"empty name":           keys.Tuple2(keys.Uint(3), keys.Uint(3)).Named("").Of(1, 2),
		"map of nothing":       keys.Tuple1(keys.Map[string, int](keys.Text(), nil, nil)).Of(1),
		"zero part":            keys.Tuple1(keys.Part[int]{}).Of(1),
		"mapped zero part":     keys.Tuple1(keys.Map(keys.Part[int]{}, func(i int) int { return i }, func(i int) (int, error) { return i, nil })).Of(1),
		"inverted zero part":   keys.Tuple1(keys.Desc(keys.Part[int]{})).Of(1),
		"folded zero part":     keys.Tuple1(keys.Fold(keys.Part[string]{})).Of("a"),
		"spread zero part":     keys.Tuple1(keys.Spread(keys.Part[string]{}, 4)).Of("a"),
		"empty text":           keys.Tuple1(keys.Text()).Of(""),
		"513 characters":       keys.Tuple1(keys.Text()).Of(strings.Repeat("x", 513)),
		"escaped past the 512": keys.Tuple1(keys.Text()).Of(strings.Repeat("_", 200)),
	} {
		if s, err := e.Result(); err == nil {
			t.Errorf("%s: %q", what, s)
		}
	}
	for what, r := range map[string]keys.Range{
		"swapped":             keys.Tuple1(keys.Uint(3)).Between(2, 1),
		"swapped, descending": keys.Tuple1(keys.Desc(keys.Uint(3))).Between(2, 1),
		"swapped, raw":        keys.RawBetween("b", "a"),
		"raw from inside ~":   keys.RawBetween("~i", ""),
		"raw to inside ~":     keys.RawBetween("", "~i"),
		"raw, broken":         keys.RawBetween("", "a\xff"),
		"raw, control":        keys.RawBetween("a\n", ""),
		"prefix, mapped text": keys.Tuple1(keys.Map(keys.Text(), func(i int) string { return fmt.Sprint(i) }, strconv.Atoi)).Starting(1),
		"prefix, broken rest": keys.Tuple2(keys.Digits[int](3), keys.Digits[int](0)).Prefix(1),
		"prefix 1, broken":    keys.Tuple3(keys.Digits[int](3), keys.Digits[int](3), keys.Digits[int](0)).Prefix1(1),
		"prefix 2, broken":    keys.Tuple3(keys.Digits[int](3), keys.Digits[int](3), keys.Digits[int](0)).Prefix2(1, 1),
		"bound out of range":  keys.Tuple1(keys.Uint(3)).Between(1, 1000),
		"prefix of a number":  keys.Tuple1(keys.Uint(3)).Starting(1),
		"point of nothing":    keys.Point(keys.Enc{}),
		"family of nothing":   keys.Family(keys.Enc{}),
	} {
		if r.Err() == nil || r.Contains("001") {
			t.Errorf("%s: %v", what, r)
		}
	}
}

// TestDecodeTakesOnlyItsOwn: rows of other layouts, and spellings that Of would not use, are told apart.
func TestDecodeTakesOnlyItsOwn(t *testing.T) {
	t.Parallel()
	empid := keys.Tuple1(keys.Digits[employeeID](6)).Named("empid")
	reviews := keys.Tuple2(keys.Uint(6), keys.Uint(4))
	text := keys.Tuple1(keys.Text())
	pair := keys.Tuple2(keys.Ordered(), keys.Text())
	small := keys.Tuple1(keys.Digits[int8](3))
	for _, s := range []string{"", "empid_00223", "empid_0000223", "empid_00022x", "empid_000223_2012", "email_000223", "000223", "empid_+00223"} {
		if _, err := empid.Decode(s); err == nil {
			t.Errorf("empid took %q", s)
		}
	}
	for _, s := range []string{"000123", "000123_", "000123_20", "000123_2012_1", "_2012", "000123-2012"} {
		if _, _, err := reviews.Decode(s); err == nil {
			t.Errorf("reviews took %q", s)
		}
	}
	for _, s := range []string{"a=61", "a=5f", "a=5", "a=", "a_b", "a'b", "é"} {
		if _, err := text.Decode(s); err == nil {
			t.Errorf("text took %q", s)
		}
	}
	for _, s := range []string{"a_b", "a!b", "a", "a:2D!_b", "a-2D_b"} {
		if _, _, err := pair.Decode(s); err == nil {
			t.Errorf("the pair took %q", s)
		}
	}
	if _, err := small.Decode("128"); err == nil {
		t.Error("128 became an int8")
	}
	folded := keys.Tuple1(keys.Fold(keys.Text()))
	if _, err := folded.Decode("Abc"); err == nil {
		t.Error("folded took capitals")
	}
	if s, err := folded.Decode("abc"); s != "abc" || err != nil {
		t.Error(s, err)
	}
	if a, b, err := pair.Decode("a-2D!_b"); a != "a-" || b != "b" || err != nil {
		t.Error(a, b, err)
	}
}

// TestRanges places keys in and out of each kind of range.
func TestRanges(t *testing.T) {
	t.Parallel()
	empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
	bare := keys.Tuple1(keys.Digits[int](6))
	reviews := keys.Tuple2(keys.Digits[int](6), keys.Digits[int](4))
	newest := keys.Tuple2(keys.Text(), keys.Desc(keys.Digits[int](2)))
	email := keys.Tuple1(keys.Text()).Named("email")
	three := keys.Tuple3(keys.Text(), keys.Uint(2), keys.Uint(2))
	for _, c := range []struct {
		r       keys.Range
		in, out string
	}{
		{empid.All(), "empid_000000 empid_999999", "empid empie_1 email_a empida"},
		{empid.Between(100, 199), "empid_000100 empid_000199", "empid_000099 empid_000200 empid_000199_2012"},
		{empid.AtLeast(100), "empid_000100 empid_999999", "empid_000099 empie_1"},
		{empid.AtMost(100), "empid_000100 empid_000000", "empid_000101 email_a"},
		{bare.All(), "000000 000123 999999", "Jones email_a ~i|1 999999_1"},
		{reviews.All(), "000000_0000 999999_9999", "000000 Jones ~i|1"},
		{reviews.Prefix(123), "000123_0000 000123_9999", "000123 000124_0000 0001230_2012 000122_9999"},
		{reviews.Between(123, 2010, 2012), "000123_2010 000123_2012", "000123_2009 000123_2013 000124_2011"},
		{reviews.AtLeast(123, 2010), "000123_2010 000123_9999", "000123_2009 000124_2011"},
		{newest.AtLeast("web", 10), "web_89 web_00", "web_90 web_99 wec_00"},
		{newest.AtMost("web", 10), "web_89 web_99", "web_88 wec_90"},
		{newest.Between("web", 10, 20), "web_89 web_79", "web_90 web_78"},
		{email.Starting("a"), "email_a email_aa email_a=20b email_azz", "email_b email_A email_ empid_a"},
		{email.Starting(""), "email_a email_", "empid_a email"},
		{three.Prefix1("a"), "a_01_02", "a b_01_02 aa_01_02"},
		{three.Prefix2("a", 1), "a_01_02", "a_02_02"},
		{three.Between("a", 1, 2, 3), "a_01_02 a_01_03", "a_01_01 a_01_04"},
		{three.AtLeast("a", 1, 2), "a_01_02 a_01_99", "a_01_01 a_02_01"},
		{three.AtMost("a", 1, 2), "a_01_02 a_01_00", "a_01_03 a_00_01"},
		{keys.Family(bare.Of(123)), "000123 000123_2012 000123_", "000124 0001234 000123-a 000122"},
		{keys.Family(keys.Raw("Jones")), "Jones Jones_000152", "Jones-Smith JonesA Jonesa Jone"},
		{keys.Point(empid.Of(223)), "empid_000223", "empid_000224 empid_0002230"},
		{keys.Family(keys.Tuple1(keys.Ordered()).Of("abc")), "abc abc!_0001", "abc_0001 abcd abc! abcd!_0001"},
		{keys.Family(keys.Tuple1(keys.Bytes()).Of([]byte{1})), "01 01!_0001", "0101 01_0001"},
		{keys.Tuple1(keys.Text()).Between("", "b"), "a b 0", "c"},
		{keys.Tuple1(keys.Text()).AtLeast(""), "a 0", "~i|1"},
		{keys.RawBetween("a/", "~"), "a0 z", "a. ~"},
		{keys.RawBetween("a", "c"), "a b bzz", "c A"},
		{keys.RawBetween("", "c"), "a 0", "c"},
		{keys.RawBetween("b", ""), "b z } Ö \u00a0 \uffff 😀", "a ~ ~i ~\uffff"},
		{keys.RawBetween("", ""), "! } Ö \u00a0 \uffff 😀", "~ ~i ~\uffff"},
		{keys.RawBetween("", "~"), "! } }\uffff", "~ ~i \u00a0 Ö 😀"},
		{keys.RawBetween("~", ""), "\u00a0 Ö 😀 \uffff", "} ~ ~i"},
		{keys.RawBetween("b", "Ö"), "b } \u00a0 Õ", "~ ~i Ö 😀 a"},
		{keys.RawBetween("Ö", "\ue000"), "Ö Ü 😀", "Õ \ue000 ~x b"},
	} {
		if c.r.Err() != nil || !c.r.IsSet() {
			t.Errorf("%v: %v", c.r, c.r.Err())
			continue
		}
		for s := range strings.SplitSeq(c.in, " ") { // U+00A0 is a space, too
			if !c.r.Contains(s) {
				t.Errorf("%v lacks %q", c.r, s)
			}
		}
		for s := range strings.SplitSeq(c.out, " ") {
			if c.r.Contains(s) {
				t.Errorf("%v holds %q", c.r, s)
			}
		}
	}
	if !keys.Point(empid.Of(1)).IsPoint() || empid.Between(1, 2).IsPoint() || !empid.Between(1, 1).IsPoint() {
		t.Error("points are not told from ranges")
	}
}

// TestInclusive: the last key of a range that ends before one.
func TestInclusive(t *testing.T) {
	t.Parallel()
	empid := keys.Tuple1(keys.Digits[int](6)).Named("empid")
	for _, c := range []struct {
		r           keys.Range
		first, last string
	}{
		{empid.All(), "empid_", "empid_~"},
		{empid.Between(100, 199), "empid_000100", "empid_000199"},
		{keys.Point(empid.Of(7)), "empid_000007", "empid_000007"},
		{keys.RawBetween("ann", "ano"), "ann", "ann\uffff"},
		{keys.RawBetween("a", "b0"), "a", "b.\uffff"}, // below 0 comes /, which no key holds
		{keys.RawBetween("a", "b "), "a", "b"},
		{keys.RawBetween("a", "annä"), "a", "annã\uffff"},
		{keys.RawBetween("a", "ann\u00a0"), "a", "ann~\uffff"}, // between them are control characters
		{keys.RawBetween("a", "b\ue000"), "a", "b\U0010ffff\uffff"},
		{keys.RawBetween("a", "b😀"), "a", "b\U0001f5ff\uffff"},
		{keys.RawBetween("a", "b\U00010000"), "a", "b\ud7ff\uffff"},
		{keys.RawBetween("a", "~"), "a", "}\uffff"},
		{keys.RawBetween("a", "\u00a0"), "a", "}\uffff"},
		{keys.RawBetween("~", ""), "\u00a0", ""},
		{keys.RawBetween("Ö", ""), "Ö", ""},
		{keys.RawBetween("Ö", "Ü"), "Ö", "Û\uffff"},
	} {
		first, last, err := c.r.Inclusive()
		if first != c.first || last != c.last || err != nil {
			t.Errorf("%v: %q to %q, %v", c.r, first, last, err)
		}
	}
	for what, r := range map[string]keys.Range{"unset": {}, "broken": empid.Between(2, 1), "a family": keys.Family(empid.Of(1)), "nothing": keys.RawBetween("", " "),
		"split": keys.RawBetween("a", ""), "split, open": keys.RawBetween("", ""), "split, bounded": keys.RawBetween("a", "Ö")} {
		var ke *keys.KeyError
		if first, last, err := r.Inclusive(); !errors.As(err, &ke) {
			t.Errorf("%s: %q to %q, %v", what, first, last, err)
		}
	}
}

// TestBucketsAreUsedAlike: a thousand users spread over sixteen partitions.
func TestBucketsAreUsedAlike(t *testing.T) {
	t.Parallel()
	l := keys.Tuple1(keys.Spread(keys.Uint(6), 16))
	count := map[string]int{}
	for i := range uint64(1600) {
		count[l.Of(i).String()]++
	}
	var all []int
	for _, n := range count {
		all = append(all, n)
	}
	if len(count) != 16 || slices.Min(all) < 50 || slices.Max(all) > 150 {
		t.Errorf("%v", count)
	}
}
