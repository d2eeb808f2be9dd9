package eventual_test

import (
	"cmp"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
)

var noError = testkit.NoError

// expect reports a value that differs from the wanted value.
func expect[V comparable](t testing.TB, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

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
