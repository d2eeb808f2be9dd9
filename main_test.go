package aztablekit_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/aztablekit/aztablekit/internal/azurite"
)

// TestMain gives the README's program an account. Under -short there is none, and the example is left out.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		flag.Set("test.skip", "^Example")
		os.Exit(m.Run())
	}
	s, err := azurite.Start(context.Background()) // its own, for the example's table has a fixed name
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("AZURE_STORAGE_CONNECTION_STRING", s.ConnectionString)
	code := m.Run()
	s.Stop()
	os.Exit(code)
}
