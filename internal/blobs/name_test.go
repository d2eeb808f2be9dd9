package blobs

import (
	"strings"
	"testing"
)

// TestEscape: keys become segments that can be read, and back.
func TestEscape(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"": "~", "Sales": "Sales", "jones@contoso.com": "jones@contoso.com", "Größe 'q'": "Größe 'q'", "日本😀": "日本😀", "a b.c": "a b.c",
		".": "~2e", "..": "~2e~2e", ".a.": "~2ea~2e", " ": "~20", "a ": "a~20", "a/b": "a~2fb", `a\b`: "a~5cb", "50%": "50~25", "~": "~7e", "~2e": "~7e2e",
		"a\x00b\n": "a~00b~0a", "a\x7f": "a~7f", "\u0085": "~c2~85", "\uffff": "~ef~bf~bf", "\ufffd": "\ufffd", "a?b#c": "a~3fb~23c", "\xff": "~ff",
	} {
		if got := Escape(key); got != want {
			t.Errorf("%q: got %q; want %q", key, got, want)
		}
		if got, ok := Unescape(want); got != key || !ok {
			t.Errorf("%q: got %q, %t; want %q", want, got, ok, key)
		}
	}
	for _, segment := range []string{"", "a/b", "~2", "~2E", "~zz", "~61", "a~", ".", "a~2eb", "50%", "~~", "\x00"} {
		if key, ok := Unescape(segment); ok {
			t.Errorf("%q: got key %q; want none", segment, key)
		}
	}
}

// FuzzEscape: different keys have different segments, and each segment is a part of a name.
func FuzzEscape(f *testing.F) {
	for _, key := range []string{"", "a", "~", "..", "a/b", "\xff", "é\n", "~2e"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		segment := Escape(key)
		if got, ok := Unescape(segment); got != key || !ok {
			t.Errorf("%q: got %q, %t from %q; want the key", key, got, ok, segment)
		}
		if strings.ContainsAny(segment, `/\%?#`) || segment == "" || strings.Trim(segment, ". ") != segment {
			t.Errorf("%q: got segment %q, which has a meaning in addresses", key, segment)
		}
		if key2, ok := Unescape(key); ok && Escape(key2) != key {
			t.Errorf("%q: got key %q, which has another segment", key, key2)
		}
	})
}
