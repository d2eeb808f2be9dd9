package suites

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Program is a compiled test program. It runs in a folder, which is that of its package as a rule.
type Program struct{ File, Folder string }

// Run runs the tests with more variables of the environment, and with flags. It returns the tests without subtests that passed and that
// failed, and what they print. Skipped tests are neither.
func (p Program) Run(t testing.TB, environment []string, flags ...string) (passed, failed []string, output string) {
	t.Helper()
	tests := exec.CommandContext(t.Context(), p.File, append([]string{"-test.v", "-test.timeout=5m"}, flags...)...)
	tests.Dir, tests.Env = p.Folder, slices.Concat(os.Environ(), environment)
	out, err := tests.CombinedOutput()
	if passed, failed = results(string(out)); len(passed) == 0 {
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
