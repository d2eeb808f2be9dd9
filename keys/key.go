package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"
)

// MaxUnits is the length limit of a key in UTF-16 code units: the safe reading of the service's '1 KiB'.
const MaxUnits = 512

// reserved is the first character of the rows that the library keeps beside the user's. Scans leave them out.
const reservedFirst = '~'

// Behind is the first key behind the library's rows: every key that sorts after them sorts after Behind, or is equal. The
// characters between ~ and U+00A0 are control characters, which no key may hold, so Behind is the first text that is itself
// a key and can stand in a filter and a URL like any other.
const FirstAboveReserved = "\u00a0"

// greatest is the last of all characters in the service's order, U+FFFF.
const lastUnit = "\uffff"

// Enc is one encoded key, a PartitionKey or a RowKey, or the reason why there is none. Its zero value is an unset key,
// which is not the same as an empty one.
type Enc struct {
	text string
	end  string // what its last part writes where another follows
	set  bool
	err  error
}

// Result returns the encoded key. The error is a *KeyError, also for a key that was never set.
func (e Enc) Result() (string, error) {
	if e.err == nil && !e.set {
		return "", &KeyError{Reason: "is not set"}
	}
	return e.text, e.err
}

// IsSet tells whether e was made by a layout or by Raw, with or without success.
func (e Enc) IsSet() bool { return e.set || e.err != nil }

// Err returns the reason why there is no key, if there is none.
func (e Enc) Err() error { _, err := e.Result(); return err }

// String returns the encoded key, or the error's text in parentheses.
func (e Enc) String() string {
	if s, err := e.Result(); err == nil {
		return s
	} else {
		return "(" + err.Error() + ")"
	}
}

// LogValue is the key as String has it, for slog.
func (e Enc) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalJSON writes the encoded key as a JSON string. The error of Result is one of MarshalJSON.
func (e Enc) MarshalJSON() ([]byte, error) {
	s, err := e.Result()
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// Raw takes a key as it is, for tables whose keys follow no layout. What the service or the library cannot address is an
// error: an empty key, / \ # ?, control characters, text that is not UTF-8, more than 512 UTF-16 units, and ~ as the first
// character, with which rows of the library begin. Every other character is allowed, also ' and % and those above ~.
func Raw(s string) Enc {
	if err := checkKey(s); err != nil {
		return Enc{err: err}
	}
	return Enc{text: s, set: true}
}

// forbidden are the characters that the service refuses in keys, besides control characters.
const forbidden = `/\#?`

// check applies the service's rules for keys ('Understanding the Table service data model') and the library's own.
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

// legal applies the service's rules alone.
func checkService(s string) error {
	fail := func(reason string) error { return &KeyError{Value: s, Reason: reason} }
	if !utf8.ValidString(s) {
		return fail("is not valid UTF-8")
	}
	units := 0
	for i, r := range s {
		switch {
		case strings.ContainsRune(forbidden, r):
			return fail(fmt.Sprintf("holds %q at byte %d, which the service refuses in keys", r, i))
		case isControl(r):
			return fail(fmt.Sprintf("holds the control character %U at byte %d, which the service refuses in keys", r, i))
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

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }

// Key is an entity's address. A key that could not be encoded carries its error into the verb that it is given to. Keys
// may be compared with == and used in maps.
type Key struct {
	pk, rk string
	err    error
}

// At joins a PartitionKey and a RowKey. Errors of either stay inside until the key is used.
func At(partition, row Enc) Key {
	pk, err1 := partition.Result()
	rk, err2 := row.Result()
	if err1 != nil || err2 != nil {
		return Key{err: errors.Join(ofKey("PartitionKey", err1), ofKey("RowKey", err2))}
	}
	return Key{pk: pk, rk: rk}
}

// Stored is a key as it was read from the service: a table may hold keys that were written by others and that the library
// would not write. It is checked when it is used, and only against the service's rules.
func Stored(partitionKey, rowKey string) Key { return Key{pk: partitionKey, rk: rowKey} }

// PartitionKey returns the PartitionKey, or "" if the key carries an error.
func (k Key) PartitionKey() string { return k.pk }

// RowKey returns the RowKey, or "" if the key carries an error.
func (k Key) RowKey() string { return k.rk }

// Partition returns the PartitionKey as a query takes it. It is not checked again.
func (k Key) Partition() Enc { return encOf(k.pk, k.err) }

// Row returns the RowKey as keys.Point takes it. It is not checked again.
func (k Key) Row() Enc { return encOf(k.rk, k.err) }

func encOf(s string, err error) Enc { return Enc{text: s, set: err == nil, err: err} }

// Err returns the reasons why the key cannot be used. They are *KeyError, one for each half.
func (k Key) Err() error {
	if k.err != nil {
		return k.err
	}
	return errors.Join(ofKey("PartitionKey", checkAddress(k.pk)), ofKey("RowKey", checkAddress(k.rk)))
}

// addressable tells whether a row under the key can be asked for.
func checkAddress(s string) error {
	if s == "" {
		return &KeyError{Reason: "is empty, and the SDK cannot address it"}
	}
	return checkService(s)
}

// LogValue is the key as String has it, for slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON writes the key as {"PartitionKey":"Sales","RowKey":"empid_000223"}. A key that could not be encoded is an error.
func (k Key) MarshalJSON() ([]byte, error) {
	if k.err != nil {
		return nil, k.err
	}
	return json.Marshal(struct{ PartitionKey, RowKey string }{k.pk, k.rk})
}

// UnmarshalJSON reads what MarshalJSON writes. The key is checked when it is used, as that of [Stored] is.
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
		return "(" + k.err.Error() + ")"
	}
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	return "(" + quote(k.pk) + "," + quote(k.rk) + ")"
}
