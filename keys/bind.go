package keys

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/aztablekit/aztablekit/internal/keydoor"
)

// AnyPartition is the PartitionKey of a T, such as a [PartitionOf]. A write builds the key from the
// fields of a T, and a read sets the fields from the key, so that their data is stored only once.
type AnyPartition[T any] interface {
	partitionOf(*T)
	binding() binding
}

// AnyRow is the RowKey of a T, such as a [RowOf]; see [AnyPartition].
type AnyRow[T any] interface {
	rowOf(*T)
	binding() binding
}

// PartitionOf is the PartitionKey of a T, made of a value of type A. It also has the methods of
// [PartitionRanges], such as All.
type PartitionOf[T, A any] struct {
	PartitionRanges[A]
	of *bound[A]
}

// RowOf is the RowKey of a T, made of a value of type A. It also has the methods of [RowRanges],
// such as All and Between.
type RowOf[T, A any] struct {
	RowRanges[A]
	of *bound[A]
}

// Partition is a PartitionKey that holds the field of a T that at returns:
//
//	dept := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })
//
// Errors, returned by the table that has the key (*KeyError): a nil function, and a component that
// cannot be decoded ([Fold], [Spread]).
func Partition[T, A any](c Component[A], at func(*T) *A) *PartitionOf[T, A] {
	return partitionOf[T](newBound(c.layout(), anyAt(at)))
}

// Row is a RowKey that holds a field of a T; see [Partition].
func Row[T, A any](c Component[A], at func(*T) *A) *RowOf[T, A] {
	return rowOf[T](newBound(c.layout(), anyAt(at)))
}

// PartitionFunc is a PartitionKey that is computed from a T and never decoded, for keys that lose
// information, such as a hash of an ID ([Spread]) or folded text. The entity must store the data in
// other properties: a read computes the key again, and a difference is a *KeyError. A nil layout or
// function is an error of the table that has the key (*KeyError).
func PartitionFunc[T, A any](layout Layout[A], from func(*T) A) *PartitionOf[T, A] {
	return partitionOf[T](newComputed(layout, anyFrom(from)))
}

// RowFunc is a RowKey that is computed from a T and never decoded; see [PartitionFunc].
func RowFunc[T, A any](layout Layout[A], from func(*T) A) *RowOf[T, A] {
	return rowOf[T](newComputed(layout, anyFrom(from)))
}

// anyAt returns the function without its type, so that what calls it is compiled once for all
// types.
//
//go:noinline
func anyAt[T, A any](at func(*T) *A) func(any) *A {
	if at == nil {
		return nil
	}
	return func(v any) *A { return at(v.(*T)) }
}

//go:noinline
func anyFrom[T, A any](from func(*T) A) func(any) A {
	if from == nil {
		return nil
	}
	return func(v any) A { return from(v.(*T)) }
}

//go:noinline
func partitionOf[T, A any](of *bound[A]) *PartitionOf[T, A] {
	return &PartitionOf[T, A]{PartitionRanges[A]{of.ranges()}, of}
}

//go:noinline
func rowOf[T, A any](of *bound[A]) *RowOf[T, A] {
	return &RowOf[T, A]{RowRanges[A]{of.ranges()}, of}
}

// Of returns the PartitionKey of a value. The method that uses the key returns its error
// (*KeyError).
func (p *PartitionOf[T, A]) Of(a A) PartitionKey { return PartitionKey{p.of.encode(a)} }

// Of returns the RowKey of a value. The method that uses the key returns its error (*KeyError).
func (r *RowOf[T, A]) Of(a A) RowKey { return RowKey{r.of.encode(a)} }

// Decode returns the value of a PartitionKey. A key that no value has is a *KeyError.
func (p *PartitionOf[T, A]) Decode(k PartitionKey) (A, error) { return p.of.decode(k.encoded) }

// Decode returns the value of a RowKey. A key that no value has is a *KeyError.
func (r *RowOf[T, A]) Decode(k RowKey) (A, error) { return r.of.decode(k.encoded) }

func (*PartitionOf[T, A]) partitionOf(*T) {}

func (*RowOf[T, A]) rowOf(*T) {}

func (p *PartitionOf[T, A]) binding() binding { return p.of.binding() }

