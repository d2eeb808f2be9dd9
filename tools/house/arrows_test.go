package house_test

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
	"github.com/aztablekit/aztablekit/storagetest"
)

const module = "github.com/aztablekit/aztablekit"

// modules are the folders of the modules that these tests read: of the library and of the tools.
var modules = []string{".", "tools"}

// arrows are the packages of the project that each package may import. Each package must have an entry, but those of recipes. Packages on top of table
// reach the engine of a table by package door.
var arrows = map[string][]string{
	"":                            {"internal/host", "internal/commit", "internal/keyrange", "internal/bare", "internal/bareworker", "eventual", "extend", "internal/catalogue", "internal/derived", "internal/door", "internal/engine", "internal/errs", "internal/pace", "internal/reserved", "internal/stored", "internal/wire", "internal/work", "jobs", "keys", "table", "verify", "internal/tabledoor", "internal/options"},
	"azt":                         {"internal/bareworker", "", "account", "eventual", "internal/bare", "internal/catalogue", "internal/commit", "internal/door", "internal/edm", "internal/engine", "internal/errs", "internal/query", "internal/reserved", "internal/stored", "jobs", "keys", "table", "transfer", "verify"},
	"cmd/azt":                     {"azt"},
	"expire":                      {"internal/errs", "internal/host", "internal/tabledoor", "extend", "index", "internal/door", "internal/engine", "jobs", "keys", "table"},
	"jobs":                        {"internal/errs", "internal/host", "internal/commit", "internal/keyrange", "archive", "eventual", "extend", "internal/bare", "internal/derived", "internal/door", "internal/edm", "internal/engine", "internal/exports", "internal/pace", "internal/split", "keys", "table", "transfer", "verify", "internal/tabledoor"},
	"internal/catalogue":          {"internal/edm", "internal/engine", "internal/errs", "internal/pace", "internal/reserved", "internal/stored", "keys"},
	"keys":                        {"internal/ticks", "internal/reserved", "internal/keydoor"},
	"requests":                    {"internal/kinds"},
	"internal/reserved":           {},
	"internal/keyrange":           {"internal/keydoor", "keys"},
	"internal/ticks":              {},
	"internal/kinds":              {},
	"internal/keydoor":            {},
	"internal/exports":            {},
	"internal/pace":               {},
	"internal/edm":                {"internal/errs", "internal/reserved"},
	"internal/wire":               {},
	"internal/errs":               {"internal/wire", "keys"},
	"internal/azurite":            {},
	"internal/blobs":              {"internal/commit", "internal/edm", "internal/errs", "internal/engine", "internal/wire"},
	"internal/testkit":            {"storagetest", "storagetest/crashtest"},
	"internal/testkit/baretest":   {"extend", "internal/bare", "internal/commit", "internal/door", "internal/host", "internal/tabledoor", "keys", "table"},
	"internal/testkit/workertest": {"archive", "internal/bare", "internal/bareworker", "internal/commit", "internal/host", "keys", "table"},
	"internal/testkit/valuestest": {"internal/host", "extend", "internal/bare", "keys", "largeentity", "table"},
	"internal/azurite/install":    {"internal/azurite"},
	"internal/options":            {},
	"internal/query":              {"internal/keyrange", "internal/edm", "internal/errs", "internal/reserved", "keys"},
	"internal/commit":             {"internal/errs", "keys", "internal/edm"},
	"internal/door":               {"internal/query", "internal/engine", "keys", "internal/stored"},
	"internal/engine":             {"internal/query", "internal/commit", "internal/options", "internal/errs", "keys", "internal/edm", "internal/pace", "internal/reserved", "internal/wire", "internal/stored"},
	"table":                       {"internal/door", "internal/keydoor", "internal/query", "internal/options", "internal/commit", "internal/errs", "keys", "requests", "internal/edm", "internal/engine", "internal/reserved", "internal/wire", "internal/stored"},
	"extend":                      {"internal/records", "internal/host", "internal/door", "internal/commit", "internal/errs", "internal/engine", "internal/wire", "keys", "table", "internal/stored"},
	"account":                     {"internal/edm", "internal/engine", "internal/errs", "internal/wire", "keys", "requests", "table"},
	"index":                       {"internal/query", "internal/wire", "internal/host", "internal/bare", "internal/keyrange", "internal/door", "extend", "internal/errs", "eventual", "keys", "table", "internal/derived", "internal/engine", "internal/reconcile", "internal/reserved", "internal/property", "internal/keydoor", "internal/edm", "internal/stored", "internal/tabledoor"},
	"internal/derived":            {"internal/tabledoor", "internal/host", "internal/door", "internal/commit", "eventual", "extend", "keys", "table", "internal/engine", "internal/reconcile", "internal/reserved", "internal/stored", "internal/errs"},
	"internal/host":               {"table", "keys", "internal/wire", "internal/engine", "internal/door", "internal/commit", "internal/options"},
	"internal/records":            {"table", "keys", "internal/errs", "internal/engine", "internal/door", "internal/commit"},
	"internal/bare":               {"internal/host", "internal/commit", "internal/door", "extend", "internal/engine", "internal/wire", "table"},
	"internal/tabledoor":          {"internal/keyrange", "internal/query", "internal/stored", "internal/door", "keys", "table"},
	"internal/bareworker":         {"internal/host", "internal/commit", "internal/bare", "archive", "eventual", "extend", "internal/door", "keys", "table"},
	"internal/work":               {"internal/commit", "internal/edm", "internal/engine", "internal/errs", "internal/pace", "internal/stored", "keys"},
	"internal/property":           {"internal/door", "internal/edm", "internal/engine", "table", "internal/stored"},
	"internal/stored":             {"internal/commit", "internal/edm", "internal/errs", "internal/reserved", "keys"},
	"verify":                      {"internal/bare", "internal/keyrange", "internal/door", "internal/commit", "extend", "keys", "table", "internal/derived", "internal/engine", "internal/pace", "internal/reconcile", "internal/reserved", "internal/stored", "internal/tabledoor"},
	"eventual":                    {"internal/tabledoor", "internal/records", "internal/host", "internal/bare", "internal/door", "internal/commit", "extend", "internal/errs", "keys", "table", "internal/edm", "internal/engine", "internal/wire"},
	"archive":                     {"internal/query", "internal/records", "internal/host", "internal/commit", "internal/keyrange", "internal/bare", "internal/door", "internal/reconcile", "extend", "eventual", "keys", "table", "internal/engine", "internal/reserved", "internal/property", "internal/wire", "internal/stored", "internal/errs", "internal/tabledoor"},
	"internal/reconcile":          {"internal/errs", "internal/records", "internal/host", "internal/keyrange", "internal/door", "internal/commit", "extend", "eventual", "internal/engine", "internal/reserved", "keys", "table", "internal/stored", "internal/tabledoor"},
	"materialized":                {"internal/host", "internal/commit", "internal/bare", "internal/derived", "internal/keyrange", "internal/door", "extend", "internal/edm", "internal/engine", "internal/reconcile", "internal/reserved", "internal/property", "keys", "eventual", "table", "internal/stored", "internal/errs", "internal/tabledoor"},
	"archive/blobarchive":         {"internal/host", "internal/bare", "extend", "internal/door", "internal/commit", "internal/errs", "archive", "internal/blobs", "internal/engine", "internal/wire", "keys", "table", "internal/stored"},
	"logtail":                     {"internal/engine", "internal/errs", "internal/host", "internal/ticks", "internal/bare", "extend", "internal/door", "internal/pace", "internal/reserved", "keys", "table", "internal/tabledoor"},
	"transfer":                    {"internal/host", "extend", "internal/blobs", "internal/catalogue", "internal/commit", "internal/door", "internal/edm", "internal/engine", "internal/errs", "internal/exports", "internal/pace", "internal/query", "internal/reserved", "internal/split", "internal/stored", "internal/tabledoor", "internal/wire", "keys", "table"},
	"internal/split":              {"keys"},
	"logtail/bloblog":             {"internal/host", "extend", "internal/commit", "internal/errs", "internal/blobs", "internal/edm", "internal/engine", "internal/wire", "table"},
	"txn":                         {"internal/host", "extend", "internal/commit", "internal/door", "internal/engine", "internal/errs", "internal/reserved", "internal/stored", "keys", "table", "internal/tabledoor"},
	"lease":                       {"internal/host", "internal/keyrange", "extend", "internal/door", "internal/edm", "internal/engine", "internal/pace", "internal/reserved", "internal/stored", "keys", "table"},
	"largeentity/series":          {"internal/engine", "internal/host", "internal/bare", "extend", "internal/door", "keys", "table", "internal/tabledoor"},
	"largeentity":                 {"internal/host", "internal/bare", "internal/keyrange", "internal/door", "internal/commit", "extend", "verify", "internal/errs", "internal/blobs", "internal/edm", "internal/engine", "internal/pace", "internal/reserved", "internal/property", "internal/wire", "keys", "table", "internal/stored", "internal/tabledoor"},
	"storagetest":                 {"internal/kinds", "requests", "storagetest/internal/blobs", "storagetest/internal/protocol", "storagetest/internal/queues", "storagetest/internal/tables"},
	"storagetest/crashtest":       {"internal/kinds", "requests", "storagetest"},

	"storagetest/internal/protocol": {"requests"},
	"storagetest/internal/access":   {"storagetest/internal/protocol"},
	"storagetest/internal/settings": {"storagetest/internal/protocol"},
	"storagetest/internal/odata":    {"storagetest/internal/protocol"},
	"storagetest/internal/tables":   {"internal/kinds", "requests", "storagetest/internal/access", "storagetest/internal/odata", "storagetest/internal/protocol", "storagetest/internal/settings"},
	"storagetest/internal/blobs":    {"internal/kinds", "requests", "storagetest/internal/access", "storagetest/internal/protocol", "storagetest/internal/settings", "storagetest/internal/xmlform"},
	"storagetest/internal/queues":   {"internal/kinds", "requests", "storagetest/internal/access", "storagetest/internal/protocol", "storagetest/internal/settings", "storagetest/internal/xmlform"},
	"storagetest/internal/xmlform":  {"storagetest/internal/access", "storagetest/internal/protocol", "storagetest/internal/settings"},

	"integration": {}, "integration/whole": {},
	"tools/bench": {}, "tools/conformance": {}, "tools/conformance/main": {}, "tools/coverage": {}, "tools/house": {}, "tools/instances": {}, "tools/manytransfers": {}, "tools/manyworkers": {}, "tools/measure": {}, "tools/measure/trace": {}, "tools/model": {}, "tools/mutants": {}, "tools/peers": {}, "tools/processes": {}, "tools/seconds": {}, "tools/seconds/record": {}, "tools/suites": {}, "tools/workers": {},
	"patterns/quickstart":      {"account", "index", "keys", "table"},
	"patterns/hr":              {"account", "eventual", "index", "keys", "largeentity", "logtail", "storagetest", "table"},
	"patterns":                 {"patterns/internal/recipe", "storagetest", "internal/azurite"},
	"patterns/internal/recipe": {"", "account", "eventual", "internal/bare", "internal/keyrange", "internal/reserved", "internal/stored", "keys", "lease", "requests", "table"},
}

