package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strings"
	"unicode/utf8"
)

// MaxUnits is the maximum length of a key in UTF-16 code units. The service documents 1 KiB, which is 512 units of two bytes.
const MaxUnits = 512

// reservedFirst is the first character of the keys of the library's rows. Scans omit these rows.
const reservedFirst = '~'

// Enc is an encoded PartitionKey or RowKey, or the error of encoding it. Its zero value is an unset key, which differs from an
// empty key.
type Enc struct {
	text string
	end  string // the terminator of its last component, written only before another component
	set  bool
	err  error
}

// Result returns the encoded key. The error is a *KeyError. An unset key is an error, too.
func (e Enc) Result() (string, error) {
	if e.err == nil && !e.set {
		return "", &KeyError{Reason: "is not set"}
	}
	return e.text, e.err
}

// IsSet reports whether a layout or Raw made e, with or without an error.
func (e Enc) IsSet() bool { return e.set || e.err != nil }

// Err returns a *KeyError if the key could not be encoded, as Result does.
func (e Enc) Err() error { _, err := e.Result(); return err }

// String returns the encoded key, or the text of the error in parentheses.
func (e Enc) String() string {
	if s, err := e.Result(); err == nil {
		return s
	} else {
		return "(" + err.Error() + ")"
	}
}

// LogValue returns the text of String, for slog.
func (e Enc) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalJSON returns the encoded key as a JSON string. Errors: *KeyError if the key could not be encoded.
func (e Enc) MarshalJSON() ([]byte, error) {
	s, err := e.Result()
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// Raw returns the key s without a layout, for existing tables. Errors (*KeyError): an empty key, one of / \ # ?, a control
// character, invalid UTF-8, more than 512 UTF-16 units, and ~ as the first character, since the keys of the library's rows begin
// with ~. All other characters are valid, including ' and % and characters above ~.
func Raw(s string) Enc {
	if err := checkKey(s); err != nil {
		return Enc{err: err}
	}
	return Enc{text: s, set: true}
}

// forbidden contains the characters that the service refuses in keys, in addition to control characters.
const forbidden = `/\#?`

// checkKey checks the rules of the service ('Understanding the Table service data model') and of the library.
func checkKey(s string) error {
	fail := func(reason string) error { return &KeyError{Value: s, Reason: reason} }
	switch {
	case s == "":
		return fail("is empty")
	case s[0] == reservedFirst:
		return fail("begins with ~, which is reserved for the library's rows")
	}
	return checkService(s)
}

// checkService checks the rules of the service only.
func checkService(s string) error {
	if isPlain(s) {
		return nil
	}
	fail := func(reason string) error { return &KeyError{Value: s, Reason: reason} }
	if !utf8.ValidString(s) {
		return fail("is not valid UTF-8")
	}
	units := 0
	for i, r := range s {
		switch {
		case strings.ContainsRune(forbidden, r):
			return fail(fmt.Sprintf("contains %q at byte %d, which the service refuses in keys", r, i))
		case isControl(r):
			return fail(fmt.Sprintf("contains the control character %U at byte %d, which the service refuses in keys", r, i))
		}
		units++
		if r > 0xffff {
			units++
		}
	}
	if units > MaxUnits {
		return &KeyError{Value: s, Reason: "has too many UTF-16 units", Length: units, Limit: MaxUnits}
	}
	return nil
}

// isPlain reports whether a text is short and has only ASCII characters that the service accepts in keys, as most keys have.
func isPlain(s string) bool {
	for i := range len(s) {
		if !keyBytes[s[i]] {
			return false
		}
	}
	return len(s) <= MaxUnits
}

// keyBytes are the ASCII characters that the service accepts in keys.
var keyBytes = func() (plain [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		plain[c] = strings.IndexByte(forbidden, byte(c)) < 0
	}
	return plain
}()

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }

// Key is the address of an entity: a PartitionKey and a RowKey. A key that could not be encoded contains the error, and the method
// that uses the key returns it. Keys can be compared with == and used in maps.
type Key struct {
	pk, rk string
	err    error
}

// At returns the key of a PartitionKey and a RowKey. The method that uses the key returns their errors (*KeyError).
func At(partition, row Enc) Key {
	if partition.set && row.set && partition.err == nil && row.err == nil {
		return Key{pk: partition.text, rk: row.text}
	}
	return Key{err: errors.Join(keyError("PartitionKey", partition.Err()), keyError("RowKey", row.Err()))}
}

// Stored returns the key of a row that was read from the service. It may be a key that the library does not write, such as one
// with an empty RowKey. It is checked when it is used, and only against the rules of the service.
func Stored(partitionKey, rowKey string) Key { return Key{pk: partitionKey, rk: rowKey} }

// PartitionKey returns the PartitionKey, or "" if the key contains an error.
func (k Key) PartitionKey() string { return k.pk }

