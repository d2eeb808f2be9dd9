package peers

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/storagetest"
)

//go:embed suite.js
var javascript string

// TestJavaScript: the public clients of the JavaScript SDK work with storagetest, and the same cases with the emulator.
func TestJavaScript(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs Node.js and the emulator")
	}
	t.Parallel()
	s := storagetest.New(nil)
	connection, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for name, message := range failures(t, connection) {
		t.Errorf("storagetest: %s: %s", name, message)
	}
	emulator, err := azurite.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(emulator.Stop)
	for name, message := range failures(t, emulator.ConnectionString) {
		t.Errorf("Azurite: %s: %s", name, message)
	}
}

// failures runs the cases on an account, and returns those that failed with what they say.
func failures(t *testing.T, connection string) map[string]string {
	t.Helper()
	dir, err := azurite.Install(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "-e", javascript)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CONNECTION="+connection)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.Bytes())
	}
	failed, n := map[string]string{}, 0
	for line := range bytes.Lines(out) {
		var result struct{ Name, Error string }
		if err := json.Unmarshal(line, &result); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if n++; result.Error != "" {
			failed[result.Name] = result.Error
		}
	}
	if n == 0 {
		t.Fatalf("got no case\n%s", errs.Bytes())
	}
	return failed
}
