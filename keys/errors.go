package keys

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// KeyError says why a value cannot be a key, or a key not be read. It comes before any request is sent.
type KeyError struct {
	Key    string // PartitionKey or RowKey; empty where it is not known which of the two it is
	Part   string // the part of the layout, such as "part 2, digits(4)"; empty for a key without layout
	Value  string // the value; the error's text cuts it to 64 bytes
	Reason string // which rule it breaks
	Length int    // how long it is, where the rule is a length
	Limit  int    // how long it may be
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

// named says of which key an error speaks.
func ofKey(key string, err error) error {
	var ke *KeyError
	if !errors.As(err, &ke) {
		return err
	}
	c := *ke
	c.Key = key
	return &c
}