// programs are the folders of public programs and tests.
var programs = []string{"cmd/azt", "integration", "integration/whole", "patterns", "patterns/hr", "patterns/internal/recipe", "patterns/quickstart"}

// recipeOf returns the name of the recipe whose package, or whose main, is in a folder; "" for none.
func recipeOf(folder string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(folder, "patterns/"), "/")
	_, err := os.Stat(filepath.Join("patterns", name, "main", "main.go"))
	if !strings.HasPrefix(folder, "patterns/") || err != nil {
		return ""
	}
	return name
}

// allowedIn returns the packages that a package may import.
func allowedIn(folder string) (allowed []string, ok bool) {
	recipe := recipeOf(folder)
	switch {
	case recipe == "":
		allowed, ok = arrows[folder]
	case folder == "patterns/"+recipe+"/main":
		allowed, ok = []string{"patterns/" + recipe, "storagetest"}, true
	case folder == "patterns/"+recipe:
		for name := range arrows {
			if isPublic(name) {
				allowed = append(allowed, name)
			}
		}
		return append(allowed, "patterns/internal/recipe"), true
	}
	return allowed, ok
}

// isPublic reports whether programs import the package of a folder.
func isPublic(name string) bool {
	return !strings.Contains(name, "internal") && !isTool(name) && !slices.Contains(programs, name) && recipeOf(name) == ""
}

