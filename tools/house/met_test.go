package house_test

import (
	"fmt"
	"go/types"
	"iter"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostNames are the budgets of exported names by package, as docs/api.txt counts them: fields and
// methods, too, but no methods in lower case. A change that needs more raises a budget in sight, and one that needs fewer lowers
// it.
var mostNames = map[string]int{
	"account":               46,
	"archive":               28,
	"archive/blobarchive":   1,
	"azt":                   6,
	"aztablekit":            41,
	"eventual":              55,
	"expire":                12,
	"extend":                40,
	"index":                 86,
	"jobs":                  54,
	"keys":                  118,
	"largeentity":           39,
	"largeentity/series":    31,
	"lease":                 34,
	"logtail":               49,
	"logtail/bloblog":       45,
	"materialized":          4,
	"requests":              15,
	"storagetest":           130,
	"storagetest/crashtest": 42,
	"table":                 296,
	"transfer":              63,
	"txn":                   7,
	"verify":                29,
}

// ownMethod matches a method of an interface that only its package can have.
var ownMethod = regexp.MustCompile(`interface, \(\w+(\[.*\])?\)\.[a-z]`)

// TestNameBudgets: no package exports more names than its budget, and no budget is larger than what
// the package exports.
func TestNameBudgets(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for line := range strings.Lines(read(t, "docs/api.txt")) {
		name, _, _ := strings.Cut(line, ": ")
		if !ownMethod.MatchString(line) {
			counts[name]++
		}
	}
	if !maps.Equal(counts, mostNames) {
		t.Errorf("got exported names by package %v; want %v", counts, mostNames)
	}
}

// TestBudgets: the sentinels, the types of errors and the methods of a table are no more than
// these.
func TestBudgets(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		line *regexp.Regexp
		want int
	}{
		"sentinels":          {regexp.MustCompile(`: var Err\w+ error`), 36},
		"types of errors":    {regexp.MustCompile(`: type \w+Error struct\n`), 17},
		"methods of a table": {regexp.MustCompile(`: func \(\*Table\[T\]\)`), 32},
	} {
		if got := len(c.line.FindAllString(read(t, "docs/api.txt"), -1)); got != c.want {
			t.Errorf("%s: got %d; want %d: a change that needs more raises the number in sight", what, got, c.want)
		}
	}
}

// forAuthors are the packages whose names only authors of definitions and of tests meet.
var forAuthors = []string{"extend", "storagetest", "storagetest/crashtest"}

// pagesForAuthors are the pages that programs do not need.
var pagesForAuthors = []string{"maintainers.md", "protocols.md", "design.md", "coverage.md", "storagetest.md"}

// inCode matches code in a page, and exportedWord a name in it.
var (
	inCode       = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	exportedWord = regexp.MustCompile(`\b[A-Z]\w*`)
)

// TestMet: each exported name is met in a recipe, in the service of patterns/hr, in the quick
// start, in azt, or in the code of a page for programs: a new name is met, or goes.
func TestMet(t *testing.T) {
	t.Parallel()
	all := load(t)
	met := metByPrograms(all)
	words := wordsOfPages(t)
	var got []string
	for _, p := range all {
		name := strings.TrimPrefix(strings.TrimPrefix(p.path, module), "/")
		if !isPublic(name) || slices.Contains(forAuthors, name) {
			continue
		}
		for shown, o := range exportedOf(p.pkg) {
			if !met[p.keyOf(o)] && !words[o.Name()] {
				got = append(got, strings.TrimPrefix(name+"."+shown, "."))
			}
		}
	}
	slices.Sort(got)
	for _, name := range got {
		t.Errorf("%s: no recipe and no page for programs has it; want it met there, or unexported", name)
	}
}

// metByPrograms returns the keys of the objects that the recipes, the service, the quick start and
// azt use, and of the types in their signatures.
func metByPrograms(all []loaded) map[string]bool {
	met := map[string]bool{}
	for _, p := range all {
		from := strings.TrimPrefix(p.path, module+"/")
		if !strings.HasPrefix(from, "patterns") && !strings.HasPrefix(from, "azt") && !strings.HasPrefix(from, "cmd/") {
			continue
		}
		for _, o := range p.info.Uses {
			met[p.keyOf(o)] = true
			for _, n := range typesIn(o.Type()) {
				met[p.keyOf(n.Obj())] = true
			}
		}
	}
	return met
}

// ofDefinitions are the packages whose types are definitions: a program learns their methods when
// it declares one.
var ofDefinitions = []string{"archive", "eventual", "expire", "index", "jobs", "largeentity", "materialized"}

