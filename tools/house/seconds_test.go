package house_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/aztablekit/aztablekit/tools/seconds/record"
)

// budget is how many processor seconds all tests take together: 5 minutes on two cores.
const budget = 600.0

// TestSeconds: of the recorded tests none takes long, all exist, and together they are within the budget.
func TestSeconds(t *testing.T) {
	t.Parallel()
	all, err := record.Read(record.File)
	if err != nil {
		t.Fatal(err)
	}
	exist := map[string]map[string]bool{}
	for _, k := range all.Keys() {
		folder := cmp.Or(k.Package, ".")
		if exist[folder] == nil {
			exist[folder] = testsIn(t, folder)
		}
		if most := record.Most(k.Package); all[k] > most && k.Name != record.Rest {
			t.Errorf("%s %s: got %.2f s; want at most %.0f s: fewer cases, and the others in .ci/nightly", folder, k.Name, all[k], most)
		}
		if !exist[folder][k.Name] && k.Name != record.Rest {
			t.Errorf("%s %s: got a record of no test; go -C tools run ./seconds -write ./%s", folder, k.Name, k.Package)
		}
	}
	if sum := all.Sum(); sum > budget || sum < budget/10 {
		t.Errorf("all tests together: got %.0f s; want at most %.0f s", sum, budget)
	}
}

// testsIn returns the names of the functions of the test files in a folder.
func testsIn(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv == nil {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}
