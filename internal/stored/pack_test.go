package stored

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
)

// TestPackTables: in each table, the codes fill the room of codes, no character has two, and the escape is the last one, all ones.
func TestPackTables(t *testing.T) {
	t.Parallel()
	for kind, table := range packTables {
		room := 0
		var all strings.Builder
		for length, characters := range table {
			room += len(characters) << (maxPackBits - length)
			all.WriteString(characters)
		}
		if room != 1<<maxPackBits {
			t.Errorf("table %d: got codes for %d of %d parts; want all", kind, room, 1<<maxPackBits)
		}
		characters := all.String()
		for i := range len(characters) {
			if n := strings.Count(characters, characters[i:i+1]); n != 1 {
				t.Errorf("table %d: got %q %d times; want it once", kind, characters[i], n)
			}
		}
		if !strings.HasSuffix(characters, "\x00") {
			t.Errorf("table %d: got %q; want the escape at the end", kind, characters)
		}
		escape := packed[kind].of[packEscape]
		if escape.bits != 1<<escape.length-1 {
			t.Errorf("table %d: got the escape %b; want %d ones", kind, escape.bits, escape.length)
		}
	}
}

// TestPackForm: these bytes are in stored rows. If this test fails, rows of earlier releases cannot be read: a changed table needs
// another version of the format.
func TestPackForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"email/^jonesj@contoso.com#last/^Jones!*?#team/^Jones": "aaa274073542b7d7235475b2e26b5dad1b383c56856d93022435078ad0ad",
		"AZaz09-._!=20{25|DLt \x00\xff~x|^\\/":                 "cf9abdf7561febff7f8ff81ff94df8d5676fff20ffe01fffffffbf7f7ffbffaf7ff5cff7",
	} {
		got := appendPacked(nil, []byte(text))
		if is := hex.EncodeToString(got); is != want {
			t.Errorf("%q: got %s; want %s", text, is, want)
		}
		if is := unpack(got); string(is) != text {
			t.Errorf("%q: got %q after unpack; want the text", text, is)
		}
	}
}

// FuzzPack: what was packed is unpacked, in at most 20 bits a character, and no bytes make the unpacking fail.
func FuzzPack(f *testing.F) {
	f.Add([]byte("admin/^US.NY#byname/^new=20york=20city!*?K1x3Zw"))
	f.Add([]byte("\x00\xff/\x00*\x00=\x00"))
	f.Add(bytes.Repeat([]byte("/"), 7))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := appendPacked([]byte("x"), text)
		if is := unpack(b[1:]); !bytes.Equal(is, text) {
			t.Errorf("%q: got %q; want the text", text, is)
		}
		if most := 1 + (20*len(text)+7)/8; len(b) > most {
			t.Errorf("%q: got %d bytes; want at most %d", text, len(b), most)
		}
		if is := unpack(text); len(is) > 8*len(text) {
			t.Errorf("%q: got %d characters; want at most 8 for each byte", text, len(is))
		}
	})
}
