package index_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage grow: some of these tests keep 300,000 rows, which are not to be looked through all the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
