package testkit

import (
	"strings"
	"testing"
)

// WithoutFailures returns nil for an error of Drain that is of handlers, of which some fail for the
// moment.
func WithoutFailures(err error) error {
	if err != nil && strings.HasPrefix(err.Error(), "eventual: Drain: ") {
		return nil
	}
	return err
}

// Failed fails the test unless a handler has failed during Drain.
func Failed(t testing.TB, err error) {
	t.Helper()
	if err == nil || WithoutFailures(err) != nil {
		t.Errorf("Drain: got error %v; want that of a handler", err)
	}
}
