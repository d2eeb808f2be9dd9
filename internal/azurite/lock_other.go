//go:build !unix

package azurite

// lock does nothing where there is no flock: two installations at once then cost time, and the rename picks one.
func lock(string) (unlock func(), err error) { return func() {}, nil }
