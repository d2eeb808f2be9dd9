package edm

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/errs"
)

func TestUnstorableTypes(t *testing.T) {
	t.Parallel()
	type inner struct{ A int }
	for _, v := range []any{
		5, struct{ C chan int }{}, struct{ F func() }{}, struct{ C complex128 }{}, struct{ M map[string]int }{}, struct{ I any }{},
		struct{ S []string }{}, struct{ S inner }{}, struct{ P **int }{}, struct{ P *place }{}, struct{ A [3]int }{}, struct{ U uintptr }{},
		struct{ *inner }{}, struct{ X endless }{}, struct{ stamped }{}, struct{ placed }{}, struct{ Twice twice }{}, struct {
			A place `table:",omitempty"`
		}{}, struct {
			A []int `table:",json,each"`
		}{}, struct {
			A map[string]any `table:",json,extra"`
		}{}, struct {
			A int `table:"X"`
			B int `table:"X"`
		}{}, struct {
			A int `table:"a-b"`
		}{}, struct {
			A int `table:"_op"`
		}{}, struct{ PartitionKey string }{}, struct {
			A int `table:",omitempy"`
		}{}, struct {
			A map[string]string `table:",extra"`
		}{}, struct {
			A int `table:",each"`
		}{}, struct {
			A []int `table:",each=0"`
		}{}, struct {
			A []inner `table:",each"`
		}{}, struct {
			a int `table:"A"`
		}{}, struct {
			A place
			B int `table:"ACity"`
		}{},
	} {
		_, err := NewCodec(reflect.TypeOf(v), nil)
		var te *errs.TypeError
		if !errors.As(err, &te) || te.Reason == "" {
			t.Errorf("%T: got %v, want a *TypeError with a reason", v, err)
		}
	}
}

func TestBoundFieldsHaveNoProperties(t *testing.T) {
	t.Parallel()
	type row struct {
		Key  string `table:"Stored"`
		Name string
	}
	var v row
	path := FieldPath(reflect.ValueOf(&v).Elem(), &v.Key)
	p := newCodec(t, v, path)
	got, err := encode(p, row{"k", "n"})
	if err != nil || got != `{"PartitionKey":"p","RowKey":"r","Name":"n"}` || p.Has("Stored") {
		t.Errorf("got %s, %v, want no property of the key field", got, err)
	}
	if _, err := p.Operand(path, 0); err == nil {
		t.Error("the operand of a key field: got no error, want one")
	}
	// A struct that is stored as one value would also store the key field inside it.
	type Base struct{ ID int }
	type doc struct {
		Base `table:"Base,json"`
	}
	var d doc
	var te *errs.TypeError
	if _, err := NewCodec(reflect.TypeFor[doc](), [][]int{FieldPath(reflect.ValueOf(&d).Elem(), &d.ID)}); !errors.As(err, &te) {
		t.Errorf("a key field inside a json field: got %v, want a *TypeError", err)
	}
}

// Types that NewCodec must refuse: endless recursion, exported methods of an unexported embedded field, two equal suffixes.
type (
	endless *endless
	stamped struct {
		time.Time
		Note string
	}
	placed struct{ place }
	twice  struct{}
)

func (twice) PropertySuffixes() []string { return []string{"A", "A"} }

func (twice) PropertyValues() ([]any, error) { return nil, nil }

func (*twice) SetPropertyValues([]any) error { return nil }
