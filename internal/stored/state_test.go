package stored

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
)

// TestMaintainerStateText: the example of the documentation is stored as documented, and any other text is refused.
func TestMaintainerStateText(t *testing.T) {
	t.Parallel()
	all := map[string][]string{
		"email": {"email_jonesj@contoso.com"}, "last": {"last_Jones!_empid_000223", "/"}, "team": {"team_Jones"},
	}
	const text = "1\xdc\xdd\x50email/^jonesj@contoso.com#last/^Jones!*?#team/^Jones"
	packed := appendPacked([]byte("2"+text[1:4]), []byte(text[4:]))
	if is := EncodeState(all, "empid_000223"); !bytes.Equal(is, packed) {
		t.Fatalf("got %q; want %q", is, packed)
	}
	for i := range packed {
		damaged := slices.Clone(packed)
		damaged[i] ^= 0x10
		if is, err := parseState(damaged, "empid_000223"); err == nil {
			t.Errorf("with byte %d changed: got %q; want an error", i, is)
		}
	}
	if is, err := parseState([]byte(text), "empid_000223"); err != nil || !maps.EqualFunc(is, all, slices.Equal) {
		t.Errorf("got %q %v; want no error and maps.EqualFunc(is, all, slices.Equal)", is, err)
	}
	damaged := []string{"garbage", "{}", `{"last":["last_Jones"]}`, "1", text[:4], text + "x", "2" + text[1:], "3" + text[1:], strings.ToUpper(text)}
	for i := 1; i < len(text); i++ {
		damaged = append(damaged, text[:i], text[i:], text[:i]+"#"+text[i+1:], text[:i]+text[i+1:])
	}
	for _, s := range damaged {
		var de *errs.DecodeError
		if is, err := parseState([]byte(s), "empid_000223"); s != text && (!errors.As(err, &de) || de.Field != "_ix") {
			t.Errorf(`%q was taken: got %q %v; want s == %q or (a *DecodeError and de.Field == "_ix")`, s, is, err, text)
		}
	}
	if _, err := parseState([]byte(text), "empid_000224"); err == nil {
		t.Error("got no error for another row's state; want one")
	}
	// Invalid state with the right checksum.
	for _, s := range []string{"a", "a/b#", "/b", "a/b#a/c", "a/b\\", "^/b", "#a/b", "a#b/c"} {
		sum := stateChecksum([]byte(s), "r")
		if is, err := parseState([]byte("1"+string(sum[:])+s), "r"); err == nil {
			t.Errorf("%q: got %q; want an error", s, is)
		}
	}
	nothing := EncodeState(map[string][]string{"a": nil}, "r")
	stringly := edm.Value{Kind: edm.String, S: base64.StdEncoding.EncodeToString([]byte(text))}
	if is, err := StateIn(stringly, "empid_000223"); err != nil || !maps.EqualFunc(is, all, slices.Equal) {
		t.Errorf("as base64: got %q %v; want no error and maps.EqualFunc(is, all, slices.Equal)", is, err)
	}
	for _, v := range []edm.Value{{}, {Kind: edm.String}, {Kind: edm.Binary}, {Kind: edm.Binary, B: nothing}} {
		if is, err := StateIn(v, "r"); err != nil || len(is) > 0 {
			t.Errorf("%v: got %q, %v; want nothing", v, is, err)
		}
	}
	for _, v := range []edm.Value{{Kind: edm.String, S: text}, {Kind: edm.Int32}, {Kind: edm.Binary, B: nothing}} {
		if is, err := StateIn(v, "empid_000223"); err == nil {
			t.Errorf("%v: got %q; want an error", v, is)
		}
	}
}

// FuzzMaintainerState: maintainer state is read as it was written, whatever it contains, and its size is bounded.
func FuzzMaintainerState(f *testing.F) {
	f.Add("last", "last_Jones!_w_1", "/", "team", "~x|team_x", "w_1")
	f.Add("a", "a_", "_r", "b", "", "r")
	f.Add("a^", `\/?#^*`, "~x|a^_", "/", "//", "*")
	f.Add("last", "last_w_1", "w_1", "w", "w_w_1", "w_1")
	f.Fuzz(func(t *testing.T, name, a, b, other, c, rowKey string) {
		if name == "" || other == "" || name == other {
			return // no maintainers have such names
		}
		all := map[string][]string{name: {a, b}, other: {c}}
		text := EncodeState(all, rowKey)
		is, err := parseState(text, rowKey)
		if err != nil || !maps.EqualFunc(is, all, slices.Equal) {
			t.Errorf("%q: got %q, %v; want the state that was written", all, is, err)
		}
		if n := 2*len(name+a+b+other+c) + 10; len(text) > n {
			t.Errorf("%d bytes, more than %d: got %q; want len(text) <= %v", len(text), n, text, n)
		}
		_, _ = parseState([]byte(a), rowKey)
	})
}

// TestMaintainerStateSize: the state of an entity with three indexes and a list takes a fraction of its size as JSON.
func TestMaintainerStateSize(t *testing.T) {
	t.Parallel()
	const city = "city_0005128581"
	all := map[string][]string{
		"byname": {"byname_new=20york=20city!_" + city, "/"},
		"bypop":  {"bypop_0008804190_" + city, "/K1x3Zw"},
		"byzone": {"byzone_America=2FNew=5FYork_" + city},
		"admin":  {"admin_US.NY"},
	}
	b, err := json.Marshal(map[string][]string{
		"byname": {"byname_new=20york=20city!_" + city, "/"},
		"bypop":  {"bypop_0008804190_" + city, "/0a1b2c3d"},
		"byzone": {"byzone_America=2FNew=5FYork_" + city},
		"admin":  {"admin_US.NY", "/Members"},
	})
	if err != nil {
		t.Fatal(err)
	}
	// By the service's formula a property takes 8 bytes, 2 for each character of its name, and its value: 4 and 2 for each character
	// of a String, or 4 and the bytes of a Binary.
	now := EncodeState(all, city)
	before, after := 8+2*len("_ix")+4+2*len(b), 8+2*len("_ix")+4+len(now)
	t.Logf("%d bytes as JSON, %d now: %q", before, after, now)
	if after > 83 {
		t.Errorf("got %d bytes, %d as JSON; want at most 83", after, before)
	}
}
