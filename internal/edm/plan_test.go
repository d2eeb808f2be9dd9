package edm

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

func TestTypesThatCannotBeStored(t *testing.T) {
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
		_, err := NewPlan(reflect.TypeOf(v), nil)
		var te *TypeError
		if !errors.As(err, &te) || te.Reason == "" {
			t.Errorf("%T: %v", v, err)
		}
	}
}

func TestBoundFieldsAreNoProperties(t *testing.T) {
	t.Parallel()
	type row struct {
		Key  string `table:"Stored"`
		Name string
	}
	var v row
	path := FieldPath(reflect.ValueOf(&v).Elem(), &v.Key)
	p := newPlan(t, v, path)
	got, err := encode(p, row{"k", "n"})
	if err != nil || got != `{"PartitionKey":"p","RowKey":"r","Name":"n"}` || p.Has("Stored") {
		t.Error(got, err)
	}
	if _, _, err := p.Operand(path, reflect.ValueOf("k")); err == nil {
		t.Error("a filter compares a key field by property")
	}
	// A struct that is stored as a whole would store the key's field with it.
	type Base struct{ ID int }
	type doc struct {
		Base `table:"Base,json"`
	}
	var d doc
	var te *TypeError
	if _, err := NewPlan(reflect.TypeFor[doc](), [][]int{FieldPath(reflect.ValueOf(&d).Elem(), &d.ID)}); !errors.As(err, &te) {
		t.Error(err)
	}
}

// Types with which a plan goes wrong easily: without an end, with methods of a field that nobody can reach, with a name twice.
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
