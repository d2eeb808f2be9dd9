package edm

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// TestNames checks the rules for the names of properties.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"a", "_", "_private", "Größe", "日本", "a1", "aͤ", "id", "ETag", "timestamp", strings.Repeat("x", 255), strings.Repeat("é", 255)} {
		if err := CheckName(ok); err != nil {
			t.Errorf("%q: got %v, want no error", ok, err)
		}
	}
	for _, bad := range []string{"", "1a", "a-b", "a b", "a.b", "odata.etag", "odata.x", "X@odata.type", "a/b", "a'b", "$a", "a\x00", "a\xff", "😀",
		"PartitionKey", "RowKey", "Timestamp", "_op", "_life", "_ix", "_type", "_v", "_sys"} {
		var ve *errs.ValueError
		if err := CheckName(bad); !errors.As(err, &ve) || ve.Reason == "" {
			t.Errorf("%q: got %v, want a *ValueError with a reason", bad, err)
		}
	}
	var le *errs.LimitError
	for _, long := range []string{strings.Repeat("x", 256), strings.Repeat("x", 254) + "𝒳"} {
		if err := CheckName(long); !errors.As(err, &le) || le.Got != 256 || le.Max != 255 {
			t.Errorf("got %v, want a *LimitError: 256 of at most 255", err)
		}
	}
	if IsSystem("_opx") || IsSystem("op") || IsSystem("") || IsSystem("_op _life") || !IsSystem("_op") || !IsSystem("_sys") {
		t.Error("IsSystem: want true for _op and _sys only")
	}
}

// jsonNamed embeds structs with and without names in their json tags.
type jsonNamed struct {
	Inner   `json:",inline"`
	Place   place  `json:"home"`
	Days    []int  `table:",each=2" json:"day"`
	Long    string `table:",chunks=2" json:"long"`
	Tagged  int    `table:"column" json:"other"`
	Options int64  `table:",int32" json:"count,omitempty"`
	Kept    string `table:"secret" json:"-"`
	Left    string `table:"-" json:"left"`
	Texts   int64  `json:",string"`
	Plain   string
}

// Inner is embedded in jsonNamed.
type Inner struct {
	A int `json:"a"`
	B int `json:"b,omitempty"`
}

// TestColumnNames: a field has the name in its table tag, else the name in its json tag, else its
// own; the options of json tags do not count.
func TestColumnNames(t *testing.T) {
	t.Parallel()
	p := newCodec(t, jsonNamed{})
	want := []string{
		"a", "b", "homeCity", "homeZip", "day0", "day1", "long0", "long1", "column", "count", "secret", "Texts", "Plain",
	}
	if got := p.Names(); !slices.Equal(got, want) {
		t.Errorf("got the properties %v\nwant %v", got, want)
	}
	for name, kind := range map[string]Kind{"count": Int32, "Texts": Int64} {
		if got := p.KindOf(name); got != kind {
			t.Errorf("%s: got the type %v, want %v", name, got, kind)
		}
	}
	got, err := encode(p, jsonNamed{})
	if err != nil || !strings.Contains(got, `"b":"0"`) || !strings.Contains(got, `"count":0`) {
		t.Errorf("got %s, %v; want the zero values of b and count, which json would leave out", got, err)
	}
}

// TestTagsThatAsk: a field whose json tag does not say how it is stored is refused, with the tag
// that says so.
func TestTagsThatAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v           any
		field, says string
	}{
		{struct {
			Password string `json:"-"`
		}{}, "Password", `table:"-"`},
		{struct {
			Inner `json:"-"`
		}{}, "Inner", `table:"-"`},
		{struct {
			jsonNamed `json:"-"`
		}{}, "jsonNamed", `table:"-"`},
		{struct {
			Inner `json:"inner"`
		}{}, "Inner", "options json"},
		{struct {
			ETag string `json:"odata.etag"`
		}{}, "ETag", `table:"-"`},
		{struct {
			N    int64  `json:",string"`
			Type string `json:"N@odata.type"`
		}{}, "Type", `table:"-"`},
		{struct {
			//lint:ignore SA5008 the test is about this tag
			A string `json:"-,"`
		}{}, "A", `table:"-"`},
		{struct {
			A int
			B int `json:"A"`
		}{}, "B", "field A"},
		{struct {
			ID string `json:"RowKey"`
		}{}, "ID", "keys.RawRowOf"},
		{struct{ Timestamp time.Time }{}, "Timestamp", "Entity.Timestamp"},
		{struct{ aztables.Entity }{}, "PartitionKey", "keys.RawPartitionOf"},
		{struct{ *aztables.Entity }{}, "Entity", "embedded pointer"},
	} {
		_, err := NewCodec(reflect.TypeOf(c.v), nil)
		var te *errs.TypeError
		if !errors.As(err, &te) || te.Field != c.field || !strings.Contains(te.Reason, c.says) {
			t.Errorf("%T: got %v; want a *TypeError of the field %s that says %s", c.v, err, c.field, c.says)
		}
	}
}

// TestEmbeddedSDKEntity: the Timestamp of an embedded aztables.Entity is no property; conditions
// know it, merges refuse it.
func TestEmbeddedSDKEntity(t *testing.T) {
	t.Parallel()
	type base struct{ aztables.Entity }
	type product struct {
		base
		Price float64 `json:"price"`
	}
	var v product
	at := func(ptr any) []int { return FieldPath(reflect.ValueOf(&v).Elem(), ptr) }
	p := newCodec(t, v, at(&v.PartitionKey), at(&v.RowKey))
	when := time.Date(2026, 11, 29, 1, 2, 3, 400, time.UTC)
	p.SetTimestamp(reflect.ValueOf(&v).Elem(), when)
	got, err := encode(p, v)
	want := `{"PartitionKey":"p","RowKey":"r","price@odata.type":"Edm.Double","price":0}`
	if err != nil || got != want || !time.Time(v.Timestamp).Equal(when) {
		t.Errorf("got %s, %v, the time %v; want %s, the time %v", got, err, time.Time(v.Timestamp), want, when)
	}
	if names, ok := p.NamesAt(at(&v.Timestamp), 0); len(names) > 0 || !ok {
		t.Errorf("got the properties %v, %v; want none", names, ok)
	}
	o, err := p.Operand(at(&v.Timestamp), 0)
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := o.Compare("ge", reflect.ValueOf(&v.Timestamp).Elem())
	if want := "Timestamp ge datetime'2026-11-29T01:02:03.0000004Z'"; text != want || err != nil {
		t.Errorf("got the condition %s, %v; want %s", text, err, want)
	}
	w := NewWriter("p", "r", 1)
	p.EncodeField(w, at(&v.Timestamp), 0, reflect.ValueOf(&v.Timestamp).Elem(), Stored{})
	var ve *errs.ValueError
	if _, err := w.Finish(); !errors.As(err, &ve) || ve.Field != Timestamp {
		t.Errorf("a merge of the Timestamp: got %v, want a *ValueError", err)
	}
}
