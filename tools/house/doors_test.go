package house_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoors: a module outside this one cannot reach the engine of a handle, and so cannot change the maintainers of a table.
func TestDoors(t *testing.T) {
	t.Parallel()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const head = `package main

import (
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/table"
)

type employee struct{ Name string }

var (
	staff  *table.Table[employee]
	row    *table.Row
	op     table.Op
	plan   *extend.Plan
	change *extend.Change[employee]
)

func main() {
	_, _, _, _, _ = staff, row, op, plan, change
	_ = staff.Name()
`
	if out := compileOutside(t, root, head+"}\n"); out != "" {
		t.Fatalf("the program as it is: got output %q, want none", out)
	}
	misuses := []struct{ statement, want string }{
		{"staff.Engine()", "staff.Engine undefined"},
		{"staff.InMode(nil)", "staff.InMode undefined"},
		{"staff.engine()", "staff.engine undefined"},
		{"staff.inMode(nil)", "staff.inMode undefined"},
		{"staff.Elsewhere(nil)", "staff.Elsewhere undefined"},
		{"table.Handle(staff).engine()", "table.Handle(staff).engine undefined"},
		{"row.Engine()", "row.Engine undefined"},
		{"table.RowsOf(nil, true)", "undefined: table.RowsOf"},
		{"table.RowOf(nil)", "undefined: table.RowOf"},
		{"op.Engine()", "op.Engine undefined"},
		{"plan.InsertRow(nil, nil)", "plan.InsertRow undefined"},
		{"plan.PutRow(nil)", "plan.PutRow undefined"},
		{"change.EngineRow()", "change.EngineRow undefined"},
	}
	program := head
	for _, x := range misuses {
		program += "\t" + x.statement + "\n"
	}
	out := compileOutside(t, root, program+"}\n")
	for _, x := range misuses {
		if !strings.Contains(out, x.want) {
			t.Errorf("%s: got output %q, want %q", x.statement, out, x.want)
		}
	}
	imports := strings.Replace(head, "import (", "import (\n\t\"github.com/aztablekit/aztablekit/internal/door\"", 1) + "\tdoor.InMode(staff, nil)\n}\n"
	if out := compileOutside(t, root, imports); !strings.Contains(out, "use of internal package") {
		t.Errorf("import of internal/door: got output %q, want that it is refused", out)
	}
}

// compileOutside compiles a program in a module of its own, and returns what the compiler prints.
func compileOutside(t *testing.T, root, program string) string {
	t.Helper()
	dir := t.TempDir()
	mod := strings.Replace(read(t, filepath.Join(root, "go.mod")), "module github.com/aztablekit/aztablekit", "module outside", 1)
	mod += "\nrequire github.com/aztablekit/aztablekit v0.0.0\n\nreplace github.com/aztablekit/aztablekit => " + root + "\n"
	for name, text := range map[string]string{"go.mod": mod, "go.sum": read(t, filepath.Join(root, "go.sum")), "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", os.DevNull, "-gcflags=-e", ".") // all errors
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, _ := cmd.CombinedOutput()
	return string(out)
}
