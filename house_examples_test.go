package aztablekit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples: every exported function and method of the public packages is used in an example, which is its
// documentation. What only satisfies an interface of Go or of the SDK is not.
func TestExamples(t *testing.T) {
	t.Parallel()
	plumbing := map[string]bool{"Error": true, "Unwrap": true, "String": true, "Do": true, "ServeHTTP": true, "MarshalJSON": true, "UnmarshalJSON": true}
	for _, dir := range []string{"account", "archive", "eventual", "index", "index/verify", "keys", "table", "storagetest"} {
		used, exported := map[string]bool{}, map[string]bool{}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			test := strings.HasSuffix(path, "_test.go")
			if test && !strings.Contains(filepath.Base(path), "example") {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if test {
						used[n.Sel.Name] = true
					}
				case *ast.FuncDecl:
					if !test && n.Name.IsExported() && publicReceiver(n) && !plumbing[n.Name.Name] {
						exported[n.Name.Name] = true
					}
				}
				return true
			})
		}
		for name := range exported {
			if !used[name] {
				t.Errorf("no example of package %s uses %s", dir, name)
			}
		}
	}
}

// publicReceiver tells whether a function is not a method of a type that nobody sees.
func publicReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	at := f.Recv.List[0].Type
	for {
		switch x := at.(type) {
		case *ast.StarExpr:
			at = x.X
		case *ast.IndexExpr:
			at = x.X
		case *ast.IndexListExpr:
			at = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}