func (r *RowOf[T, A]) binding() binding { return r.of.binding() }

// bound is a layout, and where its values are in a T: in a field, or computed from fields.
type bound[A any] struct {
	layout valueLayout[A]
	at     func(any) *A
	from   func(any) A
	err    error
}

// newBound returns a layout whose values are in a field. Functions that return functions are not
// inlined, in this package: a program compiles them once for each type, and not at each use.
//
//go:noinline
func newBound[A any](layout valueLayout[A], at func(any) *A) *bound[A] {
	return &bound[A]{layout: layout, at: at, err: checkTwoWay(at == nil, layout.lossy)}
}

//go:noinline
func newComputed[A any](layout Layout[A], from func(any) A) *bound[A] {
	b := &bound[A]{from: from, err: checkTwoWay(from == nil)}
	if isNil(layout) {
		b.err = cmp.Or[error](b.err, &KeyError{Reason: "has a nil layout"})
		return b
	}
	b.layout = layout.layout()
	return b
}

//go:noinline
func (b *bound[A]) ranges() *ranges[A] {
	if b == nil {
		return nil
	}
	return &ranges[A]{layout: b.layout}
}

//go:noinline
func (b *bound[A]) encode(a A) encoded {
	if b == nil {
		return encoded{err: errZeroKey}
	}
	return b.layout.encode(a)
}

//go:noinline
func (b *bound[A]) decode(k encoded) (a A, err error) {
	if b == nil {
		return a, errZeroKey
	}
	s, err := k.Result()
	if err != nil {
		return a, err
	}
	return b.layout.decode(s)
}

//go:noinline
func (b *bound[A]) binding() binding {
	if b == nil {
		return binding{err: errZeroKey}
	}
	made := binding{err: b.err, layout: b.layout.name.spell(b.layout.spelling), all: b.ranges().all()}
	if b.from != nil {
		made.encode = func(v any) encoded { return b.layout.encode(b.from(v)) }
		return made
	}
	made.encode = func(v any) encoded { return b.layout.encode(*b.at(v)) }
	made.fields = func(v any) []any { return []any{b.at(v)} }
	made.decode = func(v any, s string) error {
		a, err := b.layout.decode(s)
		if err == nil {
			*b.at(v) = a
		}
		return err
	}
	return made
}

// OnePartition is the PartitionKey of a table of one partition.
func OnePartition[T any](key string) AnyPartition[T] { return single[T](key) }

// OneRow is the RowKey that all have: there is one T in each partition.
func OneRow[T any](key string) AnyRow[T] { return single[T](key) }

type single[T any] string

func (single[T]) partitionOf(*T) {}

func (single[T]) rowOf(*T) {}

func (s single[T]) binding() binding {
	key := raw(string(s))
	return binding{
		layout: fmt.Sprintf("only %q", string(s)),
		all:    pointOf(key),
		encode: func(any) encoded { return key },
		fields: func(any) []any { return nil },
		decode: func(_ any, got string) error {
			if got != string(s) {
				return &KeyError{Value: got, Reason: fmt.Sprintf("is not %q, the only key of its kind", string(s))}
			}
			return nil
		},
	}
}

// RawPartitionOf is a PartitionKey that is a text field of a T as it is, for existing tables; see
// [RawPartition]. A key that begins with ~ is a *KeyError, since the row belongs to the library.
func RawPartitionOf[T any, S ~string](at func(*T) *S) AnyPartition[T] { return rawOf[T, S]{at} }

// RawRowOf is a RowKey that is a text field of a T as it is; see [RawPartitionOf].
func RawRowOf[T any, S ~string](at func(*T) *S) AnyRow[T] { return rawOf[T, S]{at} }

type rawOf[T any, S ~string] struct{ at func(*T) *S }

func (rawOf[T, S]) partitionOf(*T) {}

func (rawOf[T, S]) rowOf(*T) {}

func (r rawOf[T, S]) binding() binding {
	return binding{
		err:    checkTwoWay(r.at == nil),
		layout: "raw",
		all:    rawBetween("", ""),
		encode: func(v any) encoded { return raw(string(*r.at(v.(*T)))) },
		fields: func(v any) []any { return []any{r.at(v.(*T))} },
		decode: func(v any, s string) error {
			if strings.HasPrefix(s, string(reservedFirst)) {
				return &KeyError{Value: s, Reason: "begins with ~, which is reserved for the library's rows"}
			}
			*r.at(v.(*T)) = S(s)
			return nil
		},
	}
}

