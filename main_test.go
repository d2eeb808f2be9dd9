package aztablekit_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestMain starts a service in memory, and makes it the account of the README's program.
func TestMain(m *testing.M) {
	cs, err := storagetest.New(nil).Listen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("AZURE_STORAGE_CONNECTION_STRING", cs)
	os.Exit(m.Run())
}

// TestQuickStartTwice: the README's program can run twice on one account. This test and Example each run it once.
func TestQuickStartTwice(*testing.T) { Example() }
