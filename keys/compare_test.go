package keys

import (
	"slices"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"
)

// TestCompare: the order of two texts is that of their UTF-16 code units, as in the service.
func TestCompare(t *testing.T) {
	t.Parallel()
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab~é日\ud7ff\ue000\ufffd😀😁\U0010ffff")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if got, want := Compare(a, b), slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	})
	if r := RawBetween("a😀", "a\ufffd"); r.Err() != nil || !r.Contains("a😁") || !r.Contains("a\ue000") || r.Contains("aé") {
		t.Errorf("%v", r)
	}
}
