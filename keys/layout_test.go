package keys_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

type employeeID uint32

// TestKeysOfTheDesignGuide: layouts make exactly the keys that the design guide prints.
func TestKeysOfTheDesignGuide(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]keys.Enc{
		"empid_000223":             keys.Tuple1(keys.Digits[employeeID](6)).Named("empid").Of(223),
		"email_jonesj@contoso.com": keys.Tuple1(keys.Text()).Named("email").Of("jonesj@contoso.com"),
		"000123_2012":              keys.Tuple2(keys.Uint(6), keys.Uint(4)).Of(123, 2012),
		"00000123":                 keys.Tuple1(keys.Uint(8)).Of(123),
		"Sales":                    keys.Tuple1(keys.Text()).Of("Sales"),
	} {
		if s, err := got.Result(); s != want || err != nil {
			t.Errorf("got %q, %v; want %q", s, err, want)
		}
	}
}

// TestEncodings checks stored forms: a changed line breaks every existing table.
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

func TestInvalidKeysAndRanges(t *testing.T) {
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
		"zero part":            keys.Tuple1(keys.Component[int]{}).Of(1),
		"mapped zero part":     keys.Tuple1(keys.Map(keys.Component[int]{}, func(i int) int { return i }, func(i int) (int, error) { return i, nil })).Of(1),
		"inverted zero part":   keys.Tuple1(keys.Desc(keys.Component[int]{})).Of(1),
		"folded zero part":     keys.Tuple1(keys.Fold(keys.Component[string]{})).Of("a"),
		"spread zero part":     keys.Tuple1(keys.Spread(keys.Component[string]{}, 4)).Of("a"),
		"empty text":           keys.Tuple1(keys.Text()).Of(""),
		"513 characters":       keys.Tuple1(keys.Text()).Of(strings.Repeat("x", 513)),
		"escaped past the 512": keys.Tuple1(keys.Text()).Of(strings.Repeat("_", 200)),
	} {
		if s, err := e.Result(); err == nil {
			t.Errorf("%s: got %q, want an error", what, s)
		}
	}
	for what, r := range map[string]keys.Range{
		"swapped":              keys.Tuple1(keys.Uint(3)).Between(2, 1),
		"swapped, descending":  keys.Tuple1(keys.Desc(keys.Uint(3))).Between(2, 1),
		"swapped, raw":         keys.RawBetween("b", "a"),
		"raw from inside ~":    keys.RawBetween("~i", ""),
		"raw to inside ~":      keys.RawBetween("", "~i"),
		"raw, invalid UTF-8":   keys.RawBetween("", "a\xff"),
		"raw, control":         keys.RawBetween("a\n", ""),
		"prefix, mapped text":  keys.Tuple1(keys.Map(keys.Text(), func(i int) string { return fmt.Sprint(i) }, strconv.Atoi)).Starting(1),
		"prefix, invalid next": keys.Tuple2(keys.Digits[int](3), keys.Digits[int](0)).Prefix(1),
		"prefix 1, broken":     keys.Tuple3(keys.Digits[int](3), keys.Digits[int](3), keys.Digits[int](0)).Prefix1(1),
		"prefix 2, broken":     keys.Tuple3(keys.Digits[int](3), keys.Digits[int](3), keys.Digits[int](0)).Prefix2(1, 1),
		"bound out of range":   keys.Tuple1(keys.Uint(3)).Between(1, 1000),
		"prefix of a number":   keys.Tuple1(keys.Uint(3)).Starting(1),
		"point of nothing":     keys.Point(keys.Enc{}),
		"family of nothing":    keys.Family(keys.Enc{}),
	} {
		if r.Err() == nil || r.Contains("001") {
			t.Errorf("%s: got %v, want an error and no key", what, r)
		}
	}
}

// TestDecodeRefusesForeignKeys: Decode refuses keys of other layouts, and keys that Of does not make.
func TestDecodeRefusesForeignKeys(t *testing.T) {
	t.Parallel()
	empid := keys.Tuple1(keys.Digits[employeeID](6)).Named("empid")
	reviews := keys.Tuple2(keys.Uint(6), keys.Uint(4))
	text := keys.Tuple1(keys.Text())
	pair := keys.Tuple2(keys.Ordered(), keys.Text())
	small := keys.Tuple1(keys.Digits[int8](3))
	for _, s := range []string{"", "empid_00223", "empid_0000223", "empid_00022x", "empid_000223_2012", "email_000223", "000223", "empid_+00223"} {
		if _, err := empid.Decode(s); err == nil {
			t.Errorf("empid decoded %q: got no error, want one", s)
		}
	}
	for _, s := range []string{"000123", "000123_", "000123_20", "000123_2012_1", "_2012", "000123-2012"} {
		if _, _, err := reviews.Decode(s); err == nil {
			t.Errorf("reviews decoded %q: got no error, want one", s)
		}
	}
	for _, s := range []string{"a=61", "a=5f", "a=5", "a=", "a_b", "a'b", "é"} {
		if _, err := text.Decode(s); err == nil {
			t.Errorf("text decoded %q: got no error, want one", s)
		}
	}
	for _, s := range []string{"a_b", "a!b", "a", "a:2D!_b", "a-2D_b"} {
		if _, _, err := pair.Decode(s); err == nil {
			t.Errorf("the pair decoded %q: got no error, want one", s)
		}
	}
	if _, err := small.Decode("128"); err == nil {
		t.Error("128 as an int8: got no error, want one")
	}
	folded := keys.Tuple1(keys.Fold(keys.Text()))
	if _, err := folded.Decode("Abc"); err == nil {
		t.Error("folded text decoded a capital: got no error, want one")
	}
	if s, err := folded.Decode("abc"); s != "abc" || err != nil {
		t.Errorf("got %q, %v, want abc", s, err)
	}
	if a, b, err := pair.Decode("a-2D!_b"); a != "a-" || b != "b" || err != nil {
		t.Errorf("got %q, %q, %v, want a- and b", a, b, err)
	}
}

// FuzzDecode: a key that a layout decodes is the key that it makes of the values, and no key causes a panic.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"empid_000223", "a-2D!_0635424192000000001", "x_y", "web_07_debc44d5-0102-0304-0506-0708090a0bff", "-98_01!_1", "~", "", "a=5F_", "bff0000000000000_2014-07-31", "done_z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		again := func(e keys.Enc, err error) {
			if err == nil && e.String() != s {
				t.Errorf("decoded and encoded again: got %q, want %q", e, s)
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
