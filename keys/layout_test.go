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
	for want, got := range map[string]keys.RowKey{
		"empid_000223":             keys.Digits[employeeID](6).Named("empid").RowKey(223),
		"email_jonesj@contoso.com": keys.Text().Named("email").RowKey("jonesj@contoso.com"),
		"000123_2012":              pairOf(keys.Digits[uint64](6), keys.Digits[uint64](4)).Of(123, 2012),
		"00000123":                 keys.Digits[uint64](8).RowKey(123),
		"Sales":                    keys.Text().RowKey("Sales"),
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
		got  keys.RowKey
		want string
	}{
		{keys.Int[int](2).RowKey(42), "042"},
		{keys.Int[int](2).RowKey(-1), "-98"},
		{keys.Desc(keys.Int[int](2)).RowKey(-1), "001"},
		{keys.Int[int64](19).RowKey(math.MinInt64), "-0776627963145224191"},
		{keys.Int[int64](19).RowKey(math.MaxInt64), "09223372036854775807"},
		{keys.Digits[uint64](20).RowKey(math.MaxUint64), "18446744073709551615"},
		{keys.Desc(keys.Digits[uint64](20)).RowKey(math.MaxUint64), "81553255926290448384"},
		{keys.Desc(keys.Digits[int](3)).RowKey(7), "992"},
		{keys.Float[float64]().RowKey(1), "bff0000000000000"},
		{keys.Float[float64]().RowKey(math.Copysign(0, -1)), "8000000000000000"},
		{keys.Float[float32]().RowKey(-1), "400fffffffffffff"},
		{keys.Bool().RowKey(true), "1"},
		{keys.Desc(keys.Bool()).RowKey(true), "8"},
		{keys.Date().RowKey(time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)), "2014-07-31"},
		{keys.Desc(keys.Date()).RowKey(time.Date(2014, 7, 31, 0, 0, 0, 0, time.UTC)), "7985-92-68"},
		{keys.UUID[[16]byte]().RowKey(id), "debc44d5-0102-0304-0506-0708090a0bff"},
		{keys.Bytes().RowKey([]byte{0, 255}), "00ff"},
		{pairOf(keys.Bytes(), keys.Bool()).Of([]byte{1}, false), "01!_0"},
		{keys.Enum("new", "done").RowKey("done"), "done"},
		{keys.Text().RowKey("O'Brien & Söhne_1/2~"), "O=27Brien=20=26=20S{1zhne=5F1=2F2{03"},
		{keys.Ordered().RowKey("a-Z_1{é"), "a-2DZ^5F1{00{1m"},
		{pairOf(keys.Ordered(), keys.Digits[uint64](2)).Of("a", 7), "a!_07"},
		{pairOf(keys.Text(), keys.Text()).Of("", ""), "_"},
		{keys.Fold(keys.Text()).RowKey("JonesJ@Contoso.COM"), "jonesj@contoso.com"},
		{keys.Fold(keys.Text()).RowKey("STRASSE"), "strasse"},
		{keys.Fold(keys.Text()).RowKey("Straße"), "strasse"},
		{keys.Fold(keys.Text()).RowKey("e\u0301"), "{1m"},
		{keys.Spread(keys.Text(), 16).RowKey("jonesj"), "02"},
		{tripleOf(keys.Text().Named("log"), keys.Spread(keys.Digits[uint64](6), 10), keys.Desc(keys.Time())).Of("web", 123, time.Unix(0, 0)), "log_web_1_2534023007999999999"},
	} {
		if s, err := c.got.Result(); s != c.want || err != nil {
			t.Errorf("got %q, %v; want %q", s, err, c.want)
		}
	}
}

