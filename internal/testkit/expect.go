package testkit

// failing is the part of testing.TB that rapid.T has, too.
type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

// NoError ends the test if err is not nil. Call NoError only in the goroutine of the test.
func NoError(t failing, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v; want none", err)
	}
}
