package house_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"testing"
)

// TestAztablesPage: each block of Go in docs/aztables.md is the body of a function of integration/whole/example_test.go, or a marked part,
// and the page contains all of them.
func TestAztablesPage(t *testing.T) {
	t.Parallel()
	expectPage(t, "docs/aztables.md", "integration/whole/example_test.go", `^(sdk|kit|add)`)
}

// TestOperationsPage: the same for docs/operations.md.
func TestOperationsPage(t *testing.T) {
	t.Parallel()
	expectPage(t, "docs/operations.md", "integration/whole/operations_test.go", `^ops`)
}

// TestServicePage: docs/service.md contains the function open of patterns/hr.
func TestServicePage(t *testing.T) {
	t.Parallel()
	expectPage(t, "docs/service.md", "patterns/hr/company.go", `^open$`)
}

// expectPage fails unless the blocks of Go in a page are the bodies of the functions with certain names in a file, and its parts
// between comments "page:".
func expectPage(t *testing.T, page, name, functions string) {
	t.Helper()
	source := []byte(read(t, name))
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]string{} // the name of each part by its code
	for _, d := range file.Decls {
		if f, is := d.(*ast.FuncDecl); is && regexp.MustCompile(functions).MatchString(f.Name.Name) {
			missing[dedent(source[fset.Position(f.Body.Lbrace).Offset+1:fset.Position(f.Body.Rbrace).Offset])] = f.Name.Name
		}
	}
	for _, m := range regexp.MustCompile(`(?s)// page:\n(.*?)// page:end\n`).FindAllSubmatch(source, -1) {
		missing[dedent(m[1])] = "a marked part"
	}
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
		if missing[block[1]] == "" {
			t.Errorf("%s: got a block that is no body and no part of %s, or is there twice:\n%s", page, name, block[1])
		}
		delete(missing, block[1])
	}
	for code, part := range missing {
		t.Errorf("%s: got no block with the code of %s of %s, want\n%s", page, part, name, code)
	}
}

// dedent returns lines without the tabs that all of them begin with.
func dedent(code []byte) string {
	code = bytes.TrimRight(bytes.TrimLeft(code, "\n"), "\n\t ")
	tabs := len(code) - len(bytes.TrimLeft(code, "\t"))
	return regexp.MustCompile(fmt.Sprintf(`(?m)^\t{%d}`, tabs)).ReplaceAllString(string(code), "") + "\n"
}
