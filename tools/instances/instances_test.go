// Package instances bounds what the compiler writes for each type of entities that a program
// declares.
package instances

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A program pays for machine code at each of its builds: about 3 CPU seconds of the compiler for a
// million bytes. # is the number of a type.
var bounds = []struct {
	kind    string
	imports []string
	argument,
	statement string
	bytes, functions int // for each type
}{
	{kind: "none", bytes: 65_000, functions: 300},
	{"index", []string{"index"}, `index.New("i", keys.Text(), func(e *E#) (string, bool) { return e.A, true }, nil)`, "", 90_000, 380},
	{"global index", []string{"index"}, `index.NewGlobal("i", keys.Text(), func(e *E#) (string, bool) { return e.A, true }, nil)`, "", 90_000, 380},
	{"unique value", []string{"index"}, `index.NewUnique("i", keys.Text(), func(e *E#) (string, bool) { return e.A, true }, nil)`, "", 90_000, 380},
	{"lists", []string{"index"}, `index.NewLists("i", keys.Text(), func(e *E#) (string, bool) { return e.A, true }, nil)`, "", 90_000, 380},
	{"global pointers", []string{"index"}, `index.NewGlobal("i", keys.Text(), func(e *E#) (string, bool) { return e.A, true }, nil).Only()`, "", 90_000, 380},
	{"summary", []string{"index"}, `index.NewSummary("i", keys.Text(), func(e *E#) (string, bool) { return e.A, true }, nil)`, "", 90_000, 380},
	{"details", []string{"index", "table"}, `index.NewDetails("i", "Of", func(e *E#) (keys.RowKey, bool) { return keys.RawRow("x"), true }, table.FieldOf(func(e *E#) *string { return &e.A }))`, "", 90_000, 380},
	{"effect", []string{"context", "eventual"}, `eventual.On("e#", func(c *eventual.Change[E#]) (string, bool) { return "", true }, func(context.Context, eventual.Job, string) error { return nil })`, "", 90_000, 380},
	{"ends", []string{"expire", "time"}, `expire.At(func(e *E#) time.Time { return time.Time{} }, nil)`, "", 90_000, 380},
	{"job", []string{"jobs", "table"}, `jobs.Delete("j#", func(string) table.Query[E#] { return table.Query[E#]{} })`, "", 90_000, 380},
	{"large values", []string{"largeentity"}, `largeentity.In[E#]("photos", nil)`, "", 90_000, 380},
	{"archive", []string{"archive"}, `archive.Into[E#]("a#", nil)`, "", 90_000, 380},
	{"view", []string{"materialized"}, `materialized.New("v#", aztablekit.Table(s, "w#", keys.OnePartition[E#]("p"), keys.OneRow[E#]("r")), func(e *E#, _ keys.Key) (E#, bool) { return *e, true })`, "", 90_000, 380},
	{"snapshots", []string{"transfer"}, `transfer.Snapshots[E#]("s")`, "", 90_000, 380},
	{"log", []string{"logtail"}, "", `logtail.New[E#](s, "l#", nil)`, 90_000, 380},
	{"log in blobs", []string{"logtail/bloblog"}, "", `bloblog.New[E#](nil, "l#", nil)`, 90_000, 380},
}

// TestInstances: a program pays little compilation for each of its types. The compiler writes all
// methods of a generic type, and each generic function that is reached, once more for each type;
// code without a type parameter is written once for all.
func TestInstances(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles two programs of each kind")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bounds {
		t.Run(b.kind, func(t *testing.T) {
			one, functionsOfOne := codeOf(t, root, program(1, b.imports, b.argument, b.statement))
			three, functionsOfThree := codeOf(t, root, program(3, b.imports, b.argument, b.statement))
			bytes, functions := (three-one)/2, (functionsOfThree-functionsOfOne)/2
			t.Logf("%d bytes, %d functions", bytes, functions)
			if bytes > b.bytes || functions > b.functions || bytes < 1000 {
				t.Errorf("got %d bytes and %d functions for each type; want at most %d and %d: give the new code no type parameter", bytes, functions, b.bytes, b.functions)
			}
		})
	}
}

// program returns a program that declares tables of several types.
func program(types int, imports []string, argument, statement string) string {
	const kit = "github.com/aztablekit/aztablekit"
	var s strings.Builder
	paths := []string{kit, kit + "/keys"}
	for _, path := range imports {
		if !slices.Contains([]string{"context", "time"}, path) {
			path = kit + "/" + path
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	fmt.Fprint(&s, "package main\n\n")
	for _, path := range slices.Compact(paths) {
		fmt.Fprintf(&s, "import %q\n", path)
	}
	if argument != "" {
		argument = ", " + argument
	}
	var declared strings.Builder
	for i := range types {
		of := func(text string) string { return strings.ReplaceAll(text, "#", strconv.Itoa(i)) }
		fmt.Fprint(&s, of("type E# struct {\n\tP, R, A string\n\tN# int\n}\n"))
		fmt.Fprint(&declared, of("\taztablekit.Table(s, \"t#\", keys.Partition(keys.Text(), func(e *E#) *string { return &e.P }), keys.Row(keys.Text(), func(e *E#) *string { return &e.R })"+argument+")\n"))
		fmt.Fprint(&declared, of("\t"+statement+"\n"))
	}
	fmt.Fprintf(&s, "func main() {\n\ts := aztablekit.Open(nil, \"company\", nil)\n%s}\n", declared.String())
	return s.String()
}

// codeOf compiles a program of the module, and returns the bytes of its machine code and the number
// of its functions.
func codeOf(t *testing.T, root, source string) (bytes, functions int) {
	t.Helper()
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "zz_instances", "main.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{file: []byte(source), overlay: replace} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return codeIn(t, root, strings.TrimSpace(run(t, root, "list", "-export", "-overlay="+overlay, "-f", "{{.Export}}", "./zz_instances")))
}

// codeIn returns the bytes of the machine code in an object, and the number of its functions.
func codeIn(t *testing.T, root, object string) (bytes, functions int) {
	t.Helper()
	for line := range strings.Lines(run(t, root, "tool", "nm", "-size", object)) {
		f := strings.Fields(line)
		for i := 1; i < len(f) && i < 3; i++ { // ADDRESS SIZE KIND NAME, without an address in an object
			if size, err := strconv.Atoi(f[i-1]); err == nil && (f[i] == "T" || f[i] == "t") {
				bytes, functions = bytes+size, functions+1
				break
			}
		}
	}
	return bytes, functions
}

// mostOfRecipe is how many bytes of machine code a package of the catalogue has at most.
const mostOfRecipe = 550_000

// TestRecipes: a package of the catalogue is compiled in about a second: none compiles the types of
// the others once more.
func TestRecipes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the catalogue")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	objects := strings.Fields(run(t, root, "list", "-export", "-f", "{{.Export}} {{.ImportPath}}", "./patterns/..."))
	for i := 0; i+1 < len(objects); i += 2 {
		if bytes, _ := codeIn(t, root, objects[i]); bytes > mostOfRecipe {
			t.Errorf("%s: got %d bytes of machine code; want at most %d", objects[i+1], bytes, mostOfRecipe)
		}
	}
	if len(objects) < 100 {
		t.Errorf("got %d packages; want all of the catalogue", len(objects)/2)
	}
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, problems.String())
	}
	return string(out)
}
