package suites

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Suite is a compiled test program and what it needs.
type Suite struct {
	File, Folder string   // of the program: it runs in the folder, which is that of its package as a rule
	Flags        []string // of the program
	Environment  []string // more variables, with {name} and {key} in place of those of the account
	Container    string   // a container that the tests expect, or ""
	Tests        int      // that pass
}

// Run runs the tests with a new account in memory. If all are to be compared ([Compared]), Run also
// logs how many pass on the emulator.
func (u Suite) Run(t *testing.T) {
	t.Helper()
	passed, failed, output := u.resultsOf(t, InMemory(t))
	if len(passed) != u.Tests || len(failed) > 0 {
		t.Errorf("storagetest: got %d tests that passed and %q that failed; want %d and none\n%s", len(passed), failed, u.Tests, output)
	}
	if Compared() {
		passed, failed, _ = u.resultsOf(t, Emulator(t))
		t.Logf("Azurite: %d of %d pass; failed %q", len(passed), u.Tests, failed)
	}
}

// resultsOf runs the tests with an account. It returns the tests without subtests that passed and
// that failed, and what they print. Skipped tests are neither.
func (u Suite) resultsOf(t *testing.T, a *Account) (passed, failed []string, output string) {
	t.Helper()
	if u.Container != "" {
		if _, err := a.Blobs(t).CreateContainer(t.Context(), u.Container, nil); err != nil {
			t.Fatal(err)
		}
	}
	tests := exec.CommandContext(t.Context(), u.File, append([]string{"-test.v", "-test.timeout=5m"}, u.Flags...)...)
	tests.Dir, tests.Env = u.Folder, slices.Concat(os.Environ(), live(t, a.services))
	places := strings.NewReplacer("{name}", a.Name, "{key}", a.Key)
	for _, variable := range u.Environment {
		tests.Env = append(tests.Env, places.Replace(variable))
	}
	out, err := tests.CombinedOutput()
	passed, failed = results(string(out))
	if len(passed) == 0 {
		t.Errorf("got no test that passed: %v\n%s", err, out)
	}
	return passed, failed, string(out)
}

var result = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL): (\S+)`)

// results returns the tests without subtests that passed and that failed.
func results(output string) (passed, failed []string) {
	all := result.FindAllStringSubmatch(output, -1)
	for _, r := range all {
		if slices.ContainsFunc(all, func(other []string) bool { return strings.HasPrefix(other[2], r[2]+"/") }) {
			continue
		}
		if r[1] == "PASS" {
			passed = append(passed, r[2])
		} else {
			failed = append(failed, r[2])
		}
	}
	return passed, failed
}
