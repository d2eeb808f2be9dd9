package keys

import (
	"fmt"
	"strings"
)

// Bind connects a key of an entity, the PartitionKey or the RowKey, with fields of its Go type T. A write builds the key from the
// fields, and a read sets the fields from the key, so that their data is stored only once. A table's schema has one Bind for each
// key. The zero value binds nothing; methods of the table then need an explicit key.
type Bind[T any] struct {
	_    [0]func() // it cannot be compared
	bind *bind[T]
}

type bind[T any] struct {
	encode func(*T) Enc
	decode func(*T, string) error // nil for a one-way binding
	fields func(*T) []any
	all    Range
	err    error
}

// Functions that return functions are not inlined, in this package: a program compiles them once for each type, and not at each
// use.

// Bind1 binds a layout of one component to the field that at returns:
//
//	keys.Bind1(empid, func(e *Employee) *int { return &e.ID })
//
//go:noinline
func Bind1[T, A any](l Layout1[A], at func(*T) *A) Bind[T] {
	return Bind[T]{bind: &bind[T]{
		err:    checkTwoWay(at == nil, l.a.lossy),
		all:    l.All(),
		encode: func(t *T) Enc { return l.encode(*at(t)) },
		fields: func(t *T) []any { return []any{at(t)} },
		decode: func(t *T, s string) (err error) {
			a, err := l.decode(s)
			if err == nil {
				*at(t) = a
			}
			return err
		},
	}}
}

// Bind2 binds a layout of two components to two fields.
//
//go:noinline
func Bind2[T, A, B any](l Layout2[A, B], at func(*T) (*A, *B)) Bind[T] {
	return Bind[T]{bind: &bind[T]{
		err:    checkTwoWay(at == nil, l.a.lossy, l.b.lossy),
		all:    l.All(),
		encode: func(t *T) Enc { a, b := at(t); return l.encode(*a, *b) },
		fields: func(t *T) []any { a, b := at(t); return []any{a, b} },
		decode: func(t *T, s string) error {
			a, b, err := l.decode(s)
			if err == nil {
				pa, pb := at(t)
				*pa, *pb = a, b
			}
			return err
		},
	}}
}

// Bind3 binds a layout of three components to three fields.
//
//go:noinline
func Bind3[T, A, B, C any](l Layout3[A, B, C], at func(*T) (*A, *B, *C)) Bind[T] {
	return Bind[T]{bind: &bind[T]{
		err:    checkTwoWay(at == nil, l.a.lossy, l.b.lossy, l.c.lossy),
		all:    l.All(),
		encode: func(t *T) Enc { a, b, c := at(t); return l.encode(*a, *b, *c) },
		fields: func(t *T) []any { a, b, c := at(t); return []any{a, b, c} },
		decode: func(t *T, s string) error {
			a, b, c, err := l.decode(s)
			if err == nil {
				pa, pb, pc := at(t)
				*pa, *pb, *pc = a, b, c
			}
			return err
		},
	}}
}

// BindRaw binds a key without a layout to a text field, for existing tables; see [Raw]. Decode fails with a *KeyError for a key
// that begins with ~, since the row belongs to the library.
func BindRaw[T any, S ~string](at func(*T) *S) Bind[T] {
	return Bind[T]{bind: &bind[T]{
		err:    checkTwoWay(at == nil),
		all:    RawBetween("", ""),
		encode: func(t *T) Enc { return Raw(string(*at(t))) },
		fields: func(t *T) []any { return []any{at(t)} },
		decode: func(t *T, s string) error {
			if strings.HasPrefix(s, string(reservedFirst)) {
				return &KeyError{Value: s, Reason: "begins with ~, which is reserved for the library's rows"}
			}
			*at(t) = S(s)
			return nil
		},
	}}
}

// Const binds the same key to every entity, for a table of one partition or for one entity in each partition.
func Const[T any](s string) Bind[T] {
	return Bind[T]{bind: &bind[T]{
		all:    Point(Raw(s)),
		encode: func(*T) Enc { return Raw(s) },
		decode: func(_ *T, got string) error {
			if got != s {
				return &KeyError{Value: got, Reason: fmt.Sprintf("is not %q, the only key of this binding", s)}
			}
			return nil
		},
	}}
}

// BindFunc computes the key from the entity and never decodes it, for keys that lose information, such as a hash of an ID
// ([Spread]) or folded text. The entity must store the data that key needs in other properties: a read computes the key again, and
// a difference is a *KeyError. all is the range of all keys, such as the All of a layout. A key outside of the range, which no
// query would find, is a *KeyError when it is written or read.
//
//go:noinline
func BindFunc[T any](all Range, key func(*T) Enc) Bind[T] {
	return Bind[T]{bind: &bind[T]{err: checkTwoWay(key == nil), all: all, encode: func(t *T) Enc {
		e := key(t)
		if s, err := e.Result(); err == nil && all.IsSet() && !all.Contains(s) {
			return Enc{err: &KeyError{Value: s, Reason: fmt.Sprintf("is outside %v, the range of this BindFunc", all)}}
		}
		return e
	}}}
}

func checkTwoWay(unset bool, lossy ...string) error {
	if unset {
		return &KeyError{Reason: "is bound by a nil function"}
	}
	for i, why := range lossy {
		if why != "" {
			return &KeyError{Component: fmt.Sprintf("component %d", i+1), Reason: "cannot be bound both ways: " + why + "; use BindFunc"}
		}
	}
	return nil
}

// IsSet reports whether b binds a key.
func (b Bind[T]) IsSet() bool { return b.bind != nil }

// Err returns a *KeyError for an invalid binding.
func (b Bind[T]) Err() error {
	switch {
	case b.bind == nil:
		return nil
	case b.bind.err == nil:
		return b.bind.all.Err()
	}
	return b.bind.err
}

// OneWay reports whether the binding cannot decode keys.
func (b Bind[T]) OneWay() bool { return b.bind != nil && b.bind.decode == nil }

// Range returns the range of all keys of the binding.
func (b Bind[T]) Range() Range {
	if b.bind == nil {
		return Range{}
	}
	return b.bind.all
}

// Fields returns pointers to the fields of t from which the key is built.
func (b Bind[T]) Fields(t *T) []any {
	if b.bind == nil || b.bind.fields == nil || b.bind.err != nil || t == nil {
		return nil
	}
	return b.bind.fields(t)
}

var errNilValue = &KeyError{Reason: "is of a nil value, which has no fields"}

// Encode builds the key from the fields of t.
func (b Bind[T]) Encode(t *T) Enc {
	switch {
	case b.bind == nil:
		return Enc{err: &KeyError{Reason: "is not bound to any field and was not given explicitly"}}
	case b.bind.err != nil:
		return Enc{err: b.bind.err}
	case t == nil:
		return Enc{err: errNilValue}
	}
	return b.bind.encode(t)
}

// Decode sets the fields of t from the key s. A key of another layout is a *KeyError, and some fields of t may be set nevertheless.
// Decode of a one-way binding does nothing: after all properties are read, compare s with Encode.
func (b Bind[T]) Decode(t *T, s string) error {
	switch {
	case b.bind == nil:
		return nil
	case b.bind.decode == nil || b.bind.err != nil:
		return b.bind.err
	case t == nil:
		return errNilValue
	}
	return b.bind.decode(t, s)
}
