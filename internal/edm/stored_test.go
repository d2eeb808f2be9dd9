package edm

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNumbersKeepTheirStoredType: a number that was read as one type is written as the same type if it fits.
func TestNumbersKeepTheirStoredType(t *testing.T) {
	t.Parallel()
	type row struct {
		N int64
		F float64
	}
	p := newCodec(t, row{})
	for _, c := range []struct {
		stored string
		v      row
		want   string
	}{
		{`"N":5,"F":5`, row{6, 6}, `"N":6,"F":6`},
		{`"N":5,"F":5`, row{1 << 31, 5.5}, `"N@odata.type":"Edm.Int64","N":"2147483648","F@odata.type":"Edm.Double","F":5.5`},
		{`"N":5,"F@odata.type":"Edm.Int64","F":"5"`, row{-1 << 31, 1 << 53}, `"N":-2147483648,"F@odata.type":"Edm.Int64","F":"9007199254740992"`},
		{`"N":5,"F@odata.type":"Edm.Int64","F":"5"`, row{5, 1 << 63}, `"N":5,"F@odata.type":"Edm.Double","F":9223372036854776000`},
		{`"N":5,"F":5000000000`, row{5, 5e9}, `"N":5,"F@odata.type":"Edm.Double","F":5000000000`}, // an emulator's whole double
		{`"X":5`, row{5, 5}, `"N@odata.type":"Edm.Int64","N":"5","F@odata.type":"Edm.Double","F":5`},
	} {
		w := NewWriter("p", "r", 0)
		p.Encode(w, reflect.ValueOf(&c.v).Elem(), Stored{JSON: JSON{text: `{"PartitionKey":"p","RowKey":"r",` + c.stored + `}`}})
		b, err := finish(w)
		if got := strings.TrimPrefix(b, `{"PartitionKey":"p","RowKey":"r",`); got != c.want+"}" || err != nil {
			t.Errorf("%v over %s: got %s, %v, want %s", c.v, c.stored, got, err, c.want)
		}
	}
}

// TestPutUnknown: PutUnknown copies unknown columns with their types, and system properties except the operation ID. It copies no properties of fields.
func TestPutUnknown(t *testing.T) {
	t.Parallel()
	type row struct{ Name string }
	type open struct {
		Name  string
		Extra map[string]any `table:",extra"`
	}
	raw := `{"odata.etag":"x","PartitionKey":"p","RowKey":"r","Timestamp":"2020-01-01T00:00:00Z","Name":"old","D":3.0,"L@odata.type":"Edm.Int64","L":"5","_op":"o","_life":"i","N":null}`
	// A name with quotes cannot end the name and begin another property.
	w := NewWriter("p", "r", 0)
	newCodec(t, row{}).PutUnknown(w, Stored{JSON: JSON{text: `{"PartitionKey":"p","RowKey":"r","x\":1,\"RowKey\":\"evil\",\"y":2}`}})
	if got, err := finish(w); err != nil || got != `{"PartitionKey":"p","RowKey":"r","x\":1,\"RowKey\":\"evil\",\"y":2}` {
		t.Errorf("a name with quotes: got %s, %v, want the same name", got, err)
	}
	for _, c := range []struct {
		p    *Codec
		want string
	}{
		{newCodec(t, row{}), `{"PartitionKey":"p","RowKey":"r","D@odata.type":"Edm.Double","D":3,"L@odata.type":"Edm.Int64","L":"5","_life":"i"}`},
		{newCodec(t, open{}), `{"PartitionKey":"p","RowKey":"r","_life":"i"}`},
	} {
		w := NewWriter("p", "r", 0)
		c.p.PutUnknown(w, Stored{JSON: JSON{text: raw}})
		if got, err := finish(w); err != nil || got != c.want {
			t.Errorf("got %s, %v, want %s", got, err, c.want)
		}
	}
}

// TestOwn: an entity of which the codec knows all properties is written again without a look at what is stored, with the same result.
func TestOwn(t *testing.T) {
	t.Parallel()
	type row struct {
		N int32
		F float64
		L []string `table:",each"`
	}
	type open struct {
		N     int32
		Extra map[string]any `table:",extra"`
	}
	for _, c := range []struct {
		stored  string
		v       any
		own     bool
		written bool // once it is written
	}{
		{`"N":5,"F":5.0,"_op":"o"`, &row{}, true, true},
		{`"F":5.5,"L000":"a","L001":"b"`, &row{}, true, true},
		{`"N":5,"F":5`, &row{}, false, false},                        // a whole number in the place of a double
		{`"N@odata.type":"Edm.Int64","N":"5"`, &row{}, false, false}, // of another program
		{`"N":5,"X":"x"`, &row{}, false, false},                      // a column that the type does not know
		{`"N":5,"_life":"i"`, &row{}, false, false},                  // a system property
		{`"N":null`, &row{}, false, true},                            // the service sends none
		{`"N":5,"X":"x"`, &open{}, false, true},                      // in the map
		{`"N":5,"_op":"o"`, &open{}, true, true},
	} {
		p := newCodec(t, reflect.ValueOf(c.v).Elem().Interface())
		stored := Stored{JSON: JSON{text: `{"PartitionKey":"p","RowKey":"r",` + c.stored + `}`}}
		r, _, err := stored.Open("", "")
		if err == nil {
			err = p.Decode(r, reflect.ValueOf(c.v).Elem())
		}
		if own := stored.Own(p, r); own.own == p != c.own || err != nil {
			t.Errorf("%s as %T: got own properties %t, error %v; want %t", c.stored, c.v, own.own == p, err, c.own)
		}
		var bodies []string
		for _, as := range []Stored{stored, stored.Own(p, r)} {
			w := p.TextWriter("p", "r")
			p.Encode(w, reflect.ValueOf(c.v).Elem(), as)
			p.PutUnknown(w, as)
			body, err := w.Finish()
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, string(body.JSON(nil)))
			// What is written is known in the same way.
			if got := body.Stored(Column{Name: "_op", Value: Value{Kind: String, S: "p"}}.Ending()); got.own == p != c.written {
				t.Errorf("%s as %T, written: got own properties %t, want %t", c.stored, c.v, got.own == p, c.written)
			}
		}
		if bodies[0] != bodies[1] {
			t.Errorf("%s as %T: got %s, want %s", c.stored, c.v, bodies[1], bodies[0])
		}
	}
}