// isTool reports whether the package of a folder only measures and checks. Such a package may import every other one.
func isTool(name string) bool { return strings.HasPrefix(name, "tools/") }

// TestReservedNames: only package reserved contains the names of system properties and the prefixes of the library's rows as
// literals.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	names := append([]string{reserved.CommitRecord, reserved.ScheduledSweep, reserved.Derived, reserved.Tombstone, reserved.Restored, reserved.Blob, reserved.View, reserved.Holder, reserved.Catalogue}, reserved.Properties...)
	for _, dir := range []string{"keys", "internal/edm", "internal/engine", "internal/catalogue", "table", "internal/commit", "extend", "account", "eventual", "index", "internal/derived", "verify", "archive", "internal/reconcile", "materialized", "largeentity", "archive/blobarchive", "logtail", "logtail/bloblog", "largeentity/series", "lease", "txn"} {
		for _, name := range glob(t, filepath.Join(dir, "*.go")) {
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
					t.Errorf("%s: got literal %q, want the constant of package reserved", name, text)
				}
				return true
			})
		}
	}
}

// TestArrows: a package imports only packages below it, and the project depends on no modules except the Azure SDK and
// golang.org/x.
func TestArrows(t *testing.T) {
	t.Parallel()
	var out []byte
	for _, folder := range modules {
		list, err := exec.Command("go", "-C", folder, "list", "-json=ImportPath,Imports", "./...").Output()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, list...)
	}
	seen := map[string]bool{}
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
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		seen[name] = true
		allowed, ok := allowedIn(name)
		if !ok {
			t.Errorf("package %q has no entry in arrows", name)
		}
		for _, i := range p.Imports {
			first, _, _ := strings.Cut(i, "/")
			switch {
			case i == module:
				if !slices.Contains(programs, name) && !isTool(name) && recipeOf(name) == "" && !slices.Contains(allowed, "") {
					t.Errorf("package %s imports the front door, which is above it", name)
				}
			case strings.HasPrefix(i, module+"/"):
				if name == "patterns" && recipeOf(strings.TrimPrefix(i, module+"/")) != "" {
					continue
				}
				if !isTool(name) && !slices.Contains(allowed, strings.TrimPrefix(i, module+"/")) {
					t.Errorf("package %s imports %s; arrows allows %v", name, i, allowed)
				}
			case name == "internal/testkit" && i == "github.com/anishathalye/porcupine": // only tests use the package
			case strings.Contains(first, ".") && !strings.HasPrefix(i, "github.com/Azure/azure-sdk-for-go/sdk/") && !strings.HasPrefix(i, "golang.org/x/"):
				t.Errorf("package %s imports %s; want the Azure SDK and golang.org/x only", name, i)
			}
		}
	}
	for name := range arrows {
		if !seen[name] {
			t.Errorf("got no package %q, which has an entry in arrows", name)
		}
	}
}

