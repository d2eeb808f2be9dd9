package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples: an example of its package uses each exported function and method of the public packages, except methods that only
// implement an interface of Go or of the SDK, Define and Bind, which aztablekit.Table calls, and those whose signatures name an internal package:
// they are for packages of this module.
func TestExamples(t *testing.T) {
	t.Parallel()
	exempt := map[string]bool{"Error": true, "Unwrap": true, "String": true, "Do": true, "ServeHTTP": true, "MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "Define": true, "Bind": true}
	for _, dir := range []string{".", "account", "archive", "archive/blobarchive", "eventual", "extend", "index", "verify", "keys", "largeentity", "largeentity/series", "lease", "logtail", "logtail/bloblog", "materialized", "requests", "table", "txn", "storagetest"} {
		used, exported := map[string]bool{}, map[string]bool{}
		for _, path := range glob(t, filepath.Join(dir, "*.go")) {
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
					if !test && n.Name.IsExported() && hasExportedReceiver(n) && !exempt[n.Name.Name] && !namesInternal(file, n.Type) {
						exported[n.Name.Name] = true
					}
				}
				return true
			})
		}
		for name := range exported {
			if !used[name] {
				t.Errorf("package %s: got no example that uses %s", dir, name)
			}
		}
	}
}

// hasExportedReceiver reports whether a declaration is a function, or a method of an exported type.
func hasExportedReceiver(f *ast.FuncDecl) bool {
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

// namesInternal reports whether a signature in a file names a type of an internal package.
func namesInternal(file *ast.File, signature *ast.FuncType) (found bool) {
	internal := map[string]bool{}
	for _, i := range file.Imports {
		if path := strings.Trim(i.Path.Value, `"`); strings.Contains(path, "/internal/") {
			internal[path[strings.LastIndex(path, "/")+1:]] = true
		}
	}
	ast.Inspect(signature, func(n ast.Node) bool {
		if x, is := n.(*ast.SelectorExpr); is {
			if p, is := x.X.(*ast.Ident); is && internal[p.Name] {
				found = true
			}
		}
		return !found
	})
	return found
}
