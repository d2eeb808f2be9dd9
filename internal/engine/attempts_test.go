package engine

import (
	"context"
	"errors"
	"testing"
)

// TestRepeat: Repeat calls a function as often as the policy says.
func TestRepeat(t *testing.T) {
	t.Parallel()
	r := Options{Retry: Retry{Wait: -1}}.WithDefaults().Retry
	n, want := 0, errors.New("no answer")
	err := r.Repeat(context.Background(), Log{}, func() (again bool, err error) {
		n++
		return true, want
	})
	if err != want || n != unboundedAttempts {
		t.Errorf("got %v after %d calls, want %v after %d", err, n, want, unboundedAttempts)
	}
	n = 0
	err = r.RepeatRead(context.Background(), Log{}, func() error { n++; return want })
	if err != want || n != 1 {
		t.Errorf("got %v after %d calls, want %v after 1, since the service was not busy", err, n, want)
	}
}
