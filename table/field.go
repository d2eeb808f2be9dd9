package table

import (
	"fmt"
	"reflect"

	"github.com/aztablekit/aztablekit/internal/edm"
)

// Field names a field of T by a pointer to it, for conditions and merges: there is no string to rot, and the compiler
// checks the type of what is compared and set. It is a value to be kept in a variable:
//
//	var age = table.FieldOf(func(e *Employee) *int32 { return &e.Age })
//
// A mistake in the accessor is an error of the first use.
type Field[T, V any] struct {
	path []int
	name string
	err  error
}

// PropertyOf names a property of rows of any type, with the Go type of its values, for conditions and merges of [Row]:
//
//	table.PropertyOf[int32]("Age").Ge(30)
func PropertyOf[V any](name string) Field[Row, V] { return Field[Row, V]{name: name} }

// FieldOf finds the field that at points to. It must be a field of T or of a struct embedded in T.
func FieldOf[T, V any](at func(*T) *V) (f Field[T, V]) {
	t := reflect.TypeFor[T]()
	defer func() {
		if r := recover(); r != nil {
			f.err = &TypeError{Type: t, Reason: fmt.Sprintf("a field's accessor panics: %v", r)}
		}
	}()
	if t.Kind() != reflect.Struct {
		f.err = &TypeError{Type: t, Reason: "is not a struct"}
		return f
	}
	zero := new(T)
	if f.path = edm.FieldPath(reflect.ValueOf(zero).Elem(), at(zero)); f.path == nil {
		f.err = &TypeError{Type: t, Reason: "a field's accessor does not point at a field of it"}
	}
	return f
}

// Set is a change of one property, for Merge.
type Set[T any] struct {
	path  []int
	name  string        // of a property of a Row
	value reflect.Value // addressable
	err   error
}

// Set makes the change that gives the field the value v. An absent v (nil, the zero time) is an error of Merge, which
// leaves absent properties as they are: use Replace.
func (f Field[T, V]) Set(v V) Set[T] {
	return Set[T]{f.path, f.name, reflect.ValueOf(&v).Elem(), f.err}
}

// Cond is a condition on the properties of T. Conditions on keys are the query's Partition and Rows.
type Cond[T any] struct {
	op    string // a comparison, "and", "or" or "not"; "" for the zero condition, which everything meets
	path  []int
	name  string // of a property of a Row
	value reflect.Value
	parts []Cond[T]
	err   error
}

func (f Field[T, V]) compare(op string, v V) Cond[T] {
	return Cond[T]{op: op, path: f.path, name: f.name, value: reflect.ValueOf(&v).Elem(), err: f.err}
}

// Eq is met by rows whose property equals v. A row without the property meets no comparison.
//
// The service compares a number only with a literal of the property's type, so numbers are compared with one literal for each
// type that the field reads. All count towards the 15 of a filter ([Explanation]): an int, int64, uint, uint32 or uint64
// takes 2 comparisons, 4 with Ne; a float32 or float64 2, 3 with Ne, and up to 8 beyond 32 bits; every other type 1.
func (f Field[T, V]) Eq(v V) Cond[T] { return f.compare("eq", v) }

// Ne is met by rows whose property differs from v.
func (f Field[T, V]) Ne(v V) Cond[T] { return f.compare("ne", v) }

// Lt is met by rows whose property is less than v.
func (f Field[T, V]) Lt(v V) Cond[T] { return f.compare("lt", v) }

// Le is met by rows whose property is less than v or equal.
func (f Field[T, V]) Le(v V) Cond[T] { return f.compare("le", v) }

// Gt is met by rows whose property is greater than v.
func (f Field[T, V]) Gt(v V) Cond[T] { return f.compare("gt", v) }

// Ge is met by rows whose property is greater than v or equal.
func (f Field[T, V]) Ge(v V) Cond[T] { return f.compare("ge", v) }

// And is met by rows that meet all of the conditions.
func And[T any](c ...Cond[T]) Cond[T] { return Cond[T]{op: "and", parts: c} }

// Or is met by rows that meet at least one of the conditions.
func Or[T any](c ...Cond[T]) Cond[T] { return Cond[T]{op: "or", parts: c} }

// Not is met by rows that do not meet c. Whether a row without the property is one of them is the service's to say.
func Not[T any](c Cond[T]) Cond[T] { return Cond[T]{op: "not", parts: []Cond[T]{c}} }

// IsZero tells whether c is the zero condition, which everything meets.
func (c Cond[T]) IsZero() bool { return c.op == "" }
