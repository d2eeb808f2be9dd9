// Package mutants shows that tests can fail: it plants bugs in the source as it is shipped, and
// runs the tests that must find them.
package mutants

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var planted = flag.Bool("planted", false, "compile the bugs and run the tests on each, which takes half an hour on two cores; without it, the bugs are planted in the sources only")

// Run plants each bug by itself and runs its test in a package of the project, which must fail, and
// not without a bug. The bugs of all calls are compiled into the same sources, because compilation
// takes longer than most tests. Without the flag -planted, Run only plants and parses its own bugs,
// and looks up the tests' names. A bug that cannot be planted any more fails, too.
func Run(t *testing.T, pkg string, all []Mutant) {
	t.Helper()
	root := root(t)
	if *collect != "" {
		if err := collected(*collect, all); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := errors.Join(stand(root, all), tested(filepath.Join(root, pkg), all)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if !*planted {
		if _, err := plant(root, dir, all); err != nil {
			t.Fatal(err)
		}
		return
	}
	every, err := everything(root)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "planted")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay="+every.overlay, "-vet=off", "-o", program)
	build.Dir = filepath.Join(root, pkg)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	slots := make(chan bool, max(1, runtime.GOMAXPROCS(0)/2))
	run := func(t *testing.T, bug int, pattern string, more []string) (string, error) {
		slots <- true
		defer func() { <-slots }()
		args := append([]string{"-test.failfast", "-test.timeout=5m", "-test.run=" + pattern}, more...)
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = filepath.Join(root, pkg)
		cmd.Env = append(os.Environ(), fmt.Sprint(variable, "=", bug), "AZTABLEKIT_SHORTSAMPLE=1") // short tests try all cases
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, every.number(m), m.Test, m.Args)
			switch {
			case err == nil:
				t.Errorf("%s was not found by %s", m.Name, m.Test)
			case !strings.Contains(out, "--- FAIL: ") && !strings.Contains(out, "panic: runtime error: "): // the test fails, or a goroutine of it
				t.Errorf("%s: %v\n%s", m.Test, err, out)
			default:
				t.Log(first(out))
			}
		})
	}
	t.Run("no bug", func(t *testing.T) {
		t.Parallel()
		var done []string
		for _, m := range all {
			what := fmt.Sprint(m.Test, m.Args)
			if slices.Contains(done, what) {
				continue
			}
			done = append(done, what)
			if out, err := run(t, 0, m.Test, m.Args); err != nil {
				t.Errorf("%s: %v\n%s", m.Test, err, out)
			}
		}
	})
}

// stand reports whether each bug can be planted, in one place.
func stand(root string, all []Mutant) error {
	for _, m := range all {
		source, err := os.ReadFile(filepath.Join(root, m.File))
		if err != nil {
			return err
		}
		if n := bytes.Count(source, []byte(m.Old)); n != 1 {
			return fmt.Errorf("%s: %s holds this %d times, and should once:\n%s", m.Name, m.File, n, m.Old)
		}
	}
	return nil
}

// tested reports an error unless the package in dir has a test of each bug.
func tested(dir string, all []Mutant) error {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return err
	}
	var names []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, found := range testFunction.FindAllStringSubmatch(string(source), -1) {
			names = append(names, found[1])
		}
	}
	for _, m := range all {
		for pattern := range strings.SplitSeq(m.Test, "|") {
			pattern, _, _ = strings.Cut(pattern, "/")
			is, err := regexp.Compile(pattern)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(names, is.MatchString) {
				return fmt.Errorf("%s: got no test %s in %s, want the test that finds this bug", m.Name, pattern, dir)
			}
		}
	}
	return nil
}

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)`)

// first is the first line that says what is wrong.
func first(out string) string {
	for line := range strings.Lines(out) {
		if s := strings.TrimSpace(line); s != "" && !strings.HasPrefix(s, "---") && !strings.HasPrefix(s, "===") {
			return fmt.Sprintf("%.200s", s)
		}
	}
	return ""
}

// root is the folder of the project, above that of the module of the tools.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(strings.TrimSpace(string(out))))
}