// TestQuotedKeys: a quote in a key does not end the key, so that it cannot begin a property.
func TestQuotedKeys(t *testing.T) {
	t.Parallel()
	const quoted = `x","Admin":true,"y":"`
	for _, keys := range [][2]string{{"p", "r"}, {quoted, "r"}, {"p", quoted}, {"p\x01", "r\\"}} {
		body, err := NewWriter(keys[0], keys[1], 0).Finish()
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(body.JSON(nil))
		e, err := r.One()
		columns, cerr := r.Columns()
		if got := [2]string{e.PartitionKey, e.RowKey}; got != keys || len(columns) > 0 || err != nil || cerr != nil {
			t.Errorf("got the keys %q, %d properties, errors %v and %v; want %q and no property", got, len(columns), err, cerr, keys)
		}
	}
}

// finish returns the JSON of what a writer has collected.
func finish(w *Writer) (string, error) {
	body, err := w.Finish()
	if err != nil {
		return "", err
	}
	return string(body.Append(nil, nil)), nil
}

// overlay merges the entity set into the entity raw, both as JSON.
func overlay(raw, set string) (string, error) {
	r := NewReader([]byte(set))
	e, err := r.One()
	if err != nil {
		return "", err
	}
	columns, err := r.Columns()
	if err != nil {
		return "", err
	}
	stored, err := Stored{JSON: JSON{text: raw}}.Overlay(e.PartitionKey, e.RowKey, columns, Column{})
	if err != nil {
		return "", err
	}
	body := Body{PartitionKey: e.PartitionKey, RowKey: e.RowKey}.WithColumns(stored.Columns)
	return string(body.Append(nil, nil)), nil
}

// escaped is JSON as the SDK sends it in a transaction.
func escaped(b []byte) []byte {
	for _, c := range []struct{ from, to string }{{"<", `\u003c`}, {">", `\u003e`}, {"&", `\u0026`}, {"\u2028", `\u2028`}, {"\u2029", `\u2029`}} {
		b = bytes.ReplaceAll(b, []byte(c.from), []byte(c.to))
	}
	return b
}

// TestStoredColumns: a value decoded from the columns that were written is the value that is decoded from their JSON.
func TestStoredColumns(t *testing.T) {
	t.Parallel()
	type row struct {
		S      string
		I      int32
		L      int64
		F      float64
		B      bool
		T      time.Time
		G      [16]byte
		Bytes  []byte
		Empty  []byte
		Nil    []byte
		Tags   []string `table:",each=3"`
		Number *int64
	}
	n := int64(7)
	v := row{S: "a\"b\\<&>\u2028\n\x01ü😀", I: -5, L: 1 << 60, F: 3, B: true, T: time.Now(), G: [16]byte{1, 2}, Bytes: []byte{0, 255}, Empty: []byte{}, Tags: []string{"x", "y"}, Number: &n}
	p := newCodec(t, v)
	value := reflect.ValueOf(&v).Elem()
	w := NewWriter("p'", "r<", 0)
	p.Encode(w, value, Stored{})
	body, err := w.Finish()
	if err != nil {
		t.Fatalf("Finish: got error %v; want none", err)
	}
	json := body.Append(nil, nil)
	if got := len(escaped(json)); got != body.Length {
		t.Errorf("Length of %s: got %d; want %d, as many bytes as the SDK sends", json, body.Length, got)
	}
	var decoded [2]reflect.Value
	for i, stored := range []Stored{{JSON: JSON{text: string(json)}}, {Columns: body.Columns()}} {
		r, e, err := stored.Open("p'", "r<")
		if err != nil || e.PartitionKey != "p'" || e.RowKey != "r<" {
			t.Fatalf("form %d: open: got %+v, error %v; want the keys p' and r<", i, e, err)
		}
		decoded[i] = reflect.New(p.Type).Elem()
		if err := p.Decode(r, decoded[i]); err != nil {
			t.Fatalf("form %d: decode: got error %v; want none", i, err)
		}
		columns, err := stored.Decoded()
		if err != nil || !slices.EqualFunc(columns, body.Columns(), Column.Same) {
			t.Errorf("form %d: columns: got %v, error %v; want %v", i, columns, err, body.Columns())
		}
	}
	if json, columns := decoded[0].Interface(), decoded[1].Interface(); !reflect.DeepEqual(json, columns) {
		t.Errorf("value from columns: got %+v; want %+v, the value from JSON", columns, json)
	}
}