// The README is read in a few minutes, and its quick start fits on a screen.
const (
	readmeWords     = 1500
	quickstartLines = 30 // without the imports
)

// TestReadme: the README is short. It contains the program quickstart and what it prints, also when it runs a second time, and .ci/run
// contains its test command. The pages behind it name each recipe and each package.
func TestReadme(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	if n := len(strings.Fields(readme)); n > readmeWords {
		t.Errorf("README.md: got %d words; want at most %d", n, readmeWords)
	}
	blocks := regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(readme, -1)
	first := slices.IndexFunc(blocks, func(b []string) bool { return strings.HasPrefix(b[2], "package main\n") })
	if first < 0 || len(blocks) < first+2 || blocks[first+1][1] != "text" {
		t.Fatalf("README.md: got blocks %q, want the program and its output", blocks)
	}
	blocks = blocks[first:]
	source := read(t, "patterns/quickstart/main.go")
	if _, program, _ := strings.Cut(source, "program of the README"); !strings.HasSuffix(program, blocks[0][2]) {
		t.Errorf("README.md: got program\n%s\nwant that of patterns/quickstart/main.go", blocks[0][2])
	}
	if _, program, _ := strings.Cut(blocks[0][2], "\n)\n\n"); strings.Count(program, "\n") > quickstartLines {
		t.Errorf("README.md: got a program of %d lines without the imports; want at most %d", strings.Count(program, "\n"), quickstartLines)
	}
	connection, err := storagetest.New(nil).Listen()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		cmd := exec.Command("go", "run", "./patterns/quickstart")
		cmd.Env = append(os.Environ(), "AZURE_STORAGE_CONNECTION_STRING="+connection)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != blocks[1][2] {
			t.Errorf("quickstart: got error %v and output\n%s\nwant as in README.md\n%s", err, out, blocks[1][2])
		}
	}
	patterns, contents := read(t, "docs/patterns.md"), read(t, "docs/README.md")
	for _, main := range glob(t, "patterns/*/main/main.go") {
		recipe := strings.TrimSuffix(main, "/main/main.go")
		if !strings.Contains(patterns, "(../"+recipe+")") {
			t.Errorf("docs/patterns.md: got no link to %s", recipe)
		}
	}
	for name := range arrows {
		if name != "" && isPublic(name) && !strings.Contains(contents, "\n| `"+name+"` |") {
			t.Errorf("docs/README.md: got no line for package %s", name)
		}
	}
	packages := read(t, "doc.go")
	for name := range arrows {
		if name != "" && isPublic(name) && !strings.Contains(packages, "\n//   - "+name+": ") {
			t.Errorf("doc.go: got no line for package %s", name)
		}
	}
	ci := read(t, ".ci/run")
	for _, command := range []string{"go run ./patterns", "go test ./..."} {
		if !strings.Contains(readme, command) {
			t.Errorf("README.md: got no command %q", command)
		}
	}
	if !regexp.MustCompile(`(?m)^go test \./\.\.\.$`).MatchString(ci) {
		t.Error(".ci/run: got no line \"go test ./...\", want the README's test command")
	}
}

