package edm

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// learner is a type with fields of several kinds, of which the JSON may lack some.
type learner struct {
	A string
	B int64
	C float64
	D []byte
}

// learnerJSON returns an entity whose members depend on i: their order, their annotations, and which of them there are.
func learnerJSON(i int) string {
	members := []string{`"A":"a` + fmt.Sprint(i) + `"`, `"B@odata.type":"Edm.Int64","B":"` + fmt.Sprint(i) + `"`, `"C":` + fmt.Sprint(i) + `.5`, `"D@odata.type":"Edm.Binary","D":"AQID"`}
	switch i % 7 {
	case 1:
		members = members[1:]
	case 2:
		members = members[:3]
	case 3:
		members[0], members[3] = members[3], members[0]
	case 4:
		members[1] = `"B":"` + fmt.Sprint(i) + `","B@odata.type":"Edm.Int64"`
	case 5:
		members = append(members, fmt.Sprintf(`"Other%d":true`, i%50))
	case 6:
		members[2] = `"C" : ` + fmt.Sprint(i)
	}
	return fmt.Sprintf(`{"odata.metadata":"x","odata.etag":"e%d","PartitionKey":"p","RowKey":"r%d",%s}`, i, i, strings.Join(members, ","))
}

// readLearner decodes an entity with a reader.
func readLearner(t *testing.T, p *Codec, r *Reader) (v learner, in Entity) {
	t.Helper()
	in, err := r.One()
	if err == nil {
		err = p.Decode(r, reflect.ValueOf(&v).Elem())
	}
	if err != nil {
		t.Errorf("got error %v; want none", err)
	}
	return v, in
}

// TestShapes: readers that learn from those before them read as readers that know nothing, also at the same time and with the codecs of
// several types.
func TestShapes(t *testing.T) {
	t.Parallel()
	type part struct{ A string }
	whole, err := NewCodec(reflect.TypeFor[learner](), nil)
	if err != nil {
		t.Fatal(err)
	}
	some, err := NewCodec(reflect.TypeFor[part](), nil)
	if err != nil {
		t.Fatal(err)
	}
	var shapes Shapes
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 300 {
				b := []byte(learnerJSON(i*4 + g))
				want, wantIn := readLearner(t, whole, NewReader(b))
				got, in := readLearner(t, whole, shapes.Reader(b))
				if !reflect.DeepEqual(got, want) || in.RowKey != wantIn.RowKey || in.ETag != wantIn.ETag {
					t.Errorf("%s: got %+v of %+v; want %+v of %+v", b, got, in, want, wantIn)
				}
				r := shapes.Reader(b)
				var a part
				if _, err := r.One(); err != nil {
					t.Errorf("got error %v; want none", err)
				}
				if err := some.Decode(r, reflect.ValueOf(&a).Elem()); err != nil || a.A != want.A {
					t.Errorf("%s: got %+v, %v; want %+v", b, a, err, want.A)
				}
				columns, err := shapes.Reader(b).readColumns()
				wantColumns, werr := NewReader(b).readColumns()
				if !reflect.DeepEqual(columns, wantColumns) || err != nil || werr != nil {
					t.Errorf("%s: got %v, %v; want %v", b, columns, err, wantColumns)
				}
			}
		})
	}
	wg.Wait()
}

// readColumns reads one entity as columns.
func (r *Reader) readColumns() ([]Column, error) {
	defer r.Release()
	if _, err := r.One(); err != nil {
		return nil, err
	}
	return r.Columns()
}

// TestRelease: what was decoded stays when the reader is used again.
func TestRelease(t *testing.T) {
	t.Parallel()
	p := newCodec(t, learner{})
	var shapes Shapes
	json := func(i int) []byte {
		return fmt.Appendf(nil, `{"odata.etag":"e%d","PartitionKey":"p%d","RowKey":"r%d","A":"a%d","B":%d,"D@odata.type":"Edm.Binary","D":"%s"}`, i, i, i, i, i, base64.StdEncoding.EncodeToString(fmt.Append(nil, i)))
	}
	var all []learner
	var entities []Entity
	var columns [][]Column
	for i := range 50 {
		r := shapes.Reader(json(i))
		v, in := readLearner(t, p, r)
		r.Release()
		c, err := shapes.Reader(json(i)).readColumns()
		if err != nil {
			t.Fatal(err)
		}
		all, entities, columns = append(all, v), append(entities, in), append(columns, c)
	}
	for i := range all {
		want, in := readLearner(t, p, NewReader(json(i)))
		if !reflect.DeepEqual(all[i], want) || !reflect.DeepEqual(entities[i], in) {
			t.Errorf("got %+v of %+v; want %+v of %+v", all[i], entities[i], want, in)
		}
		if want, err := NewReader(json(i)).readColumns(); err != nil || !reflect.DeepEqual(columns[i], want) {
			t.Errorf("got columns %+v, error %v; want %+v", columns[i], err, want)
		}
	}
}

// TestShapesLearn: the second reader knows all members of the first. What is learned does not hold the response, and does not grow
// without bound.
func TestShapesLearn(t *testing.T) {
	t.Parallel()
	p, err := NewCodec(reflect.TypeFor[learner](), nil)
	if err != nil {
		t.Fatal(err)
	}
	var shapes Shapes
	b := []byte(learnerJSON(0))
	readLearner(t, p, shapes.Reader(b))
	for i := range b {
		b[i] = 'x' // the response is used for something else
	}
	r := shapes.Reader([]byte(learnerJSON(7)))
	if v, _ := readLearner(t, p, r); v.B != 7 || !r.shape.shared || len(r.shape.all) != 8 {
		t.Errorf("got %+v after %d members, shared %t; want 7, and the 8 members of the first entity", v, len(r.shape.all), r.shape.shared)
	}
	for i := range 2 * mostSeen {
		r := shapes.Reader(fmt.Appendf(nil, `{"PartitionKey":"p","RowKey":"r","Other%d":true,"A":"a%d"}`, i, i))
		if v, _ := readLearner(t, p, r); v.A != fmt.Sprint("a", i) {
			t.Fatalf("got %+v; want a%d", v, i)
		}
		if all := shapes.all.Load(); all != nil && len(*all) >= mostSeen {
			t.Fatalf("got %d members; want fewer than %d", len(*all), mostSeen)
		}
	}
}
