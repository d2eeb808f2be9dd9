// Package mutants shows that tests can fail: it plants a bug in the source as it is shipped, and runs the test that must find it.
package mutants

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Mutant is a bug to be planted.
type Mutant struct {
	Name string
	File string // in the module
	Old  string // what the file holds, once
	New  string // what is there instead
	Test string // what must fail: a pattern of tests of the package that is tested
	Args []string
}

// Run plants each bug by itself and runs its test in a package of the module, which must fail: by a test, not for the compiler. A
// bug that cannot be planted any more fails, too.
func Run(t *testing.T, pkg string, all []Mutant) {
	t.Helper()
	root := root(t)
	slots := make(chan bool, max(1, runtime.GOMAXPROCS(0)/2))
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(root, m.File)
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(source, []byte(m.Old)); n != 1 {
				t.Fatalf("%s holds this %d times, and should once:\n%s", m.File, n, m.Old)
			}
			dir := t.TempDir()
			planted := filepath.Join(dir, filepath.Base(m.File))
			overlay := filepath.Join(dir, "overlay.json")
			write(t, planted, bytes.Replace(source, []byte(m.Old), []byte(m.New), 1))
			b, err := json.Marshal(map[string]any{"Replace": map[string]string{path: planted}})
			if err != nil {
				t.Fatal(err)
			}
			write(t, overlay, b)
			slots <- true
			defer func() { <-slots }()
			// Most of the time goes to the compiler, which does less for a program that is run once.
			args := append([]string{"test", "-overlay=" + overlay, "-count=1", "-vet=off", "-gcflags=-l", "-ldflags=-s -w", "-run=" + m.Test, pkg}, m.Args...)
			cmd := exec.CommandContext(t.Context(), "go", args...)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("%s was not found by %s", m.Name, m.Test)
			case !strings.Contains(string(out), "--- FAIL: "):
				t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
			default:
				t.Log(first(string(out)))
			}
		})
	}
}

// first is the first line that says what is wrong.
func first(out string) string {
	for line := range strings.Lines(out) {
		if s := strings.TrimSpace(line); s != "" && !strings.HasPrefix(s, "---") && !strings.HasPrefix(s, "===") {
			return fmt.Sprintf("%.200s", s)
		}
	}
	return ""
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// root is the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}
