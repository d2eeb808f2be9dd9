package keys

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode/utf8"
)

// maxUnits is the maximum length of a key in UTF-16 code units. The service documents 1 KiB, which
// is 512 units of two bytes.
const maxUnits = 512

// reservedFirst is the first character of the keys of the library's rows. Scans omit these rows.
const reservedFirst = '~'

// PartitionKey is an encoded PartitionKey, or the error of encoding it. Its zero value is an unset
// key, which differs from an empty key.
type PartitionKey struct{ encoded }

// RowKey is an encoded RowKey, or the error of encoding it. Its zero value is an unset key, which
// differs from an empty key.
type RowKey struct{ encoded }

// Point returns the range of this key alone.
func (k PartitionKey) Point() PartitionRange { return PartitionRange{pointOf(k.encoded)} }

// Point returns the range of this key alone.
func (k RowKey) Point() RowRange { return RowRange{pointOf(k.encoded)} }

// Family returns the range of a key and of all keys that extend it by further components: an
// employee and all her reviews, 000123 and 000123_2012. It does not contain other keys with the
// same prefix, such as 0001234. Those that sort before the separator are read by a query, which
// then drops them.
func (k RowKey) Family() RowRange {
	s, err := k.Result()
	if err != nil {
		return RowRange{span{err: err}}
	}
	return RowRange{span{from: s, to: s + afterSeparator, family: s, below: s + k.end + separator, set: true}}
}

// encoded is an encoded key, or the error of encoding it.
type encoded struct {
	text string
	end  string // the terminator of its last component, written only before another component
	set  bool
	err  error
}

// Result returns the encoded key. The error is a *KeyError. An unset key is an error, too.
func (e encoded) Result() (string, error) {
	if e.err == nil && !e.set {
		return "", &KeyError{Reason: "is not set"}
	}
	return e.text, e.err
}

// IsSet reports whether a layout or RawPartition or RawRow made the key, with or without an error.
func (e encoded) IsSet() bool { return e.set || e.err != nil }

// Err returns a *KeyError if the key could not be encoded, as Result does.
func (e encoded) Err() error { _, err := e.Result(); return err }

// String returns the encoded key, or the text of the error in parentheses.
func (e encoded) String() string {
	if s, err := e.Result(); err == nil {
		return s
	} else {
		return "(" + err.Error() + ")"
	}
}

// LogValue returns the text of String, for slog.
func (e encoded) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalJSON returns the encoded key as a JSON string. Errors: *KeyError if the key could not be
// encoded.
func (e encoded) MarshalJSON() ([]byte, error) {
	s, err := e.Result()
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// RawPartition returns the PartitionKey s without a layout, for existing tables. Errors
// (*KeyError): an empty key, one of / \ # ?, a control character, invalid UTF-8, more than 512
// UTF-16 units, and ~ as the first character, since the keys of the library's rows begin with ~.
// All other characters are valid, including ' and % and characters above ~.
func RawPartition(s string) PartitionKey { return PartitionKey{raw(s)} }

// RawRow returns the RowKey s without a layout, for existing tables. Errors are those of
// [RawPartition].
func RawRow(s string) RowKey { return RowKey{raw(s)} }

func raw(s string) encoded {
	if err := checkKey(s); err != nil {
		return encoded{err: err}
	}
	return encoded{text: s, set: true}
}

// forbidden contains the characters that the service refuses in keys, in addition to control
// characters.
const forbidden = `/\#?`

// checkKey checks the rules of the service ('Understanding the Table service data model') and of
// the library.
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
	if units > maxUnits {
		return &KeyError{Value: s, Reason: tooLong, Length: units, Limit: maxUnits}
	}
	return nil
}

// tooLong is the reason of a KeyError with a Limit.
const tooLong = "makes a key of too many UTF-16 units"

// isPlain reports whether a text is short and has only ASCII characters that the service accepts in
// keys, as most keys have.
func isPlain(s string) bool {
	for i := range len(s) {
		if !keyBytes[s[i]] {
			return false
		}
	}
	return len(s) <= maxUnits
}

// keyBytes are the ASCII characters that the service accepts in keys.
var keyBytes = func() (plain [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		plain[c] = strings.IndexByte(forbidden, byte(c)) < 0
	}
	return plain
}()

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r <= 0x9f }

// Key is the address of an entity: a PartitionKey and a RowKey. A key that could not be encoded
// contains the error, and the method that uses the key returns it. Keys can be compared with == and
// used in maps.
type Key struct {
	pk, rk string
	err    error
}

// At returns the key of a PartitionKey and a RowKey. The method that uses the key returns their
// errors (*KeyError).
func At(partition PartitionKey, row RowKey) Key {
	if partition.set && row.set && partition.err == nil && row.err == nil {
		return Key{pk: partition.text, rk: row.text}
	}
	return Key{err: errors.Join(keyError("PartitionKey", partition.Err()), keyError("RowKey", row.Err()))}
}

// Raw returns the key of a row without layouts, as the service stores it. It may be a key that the
// library does not write, such as one with an empty RowKey. It is checked when it is used, and only
// against the rules of the service.
func Raw(partitionKey, rowKey string) Key { return Key{pk: partitionKey, rk: rowKey} }

// PartitionKey returns the PartitionKey, or "" if the key contains an error.
func (k Key) PartitionKey() string { return k.pk }

// RowKey returns the RowKey, or "" if the key contains an error.
func (k Key) RowKey() string { return k.rk }

// Partition returns the PartitionKey for a query. It is not checked again.
func (k Key) Partition() PartitionKey { return PartitionKey{encodedAs(k.pk, k.err)} }

// Row returns the RowKey for a query. It is not checked again.
func (k Key) Row() RowKey { return RowKey{encodedAs(k.rk, k.err)} }

func encodedAs(s string, err error) encoded { return encoded{text: s, set: err == nil, err: err} }

// Err returns a *KeyError for an invalid PartitionKey, and a *KeyError for an invalid RowKey,
// joined.
func (k Key) Err() error {
	if k.err != nil {
		return k.err
	}
	pk := checkAddress(k.pk, "is empty: the SDK lists and inserts such rows, and cannot get, change or delete one")
	rk := checkAddress(k.rk, "is empty: such a row of another program can be written by its key, keys.Raw, with a handle without definitions and parts")
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

// MarshalJSON returns the key in the form {"PartitionKey":"Sales","RowKey":"empid_000223"}. Errors:
// *KeyError if a key could not be encoded.
func (k Key) MarshalJSON() ([]byte, error) {
	if k.err != nil {
		return nil, k.err
	}
	return json.Marshal(struct{ PartitionKey, RowKey string }{k.pk, k.rk})
}

// UnmarshalJSON is the inverse of MarshalJSON. The key is checked when it is used, as with [Raw].
func (k *Key) UnmarshalJSON(b []byte) error {
	var v struct{ PartitionKey, RowKey string }
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*k = Raw(v.PartitionKey, v.RowKey)
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

// KeyError reports a value that cannot be encoded as a key, or a key that cannot be decoded. No
// request is sent with such a key.
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
