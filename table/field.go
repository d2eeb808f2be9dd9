package table

import (
	"fmt"
	"reflect"
	"time"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/query"
)

// Field names a field of T by a pointer to it, for conditions and merges. No name can be
// misspelled, and the compiler checks the types of values. Keep it in a variable:
//
//	var age = table.FieldOf(func(e *Employee) *int32 { return &e.Age })
//
// A mistake in the function is an error of the first use.
type Field[T, V any] struct{ f field }

// field is a Field without its types.
type field struct {
	path    []int
	element int    // of a list, counted from 1; 0 for the field
	name    string // of a property of a Row
	err     error
}

// PropertyOf names a property of rows of any type, with the Go type of its values, for conditions
// and merges of [Row]:
//
//	table.PropertyOf[int32]("Age").Ge(30)
func PropertyOf[V any](name string) Field[Row, V] { return Field[Row, V]{field{name: name}} }

// Timestamp is when the service has last stored a row, for conditions: the rows that have changed
// since a time. The service has no index of it, so that such a query reads every row of its keys.
// Timestamps of one transaction differ, and clocks of servers do: ask for some seconds more than
// you need.
func Timestamp[T any]() Field[T, time.Time] { return Field[T, time.Time]{field{name: edm.Timestamp}} }

// FieldOf finds the field that at points to. It must be a field of T or of a struct embedded in T.
func FieldOf[T, V any](at func(*T) *V) Field[T, V] {
	zero := new(T)
	return Field[T, V]{fieldAt(zero, func() any { return at(zero) })}
}

// ElementOf names an element of a list that is stored in a property of its own (the option each of
// [Table]), for conditions and merges:
//
//	first := table.ElementOf(func(p *Page) *[]int32 { return &p.Visits }, 0)
//
// A merge of an element writes 1 property, and of an entity with parts, 1 part. It extends a
// shorter list with zero elements. An i outside the list is a *LimitError or *ValueError of the
// first use.
func ElementOf[T, E any](at func(*T) *[]E, i int) Field[T, E] {
	f := FieldOf(at).f
	f.element = i + 1
	if i < 0 && f.err == nil {
		f.err = &ValueError{Field: "i", Reason: fmt.Sprintf("is %d; elements are counted from 0", i)}
	}
	return Field[T, E]{f}
}

// fieldAt finds the field of a zero struct that at points to.
func fieldAt(zero any, at func() any) (f field) {
	v := reflect.ValueOf(zero).Elem()
	defer func() {
		if r := recover(); r != nil {
			f.err = &TypeError{Type: v.Type(), Reason: fmt.Sprintf("a field's accessor panics: %v", r)}
		}
	}()
	if v.Kind() != reflect.Struct {
		f.err = &TypeError{Type: v.Type(), Reason: "is not a struct"}
		return f
	}
	if f.path = edm.FieldPath(v, at()); f.path == nil {
		f.err = &TypeError{Type: v.Type(), Reason: "a field's accessor does not point at a field of it"}
	}
	return f
}

// Set is a change of one property, for Merge.
type Set[T any] struct{ s set }

// set is a Set without its type.
type set struct {
	field
	value reflect.Value // addressable
}

//go:noinline
func sets[T any](all []Set[T]) []set {
	untyped := make([]set, len(all))
	for i := range all {
		untyped[i] = all[i].s
	}
	return untyped
}

func (s Set[T]) untyped() set { return s.s }

// Set returns the change that gives the field the value v. Merge refuses an absent v (nil, the zero
// time), because a merge leaves absent properties as they are: use Replace.
func (f Field[T, V]) Set(v V) Set[T] {
	return Set[T]{set{f.f, reflect.ValueOf(&v).Elem()}}
}

// Cond is a condition on the properties of T. The zero condition selects every row. Conditions on
// keys are the query's Partition and Rows.
type Cond[T any] struct{ c query.Cond }

func (f Field[T, V]) compare(op string, v V) Cond[T] {
	return Cond[T]{query.Cond{Op: op, Path: f.f.path, Element: f.f.element, Name: f.f.name, Value: reflect.ValueOf(&v).Elem(), Err: f.f.err}}
}

