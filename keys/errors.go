package keys

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// KeyError reports a value that cannot be encoded as a key, or a key that cannot be decoded. No request is sent with such a key.
type KeyError struct {
	Key    string // PartitionKey or RowKey; empty if unknown
	Part   string // the part of the layout, such as "part 2, digits(4)"; empty for a key without a layout
	Value  string // the value or the key; Error truncates it to 64 bytes
	Reason string // the violated rule, as a predicate such as "is negative"
	Length int    // the length, if Limit is set
	Limit  int    // the maximum length, if the rule is about the length
}

func (e *KeyError) Error() string {
	var b strings.Builder
	b.WriteString("keys: ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	if e.Part != "" {
		b.WriteString(e.Part + ": ")
	}
	if e.Value != "" {
		fmt.Fprintf(&b, "%q ", shorten(e.Value))
	} else if e.Part == "" {
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

// ofKey adds the name of the key to a KeyError.
func ofKey(key string, err error) error {
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
