package house_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// loaded is a package of modules with the types of its declarations.
type loaded struct {
	path string
	fset *token.FileSet
	pkg  *types.Package
	info *types.Info
}

// load returns the packages of modules, without their tests.
func load(t *testing.T) []loaded {
	t.Helper()
	all, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var loadOnce = sync.OnceValues(func() (all []loaded, err error) {
	for _, folder := range modules {
		own, err := loadModule(folder)
		if err != nil {
			return nil, err
		}
		all = append(all, own...)
	}
	return all, nil
})

// loadModule returns the packages of the module in a folder.
func loadModule(folder string) (all []loaded, err error) {
	compiled := map[string]string{} // the export data of each package
	type listed struct {
		Dir, ImportPath, Export string
		GoFiles                 []string
	}
	var own []listed
	out, err := exec.Command("go", "-C", folder, "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "./...").Output()
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		compiled[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, path.Join(module, folder)) {
			own = append(own, p)
		}
	}
	for _, p := range own {
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
		lookup := func(name string) (io.ReadCloser, error) { return os.Open(compiled[name]) }
		config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
		pkg, err := config.Check(p.ImportPath, fset, files, info)
		if err != nil {
			return nil, err
		}
		all = append(all, loaded{p.ImportPath, fset, pkg, info})
	}
	return all, nil
}

// TestFiles: a file ends where a reader's question ends, after 600 lines at most.
func TestFiles(t *testing.T) {
	t.Parallel()
	const most = 600
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range load(t) {
		p.fset.Iterate(func(f *token.File) bool {
			if n := f.LineCount(); n > most && strings.HasPrefix(f.Name(), root) {
				t.Errorf("%s: got %d lines; want %d at most", f.Name(), n, most)
			}
			return true
		})
	}
}
