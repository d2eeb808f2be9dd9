package edm

import (
	"reflect"
	"strings"
	"testing"
)

// TestNumbersKeepTheirStoredType: a number that was read as one type is written as the same type if it fits.
func TestNumbersKeepTheirStoredType(t *testing.T) {
	t.Parallel()
	type row struct {
		N int64
		F float64
	}
	p := newPlan(t, row{})
	for _, c := range []struct {
		stored string
		v      row
		want   string
	}{
		{`"N":5,"F":5`, row{6, 6}, `"N":6,"F":6`},
		{`"N":5,"F":5`, row{1 << 31, 5.5}, `"N@odata.type":"Edm.Int64","N":"2147483648","F@odata.type":"Edm.Double","F":5.5`},
		{`"N":5,"F@odata.type":"Edm.Int64","F":"5"`, row{-1 << 31, 1 << 53}, `"N":-2147483648,"F@odata.type":"Edm.Int64","F":"9007199254740992"`},
		{`"N":5,"F@odata.type":"Edm.Int64","F":"5"`, row{5, 1 << 63}, `"N":5,"F@odata.type":"Edm.Double","F":9.223372036854776e+18`},
		{`"N":5,"F":5000000000`, row{5, 5e9}, `"N":5,"F@odata.type":"Edm.Double","F":5e+09`}, // an emulator's whole double
		{`"X":5`, row{5, 5}, `"N@odata.type":"Edm.Int64","N":"5","F@odata.type":"Edm.Double","F":5`},
	} {
		w := NewWriter(nil, "p", "r")
		p.Encode(w, reflect.ValueOf(&c.v).Elem(), []byte(`{"PartitionKey":"p","RowKey":"r",`+c.stored+`}`))
		b, err := w.Finish()
		if got := strings.TrimPrefix(string(b), `{"PartitionKey":"p","RowKey":"r",`); got != c.want+"}" || err != nil {
			t.Errorf("%v over %s: got %s, %v, want %s", c.v, c.stored, got, err, c.want)
		}
	}
}

// TestPutUnknown: PutUnknown copies unknown columns with their types, and system properties, but no properties of fields.
func TestPutUnknown(t *testing.T) {
	t.Parallel()
	type row struct{ Name string }
	type open struct {
		Name  string
		Extra map[string]any `table:",extra"`
	}
	raw := []byte(`{"odata.etag":"x","PartitionKey":"p","RowKey":"r","Timestamp":"2020-01-01T00:00:00Z","Name":"old","D":3.0,"L@odata.type":"Edm.Int64","L":"5","_op":"o","N":null}`)
	// A name with quotes cannot end the name and begin another property.
	w := NewWriter(nil, "p", "r")
	newPlan(t, row{}).PutUnknown(w, []byte(`{"PartitionKey":"p","RowKey":"r","x\":1,\"RowKey\":\"evil\",\"y":2}`))
	if got, err := w.Finish(); err != nil || string(got) != `{"PartitionKey":"p","RowKey":"r","x\":1,\"RowKey\":\"evil\",\"y":2}` {
		t.Errorf("a name with quotes: got %s, %v, want the same name", got, err)
	}
	for _, c := range []struct {
		p    *Plan
		want string
	}{
		{newPlan(t, row{}), `{"PartitionKey":"p","RowKey":"r","D@odata.type":"Edm.Double","D":3,"L@odata.type":"Edm.Int64","L":"5","_op":"o"}`},
		{newPlan(t, open{}), `{"PartitionKey":"p","RowKey":"r","_op":"o"}`},
	} {
		w := NewWriter(nil, "p", "r")
		c.p.PutUnknown(w, raw)
		if got, err := w.Finish(); err != nil || string(got) != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}
