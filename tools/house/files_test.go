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
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// loaded is a package of the library's module with the types of its declarations.
type loaded struct {
	path string
	fset *token.FileSet
	pkg  *types.Package
	info *types.Info
}

// load returns the packages of the library's module, without their tests.
func load(t *testing.T) []loaded {
	t.Helper()
	all, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var loadOnce = sync.OnceValues(func() (all []loaded, err error) {
	compiled := map[string]string{} // the export data of each package
	type listed struct {
		Dir, ImportPath, Export string
		GoFiles                 []string
	}
	var own []listed
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "./...").Output()
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
		if strings.HasPrefix(p.ImportPath, module) {
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
})

// TestFiles: a file ends where a reader's question ends, after 600 lines at most.
func TestFiles(t *testing.T) {
	t.Parallel()
	const most = 600
	seen := 0
	err := filepath.WalkDir(".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			return err
		}
		seen++
		if n := strings.Count(read(t, file), "\n"); n > most {
			t.Errorf("%s: got %d lines; want %d at most", file, n, most)
		}
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("got %d files and error %v; want those of the project", seen, err)
	}
}
