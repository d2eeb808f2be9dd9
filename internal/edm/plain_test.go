package edm

import (
	"math"
	"testing"
	"time"
)

// TestPlain: each value is the same after it was a text.
func TestPlain(t *testing.T) {
	t.Parallel()
	for _, v := range []Value{
		{Kind: String}, {Kind: String, S: "007"}, {Kind: Int32, I: math.MinInt32}, {Kind: Int64, I: math.MaxInt64}, {Kind: Int64, I: 1<<53 + 1}, {Kind: Double, F: 3}, {Kind: Double, F: 0.1}, {Kind: Double, F: 1e300},
		{Kind: Double, F: math.Inf(1)}, {Kind: Double, F: math.Inf(-1)}, {Kind: Double, F: math.NaN()}, {Kind: Double, F: math.Copysign(0, -1)}, {Kind: Bool, I: 1}, {Kind: Bool}, {Kind: Guid, G: [16]byte{1, 2, 15: 255}},
		{Kind: Binary, B: []byte{}}, {Kind: Binary, B: []byte{0, 255}}, {Kind: DateTime, T: time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)}, {Kind: DateTime, T: time.Date(2026, 1, 2, 3, 4, 5, 123456700, time.UTC)},
	} {
		text := Plain(v)
		got, ok := ParsePlain(v.Kind, text)
		if a, b := (Column{Name: "P", Value: v}), (Column{Name: "P", Value: got}); !ok || !a.Same(b) {
			t.Errorf("%v %q: got %+v, %v; want %+v", v.Kind, text, got, ok, v)
		}
		if KindNamed(v.Kind.String()) != v.Kind || KindNamed(v.Kind.String()[4:]) != v.Kind {
			t.Errorf("KindNamed of %v: got another type", v.Kind)
		}
	}
	for _, bad := range []struct {
		kind Kind
		text string
	}{{Int32, "2147483648"}, {Int32, ""}, {Int64, "1.0"}, {Int64, "9223372036854775808"}, {Double, "0x1"}, {Bool, "yes"}, {DateTime, "today"}, {Guid, ""}, {Guid, "x"}, {Binary, "???"}, {Absent, "1"}} {
		if got, ok := ParsePlain(bad.kind, bad.text); ok {
			t.Errorf("%v %q: got %+v, want none", bad.kind, bad.text, got)
		}
	}
	for _, name := range []string{"", "absent", "Edm.", "int32", "Edm.Int16"} {
		if k := KindNamed(name); k != Absent {
			t.Errorf("KindNamed(%q): got %v, want none", name, k)
		}
	}
}