// RowKey returns the RowKey, or "" if the key contains an error.
func (k Key) RowKey() string { return k.rk }

// Partition returns the PartitionKey for a query. It is not checked again.
func (k Key) Partition() Enc { return encOf(k.pk, k.err) }

// Row returns the RowKey for keys.Point. It is not checked again.
func (k Key) Row() Enc { return encOf(k.rk, k.err) }

func encOf(s string, err error) Enc { return Enc{text: s, set: err == nil, err: err} }

// Err returns a *KeyError for an invalid PartitionKey, and a *KeyError for an invalid RowKey, joined.
func (k Key) Err() error {
	if k.err != nil {
		return k.err
	}
	pk := checkAddress(k.pk, "is empty: the SDK lists and inserts such rows, and cannot get, change or delete one")
	rk := checkAddress(k.rk, "is empty: such a row can be read, and deleted by a handle without maintainers, and not written")
	if pk == nil && rk == nil {
		return nil
	}
	return errors.Join(keyError("PartitionKey", pk), keyError("RowKey", rk))
}

// checkAddress returns an error if no request can write a row under the key.
func checkAddress(s, empty string) error {
	if s == "" {
		return &KeyError{Reason: empty}
	}
	return checkService(s)
}

// LogValue returns the text of String, for slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON returns the key in the form {"PartitionKey":"Sales","RowKey":"empid_000223"}. Errors: *KeyError if a key could not
// be encoded.
func (k Key) MarshalJSON() ([]byte, error) {
	if k.err != nil {
		return nil, k.err
	}
	return json.Marshal(struct{ PartitionKey, RowKey string }{k.pk, k.rk})
}

// UnmarshalJSON is the inverse of MarshalJSON. The key is checked when it is used, as with [Stored].
func (k *Key) UnmarshalJSON(b []byte) error {
	var v struct{ PartitionKey, RowKey string }
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*k = Stored(v.PartitionKey, v.RowKey)
	return nil
}

// String returns the key in the form ('Sales','empid_000223').
func (k Key) String() string {
	if k.err != nil {
		return "(" + strings.ReplaceAll(k.err.Error(), "\n", "; ") + ")"
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	return "(" + quote(k.pk) + "," + quote(k.rk) + ")"
}

// Spread encodes a value as the number of a bucket, 0 to n-1, padded to the width of n-1. The number is a hash (FNV-1a) of the
// encoding by p: a value is always in the same bucket, and many values spread evenly, so that no partition gets hot. To visit all
// buckets, build the same keys with Digits[int] of that width. n is 2 to 10,000. Changing n moves existing values. A value cannot
// be decoded from its bucket, so that a two-way binding is an error.
func Spread[A any](p Component[A], n int) Component[A] {
	name := fmt.Sprintf("spread(%s, %d)", p.name, n)
	if p.err = p.check(); p.err != nil {
		return p
	}
	if n < 2 || n > 10_000 {
		return brokenComponent[A](name, "must have 2 to 10,000 buckets")
	}
	width := len(fmt.Sprint(n - 1))
	lossy := "a value cannot be decoded from its bucket"
	return Component[A]{
		name: name, width: width, alphabet: sameAlphabet(decimal), lossy: lossy,
		append: func(dst []byte, a A) ([]byte, error) {
			b, err := p.append(nil, a)
			if err != nil {
				return dst, err
			}
			h := fnv.New64a()
			h.Write(b)
			return appendPadded(dst, h.Sum64()%uint64(n), width)
		},
		parse: func(s string) (a A, err error) { return a, &KeyError{Value: s, Reason: lossy} },
	}
}

// KeyError reports a value that cannot be encoded as a key, or a key that cannot be decoded. No request is sent with such a key.
type KeyError struct {
	Key       string // PartitionKey or RowKey; empty if unknown
	Component string // the component of the layout, such as "component 2, digits(4)"; empty for a key without a layout
	Value     string // the value or the key; Error truncates it to 64 bytes
	Reason    string // the violated rule, as a predicate such as "is negative"
	Length    int    // the length, if Limit is set
	Limit     int    // the maximum length, if the rule is about the length
}

func (e *KeyError) Error() string {
	var b strings.Builder
	b.WriteString("keys: ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	if e.Component != "" {
		b.WriteString(e.Component + ": ")
	}
	if e.Value != "" {
		fmt.Fprintf(&b, "%q ", shorten(e.Value))
	} else if e.Component == "" {
		b.WriteString("key ")
	}
	b.WriteString(e.Reason)
	if e.Limit > 0 {
		fmt.Fprintf(&b, " (%d, at most %d)", e.Length, e.Limit)
	}
	return b.String()
}

func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// keyError adds the name of the key to a KeyError.
func keyError(key string, err error) error {
	if err == nil {
		return nil
	}
	var ke *KeyError
	if !errors.As(err, &ke) {
		return err
	}
	c := *ke
	c.Key = key
	return &c
}

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
