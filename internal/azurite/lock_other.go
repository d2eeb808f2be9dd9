//go:build !unix

package azurite

// lock does nothing on systems without flock. Two concurrent installations cost time, and the first
// rename succeeds.
func lock(string) (unlock func(), err error) { return func() {}, nil }
