package aztablekit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// loaded is a package of this module with the types of its declarations.
type loaded struct {
	path string
	fset *token.FileSet
	pkg  *types.Package
	info *types.Info
}

// load returns the packages of this module, without their tests.
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
		lookup := func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) }
		config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
		pkg, err := config.Check(p.ImportPath, fset, files, info)
		if err != nil {
			return nil, err
		}
		all = append(all, loaded{p.ImportPath, fset, pkg, info})
	}
	return all, nil
})

// TestFiles: the files of a package form no cycle, so that each can be read with those below it. The declarations of a file use
// only declarations of files that do not, in the end, use this file.
func TestFiles(t *testing.T) {
	t.Parallel()
	for _, p := range load(t) {
		uses := map[string]map[string]string{} // for each file the files that it uses, and a declaration of each
		for id, o := range p.info.Uses {
			from, to := filepath.Base(p.fset.Position(id.Pos()).Filename), filepath.Base(p.fset.Position(o.Pos()).Filename)
			if field, is := o.(*types.Var); o.Pkg() == p.pkg && from != to && !(is && field.IsField()) {
				if uses[from] == nil {
					uses[from] = map[string]string{}
				}
				uses[from][to] = o.Name()
			}
		}
		if cycle := cycles(uses); len(cycle) > 0 {
			t.Errorf("package %s: got files that use each other, want none:\n%s", p.path, strings.Join(cycle, "\n"))
		}
	}
}

// cycles returns the uses between the files of cycles, and between files that join cycles.
func cycles(uses map[string]map[string]string) (all []string) {
	for again := true; again; {
		n, used := len(uses), map[string]bool{}
		for from, of := range uses {
			maps.DeleteFunc(of, func(to, _ string) bool { return len(uses[to]) == 0 })
			if len(of) == 0 {
				delete(uses, from)
			}
			for to := range of {
				used[to] = true
			}
		}
		maps.DeleteFunc(uses, func(from string, _ map[string]string) bool { return !used[from] })
		again = len(uses) < n
	}
	for from, of := range uses {
		for to, name := range of {
			all = append(all, fmt.Sprintf("%s uses %s of %s", from, name, to))
		}
	}
	slices.Sort(all)
	return all
}
