package table_test

// failing is what *testing.T, *testing.F and *rapid.T have in common.
type failing interface {
	Helper()
	Fatal(args ...any)
}

// noError fails the test if err is not nil.
func noError(t failing, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