// Eq selects the rows whose property equals v. A comparison selects no row without the property,
// but if v is no value (nil, the zero time), Eq is IsNotSet, and Ne is IsSet.
//
// The service compares a number only with a literal of the property's type, so numbers are compared
// with one literal for each type that the field reads. All count towards the 15 of a filter
// ([Explanation]): an int, int64, uint, uint32 or uint64 takes 2 comparisons, 4 with Ne; a float32
// or float64, and the option double, 2, 3 with Ne, and up to 8 beyond 32 bits; every other type 1.
//
// A property with the option text is compared as it is stored: a whole number takes 3 comparisons,
// 7 with Ne, and up to 5 and 12 beyond 32 bits; []byte 2 or 4, and a boolean 4. Its order is that
// of the texts, so Lt, Le, Gt and Ge are a *ValueError, and so is each comparison of a time, which
// has several texts.
func (f Field[T, V]) Eq(v V) Cond[T] { return f.compare("eq", v) }

// Ne selects the rows whose property differs from v.
func (f Field[T, V]) Ne(v V) Cond[T] { return f.compare("ne", v) }

// Lt selects the rows whose property is less than v.
func (f Field[T, V]) Lt(v V) Cond[T] { return f.compare("lt", v) }

// Le selects the rows whose property is less than v or equal.
func (f Field[T, V]) Le(v V) Cond[T] { return f.compare("le", v) }

// Gt selects the rows whose property is greater than v.
func (f Field[T, V]) Gt(v V) Cond[T] { return f.compare("gt", v) }

// Ge selects the rows whose property is greater than v or equal.
func (f Field[T, V]) Ge(v V) Cond[T] { return f.compare("ge", v) }

// IsSet selects the rows whose property has a value, and IsNotSet those without: a nil pointer, the
// zero time, a value that omitempty leaves out, a column that another program does not write. Eq
// and Ne of such a value mean the same.
//
// The service has no literal for a missing value. IsSet compares the property with all values of
// its type, and IsNotSet is [Not] of that. Rows without the property are found by it: on the live
// service as users have reported, in storagetest and on the emulator as tests show. A number of any
// type counts as set, and with the option text each text but the empty one and the zero time, also
// where the field cannot read it. Other types that it cannot read count as not set, and so does
// NaN. 1 comparison; 2 for numbers and booleans; 1 more with the option text.
func (f Field[T, V]) IsSet() Cond[T] { return f.compare(edm.OpSet, *new(V)) }

// IsNotSet selects the rows whose property has no value; see [Field.IsSet].
func (f Field[T, V]) IsNotSet() Cond[T] { return f.compare(edm.OpUnset, *new(V)) }

// And selects the rows that all of the conditions select.
func And[T any](c ...Cond[T]) Cond[T] { return joined("and", c) }

// Or selects the rows that at least one of the conditions selects.
func Or[T any](c ...Cond[T]) Cond[T] { return joined("or", c) }

// Not selects the rows that c does not select. The service decides whether it selects a row without
// the property.
func Not[T any](c Cond[T]) Cond[T] { return joined("not", []Cond[T]{c}) }

func joined[T any](op string, all []Cond[T]) Cond[T] {
	c := query.Cond{Op: op}
	for _, cond := range all {
		c.Conds = append(c.Conds, cond.c)
	}
	return Cond[T]{c}
}

// FieldIn is a [Field] of T, with values of any type.
type FieldIn[T any] interface {
	properties(*edm.Codec) ([]string, error)
}

func (f Field[T, V]) properties(p *edm.Codec) ([]string, error) { return f.f.properties(p) }

func (f field) properties(p *edm.Codec) ([]string, error) {
	switch {
	case f.err == nil && f.name == edm.Timestamp:
		return nil, &ValueError{Field: "field", Reason: "is the Timestamp, which every read returns: Entity.Timestamp"}
	case f.err != nil || f.name != "":
		return []string{f.name}, f.err
	}
	names, ok := p.NamesAt(f.path, f.element)
	if !ok {
		return nil, &TypeError{Type: p.Type, Field: p.Type.FieldByIndex(f.path).Name, Reason: "is stored in no property of its own"}
	}
	return names, nil
}
