package mutants

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

const shipped = `package p

const limit = 3

func (t *T[V]) Verb(n int) (V, error) {
	for n < limit {
		n++
	}
	return t.v, t.err
}

type T[V any] struct {
	v   V
	err error
}
`

// TestPlant: a program with bugs is compiled, and each body of a function stands in it once for each bug.
func TestPlant(t *testing.T) {
	t.Parallel()
	all := []Mutant{
		{Name: "one less", Old: "n < limit", New: "n < limit-1"},
		{Name: "no error", Old: "t.v, t.err", New: "t.v, nil"},
	}
	planted, name, err := withBugs(shipped, all, []int{0, 1})
	if err != nil || name != "p" {
		t.Fatalf("a source with two bugs: got package %q, error %v; want package p and no error", name, err)
	}
	for what, n := range map[string]int{"n < limit ": 2, "n < limit-1": 1, "return t.v, t.err": 2, "return t.v, nil": 1} {
		if strings.Count(planted, what) != n {
			t.Errorf("%q in the source with bugs: got %d times; want %d times:\n%s", what, strings.Count(planted, what), n, planted)
		}
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, source := range []string{planted, "package p\nvar plantedBug int"} {
		f, err := parser.ParseFile(set, "", source, 0)
		if err != nil {
			t.Fatalf("parsing the source with bugs: got error %v; want none:\n%s", err, planted)
		}
		files = append(files, f)
	}
	if _, err := (&types.Config{Importer: importer.Default()}).Check("p", set, files, nil); err != nil {
		t.Errorf("type check of the source with bugs: got error %v; want none:\n%s", err, planted)
	}

	all = append(all, Mutant{Name: "another limit", Old: "limit = 3", New: "limit = 4"})
	if _, _, err := withBugs(shipped, all, []int{0, 2}); err == nil || !strings.Contains(err.Error(), "another limit: not within") {
		t.Errorf("a bug outside of functions: got error %v; want one that contains another limit: not within", err)
	}
}

// TestTested: a bug needs a test that the package has.
func TestTested(t *testing.T) {
	t.Parallel()
	if err := tested(".", []Mutant{{Name: "a", Test: "TestPlant$|TestTest"}, {Name: "b", Test: "TestPlant/sub"}}); err != nil {
		t.Errorf("names of tests: got error %v; want none", err)
	}
	if err := tested(".", []Mutant{{Name: "c", Test: "TestPlant|TestAbsent"}}); err == nil || !strings.Contains(err.Error(), "c: got no test TestAbsent") {
		t.Errorf("TestAbsent: got error %v, want one that names the test", err)
	}
}
