package keys

import (
	"fmt"
	"strings"
)

// Bind ties one key of an entity to the fields of its Go type T, both ways: the key is built from the fields when the
// entity is written, and the fields are set from the key when it is read. So key data is stored once. A table's schema
// holds two of them. The zero value binds nothing; verbs then need an explicit key.
type Bind[T any] struct {
	encode func(*T) Enc
	decode func(*T, string) error // nil: one-way, checked by encoding again
	fields func(*T) []any
	all    Range
	err    error
}

// Bind1 ties a layout of one part to the field that at points to:
//
//	keys.Bind1(empid, func(e *Employee) *int { return &e.ID })
func Bind1[T, A any](l Layout1[A], at func(*T) *A) Bind[T] {
	return Bind[T]{
		err:    checkTwoWay(at == nil, l.a.lossy),
		all:    l.All(),
		encode: func(t *T) Enc { return l.Of(*at(t)) },
		fields: func(t *T) []any { return []any{at(t)} },
		decode: func(t *T, s string) (err error) {
			a, err := l.Decode(s)
			if err == nil {
				*at(t) = a
			}
			return err
		},
	}
}

// Bind2 ties a layout of two parts to two fields.
func Bind2[T, A, B any](l Layout2[A, B], at func(*T) (*A, *B)) Bind[T] {
	return Bind[T]{
		err:    checkTwoWay(at == nil, l.a.lossy, l.b.lossy),
		all:    l.All(),
		encode: func(t *T) Enc { a, b := at(t); return l.Of(*a, *b) },
		fields: func(t *T) []any { a, b := at(t); return []any{a, b} },
		decode: func(t *T, s string) error {
			a, b, err := l.Decode(s)
			if err == nil {
				pa, pb := at(t)
				*pa, *pb = a, b
			}
			return err
		},
	}
}

// Bind3 ties a layout of three parts to three fields.
func Bind3[T, A, B, C any](l Layout3[A, B, C], at func(*T) (*A, *B, *C)) Bind[T] {
	return Bind[T]{
		err:    checkTwoWay(at == nil, l.a.lossy, l.b.lossy, l.c.lossy),
		all:    l.All(),
		encode: func(t *T) Enc { a, b, c := at(t); return l.Of(*a, *b, *c) },
		fields: func(t *T) []any { a, b, c := at(t); return []any{a, b, c} },
		decode: func(t *T, s string) error {
			a, b, c, err := l.Decode(s)
			if err == nil {
				pa, pb, pc := at(t)
				*pa, *pb, *pc = a, b, c
			}
			return err
		},
	}
}

// BindRaw ties a key to a text field as it is, for existing tables; see [Raw]. A key that begins with ~ is a row of the
// library, and a *KeyError of Decode.
func BindRaw[T any, S ~string](at func(*T) *S) Bind[T] {
	return Bind[T]{
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
	}
}

// Const is the same key for every entity: a table of one partition, or one entity for each partition.
func Const[T any](s string) Bind[T] {
	return Bind[T]{
		all:    Point(Raw(s)),
		encode: func(*T) Enc { return Raw(s) },
		decode: func(_ *T, got string) error {
			if got != s {
				return &KeyError{Value: got, Reason: fmt.Sprintf("is not %q, the only one that this binding knows", s)}
			}
			return nil
		},
	}
}

// BindFunc computes the key from the entity and never reads it back, for keys that lose information, such as a hash of an
// id ([Spread]) or folded text. What key needs must be stored in other properties: when an entity is read, its key is
// computed again and a difference is a *KeyError. all says where the keys are, as a layout's All does: a key outside it, which
// no query would find, is a *KeyError, both written and read.
func BindFunc[T any](all Range, key func(*T) Enc) Bind[T] {
	return Bind[T]{err: checkTwoWay(key == nil), all: all, encode: func(t *T) Enc {
		e := key(t)
		if s, err := e.Result(); err == nil && all.IsSet() && !all.Contains(s) {
			return Enc{err: &KeyError{Value: s, Reason: fmt.Sprintf("is outside %v, where this binding's keys are", all)}}
		}
		return e
	}}
}

func checkTwoWay(unset bool, lossy ...string) error {
	if unset {
		return &KeyError{Reason: "is bound by an accessor that is nil"}
	}
	for i, why := range lossy {
		if why != "" {
			return &KeyError{Part: fmt.Sprintf("part %d", i+1), Reason: "cannot be bound both ways: " + why + "; use BindFunc"}
		}
	}
	return nil
}

// IsSet tells whether b binds anything.
func (b Bind[T]) IsSet() bool { return b.encode != nil || b.err != nil }

// Err returns the *KeyError of a binding that was made wrongly.
func (b Bind[T]) Err() error {
	if b.err == nil && b.encode != nil {
		return b.all.Err()
	}
	return b.err
}

// OneWay tells whether the key cannot be read back.
func (b Bind[T]) OneWay() bool { return b.encode != nil && b.decode == nil }

// Range is where the bound keys are.
func (b Bind[T]) Range() Range { return b.all }

// Fields returns pointers to the fields of t that the key is made of.
func (b Bind[T]) Fields(t *T) []any {
	if b.fields == nil || b.err != nil {
		return nil
	}
	return b.fields(t)
}

// Encode builds the key from the fields of t.
func (b Bind[T]) Encode(t *T) Enc {
	switch {
	case b.err != nil:
		return Enc{err: b.err}
	case b.encode == nil:
		return Enc{err: &KeyError{Reason: "is not bound to any field, and no explicit key was given"}}
	}
	return b.encode(t)
}

// Decode sets the fields of t from the key s. A key of another layout is a *KeyError, and t may then be set in part. A
// one-way binding sets nothing and checks nothing: compare s with Encode once all properties are read.
func (b Bind[T]) Decode(t *T, s string) error {
	if b.decode == nil || b.err != nil {
		return b.err
	}
	return b.decode(t, s)
}
