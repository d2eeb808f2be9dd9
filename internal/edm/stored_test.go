package edm

import (
	"bytes"
	"reflect"
	"testing"
	"time"
)

// finish returns the JSON of what a writer has collected.
func finish(w *Writer) (string, error) {
	body, err := w.Finish()
	if err != nil {
		return "", err
	}
	return string(body.Append(nil)), nil
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
	stored, err := Stored{JSON: []byte(raw)}.Overlay(e.PartitionKey, e.RowKey, columns, Column{})
	if err != nil {
		return "", err
	}
	return string(Body{PartitionKey: e.PartitionKey, RowKey: e.RowKey, Columns: stored.Columns}.Append(nil)), nil
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
	p := newPlan(t, v)
	value := reflect.ValueOf(&v).Elem()
	w := NewWriter("p'", "r<", 0)
	p.Encode(w, value, Stored{})
	body, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	json := body.Append(nil)
	if got := len(escaped(json)); got != body.Length {
		t.Errorf("%s has %d bytes, and Length is %d", json, got, body.Length)
	}
	var decoded [2]reflect.Value
	for i, stored := range []Stored{{JSON: json}, {Columns: body.Columns}} {
		r, e, err := stored.Open("p'", "r<")
		if err != nil || e.PartitionKey != "p'" || e.RowKey != "r<" {
			t.Fatal(e, err)
		}
		decoded[i] = reflect.New(p.Type).Elem()
		if err := p.Decode(r, decoded[i]); err != nil {
			t.Fatal(err)
		}
		columns, err := stored.Decoded()
		if err != nil || !reflect.DeepEqual(columns, body.Columns) {
			t.Errorf("got %v, %v, want %v", columns, err, body.Columns)
		}
	}
	if json, columns := decoded[0].Interface(), decoded[1].Interface(); !reflect.DeepEqual(json, columns) {
		t.Errorf("from columns %+v, want %+v", columns, json)
	}
}
