package aztablekit_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aztablekit/aztablekit/table"
)

// optionStruct matches the structs of options in docs/api.txt, and their fields.
var optionStruct = regexp.MustCompile(`^([a-z/]+): type (\w*Options|Settings|Common|Retry|Schema|Query|Verification|Grant|Endpoints|Pass) struct, (\w+) `)

// optionFields returns the fields of all exported structs of options: verify.Options.Rate.
func optionFields(t *testing.T) (all []string) {
	for line := range strings.Lines(readFile(t, "docs/api.txt")) {
		if m := optionStruct.FindStringSubmatch(line); m != nil {
			all = append(all, m[1]+"."+m[2]+"."+m[3])
		}
	}
	return all
}

// TestOptionsAreShown: each field of each exported struct of options has a line in
// testdata/options.txt: the test that shows its effect or its refusal. A line of TestOptions is
// that of a field which that test sets alone. Any other test exists, and its package sets the
// field.
func TestOptionsAreShown(t *testing.T) {
	t.Parallel()
	shown := map[string]string{}
	for line := range strings.Lines(readFile(t, "testdata/options.txt")) {
		field, by, is := strings.Cut(strings.TrimSpace(line), " ")
		if !is || shown[field] != "" {
			t.Errorf("line %q: want a field once, and its test", line)
		}
		shown[field] = by
	}
	own := map[string]bool{}
	for _, c := range append(optionCases(), indexOptionCases()...) {
		typ := reflect.TypeOf(c.options).Elem()
		for name := range c.values {
			own[optionType(typ)+"."+name] = true
		}
	}
	fields := optionFields(t)
	names := map[string]testNames{} // by packages
	for _, field := range fields {
		by := shown[field]
		pkg, name, _ := strings.Cut(by, " ")
		if _, read := names[pkg]; !read {
			names[pkg] = testNamesOf(t, pkg)
		}
		switch {
		case by == "":
			t.Errorf("%s: no test shows its effect or its refusal; name one in testdata/options.txt", field)
		case by == ". TestOptions":
			if !own[field] {
				t.Errorf("%s: TestOptions does not set it", field)
			}
		case !names[pkg][name].sets(field):
			t.Errorf("%s: got no test %s of package %s whose file sets it", field, name, pkg)
		}
		delete(shown, field)
	}
	for field := range shown {
		t.Errorf("%s: is no field of options any more", field)
	}
	if len(fields) < 180 {
		t.Errorf("got %d fields; want those of all packages", len(fields))
	}
}

// optionType returns the name of a type as docs/api.txt has it.
func optionType(typ reflect.Type) string {
	pkg := strings.TrimPrefix(typ.PkgPath(), "github.com/aztablekit/aztablekit/")
	switch pkg {
	case "github.com/aztablekit/aztablekit":
		pkg = "aztablekit"
	case "internal/options": // which table names again
		pkg = "table"
	}
	name, _, _ := strings.Cut(typ.Name(), "[")
	return pkg + "." + name
}

// testNames are the names of the tests of a package, with what their files set: fields of a
// literal, such as jobs.Options.Rate, and fields of an assignment, such as Rate.
type testNames map[string]setFields

type setFields map[string]bool

// sets reports whether a field is among them. Of an embedded table.Common, one of its fields is
// enough.
func (s setFields) sets(field string) bool {
	name := field[strings.LastIndex(field, ".")+1:]
	if name == "Common" {
		for _, common := range reflect.VisibleFields(reflect.TypeFor[table.Common]()) {
			if s[common.Name] {
				return true
			}
		}
	}
	return s[name] || s[path.Base(field)] || s[strings.Replace(field, "table.", "engine.", 1)]
}

func testNamesOf(t *testing.T, pkg string) testNames {
	t.Helper()
	all := testNames{}
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		fields := setFields{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				all[n.Name.Name] = fields
			case *ast.CompositeLit:
				for _, e := range n.Elts {
					if kv, is := e.(*ast.KeyValueExpr); is {
						fields[literalType(f.Name.Name, n.Type)+"."+fmt.Sprint(kv.Key)] = true
					}
				}
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					for s, is := to.(*ast.SelectorExpr); is; s, is = s.X.(*ast.SelectorExpr) {
						fields[s.Sel.Name] = true
					}
				}
			}
			return true
		})
	}
	return all
}

// literalType returns the type of a literal in a file of a package, such as jobs.Options.
func literalType(pkg string, typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.SelectorExpr:
		return fmt.Sprint(typ.X, ".", typ.Sel)
	case *ast.IndexExpr:
		return literalType(pkg, typ.X)
	case *ast.Ident:
		return strings.TrimSuffix(pkg, "_test") + "." + typ.Name
	}
	return ""
}

// optionCase is a call with options.
type optionCase struct {
	call      string
	options   any            // a pointer to what the call needs; each field is set alone beside it
	values    map[string]any // of each field
	run       func(*optionRun, any) error
	elsewhere map[string]string // fields whose effect needs what this call has not, and what that is
}

// TestOptions sets each field of options alone, and wants the call to do something else, or to
// refuse the field by its name: an option that is taken is used. What a call does is its requests
// with their times, its result, what it calls, and its error.
func TestOptions(t *testing.T) {
	t.Parallel()
	testOptions(t, optionCases())
}

// TestOptionsOfIndexes is TestOptions for declarations of indexes.
func TestOptionsOfIndexes(t *testing.T) {
	t.Parallel()
	testOptions(t, indexOptionCases())
}

func testOptions(t *testing.T, cases []optionCase) {
	fields := 0
	for _, c := range cases {
		all := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeOf(c.options).Elem()), func(f reflect.StructField) bool { return f.Anonymous })
		fields += len(all)
		t.Run(c.call, func(t *testing.T) {
			t.Parallel()
			without := map[string]bool{} // concurrent requests may come in another order
			for n := 0; n < 2 || n == 2 && len(without) == 2; n++ {
				without[c.observe(t, "", nil)] = true
			}
			if len(without) == 3 {
				t.Fatalf("got calls that differ each time: %q", slices.Collect(maps.Keys(without)))
			}
			for _, f := range all {
				name := f.Name
				value, is := c.values[name]
				if !is {
					t.Errorf("%s: no value to set; add one", name)
					continue
				}
				with := c.observe(t, name, value)
				if without[with] && c.elsewhere[name] == "" {
					t.Errorf("%s: %s has no effect and is not refused", c.call, name)
				}
			}
		})
	}
	t.Logf("%d fields of calls", fields)
}

// observe calls with one field set, and returns what the call does.
func (c *optionCase) observe(t *testing.T, field string, value any) (seen string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := reflect.New(reflect.TypeOf(c.options).Elem())
		o.Elem().Set(reflect.ValueOf(c.options).Elem())
		run := newOptionRun(t)
		if field != "" {
			if of, is := value.(func(*optionRun) any); is {
				value = of(run)
			}
			o.Elem().FieldByName(field).Set(reflect.ValueOf(value).Convert(o.Elem().FieldByName(field).Type()))
		}
		run.begin()
		err := c.run(run, o.Interface())
		seen = run.end(err)
	})
	return seen
}

// lines returns what was seen, sorted, since requests that are sent at one time have no order.
func lines(seen []string) string {
	slices.Sort(seen)
	return strings.Join(seen, "\n")
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
