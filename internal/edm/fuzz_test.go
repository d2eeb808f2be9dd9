package edm

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestRoundTrip: what is written is read back, whatever it is, in any order of the properties.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	type row struct {
		S    string
		OS   *string
		I32  int32
		I64  int64
		U64  uint64
		F    float64
		F32  float32
		B    bool
		T    time.Time
		PT   *time.Time
		G    [16]byte
		Bin  []byte
		List []int64 `table:",each"`
	}
	p := newPlan(t, row{})
	rapid.Check(t, func(t *rapid.T) {
		in := row{
			S: rapid.String().Draw(t, "S"), OS: rapid.Ptr(rapid.String(), true).Draw(t, "OS"),
			I32: rapid.Int32().Draw(t, "I32"), I64: rapid.Int64().Draw(t, "I64"), U64: rapid.Uint64Max(math.MaxInt64).Draw(t, "U64"),
			F: rapid.Float64().Draw(t, "F"), F32: rapid.Float32().Draw(t, "F32"), B: rapid.Bool().Draw(t, "B"),
			T:   time.Unix(rapid.Int64Range(minTime.Unix(), maxTime.Unix()).Draw(t, "T"), rapid.Int64Range(0, 9_999_999).Draw(t, "n")*100).UTC(),
			G:   [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "G")),
			Bin: rapid.SliceOf(rapid.Byte()).Draw(t, "Bin"), List: rapid.SliceOfN(rapid.Int64(), 1, 5).Draw(t, "List"),
		}
		body, err := encode(p, in)
		if err != nil {
			t.Fatal(err)
		}
		out, e, err := decode[row](p, body)
		if err != nil || e.PartitionKey != "p" || e.RowKey != "r" || !reflect.DeepEqual(in, out) {
			t.Fatalf("%v\n in %+v\nout %+v\n%s", err, in, out, body)
		}
	})
}

// FuzzReader: no response makes the reader panic or invent: what it reads can be written and is then read alike.
func FuzzReader(f *testing.F) {
	for _, s := range []string{
		`{"odata.etag":"W/\"x\"","PartitionKey":"p","RowKey":"r","Timestamp":"2017-10-02T20:21:54.8Z","A@odata.type":"Edm.Int64","A":"5","B":3.0,"C":1.2E+24,"D":null}`,
		`{"D":"\u00f4\ud83d\ude00","E":"5","E@odata.type":"Edm.Int64","F@odata.type":"Edm.Guid","F":"c9da6455-213d-42c9-9a79-3e9149a57833"}`,
		`{"T@odata.type":"Edm.DateTime","T":"9999-12-31T23:59:59.9999999Z","X@odata.type":"Edm.Binary","X":"YQ==","N@odata.type":"Edm.Double","N":"NaN"}`,
		`{"value":[{"RowKey":"a"},{"RowKey":"b","I":-2147483648}]}`, `{"a":[[{}]]}`, `{"\u0041":true}`, `{}`, `{"A@odata.type":"Edm.Boolean","A":"False"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		NewReader(b).Page(func(Entity) bool { return true })
		r := NewReader(b)
		e, err := r.One()
		if err != nil {
			return
		}
		columns, err := r.Columns()
		if err != nil {
			return
		}
		w, seen := NewWriter(nil, e.PartitionKey, e.RowKey), map[string]bool{}
		for _, c := range columns {
			if seen[c.Name] || strings.ContainsRune(c.Name, '@') {
				return
			}
			seen[c.Name] = true
			w.Put(c.Name, c.Value)
		}
		body, err := w.Finish()
		if err != nil {
			return // outside the limits, such as a year 1
		}
		r2 := NewReader(body)
		e2, err := r2.One()
		if err != nil || e2.PartitionKey != e.PartitionKey || e2.RowKey != e.RowKey {
			t.Fatalf("%s became %s: %v", b, body, err)
		}
		again, err := r2.Columns()
		if err != nil || len(again) != len(columns) {
			t.Fatalf("%s became %s: %v", b, body, err)
		}
		merged, err := Overlay(body, body)
		if err != nil || string(merged) != string(body) {
			t.Fatalf("%s merged with itself became %s: %v", body, merged, err)
		}
		for i, c := range columns {
			if c.Value.Kind == DateTime {
				c.Value = timeValue(c.Value.T)
			}
			if again[i].Name != c.Name || !Same(again[i].Value, c.Value) {
				t.Fatalf("%s: %+v became %+v", b, c, again[i])
			}
		}
	})
}

// FuzzLiteral: a text in a filter stays one text, whatever it holds.
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
				t.Errorf("%q became %s", s, lit)
			}
		} else if utf8.ValidString(s) && len(s) <= maxStringUnits {
			t.Errorf("%q: %v", s, err)
		}
		if lit, err := Literal("X", Value{Kind: Int64, I: n}); err != nil || lit != fmt.Sprintf("%dL", n) {
			t.Errorf("%d: %s, %v", n, lit, err)
		}
		lit, err = Literal("X", Value{Kind: Double, F: d})
		if math.IsNaN(d) || math.IsInf(d, 0) {
			if err == nil {
				t.Errorf("%v: %s", d, lit)
			}
		} else if back, ok := parseDouble([]byte(lit)); err != nil || !ok || back != d || strings.ContainsAny(lit, "eE+") || !strings.Contains(lit, ".") {
			t.Errorf("%v: %s, %v", d, lit, err)
		}
	})
}

func TestPage(t *testing.T) {
	t.Parallel()
	page := `{"odata.metadata":"https://x/$metadata#t","value":[{"PartitionKey":"p","RowKey":"a","N":1},{"PartitionKey":"p","RowKey":"b","N":2}]}`
	type row struct{ N int32 }
	p := newPlan(t, row{})
	r := NewReader([]byte(page))
	var got []string
	if err := r.Page(func(e Entity) bool {
		var v row
		if err := p.Decode(r, reflect.ValueOf(&v).Elem()); err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprint(e.PartitionKey, e.RowKey, v.N, string(e.Raw[:2])))
		return true
	}); err != nil || !reflect.DeepEqual(got, []string{`pa1{"`, `pb2{"`}) {
		t.Error(got, err)
	}
	n := 0
	if err := NewReader([]byte(page)).Page(func(Entity) bool { n++; return false }); err != nil || n != 1 {
		t.Error(n, err)
	}
	for _, ok := range []string{`{"value":[]}`, ` { "value" : [ ] , "x":1 } `} {
		if err := NewReader([]byte(ok)).Page(nil); err != nil {
			t.Error(ok, err)
		}
	}
	for cut := range len(page) {
		if err := NewReader([]byte(page[:cut])).Page(func(Entity) bool { return true }); err == nil {
			t.Errorf("cut at %d: taken", cut)
		}
	}
	for _, bad := range []string{`{}`, `{"x":1}`, `{"value":{}}`, `{"value":[1]}`, `{"value":[]}x`, `{"value":[{}{}]}`} {
		if err := NewReader([]byte(bad)).Page(func(Entity) bool { return true }); err == nil {
			t.Error(bad)
		}
	}
}
