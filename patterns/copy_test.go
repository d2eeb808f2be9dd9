package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// copies leaves out recipes: each is compiled and linked by itself.
var copies = testkit.Count("copies", 100, "of so many recipes, a copy of one is built and run")

// TestCopy: a copy of each recipe is a program of its own, which builds, and prints what the catalogue prints for the recipe. Sampled
// tests have one with child processes, one with a policy of its own, and a plain one. Short tests have the one with child processes.
func TestCopy(t *testing.T) {
	t.Parallel()
	recipes := []recipe{archiving, pointQuery, smoothBurst}
	if testing.Short() {
		recipes = recipes[:1]
	}
	for i, rec := range catalogue {
		if rec.kept == "" && !testing.Short() && i%*copies == 0 && !slices.ContainsFunc(recipes, func(r recipe) bool { return r.name == rec.name }) {
			recipes = append(recipes, rec)
		}
	}
	bin, dirs := t.TempDir(), t.TempDir()
	for _, rec := range recipes {
		run(t, "copy", rec.name, filepath.Join(dirs, rec.name))
	}
	for _, rec := range recipes {
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(bin, rec.name)
			build := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, ".")
			build.Dir = filepath.Join(dirs, rec.name)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("go build: got error %v\n%s", err, out)
			}
			out, err := exec.Command(program).CombinedOutput()
			if want := inCatalogue(t, rec); err != nil || number.ReplaceAllString(string(out), "") != want {
				t.Errorf("got error %v and output\n%s\nwant as in the catalogue\n%s", err, out, want)
			}
			if rec.name == pointQuery.name {
				runOnAccount(t, program, fmt.Sprintf("== %s: %s", rec.name, rec.title))
			}
			if err := os.Remove(program); err != nil {
				t.Error(err)
			}
		})
	}
}

// number matches which recipe of a run a report is.
var number = regexp.MustCompile(` \[\d+ of \d+\]`)

// inCatalogue returns what the catalogue prints for a recipe, without its number.
func inCatalogue(t *testing.T, rec recipe) string {
	t.Helper()
	all, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(all), "== "+rec.name+":")
	if !found {
		t.Fatalf("%s: got no recipe %s", golden, rec.name)
	}
	text, _, _ = strings.Cut(text, "\n== ")
	text, _, _ = strings.Cut(text, "\nREQUESTS OF")
	return number.ReplaceAllString("== "+rec.name+":"+strings.TrimRight(text, "\n")+"\n\n", "")
}

// runOnAccount runs a copy on the account of the environment, as on any account.
func runOnAccount(t *testing.T, program, want string) {
	t.Helper()
	server := storagetest.New(nil)
	connection, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	cmd := exec.Command(program, "-on", "env")
	cmd.Env = append(os.Environ(), "AZURE_STORAGE_CONNECTION_STRING="+connection)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("-on env: got error %v and output\n%s\nwant output that begins with %q", err, out, want)
	}
	if n := server.Count().Total(); n == 0 || len(server.TableNames()) != 0 {
		t.Errorf("-on env: got %d requests and tables %q, want some and none", n, server.TableNames())
	}
}

// mostMain is how many lines the main of a recipe has at most.
const mostMain = 30

// TestCopyKept: the copy of a recipe with code that a user keeps is that code, byte for byte, and a short main, which builds, and prints what
// the main of this module prints.
func TestCopyKept(t *testing.T) {
	t.Parallel()
	found := 0
	for _, rec := range catalogue {
		if rec.kept == "" {
			continue
		}
		found++
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), rec.name)
			run(t, "copy", rec.name, dir)
			for _, name := range []string{rec.kept} {
				files, err := filepath.Glob(filepath.Join(name, "*.go"))
				if err != nil || len(files) == 0 {
					t.Fatalf("got files %q of %s, %v; want some", files, name, err)
				}
				for _, file := range files {
					want, err1 := os.ReadFile(file)
					got, err2 := os.ReadFile(filepath.Join(dir, file))
					if err1 != nil || err2 != nil || string(got) != string(want) {
						t.Errorf("%s: got %v, %v, and another content; want the same", file, err1, err2)
					}
				}
			}
			if main, err := os.ReadFile(filepath.Join(dir, "main.go")); err != nil || strings.Count(string(main), "\n") > mostMain {
				t.Errorf("main.go: got %v and %d lines; want at most %d", err, strings.Count(string(main), "\n"), mostMain)
			}
			program := exec.Command("go", "run", ".")
			program.Dir = dir
			got, err := program.CombinedOutput()
			want, werr := exec.Command("go", "run", "./"+rec.kept+"/main").CombinedOutput()
			if err != nil || werr != nil || string(got) != string(want) || len(got) == 0 {
				t.Errorf("got %v, %v and output\n%s\nwant\n%s", err, werr, got, want)
			}
		})
	}
	if found == 0 {
		t.Error("no recipe has code that a user keeps")
	}
}

// TestCopyRefused: a folder with files is left as it is.
func TestCopyRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, want string }{
		{"archive", dir, "is not empty"},
		{"nonsense", filepath.Join(dir, "new"), `"nonsense"`},
		{"archive", filepath.Join(dir, "mine.txt"), "mine.txt"},
	} {
		err := command(t.Context(), []string{"copy", c.name, c.dir}, &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("copy %s %s: got error %v, want one that contains %q", c.name, c.dir, err, c.want)
		}
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("got files %v and error %v, want mine.txt", all, err)
	}
}
