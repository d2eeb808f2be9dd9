package keys_test

import (
	"slices"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/aztablekit/aztablekit/keys"
)

// TestCompare: texts sort by their UTF-16 code units, as in the service.
func TestCompare(t *testing.T) {
	t.Parallel()
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab~é日\ud7ff\ue000\ufffd😀😁\U0010ffff")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if got, want := keys.Compare(a, b), slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))); got != want {
			t.Fatalf("%q and %q: got %d, want %d", a, b, got, want)
		}
	})
	if r := keys.RawRows("a😀", "a\ufffd"); r.Err() != nil || !r.Contains("a😁") || !r.Contains("a\ue000") || r.Contains("aé") {
		t.Errorf("got %v, want a range with a😁 and U+E000 and without aé", r)
	}
}
