package mutants

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variable says which bug is planted, from 1, in the environment of a program.
const variable = "PLANTED_BUG"

// plant writes sources in which a program finds all bugs, and the overlay that has them compiled
// instead of those of the module. A function stands there with a body for each of its bugs beside
// the right one:
//
//	func (x *T) Verb(a A) error {
//		switch plantedBug {
//		case 3:
//			the body with the bug
//		default:
//			the body
//		}
//	}
func plant(root, dir string, all []Mutant) (overlay string, err error) {
	replace := map[string]string{}
	add := func(path, source string) error {
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(path)))
		return os.WriteFile(replace[path], []byte(source), 0o600)
	}
	for file, bugs := range byFile(all) {
		path := filepath.Join(root, file)
		source, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		planted, name, err := withBugs(string(source), all, bugs)
		if err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		if err := add(path, planted); err != nil {
			return "", err
		}
		which := filepath.Join(filepath.Dir(path), "planted_bug.go")
		if replace[which] != "" {
			continue
		}
		if err := add(which, fmt.Sprintf("package %s\n\nimport (\n\t\"os\"\n\t\"strconv\"\n)\n\nvar plantedBug, _ = strconv.Atoi(os.Getenv(%q))\n", name, variable)); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o600)
}

// byFile is which bugs are in which file, by their index.
func byFile(all []Mutant) map[string][]int {
	of := map[string][]int{}
	for i, m := range all {
		of[m.File] = append(of[m.File], i)
	}
	return of
}

// withBugs is a source with bugs, and the name of its package.
func withBugs(source string, all []Mutant, bugs []int) (planted, name string, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", source, 0)
	if err != nil {
		return "", "", err
	}
	left := slices.Clone(bugs)
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	for _, d := range slices.Backward(file.Decls) { // from behind, so that offsets hold
		f, is := d.(*ast.FuncDecl)
		if !is || f.Body == nil {
			continue
		}
		from, to := offset(f.Body.Lbrace)+1, offset(f.Body.Rbrace)
		body := source[from:to]
		var cases strings.Builder
		for _, i := range bugs {
			if strings.Contains(body, all[i].Old) {
				left = slices.DeleteFunc(left, func(l int) bool { return l == i })
				fmt.Fprintf(&cases, "case %d:\n%s\n", i+1, strings.Replace(body, all[i].Old, all[i].New, 1))
			}
		}
		if cases.Len() > 0 {
			source = source[:from] + "\nswitch plantedBug {\n" + cases.String() + "default:\n" + body + "\n}\n" + source[to:]
		}
	}
	if len(left) > 0 {
		return "", "", fmt.Errorf("%s: not within the body of a function", all[left[0]].Name)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", source, parser.SkipObjectResolution); err != nil {
		return "", "", fmt.Errorf("the source with bugs: %w", err)
	}
	return source, file.Name.Name, nil
}
