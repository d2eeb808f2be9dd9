package edm

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestEightAtATime: the functions that look at eight bytes at a time find what a look at each byte finds.
func TestEightAtATime(t *testing.T) {
	t.Parallel()
	some := rapid.SampledFrom([]byte("aZ0 ~!#%'(;=?[]{}\x7f\x1f\x00\n\"\\<>&\x80\xe2\xff"))
	rapid.Check(t, func(t *rapid.T) {
		b := slices.Repeat([]byte("x"), rapid.IntRange(0, 20).Draw(t, "plain"))
		b = append(b, rapid.SliceOfN(some, 0, 20).Draw(t, "others")...)
		plain := func(c byte) bool { return c >= ' ' && c < 0x80 && c != '"' && c != '\\' }
		want := slices.IndexFunc(b, func(c byte) bool { return !plain(c) })
		if want < 0 {
			want = len(b)
		}
		if got := plainASCII(b); got != want {
			t.Errorf("plainASCII of %q: got %d; want %d", b, got, want)
		}
		simple := !slices.ContainsFunc(b, func(c byte) bool { return !plain(c) || c == '<' || c == '>' || c == '&' })
		if got := isSimple(string(b)); got != simple {
			t.Errorf("isSimple of %q: got %v; want %v", b, got, simple)
		}
	})
}
