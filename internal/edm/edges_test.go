package edm

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestAsNumber: a whole number becomes an Int32 or Int64 if it fits, the least and greatest number included.
func TestAsNumber(t *testing.T) {
	t.Parallel()
	whole := func(k Kind, n int64) Value { return Value{Kind: k, I: n} }
	double := func(f float64) Value { return Value{Kind: Double, F: f} }
	for _, c := range []struct {
		v    Value
		kind Kind
		want Value
	}{
		{double(math.MinInt64), Int64, whole(Int64, math.MinInt64)},
		{double(-math.MaxUint64), Int64, double(-math.MaxUint64)},
		{double(1 << 63), Int64, double(1 << 63)},
		{double(1<<63 - 1024), Int64, whole(Int64, 1<<63-1024)},
		{double(0.5), Int64, double(0.5)},
		{double(math.MaxInt32), Int32, whole(Int32, math.MaxInt32)},
		{double(1 << 31), Int32, double(1 << 31)},
		{whole(Int64, math.MinInt32), Int32, whole(Int32, math.MinInt32)},
		{whole(Int64, math.MinInt32-1), Int32, whole(Int64, math.MinInt32-1)},
		{whole(Int32, -5), Int64, whole(Int64, -5)},
		{Value{Kind: String, S: "5"}, Int64, Value{Kind: String, S: "5"}},
	} {
		if got := c.v.asNumber(c.kind); !Same(got, c.want) {
			t.Errorf("%+v as %v: got %+v; want %+v", c.v, c.kind, got, c.want)
		}
	}
}

// TestSame: two values are the same if their types and their contents are, and no content is overlooked.
func TestSame(t *testing.T) {
	t.Parallel()
	all := []any{
		nil, "", "a", "b", int32(0), int32(1), int64(0), int64(1), 0.0, 0.5, math.NaN(), true, false,
		time.Unix(0, 0), time.Unix(0, 100), [16]byte{}, [16]byte{15: 1}, []byte{}, []byte{0}, []byte{1},
	}
	for i, x := range all {
		for j, y := range all {
			a, err := ValueOf(x)
			if err != nil {
				t.Fatal(err)
			}
			b, err := ValueOf(y)
			if err != nil {
				t.Fatal(err)
			}
			if got := Same(a, b); got != (i == j) {
				t.Errorf("%T %v and %T %v: got the same: %v; want %v", x, x, y, y, got, i == j)
			}
		}
	}
}

// TestEscapedUnits: each UTF-16 unit of a JSON string can be escaped, in digits of both cases.
func TestEscapedUnits(t *testing.T) {
	t.Parallel()
	for unit := range rune(0x10000) {
		if unit >= 0xd800 && unit < 0xe000 {
			continue
		}
		for _, form := range []string{`\u%04x`, `\u%04X`} {
			text := fmt.Sprintf(form, unit)
			r := NewReader([]byte(`{"PartitionKey":"p","RowKey":"` + text + `"}`))
			if e, err := r.One(); err != nil || e.RowKey != string(unit) {
				t.Fatalf("%s: got %q, error %v; want %q", text, e.RowKey, err, string(unit))
			}
		}
	}
}

// TestPartOption: the option part occurs once, and names a part that a row can have.
func TestPartOption(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words string
		part  uint8
		left  string
		bad   bool
	}{
		{words: "json part=7", part: 7, left: "json"},
		{words: "part=0 each=3", left: "each=3"},
		{words: "part=98", part: 98},
		{words: "part=99", bad: true},
		{words: "part=-1", bad: true},
		{words: "part=x", bad: true},
		{words: "part=", bad: true},
		{words: "part=3 part=3", bad: true},
		{words: "part=0 part=3", bad: true},
	} {
		left, part, placed, err := takePart(strings.Fields(c.words))
		if (err != nil) != c.bad || !c.bad && (!placed || part != c.part || strings.Join(left, " ") != c.left) {
			t.Errorf("%s: got part %d, placed %v, other options %v, error %v; want part %d, other options %s, an error: %v", c.words, part, placed, left, err, c.part, c.left, c.bad)
		}
	}
}

// TestRowKeyOfPart: the RowKey of a part is 3 units longer than the key of its entity, and at most 512 units long.
func TestRowKeyOfPart(t *testing.T) {
	t.Parallel()
	type row struct {
		A string
		B string `table:",part=3"`
	}
	p := newCodec(t, row{})
	for n, ok := range map[int]bool{509: true, 510: false} {
		w := NewWriter("p", strings.Repeat("r", n), 0)
		p.Encode(w, reflect.ValueOf(row{"a", "b"}), Stored{})
		if _, err := w.Finish(); (err == nil) != ok {
			t.Errorf("an entity with a part and a RowKey of %d units: got error %v; want none: %v", n, err, ok)
		}
	}
}

// TestChunksAbsent: a field without any chunk keeps the value that it had, as other fields without a property do.
func TestChunksAbsent(t *testing.T) {
	t.Parallel()
	type row struct {
		Text  string `table:",chunks"`
		Blob  []byte `table:",chunks"`
		Plain string
	}
	p := newCodec(t, row{})
	for what, body := range map[string]string{"no properties": "", "null": `,"Text00":null,"Blob00":null,"Plain":null`} {
		for _, want := range []row{{}, {"text", []byte("blob"), "plain"}} {
			got := want
			r := NewReader([]byte(`{"PartitionKey":"p","RowKey":"r"` + body + `}`))
			if _, err := r.One(); err != nil {
				t.Fatal(err)
			}
			if err := p.Decode(r, reflect.ValueOf(&got).Elem()); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s into %+v: got %+v, error %v; want it unchanged", what, want, got, err)
			}
		}
	}
}
