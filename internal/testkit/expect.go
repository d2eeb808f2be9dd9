package testkit

import "fmt"

// failing is the part of testing.TB that rapid.T has, too.
type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

// reporting is the part of testing.TB that rapid.T has, too.
type reporting interface {
	Helper()
	Errorf(format string, args ...any)
}

// NoError ends the test if err is not nil. Call NoError only in the goroutine of the test.
func NoError(t failing, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v; want none", err)
	}
}

// Expect reports a value that does not print as the wanted value does.
func Expect[X any](t reporting, what string, got, want X) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %+v; want %+v", what, got, want)
	}
}
