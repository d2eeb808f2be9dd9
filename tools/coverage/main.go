// Program coverage measures which statements of the public packages the tests execute.
//
//	go -C tools run ./coverage [-tests packages] [-packages packages] [-profile file]
//
// The program runs the short tests of the public packages, of the behaviour suite and of the
// catalogue, and counts a statement of a public package as covered if any of these tests executes
// the statement. The program prints the percentage of each package, and the uncovered statements by
// function. A function for which docs/coverage.md gives no reason is marked with an exclamation
// mark, and a function of docs/coverage.md that is covered with a question mark.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/aztablekit/aztablekit/"

// block is a block of statements in a profile.
type block struct {
	file                  string
	line, column, endLine int
}

// place is a function of a file, by their names.
type place struct{ file, function string }

func main() {
	tests := flag.String("tests", "", "packages whose tests run; by default, the public ones, integration and patterns")
	packages := flag.String("packages", "", "packages whose statements are measured; by default, the public ones")
	profile := flag.String("profile", "", "profiles that exist already, separated by commas, in place of a run of the tests")
	flag.Parse()
	if err := run(strings.Fields(*tests), strings.Fields(*packages), *profile); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// publicPackages returns the folders of the packages that programs import.
func publicPackages() (all []string, err error) {
	out, err := exec.Command("go", "list", "./...").Output()
	for line := range strings.Lines(string(out)) {
		name, inside := strings.CutPrefix(strings.TrimSpace(line), module)
		first, _, _ := strings.Cut(name, "/")
		others := []string{"cmd", "integration", "internal", "patterns"}
		if inside && !slices.Contains(others, first) && !strings.Contains(name, "/internal/") {
			all = append(all, name)
		}
	}
	return all, err
}

func run(tests, packages []string, profiles string) error {
	if err := os.Chdir(".."); err != nil {
		return err
	}
	public, err := publicPackages()
	if err != nil {
		return err
	}
	if len(packages) == 0 {
		packages = public
	}
	if len(tests) == 0 {
		tests = slices.Concat(public, []string{"integration", "patterns"})
	}
	if profiles == "" {
		dir, err := os.MkdirTemp("", "coverage")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		profiles = filepath.Join(dir, "profile")
		measured := module + strings.Join(packages, ","+module)
		test := exec.Command("go", "test", "-short", "-timeout=60m", "-coverpkg="+measured, "-coverprofile="+profiles)
		for _, name := range tests {
			test.Args = append(test.Args, "./"+name)
		}
		test.Stdout, test.Stderr = os.Stderr, os.Stderr
		if err := test.Run(); err != nil {
			return err
		}
	}
	statements, covered := map[block]int{}, map[block]bool{}
	for name := range strings.SplitSeq(profiles, ",") {
		if err := read(name, statements, covered); err != nil {
			return err
		}
	}
	reasons, err := reasons("docs/coverage.md")
	if err != nil {
		return err
	}
	for _, name := range packages {
		var all, executed int
		var missed []block
		for b, n := range statements {
			if path.Dir(b.file) != name {
				continue
			}
			all += n
			if covered[b] {
				executed += n
			} else if n > 0 {
				missed = append(missed, b)
			}
		}
		slices.SortFunc(missed, func(a, b block) int {
			return cmp.Or(cmp.Compare(a.file, b.file), a.line-b.line, a.column-b.column)
		})
		fmt.Printf("%-22s %5.1f%% of %d statements\n", name, 100*float64(executed)/float64(max(all, 1)), all)
		if err := show(missed, reasons, name); err != nil {
			return err
		}
	}
	return nil
}

// read adds the blocks of a profile. A block is covered if any test program executes the block.
func read(profile string, statements map[block]int, covered map[block]bool) error {
	f, err := os.Open(profile)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, rest, _ := strings.Cut(strings.TrimPrefix(lines.Text(), module), ":")
		b := block{file: name}
		var endColumn, n, times int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.column, &b.endLine, &endColumn, &n, &times); err != nil {
			continue // the line of the mode
		}
		statements[b] = n
		covered[b] = covered[b] || times > 0
	}
	return lines.Err()
}

// reasons returns the functions that a page gives reasons for. In the section of a package, a list
// item names files in backquotes, and after each file its functions.
func reasons(page string) (map[place]bool, error) {
	text, err := os.ReadFile(page)
	all, quoted := map[place]bool{}, regexp.MustCompile("`([^`]+)`")
	var dir, file string
	for line := range strings.Lines(string(text)) {
		if title, is := strings.CutPrefix(line, "## "); is {
			dir = strings.TrimSpace(title)
		}
		for _, name := range quoted.FindAllStringSubmatch(line, -1) {
			if strings.HasSuffix(name[1], ".go") {
				file = dir + "/" + name[1]
			} else {
				all[place{file, name[1]}] = true
			}
		}
	}
	return all, err
}

// show prints the uncovered blocks of a package.
func show(missed []block, reasons map[place]bool, pkg string) error {
	shown, last := map[place]bool{}, block{}
	for _, b := range missed {
		text, err := os.ReadFile(b.file)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, b.file, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		at := place{b.file, function(fset, f, b.line)}
		if !shown[at] {
			sign := " "
			if !reasons[at] {
				sign = "!"
			}
			fmt.Printf("  %s %s %s\n", sign, path.Base(at.file), at.function)
		}
		shown[at] = true
		for i, line := range strings.Split(string(text), "\n")[b.line-1 : b.endLine] {
			if b.file != last.file || b.line+i > last.endLine {
				fmt.Printf("\t%d%s\n", b.line+i, line)
			}
		}
		last = b
	}
	for _, at := range slices.SortedFunc(maps.Keys(reasons), func(a, b place) int { return strings.Compare(a.file+a.function, b.file+b.function) }) {
		if path.Dir(at.file) == pkg && !shown[at] {
			fmt.Printf("  ? %s %s\n", path.Base(at.file), at.function)
		}
	}
	return nil
}

// function returns the name of the function at a line, such as Run or Table.Get.
func function(fset *token.FileSet, f *ast.File, line int) string {
	for _, d := range f.Decls {
		d, is := d.(*ast.FuncDecl)
		if !is || line < fset.Position(d.Pos()).Line || line > fset.Position(d.End()).Line {
			continue
		}
		if d.Recv == nil {
			return d.Name.Name
		}
		text := types.ExprString(d.Recv.List[0].Type)
		receiver, _, _ := strings.Cut(strings.TrimPrefix(text, "*"), "[")
		return receiver + "." + d.Name.Name
	}
	return "(package)"
}
