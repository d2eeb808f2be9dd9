// Program measure measures the house: the size of its files and packages, and what each method runs
// through.
//
//	go -C tools run ./measure
//
// The program prints, of the product (all packages but those that only test and measure): files,
// their lines, the share of package clauses and imports, and changes of state in the initializer of
// an if or switch whose condition is about something else. Then, of each package, the files, lines
// and exported names, and of each method of program trace the files and functions of the product
// that one call executes. With MEASURE_FILES set, the program also prints the names of these files.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const module = "github.com/aztablekit/aztablekit"

// beside are the folders that are not the product.
var beside = []string{"tools/", "patterns/", "integration/", "storagetest/", "internal/testkit", "internal/azurite"}

func isProduct(path string) bool {
	return !slices.ContainsFunc(beside, func(prefix string) bool { return strings.HasPrefix(path+"/", prefix) })
}

// size is what is counted of a package.
type size struct{ files, lines, exported int }

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// house is what is counted of the product.
type house struct {
	packages     map[string]*size
	lengths      []int // of the files, in lines
	headers      int   // lines of package clauses and imports
	initializers []token.Position
}

// product counts the product in the working directory, which is the root of the project.
func product() (*house, error) {
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "*.go").Output()
	if err != nil {
		return nil, err
	}
	h := &house{packages: map[string]*size{}}
	for _, path := range strings.Fields(string(out)) {
		dir := filepath.Dir(path)
		if strings.HasSuffix(path, "_test.go") || !isProduct(dir) {
			continue
		}
		source, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue // deleted, and not yet committed
		} else if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		lines := bytes.Count(source, []byte("\n"))
		h.lengths = append(h.lengths, lines)
		h.headers += header(fset, f)
		for _, at := range foreignInitializers(f) {
			h.initializers = append(h.initializers, fset.Position(at))
		}
		p := h.packages[dir]
		if p == nil {
			p = &size{}
			h.packages[dir] = p
		}
		p.files, p.lines, p.exported = p.files+1, p.lines+lines, p.exported+exported(f)
	}
	slices.Sort(h.lengths)
	return h, nil
}

func run() error {
	if err := os.Chdir(".."); err != nil {
		return err
	}
	h, err := product()
	if err != nil {
		return err
	}
	total, n := 0, len(h.lengths)
	for _, lines := range h.lengths {
		total += lines
	}
	fmt.Printf("files %d, lines %d; of a file: median %d, 90 %% %d, largest %d\n", n, total, h.lengths[n/2], h.lengths[n*9/10], h.lengths[n-1])
	fmt.Printf("package clauses and imports: %.1f %%\n", 100*float64(h.headers)/float64(total))
	fmt.Printf("initializers whose condition is about something else: %d\n\n", len(h.initializers))
	fmt.Printf("%-24s %5s %6s %8s\n", "package", "files", "lines", "exported")
	for _, dir := range slices.Sorted(maps.Keys(h.packages)) {
		p := h.packages[dir]
		fmt.Printf("%-24s %5d %6d %8d\n", dir, p.files, p.lines, p.exported)
	}
	fmt.Println()
	return trace()
}

// header returns the lines of the package clause and the imports.
func header(fset *token.FileSet, f *ast.File) int {
	n := 2
	for _, d := range f.Decls {
		if g, is := d.(*ast.GenDecl); is && g.Tok == token.IMPORT {
			n += fset.Position(g.End()).Line - fset.Position(g.Pos()).Line + 2
		}
	}
	return n
}

// foreignInitializers finds the if statements and switches whose initializer changes something, by
// a call, and defines nothing that the condition uses.
func foreignInitializers(f *ast.File) (found []token.Pos) {
	ast.Inspect(f, func(node ast.Node) bool {
		var init ast.Stmt
		var conditions []ast.Node
		switch s := node.(type) {
		case *ast.IfStmt:
			init, conditions = s.Init, []ast.Node{s.Cond}
		case *ast.SwitchStmt:
			init = s.Init
			if s.Tag != nil {
				conditions = append(conditions, s.Tag)
			}
			for _, c := range s.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					conditions = append(conditions, e)
				}
			}
		}
		if init == nil {
			return true
		}
		set := map[string]bool{}
		switch s := init.(type) {
		case *ast.AssignStmt:
			for _, l := range s.Lhs {
				set[text(l)] = true
			}
		case *ast.IncDecStmt:
			set[text(s.X)] = true
		}
		used := false
		for _, c := range conditions {
			ast.Inspect(c, func(node ast.Node) bool {
				if e, is := node.(ast.Expr); is && set[text(e)] {
					used = true
				}
				return !used
			})
		}
		if !used {
			found = append(found, node.Pos())
		}
		return true
	})
	return found
}

// text returns an identifier or a selector as text, "" of any other expression.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "_" {
			return ""
		}
		return e.Name
	case *ast.SelectorExpr:
		return text(e.X) + "." + e.Sel.Name
	}
	return ""
}

// exported counts the exported names of declarations, methods included.
func exported(f *ast.File) (n int) {
	count := func(id *ast.Ident) {
		if id.IsExported() {
			n++
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			count(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						count(id)
					}
				}
			}
		}
	}
	return n
}

// trace prints the files and functions of the product that one call of each method executes.
func trace() error {
	dir, err := os.MkdirTemp("", "measure")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, counters := filepath.Join(dir, "trace"), filepath.Join(dir, "counters")
	if err := os.Mkdir(counters, 0o755); err != nil {
		return err
	}
	if _, err := output("go", "-C", "tools", "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/...", "-o", program, "./measure/trace"); err != nil {
		return err
	}
	if _, err := output(program, counters); err != nil {
		return err
	}
	methods, err := os.ReadDir(counters)
	if err != nil {
		return err
	}
	for _, m := range methods {
		profile := filepath.Join(dir, "profile")
		if _, err := output("go", "tool", "covdata", "textfmt", "-i="+filepath.Join(counters, m.Name()), "-o="+profile); err != nil {
			return err
		}
		functions, err := output("go", "-C", "tools", "tool", "cover", "-func="+profile)
		if err != nil {
			return err
		}
		files, n := map[string]bool{}, 0
		for _, line := range strings.Split(functions, "\n") {
			place, _, found := strings.Cut(line, ":")
			if path := strings.TrimPrefix(place, module+"/"); found && isProduct(filepath.Dir(path)) && place != "total" && !strings.HasSuffix(line, "\t0.0%") {
				files[place] = true
				n++
			}
		}
		if os.Getenv("MEASURE_FILES") != "" {
			for _, f := range slices.Sorted(maps.Keys(files)) {
				fmt.Println("\t", strings.TrimPrefix(f, module+"/"))
			}
		}
		fmt.Printf("%-10s %4d files, %4d functions\n", m.Name(), len(files), n)
	}
	return nil
}

func output(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "GOCOVERDIR="+os.TempDir())
	out, err := c.Output()
	if err != nil {
		var stderr string
		if e, is := err.(*exec.ExitError); is {
			stderr = string(e.Stderr)
		}
		return "", fmt.Errorf("%s: %w\n%s", name, err, cmp.Or(stderr, string(out)))
	}
	return string(out), nil
}
