package main

import (
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

// mostMain is how many lines the main of a recipe has at most.
const mostMain = 30

// printed contains what the main of each recipe prints.
const printed = "testdata/mains.txt"

// TestCopy: the copy of a recipe is the code that a user keeps, byte for byte, and a short main, which builds and runs. The nightly run tries
// all recipes, other runs the first.
func TestCopy(t *testing.T) {
	t.Parallel()
	recipes := catalogue
	if testkit.Sample(1) > 1 {
		recipes = recipes[:1]
	}
	var mu sync.Mutex
	outputs := map[string]string{}
	t.Run("recipes", func(t *testing.T) {
		for _, rec := range recipes {
			t.Run(rec.Name, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), rec.Name)
				run(t, "copy", rec.Name, dir)
				expectKept(t, rec, dir)
				program := exec.Command("go", "run", "-ldflags=-s -w", ".")
				program.Dir = dir
				out, err := program.CombinedOutput()
				if err != nil {
					t.Fatalf("go run: got %v and output\n%s", err, out)
				}
				mu.Lock()
				defer mu.Unlock()
				outputs[rec.Name] = fmt.Sprintf("== %s\n%s", rec.Name, out)
			})
		}
	})
	var got strings.Builder
	for _, rec := range recipes {
		got.WriteString(outputs[rec.Name])
	}
	if *update && len(recipes) == len(catalogue) {
		if err := os.WriteFile(printed, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(printed)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(want), got.String()) || len(recipes) == len(catalogue) && got.String() != string(want) {
		t.Errorf("got output\n%s\nwant that of %s\n%s", got.String(), printed, want)
	}
}

// expectKept fails unless a folder contains the package of a recipe as it is, and a short main.
func expectKept(t *testing.T, rec recipe.Recipe, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(rec.Kept, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got files %q of %s, %v; want some", files, rec.Kept, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "recipe.go" {
			continue
		}
		want, err1 := os.ReadFile(file)
		got, err2 := os.ReadFile(filepath.Join(dir, file))
		if err1 != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("%s: got %v, %v, and another content; want the same", file, err1, err2)
		}
	}
	if main, err := os.ReadFile(filepath.Join(dir, "main.go")); err != nil || strings.Count(string(main), "\n") > mostMain {
		t.Errorf("main.go: got %v and %d lines; want at most %d", err, strings.Count(string(main), "\n"), mostMain)
	}
}

// TestCopies: the text of the program of each recipe is as gofmt prints it, and its go.mod names each
// module that it imports, none that only this module's tests and tools need, and none too few.
func TestCopies(t *testing.T) {
	t.Parallel()
	gomod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	packages, err := listPackages(t.Context(), "..", catalogue...)
	if err != nil {
		t.Fatal(err)
	}
	require := regexp.MustCompile(`(?m)^\t(\S+) v\S+( // indirect)?$`)
	vetted := map[string]bool{} // by what go.mod requires
	for _, rec := range catalogue {
		files, err := program(rec)
		if err != nil {
			t.Errorf("%s: got error %v", rec.Name, err)
			continue
		}
		var imported []string
		for path, text := range files {
			if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
				t.Errorf("%s: %s: got error %v and a text that gofmt changes; want none", rec.Name, path, err)
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range parsed.Imports {
				imported = append(imported, strings.Trim(of.Path.Value, `"`))
			}
		}
		text := moduleText(string(gomod), rec, packages)
		named := 0
		for _, m := range require.FindAllStringSubmatch(text, -1) {
			named++
			imports := slices.ContainsFunc(imported, func(path string) bool { return strings.HasPrefix(path+"/", m[1]+"/") })
			if imports != (m[2] == "") {
				t.Errorf("%s: got %q in go.mod; want indirect: %v", rec.Name, m[0], !imports)
			}
			if slices.Contains(ofTests, m[1]) {
				t.Errorf("%s: got %s in go.mod, which the program does not need", rec.Name, m[1])
			}
		}
		if named < 5 || !strings.HasPrefix(text, "module "+rec.Name+"\n\ngo ") {
			t.Errorf("%s: got go.mod\n%s\nwant the modules of the program", rec.Name, text)
		}
		if _, required, _ := strings.Cut(text, "\n"); !vetted[required] && !testing.Short() {
			vetted[required] = true
			expectResolved(t, rec)
		}
	}
}

// expectResolved fails unless the copy of a recipe compiles with the modules of its go.mod, and go vet
// has none to add.
func expectResolved(t *testing.T, rec recipe.Recipe) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), rec.Name)
	run(t, "copy", rec.Name, dir)
	modules := func() (text string) {
		for _, name := range []string{"go.mod", "go.sum"} {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	before := modules()
	if _, err := goCommand(t.Context(), dir, "vet", "-mod=mod", "./..."); err != nil {
		t.Errorf("%s: got error %v", rec.Name, err)
	}
	if after := modules(); after != before {
		t.Errorf("%s: got modules\n%s\nafter go vet -mod=mod; want them as before\n%s", rec.Name, after, before)
	}
}

// ofTests are modules that no program of a recipe needs.
var ofTests = []string{"github.com/anishathalye/porcupine", "go.yaml.in/yaml/v3", "golang.org/x/term", "pgregory.net/rapid"}

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
