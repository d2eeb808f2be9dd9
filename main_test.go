package aztablekit_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestMain gives the README's program an account.
func TestMain(m *testing.M) {
	cs, err := storagetest.New(nil).Listen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("AZURE_STORAGE_CONNECTION_STRING", cs)
	os.Exit(m.Run())
}

// TestQuickStartTwice: the README's program runs twice on one account; the example is its second run.
func TestQuickStartTwice(*testing.T) { Example() }
