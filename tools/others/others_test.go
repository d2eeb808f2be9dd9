package others

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/tools/suites"
)

// runPackage compiles the tests of a package of another module, and runs the suite with them.
func runPackage(t *testing.T, name string, u suites.Suite) {
	t.Helper()
	u.File = filepath.Join(t.TempDir(), "suite.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", u.File, name).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	u.Folder = strings.TrimSpace(string(folder))
	u.Run(t)
}

// runHere runs the test function that calls it once more, in a process of its own, where runHere
// returns an account's name and key. There the function runs the suite of so many tests, and here
// the results are read.
func runHere(t *testing.T, tests int) (name, key string) {
	t.Helper()
	if name := os.Getenv("OTHERS_NAME"); name != "" {
		return name, os.Getenv("OTHERS_KEY")
	}
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suites.Suite{File: file, Flags: []string{"-test.run=^" + t.Name() + "$"}, Environment: []string{"OTHERS_NAME={name}", "OTHERS_KEY={key}"}, Tests: tests}.Run(t)
	return "", ""
}