func TestInvalidKeysAndRanges(t *testing.T) {
	t.Parallel()
	day := time.Date(2014, 7, 31, 1, 0, 0, 0, time.UTC)
	for what, e := range map[string]keys.RowKey{
		"width 0":                 keys.Digits[uint64](0).RowKey(1),
		"width 21":                keys.Digits[uint64](21).RowKey(1),
		"signed width 20":         keys.Int[int](20).RowKey(1),
		"negative":                keys.Digits[int](3).RowKey(-1),
		"too many digits":         keys.Int[int](2).RowKey(-100),
		"NaN":                     keys.Float[float64]().RowKey(math.NaN()),
		"time of day":             keys.Date().RowKey(day),
		"not of the enum":         keys.Enum("a", "b").RowKey("c"),
		"enum without names":      keys.Enum[string]().RowKey("c"),
		"enum of odd names":       keys.Enum("a_b").RowKey("a_b"),
		"inverted text":           keys.Desc(keys.Text()).RowKey("a"),
		"one bucket":              keys.Spread(keys.Text(), 1).RowKey("a"),
		"odd name":                keys.Digits[uint64](3).Named("a_b").RowKey(1),
		"empty name":              pairOf(keys.Digits[uint64](3).Named(""), keys.Digits[uint64](3)).Of(1, 2),
		"map of nothing":          keys.Map[string, int](keys.Text(), nil, nil).RowKey(1),
		"zero component":          keys.Component[int]{}.RowKey(1),
		"mapped zero component":   keys.Map(keys.Component[int]{}, func(i int) int { return i }, func(i int) (int, error) { return i, nil }).RowKey(1),
		"inverted zero component": keys.Desc(keys.Component[int]{}).RowKey(1),
		"folded zero component":   keys.Fold(keys.Component[string]{}).RowKey("a"),
		"spread zero component":   keys.Spread(keys.Component[string]{}, 4).RowKey("a"),
		"empty text":              keys.Text().RowKey(""),
		"513 characters":          keys.Text().RowKey(strings.Repeat("x", 513)),
		"escaped past the 512":    keys.Text().RowKey(strings.Repeat("_", 200)),
	} {
		if s, err := e.Result(); err == nil {
			t.Errorf("%s: got %q, want an error", what, s)
		}
	}
	for what, r := range map[string]keys.RowRange{
		"swapped":              keys.Digits[uint64](3).Rows().Between(2, 1),
		"swapped, descending":  keys.Desc(keys.Digits[uint64](3)).Rows().Between(2, 1),
		"swapped, raw":         keys.RawRows("b", "a"),
		"raw from inside ~":    keys.RawRows("~i", ""),
		"raw to inside ~":      keys.RawRows("", "~i"),
		"raw, invalid UTF-8":   keys.RawRows("", "a\xff"),
		"raw, control":         keys.RawRows("a\n", ""),
		"prefix, mapped text":  keys.Map(keys.Text(), func(i int) string { return fmt.Sprint(i) }, strconv.Atoi).Rows().Starting(1),
		"prefix, invalid next": pairOf(keys.Digits[int](3), keys.Digits[int](0)).Under(1).All(),
		"prefix 1, broken":     tripleOf(keys.Digits[int](3), keys.Digits[int](3), keys.Digits[int](0)).Under(1).All(),
		"prefix 2, broken":     tripleOf(keys.Digits[int](3), keys.Digits[int](3), keys.Digits[int](0)).Under2(1, 1).All(),
		"bound out of range":   keys.Digits[uint64](3).Rows().Between(1, 1000),
		"prefix of a number":   keys.Digits[uint64](3).Rows().Starting(1),
		"point of nothing":     keys.RowKey{}.Point(),
		"family of nothing":    keys.RowKey{}.Family(),
	} {
		if r.Err() == nil || r.Contains("001") {
			t.Errorf("%s: got %v, want an error and no key", what, r)
		}
	}
}

