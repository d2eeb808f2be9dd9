package eventual_test

import (
	"cmp"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

var noError = testkit.NoError

// atMost reports a value above a limit.
func atMost[V cmp.Ordered](t testing.TB, what string, got, limit V) {
	t.Helper()
	if got > limit {
		t.Errorf("%s: got %v, want at most %v", what, got, limit)
	}
}

// atLeast reports a value below a limit.
func atLeast[V cmp.Ordered](t testing.TB, what string, got, limit V) {
	t.Helper()
	if got < limit {
		t.Errorf("%s: got %v, want at least %v", what, got, limit)
	}
}
