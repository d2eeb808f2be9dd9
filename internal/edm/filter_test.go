package edm

import (
	"fmt"
	"math"
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
