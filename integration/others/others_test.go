package others

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/suites"
	"github.com/aztablekit/aztablekit/storagetest"
)

// suite is what a test function runs: the tests of another project.
type suite struct {
	tests       int      // that pass
	flags       []string // of the test program
	environment []string // names the account to the tests
}

// newAccount returns an account whose host names are those of the live services.
func newAccount(t *testing.T) *storagetest.Service {
	t.Helper()
	s := storagetest.New(&storagetest.Options{Account: "others"})
	t.Cleanup(func() { s.Close() })
	return s
}

// runPackage compiles the tests of a package of another module, and runs all in a process of their own.
func (u suite) runPackage(t *testing.T, s *storagetest.Service, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "suite.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-o", file, name).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	u.run(t, s, suites.Program{File: file, Folder: strings.TrimSpace(string(folder))})
}

// inChild is the variable of the environment that names, in the process of a suite, the account's key.
const inChild = "OTHERS_KEY"

// runHere runs the test function that calls it once more, in a process of its own, in which key is the account's key. There the function runs
// the suite, and here the results are read.
func (u suite) runHere(t *testing.T) (key string) {
	t.Helper()
	if key := os.Getenv(inChild); key != "" {
		return key
	}
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newAccount(t)
	u.environment = append(u.environment, inChild+"="+s.Key())
	u.flags = append(u.flags, "-test.run=^"+t.Name()+"$")
	u.run(t, s, suites.Program{File: file})
	return ""
}

// run runs the tests of a program with an account, and compares the number of those that pass.
func (u suite) run(t *testing.T, s *storagetest.Service, p suites.Program) {
	t.Helper()
	environment := append(suites.Live(t, suites.InMemory(s)), u.environment...)
	passed, failed, output := p.Run(t, environment, u.flags...)
	if len(passed) != u.tests || len(failed) > 0 {
		t.Errorf("got %d tests that passed and %q that failed; want %d and none\n%s", len(passed), failed, u.tests, output)
	}
}
