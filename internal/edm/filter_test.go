package edm

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzLiteral: any text is one literal of a filter.
func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"Jones", "O'Brien", "x' or PartitionKey ne 'z", "''", "'", "\x00%27", "日本"} {
		f.Add(s, int64(len(s)), 0.5)
	}
	f.Fuzz(func(t *testing.T, s string, n int64, d float64) {
		lit, err := Literal("X", Value{Kind: String, S: s})
		if err == nil {
			body, quoted := strings.CutPrefix(lit, "'")
			body, closed := strings.CutSuffix(body, "'")
			if !quoted || !closed || strings.Contains(strings.ReplaceAll(body, "''", ""), "'") || strings.ReplaceAll(body, "''", "'") != s {
				t.Errorf("%q: got %s, want one literal of the same text", s, lit)
			}
		} else if utf8.ValidString(s) && len(s) <= maxStringUnits {
			t.Errorf("%q: got %v, want a literal", s, err)
		}
		if lit, err := Literal("X", Value{Kind: Int64, I: n}); err != nil || lit != fmt.Sprintf("%dL", n) {
			t.Errorf("got %s, %v, want %dL", lit, err, n)
		}
		lit, err = Literal("X", Value{Kind: Double, F: d})
		if math.IsNaN(d) || math.IsInf(d, 0) {
			if err == nil {
				t.Errorf("%v: got %s, want an error", d, lit)
			}
		} else if back, ok := parseDouble([]byte(lit)); err != nil || !ok || back != d || strings.ContainsAny(lit, "eE+") || !strings.Contains(lit, ".") {
			t.Errorf("%v: got %s, %v, want the same number with a decimal point and no exponent", d, lit, err)
		}
	})
}

func TestLiterals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    any
		want string
	}{
		{"x' or PartitionKey ne 'z", "'x'' or PartitionKey ne ''z'"},
		{int32(-5), "-5"}, {int64(4294967296), "4294967296L"}, {5.0, "5.0"}, {1e21, "1000000000000000000000.0"}, {-0.25, "-0.25"}, {1e-7, "0.0000001"}, {true, "true"},
		{time.Date(2012, 11, 10, 3, 4, 5, 200000099, time.FixedZone("", 3600)), "datetime'2012-11-10T02:04:05.2Z'"},
		{[16]byte{0xde, 0xbc}, "guid'debc0000-0000-0000-0000-000000000000'"}, {[]byte{1, 2, 0xff}, "X'0102ff'"},
	} {
		v, err := ValueOf(c.v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Literal("X", v); got != c.want || err != nil {
			t.Errorf("%v: got %s, %v, want %s", c.v, got, err, c.want)
		}
	}
	for _, bad := range []any{nil, time.Time{}, math.NaN(), math.Inf(1), "\xff", time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)} {
		v, _ := ValueOf(bad)
		if got, err := Literal("X", v); err == nil {
			t.Errorf("%v: got %s, want an error", bad, got)
		}
	}
}

// TestCompareDouble: a comparison with a double is also one with the whole numbers that a floating-point field reads, as far as each
// integer type goes. Of a number behind all numbers of a type, a comparison matches all of them or none.
func TestCompareDouble(t *testing.T) {
	t.Parallel()
	const long = " or (not (X le 0.0 or X gt 0.0)) and "
	for _, c := range []struct {
		op   string
		f    float64
		want string // behind the comparison of doubles
	}{
		{"lt", 2147483647, " or X lt 2147483647"},
		{"lt", 2147483648, " or X le 2147483647" + long + "(X lt 2147483648L)"},
		{"gt", 2147483648, long + "(X gt 2147483648L)"},
		{"eq", 2147483648, long + "(X eq 2147483648L)"},
		{"gt", -2147483648, " or X gt -2147483648"},
		{"gt", -2147483649, " or X ge -2147483648" + long + "(X gt -2147483649L)"},
		{"lt", -2147483649, long + "(X lt -2147483649L)"},
		{"le", 1 << 62, " or X le 2147483647" + long + "(X le 4611686018427387904L)"},
		{"lt", 1 << 63, " or X le 2147483647" + long + "(X le 9223372036854775807L)"}, // every Int64 is less
		{"ge", 1 << 63, ""},
		{"eq", 1 << 63, ""},
		{"gt", -1 << 63, " or X ge -2147483648" + long + "(X gt -9223372036854775808L)"}, // one Int64 is not
		{"le", -1 << 63, long + "(X le -9223372036854775808L)"},
		{"ge", -1e19, " or X ge -2147483648" + long + "(X ge -9223372036854775808L)"}, // every Int64 is more
		{"lt", -1e19, ""},
	} {
		literal, err := Literal("X", Value{Kind: Double, F: c.f})
		if err != nil {
			t.Fatal(err)
		}
		want := "X " + c.op + " " + literal + c.want
		n := strings.Count(want, "X ")
		if got, of, err := Compare("X", c.op, Value{Kind: Double, F: c.f}); got != want || of != n || err != nil {
			t.Errorf("X %s %v: got %s, %d comparisons, error %v; want %s, %d comparisons", c.op, c.f, got, of, err, want, n)
		}
	}
}

// TestCompareInt32Field: a field with the option int32 is compared as an Int32, with one comparison. A number that fits no Int32 is compared
// as an Int64, so that each stored number is less, and a nil is no number.
func TestCompareInt32Field(t *testing.T) {
	t.Parallel()
	type row struct {
		Narrow int64  `table:",int32"`
		Absent *int64 `table:",int32"`
		Long   int64
	}
	var v row
	p, of := newCodec(t, v), reflect.ValueOf(&v).Elem()
	for _, c := range []struct {
		field any
		n     int64
		want  string
	}{
		{&v.Narrow, 5, "Narrow lt 5"},
		{&v.Narrow, -1 << 31, "Narrow lt -2147483648"},
		{&v.Narrow, 1 << 31, "Narrow le 2147483647 or Narrow lt 2147483648L"},
		{&v.Long, 5, "Long lt 5 or Long lt 5L"},
	} {
		operand, err := p.Operand(FieldPath(of, c.field), 0)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := operand.Compare("lt", reflect.ValueOf(&c.n).Elem()); got != c.want || err != nil {
			t.Errorf("%s < %d: got %s, error %v; want %s", operand.Name, c.n, got, err, c.want)
		}
	}
	operand, err := p.Operand(FieldPath(of, &v.Absent), 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := operand.Compare("lt", reflect.ValueOf(&v.Absent).Elem()); err == nil {
		t.Errorf("%s < nil: got %s; want an error", operand.Name, got)
	}
}