// binding is a key of a Go type, without the type and the role.
type binding struct {
	err    error
	layout string // its spelling, "" for a key that a schema leaves out
	all    span
	encode func(value any) encoded
	decode func(value any, key string) error // nil for a key that is computed
	fields func(value any) []any             // nil for a key that is computed
}

var errZeroKey = &KeyError{Reason: "is of a zero value; make it by a function of package keys, such as Row"}

func checkTwoWay(unset bool, lossy ...string) error {
	if unset {
		return &KeyError{Reason: "is bound by a nil function"}
	}
	for i, why := range lossy {
		if why != "" {
			return &KeyError{Component: fmt.Sprintf("component %d", i+1), Reason: "cannot be a field: " + why + "; use PartitionFunc or RowFunc"}
		}
	}
	return nil
}

// openedKey gives a key, or the nil of a schema that leaves it out, its role.
//
//go:noinline
func openedKey[P, R any](bound any, name string, role func(encoded) P, all func(span) R) *keydoor.Bound[P, R] {
	b := unbound
	switch {
	case bound == nil:
	case isNil(bound):
		b = binding{err: errZeroKey}
	default:
		b = bound.(interface{ binding() binding }).binding()
	}
	b.err = keyError(name, cmp.Or(b.err, b.all.err))
	encode := func(v any) encoded {
		if b.err != nil {
			return encoded{err: b.err}
		}
		return b.encode(v)
	}
	o := &keydoor.Bound[P, R]{All: all(b.all), Key: func(v any) P { return role(encode(v)) }}
	o.Set, o.OneWay, o.Err, o.Layout = bound != nil, b.err == nil && b.decode == nil, b.err, b.layout
	o.Text = func(v any) (string, error) { return encode(v).Result() }
	o.Decode = func(v any, s string) error {
		if b.err != nil || b.decode == nil {
			return b.err
		}
		return b.decode(v, s)
	}
	o.Fields = func(v any) []any {
		if b.err != nil || b.fields == nil {
			return nil
		}
		return b.fields(v)
	}
	return o
}

// isNil reports whether a layout or a key is nil, or a nil pointer to one.
func isNil(a any) bool {
	v := reflect.ValueOf(a)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// unbound is the binding of a key that a schema leaves out.
var unbound = binding{
	encode: func(any) encoded {
		return encoded{err: &KeyError{Reason: "is not made of any field: the table was declared with nil for this key; declare it, or give the key, as to InsertAt"}}
	},
	decode: func(any, string) error { return nil },
	fields: func(any) []any { return nil },
}

func init() { keydoor.Keys = door{} }

// door opens keys and layouts for package keydoor.
type door struct{}

func (door) Partition(key any) any {
	return openedKey(key, "PartitionKey", func(e encoded) PartitionKey { return PartitionKey{e} }, func(s span) PartitionRange { return PartitionRange{s} })
}

func (door) Row(key any) any {
	return openedKey(key, "RowKey", func(e encoded) RowKey { return RowKey{e} }, func(s span) RowRange { return RowRange{s} })
}

func (door) Named(layout any, name string) any {
	return layout.(interface{ open(string) any }).open(name)
}

func (door) Suffixed(layout any, name string) any {
	return layout.(interface{ open(string) any }).open(name).(interface{ suffixed() any }).suffixed()
}

func (door) Rows() any { return rowRanges{} }

func (door) Partitions() any { return partitionRanges{} }

// rowRanges are the functions of package keydoor of ranges of RowKeys.
type rowRanges struct{}

func (rowRanges) Stored(from, to string) RowRange {
	return RowRange{span{from: from, to: to, set: true}}
}

func (rowRanges) Overlap(a, b RowRange) bool { return a.overlaps(b.span) }

func (rowRanges) Behind(r RowRange, k RowKey) RowRange { return RowRange{r.rest(k.encoded)} }

// partitionRanges are those of ranges of PartitionKeys.
type partitionRanges struct{}

func (partitionRanges) Overlap(a, b PartitionRange) bool { return a.overlaps(b.span) }
