package commit

import (
	"testing"

	"pgregory.net/rapid"
)

// TestIDOf: an operation ID and its GUID say the same.
func TestIDOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "GUID"))
		id := IDOf(g)
		if got := GUID(id); got != g {
			t.Errorf("GUID(IDOf(%x)): got %x, by %s", g, got, id)
		}
		if _, err := TimeOf(id); err != nil {
			t.Errorf("TimeOf(%s): %v", id, err)
		}
	})
}
