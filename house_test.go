package aztablekit_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

const module = "github.com/aztablekit/aztablekit"

// arrows says which packages of the project a package may import. A package that is missing here fails the test.
var arrows = map[string][]string{
	"":                         {},
	"keys":                     {},
	"internal/reserved":        {},
	"internal/edm":             {"internal/reserved"},
	"internal/wire":            {},
	"internal/azurite":         {},
	"internal/model":           {},
	"internal/mutants":         {},
	"internal/azurite/install": {"internal/azurite"},
	"table":                    {"keys", "internal/edm", "internal/reserved", "internal/wire"},
	"account":                  {"table"},
	"index":                    {"keys", "table", "index/internal/derived", "internal/reserved"},
	"index/internal/derived":   {"keys", "table", "internal/reserved"},
	"index/verify":             {"keys", "table", "index", "index/internal/derived", "internal/reserved"},
	"eventual":                 {"keys", "table", "internal/wire"},
	"archive":                  {"eventual", "keys", "table", "internal/reserved", "internal/wire"},
	"storagetest":              {},
	"storagetest/crashtest":    {"storagetest"},
	"integration":              {},
	"patterns":                 {"account", "archive", "eventual", "index", "index/verify", "keys", "table", "storagetest", "internal/azurite"},
}

// TestReservedNames: only package reserved spells system properties and the prefixes of the library's rows.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	names := append([]string{reserved.CommitRecord, reserved.PlannedSweep, reserved.Derived, reserved.Tombstone, reserved.Restored}, reserved.Properties...)
	for _, dir := range []string{"keys", "internal/edm", "table", "account", "eventual", "index", "index/internal/derived", "index/verify", "archive"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				lit, is := n.(*ast.BasicLit)
				if !is || lit.Kind != token.STRING {
					return true
				}
				if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains(names, text) {
					t.Errorf("%s spells %q; want the constant of package reserved", name, text)
				}
				return true
			})
		}
	}
}

// TestArrows keeps the house: no package imports what stands beside or above it, and at run time the project depends on the
// Azure SDK and Go's own modules alone.
func TestArrows(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		seen++
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, ok := arrows[name]
		if !ok {
			t.Errorf("%q has no place in the house", name)
		}
		for _, i := range p.Imports {
			first, _, _ := strings.Cut(i, "/")
			switch {
			case strings.HasPrefix(i, module+"/"):
				if !slices.Contains(allowed, strings.TrimPrefix(i, module+"/")) {
					t.Errorf("%s must not import %s", name, i)
				}
			case strings.Contains(first, ".") && !strings.HasPrefix(i, "github.com/Azure/azure-sdk-for-go/sdk/") && !strings.HasPrefix(i, "golang.org/x/"):
				t.Errorf("%s depends on %s", name, i)
			}
		}
	}
	if seen != len(arrows) {
		t.Errorf("%d packages, %d places", seen, len(arrows))
	}
}

// TestReadme: the README's program is the example that runs, and its commands are those of .ci/run.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(readme)
	body := regexp.MustCompile(`(?s)func Example\(\) \{\n(.*?)\t// Output:`).FindStringSubmatch(read(t, "example_test.go"))
	if block == nil || body == nil {
		t.Fatal("no program")
	}
	want := regexp.MustCompile(`(?m)^\t`).ReplaceAllString(body[1], "")
	if block[1] != want {
		t.Errorf("the README's program is not the example's:\n%s\nwant\n%s", block[1], want)
	}
	ci := read(t, ".ci/run")
	for _, command := range []string{"go run ./patterns", "go test ./...", "go test -short ./..."} {
		if !strings.Contains(readme, command) {
			t.Errorf("the README does not say %q", command)
		}
	}
	if !regexp.MustCompile(`(?m)^go test \./\.\.\.$`).MatchString(ci) {
		t.Error(".ci/run does not run the README's test command")
	}
}

// TestCompose: the emulator of docker-compose.yml is the one that the tests start, and listens on loopback alone.
func TestCompose(t *testing.T) {
	t.Parallel()
	compose := read(t, "docker-compose.yml")
	list := func(key string) []string {
		m := regexp.MustCompile(`(?m)^    ` + key + `:\n((?:      - .*\n)+)`).FindStringSubmatch(compose)
		if m == nil {
			t.Fatalf("no %s", key)
		}
		var items []string
		for line := range strings.Lines(m[1]) {
			items = append(items, strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "- "), `"`))
		}
		return items
	}
	if !strings.Contains(compose, "\n    image: "+azurite.Image+"\n") {
		t.Errorf("the image is not %s", azurite.Image)
	}
	if !strings.Contains(read(t, "internal/azurite/npm/package.json"), `"azurite": "`+azurite.Image[strings.LastIndex(azurite.Image, ":")+1:]+`"`) {
		t.Error("npm and Docker run different versions")
	}
	command := list("command")
	for _, flag := range azurite.Flags {
		if !slices.Contains(command, flag) {
			t.Errorf("the command lacks %s", flag)
		}
	}
	ports := list("ports")
	for service, port := range map[string]string{"blob": "10000", "queue": "10001", "table": "10002"} {
		joined := strings.Join(command, " ")
		if !strings.Contains(joined, "--"+service+"Host 0.0.0.0 --"+service+"Port "+port) {
			t.Errorf("%s: %s", service, joined)
		}
		if !slices.Contains(ports, "127.0.0.1:"+port+":"+port) {
			t.Errorf("%s is not published on loopback: %q", service, ports)
		}
	}
	if len(ports) != 3 || !strings.Contains(compose, "healthcheck:") {
		t.Errorf("%q", ports)
	}
}

// TestLockFile: it names no hosts to download from, and is the one of package.json.
func TestLockFile(t *testing.T) {
	t.Parallel()
	var lock struct {
		Packages map[string]struct {
			Resolved     string
			Dependencies map[string]string
		}
	}
	if err := json.Unmarshal([]byte(read(t, "internal/azurite/npm/package-lock.json")), &lock); err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Dependencies map[string]string }
	if err := json.Unmarshal([]byte(read(t, "internal/azurite/npm/package.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" {
			t.Errorf("%s is resolved to %s", name, p.Resolved)
		}
	}
	for name, version := range manifest.Dependencies {
		if lock.Packages[""].Dependencies[name] != version || strings.ContainsAny(version, "^~*") {
			t.Errorf("%s %s is not pinned", name, version)
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