// TestNamesOfPrograms: the recipes to copy and the service of patterns/hr use so many names of the
// library together, besides fields, methods of definitions, and what is for tests.
func TestNamesOfPrograms(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, p := range load(t) {
		if !strings.HasPrefix(p.path, module+"/patterns/") || p.path == module+"/patterns/internal/recipe" {
			continue
		}
		for at, o := range p.info.Uses {
			if path.Base(p.fset.Position(at.Pos()).Filename) == "recipe.go" { // shows the steps, and is not copied
				continue
			}
			if o.Pkg() == nil || !o.Exported() || !strings.HasPrefix(o.Pkg().Path(), module) {
				continue
			}
			name := strings.TrimPrefix(strings.TrimPrefix(o.Pkg().Path(), module), "/")
			if !isPublic(name) || slices.Contains(forAuthors, name) || strings.HasPrefix(name, "patterns") {
				continue
			}
			if v, is := o.(*types.Var); is && v.IsField() {
				continue
			}
			f, isFunc := o.(*types.Func)
			if isFunc && f.Signature().Recv() != nil && slices.Contains(ofDefinitions, name) {
				continue
			}
			used[p.keyOf(o)] = true
		}
	}
	if want := 220; len(used) != want {
		t.Errorf("got %d names; want %d: %q", len(used), want, slices.Sorted(maps.Keys(used)))
	}
}

// typesIn returns the named types of which a type is made.
func typesIn(t types.Type) (all []*types.Named) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		all = append(all, t)
		for i := range t.TypeArgs().Len() {
			all = append(all, typesIn(t.TypeArgs().At(i))...)
		}
	case *types.Pointer:
		return typesIn(t.Elem())
	case *types.Slice:
		return typesIn(t.Elem())
	case *types.Map:
		return append(typesIn(t.Key()), typesIn(t.Elem())...)
	case *types.Signature:
		for _, list := range []*types.Tuple{t.Params(), t.Results()} {
			for i := range list.Len() {
				all = append(all, typesIn(list.At(i).Type())...)
			}
		}
	}
	return all
}

// wordsOfPages returns the exported words in the code of the pages for programs.
func wordsOfPages(t *testing.T) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	for _, file := range append(glob(t, "docs/*.md"), "README.md") {
		if slices.Contains(pagesForAuthors, filepath.Base(file)) {
			continue
		}
		for _, code := range inCode.FindAllString(read(t, file), -1) {
			for _, word := range exportedWord.FindAllString(code, -1) {
				words[word] = true
			}
		}
	}
	return words
}

// exportedOf returns the exported objects of a package with their names: fields and methods, too,
// but not those that an interface of another package asks for.
func exportedOf(pkg *types.Package) iter.Seq2[string, types.Object] {
	return func(yield func(string, types.Object) bool) {
		for _, id := range pkg.Scope().Names() {
			o := pkg.Scope().Lookup(id)
			if !o.Exported() || !yield(id, o) {
				continue
			}
			n, isType := o.(*types.TypeName)
			if !isType || n.IsAlias() {
				continue
			}
			for _, member := range membersOf(n.Type()) {
				if member.Exported() && !slices.Contains(ofInterfaces, member.Name()) && !yield(id+"."+member.Name(), member) {
					return
				}
			}
		}
	}
}

// ofInterfaces are the names of methods that the standard library or the library itself calls.
var ofInterfaces = []string{
	"Error", "Unwrap", "Is", "As", "String", "LogValue", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText", "Define",
	"PropertySuffixes", "PropertyValues", "SetPropertyValues", "IsZero",
}

// membersOf returns the fields and the methods of a type.
func membersOf(t types.Type) (all []types.Object) {
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			all = append(all, u.Field(i))
		}
	case *types.Interface:
		for i := range u.NumExplicitMethods() {
			all = append(all, u.ExplicitMethod(i))
		}
	}
	if named, is := t.(*types.Named); is {
		for i := range named.NumMethods() {
			all = append(all, named.Method(i))
		}
	}
	return all
}

// keyOf names an object in the same way in each package that sees it. A field is named by its
// place.
func (p loaded) keyOf(o types.Object) string {
	if o.Pkg() == nil {
		return ""
	}
	switch o := o.(type) {
	case *types.Func:
		if recv := o.Origin().Signature().Recv(); recv != nil {
			return strings.TrimPrefix(types.TypeString(recv.Type(), nil), "*") + "." + o.Name()
		}
	case *types.Var:
		if o.IsField() {
			at := p.fset.Position(o.Origin().Pos())
			return fmt.Sprintf("%s %s:%d %s", o.Pkg().Path(), filepath.Base(at.Filename), at.Line, o.Name())
		}
	}
	return o.Pkg().Path() + "." + o.Name()
}
