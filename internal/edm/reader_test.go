package edm

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/errs"
)

// TestEntityWithoutKeys: an object without both keys is not an entity.
func TestEntityWithoutKeys(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{}`: PartitionKey, `{"RowKey":"r"}`: PartitionKey, `{"PartitionKey":"p"}`: RowKey, `{"PartitionKey":"p","RowKey":null}`: RowKey,
		`{"odata.error":{"code":"x"}}`: PartitionKey, `{"PartitionKey":null,"RowKey":"r"}`: PartitionKey, `{"partitionkey":"p","rowkey":"r"}`: PartitionKey,
	} {
		var de *errs.DecodeError
		if e, err := NewReader([]byte(body)).One(); !errors.As(err, &de) || de.Field != field {
			t.Errorf("%s: got %+v, %v, want a *DecodeError of %s", body, e, err, field)
		}
		n := 0
		if err := NewReader([]byte(`{"value":[` + body + `]}`)).Page(func(Entity) bool { n++; return true }); !errors.As(err, &de) || n != 0 {
			t.Errorf("a page of %s: got %d entities, %v, want none and a *DecodeError", body, n, err)
		}
	}
	if e, err := NewReader([]byte(`{"PartitionKey":"","RowKey":""}`)).One(); err != nil {
		t.Errorf("empty keys: got %+v, %v, want an entity", e, err)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	page := `{"odata.metadata":"https://x/$metadata#t","value":[{"PartitionKey":"p","RowKey":"a","N":1},{"PartitionKey":"p","RowKey":"b","N":2}]}`
	type row struct{ N int32 }
	p := newCodec(t, row{})
	r := NewReader([]byte(page))
	var got []string
	if err := r.Page(func(e Entity) bool {
		var v row
		if err := p.Decode(r, reflect.ValueOf(&v).Elem()); err != nil {
			t.Errorf("decode entity %s: got error %v; want none", e.RowKey, err)
		}
		got = append(got, fmt.Sprint(e.PartitionKey, e.RowKey, v.N, r.Keep().text[:2]))
		return true
	}); err != nil || !reflect.DeepEqual(got, []string{`pa1{"`, `pb2{"`}) {
		t.Errorf("got %q, %v, want the entities a and b with their values", got, err)
	}
	n := 0
	if err := NewReader([]byte(page)).Page(func(Entity) bool { n++; return false }); err != nil || n != 1 {
		t.Errorf("f returned false: got %d calls, %v, want 1", n, err)
	}
	for _, ok := range []string{`{"value":[]}`, ` { "value" : [ ] , "x":1 } `} {
		if err := NewReader([]byte(ok)).Page(nil); err != nil {
			t.Errorf("%s: got %v, want no error", ok, err)
		}
	}
	for cut := range len(page) {
		if err := NewReader([]byte(page[:cut])).Page(func(Entity) bool { return true }); err == nil {
			t.Errorf("the first %d bytes: got no error, want one", cut)
		}
	}
	for _, bad := range []string{`{}`, `{"x":1}`, `{"value":{}}`, `{"value":[1]}`, `{"value":[]}x`, `{"value":[{}{}]}`} {
		if err := NewReader([]byte(bad)).Page(func(Entity) bool { return true }); err == nil {
			t.Errorf("%s: got no error, want one", bad)
		}
	}
}

// FuzzReader: the reader never panics, and the values that it reads can be written and are read again unchanged.
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
		w, seen := NewWriter(e.PartitionKey, e.RowKey, 0), map[string]bool{}
		for _, c := range columns {
			if seen[c.Name] || strings.ContainsRune(c.Name, '@') {
				return
			}
			seen[c.Name] = true
			w.Put(c.Name, c.Value)
		}
		written, err := w.Finish()
		if err != nil {
			return // a value exceeds a limit, such as the year 1
		}
		body := written.Append(nil, nil)
		if got := len(escaped(body)); got != written.Length {
			t.Fatalf("Length of %s: got %d; want %d, as many bytes as the SDK sends", body, written.Length, got)
		}
		r2 := NewReader(body)
		e2, err := r2.One()
		if err != nil || e2.PartitionKey != e.PartitionKey || e2.RowKey != e.RowKey {
			t.Fatalf("%s was written as %s: got %+v, %v, want the same keys", b, body, e2, err)
		}
		again, err := r2.Columns()
		if err != nil || len(again) != len(columns) {
			t.Fatalf("%s was written as %s: got %d columns, %v, want %d", b, body, len(again), err, len(columns))
		}
		merged, err := overlay(string(body), string(body))
		if err != nil || merged != string(body) {
			t.Fatalf("%s merged with itself: got %s, %v, want no change", body, merged, err)
		}
		for i, c := range columns {
			if c.Value.Kind == DateTime {
				c.Value = timeValue(c.Value.T)
			}
			if again[i].Name != c.Name || !Same(again[i].Value, c.Value) || math.Signbit(again[i].Value.F) != math.Signbit(c.Value.F) && c.Value.F == 0 {
				t.Fatalf("%s: got %+v, want %+v", b, again[i], c)
			}
		}
	})
}
