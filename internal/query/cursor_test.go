package query

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/keys"
)

// FuzzToken: the parser of tokens never panics, and accepts only tokens that the library wrote, byte for byte.
func FuzzToken(f *testing.F) {
	text := func(s string) *string { return &s }
	last := keys.Raw("Sales", "empid_000223")
	for _, p := range []Position{
		{table: "staff"}, {table: "staff", PK: text("1!8!U2FsZXM-")}, {table: "staff", PK: text("p"), RK: text("")},
		{table: "staff", RK: text("r"), Inside: true, last: last}, {query: [8]byte{1, 2, 3}, table: "T", PK: text("p"), RK: text("r"), Inside: true, last: last},
	} {
		b, err := base64.RawURLEncoding.DecodeString(p.token())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:len(b)-4])
	}
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		parseToken(string(b))
		// With the right checksum, the parser reads the content.
		s := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b[:len(b):len(b)], crc32.ChecksumIEEE(b)))
		p, err := parseToken(s)
		if err != nil {
			if _, ok := err.(*errs.TokenError); !ok || p != nil {
				t.Fatalf("got %T, %+v; want a *TokenError and no position", err, p)
			}
			return
		}
		if p.token() != s {
			t.Fatalf("got %q; want %q from %+v", p.token(), s, p)
		}
	})
}

// TestTokenVersion: the error of a token of a later library names its version.
func TestTokenVersion(t *testing.T) {
	b := []byte{tokenVersion + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	s := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
	_, err := parseToken(s)
	if err == nil || err.Error() != "continuation token: is of version 2, and this library knows version 1" {
		t.Errorf(`got %v; want an error and err.Error() == "continuation token: is of version 2, and this library knows version 1"`, err)
	}
}