// TestCompose: docker-compose.yml starts the same emulator as the tests, and publishes its ports on loopback only.
func TestCompose(t *testing.T) {
	t.Parallel()
	compose := read(t, "docker-compose.yml")
	list := func(key string) []string {
		m := regexp.MustCompile(`(?m)^    ` + key + `:\n((?:      - .*\n)+)`).FindStringSubmatch(compose)
		if m == nil {
			t.Fatalf("docker-compose.yml: got no list %q", key)
		}
		var items []string
		for line := range strings.Lines(m[1]) {
			items = append(items, strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "- "), `"`))
		}
		return items
	}
	if !strings.Contains(compose, "\n    image: "+azurite.Image+"\n") {
		t.Errorf("docker-compose.yml: got no image %s", azurite.Image)
	}
	if !strings.Contains(read(t, "internal/azurite/npm/package.json"), `"azurite": "`+azurite.Image[strings.LastIndex(azurite.Image, ":")+1:]+`"`) {
		t.Errorf("package.json: got another version of azurite, want that of the image %s", azurite.Image)
	}
	command := list("command")
	for _, flag := range azurite.Flags {
		if !slices.Contains(command, flag) {
			t.Errorf("command: got %q, want also %s", command, flag)
		}
	}
	ports := list("ports")
	for service, port := range map[string]string{"blob": "10000", "queue": "10001", "table": "10002"} {
		joined := strings.Join(command, " ")
		if !strings.Contains(joined, "--"+service+"Host 0.0.0.0 --"+service+"Port "+port) {
			t.Errorf("command: got %s, want host 0.0.0.0 and port %s for service %s", joined, port, service)
		}
		if !slices.Contains(ports, "127.0.0.1:"+port+":"+port) {
			t.Errorf("ports: got %q, want port %s of service %s on 127.0.0.1", ports, port, service)
		}
	}
	if len(ports) != 3 {
		t.Errorf("ports: got %q, want 3", ports)
	}
	if !strings.Contains(compose, "healthcheck:") {
		t.Error("docker-compose.yml: got no healthcheck")
	}
}

// TestLockFile: package-lock.json names no hosts, and has the pinned versions of package.json.
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
			t.Errorf("package-lock.json: package %s: got address %s, want none", name, p.Resolved)
		}
	}
	for name, version := range manifest.Dependencies {
		if got := lock.Packages[""].Dependencies[name]; got != version || strings.ContainsAny(version, "^~*") {
			t.Errorf("%s: got version %q in package-lock.json and %q in package.json, want the same exact version", name, got, version)
		}
	}
}

// read returns the text of a file.
func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