// TestDecodeRefusesForeignKeys: Decode refuses keys of other layouts, and keys that Of does not make.
func TestDecodeRefusesForeignKeys(t *testing.T) {
	t.Parallel()
	empid := keys.Digits[employeeID](6).Named("empid")
	reviews := pairOf(keys.Digits[uint64](6), keys.Digits[uint64](4))
	text := keys.Text()
	pair := pairOf(keys.Ordered(), keys.Text())
	small := keys.Digits[int8](3)
	for _, s := range []string{"", "empid_00223", "empid_0000223", "empid_00022x", "empid_000223_2012", "email_000223", "000223", "empid_+00223"} {
		if _, err := empid.Decode(s); err == nil {
			t.Errorf("empid decoded %q: got no error, want one", s)
		}
	}
	for _, s := range []string{"000123", "000123_", "000123_20", "000123_2012_1", "_2012", "000123-2012"} {
		if _, _, err := reviews.Decode(keys.RawRow(s)); err == nil {
			t.Errorf("reviews decoded %q: got no error, want one", s)
		}
	}
	for _, s := range []string{"a=61", "a=5f", "a=5", "a=", "a_b", "a'b", "é"} {
		if _, err := text.Decode(s); err == nil {
			t.Errorf("text decoded %q: got no error, want one", s)
		}
	}
	for _, s := range []string{"a_b", "a!b", "a", "a:2D!_b", "a-2D_b"} {
		if _, _, err := pair.Decode(keys.RawRow(s)); err == nil {
			t.Errorf("the pair decoded %q: got no error, want one", s)
		}
	}
	if _, err := small.Decode("128"); err == nil {
		t.Error("128 as an int8: got no error, want one")
	}
	folded := keys.Fold(keys.Text())
	if _, err := folded.Decode("Abc"); err == nil {
		t.Error("folded text decoded a capital: got no error, want one")
	}
	if s, err := folded.Decode("abc"); s != "abc" || err != nil {
		t.Errorf("got %q, %v, want abc", s, err)
	}
	if a, b, err := pair.Decode(keys.RawRow("a-2D!_b")); a != "a-" || b != "b" || err != nil {
		t.Errorf("got %q, %q, %v, want a- and b", a, b, err)
	}
}

// FuzzDecode: a key that a layout decodes is the key that it makes of the values, and no key causes a panic.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"empid_000223", "a-2D!_0635424192000000001", "x_y", "web_07_debc44d5-0102-0304-0506-0708090a0bff", "-98_01!_1", "~", "", "a=5F_", "bff0000000000000_2014-07-31", "done_z"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		again := func(e keys.RowKey, err error) {
			if err == nil && e.String() != s {
				t.Errorf("decoded and encoded again: got %q, want %q", e, s)
			}
		}
		empid := keys.Digits[int16](6).Named("empid")
		a, err := empid.Decode(s)
		again(empid.RowKey(a), err)
		log := pairOf(keys.Ordered(), keys.Desc(keys.Time()))
		b, c, err := log.Decode(keys.RawRow(s))
		again(log.Of(b, c), err)
		text := pairOf(keys.Text(), keys.Text())
		d, e, err := text.Decode(keys.RawRow(s))
		again(text.Of(d, e), err)
		wide := tripleOf(keys.Text(), keys.Digits[uint8](2), keys.UUID[[16]byte]())
		g, h, i, err := wide.Decode(keys.RawRow(s))
		again(wide.Of(g, h, i), err)
		odd := tripleOf(keys.Int[int8](2), keys.Bytes(), keys.Bool())
		j, k, l, err := odd.Decode(keys.RawRow(s))
		again(odd.Of(j, k, l), err)
		num := pairOf(keys.Float[float32](), keys.Date())
		m, n, err := num.Decode(keys.RawRow(s))
		again(num.Of(m, n), err)
		kind := pairOf(keys.Enum("new", "done"), keys.Desc(keys.Int[int](1)))
		o, p, err := kind.Decode(keys.RawRow(s))
		again(kind.Of(o, p), err)
	})
}
