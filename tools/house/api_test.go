package house_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

// root is the name of the package in the module's own folder.
const root = "aztablekit"

var updateAPI = flag.Bool("update", false, "write the exported names to docs/api.txt")

// TestAPI: docs/api.txt contains the exported names of the public packages with their types. A
// change that is meant is written to the file by go -C tools test ./house -run TestAPI -update, and
// from the first release on named in CHANGELOG.md.
func TestAPI(t *testing.T) {
	t.Parallel()
	var got []string
	for _, p := range load(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.path, module), "/")
		if isPublic(name) {
			got = append(got, api(cmp.Or(name, root), p.pkg)...)
		}
	}
	slices.Sort(got)
	const file = "docs/api.txt"
	if *updateAPI {
		if err := os.WriteFile(file, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Split(strings.TrimSuffix(read(t, file), "\n"), "\n")
	if len(got) < 500 {
		t.Errorf("got %d exported names, want those of all packages", len(got))
	}
	for _, line := range want {
		if _, found := slices.BinarySearch(got, line); !found {
			t.Errorf("gone: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("new: %s", line)
		}
	}
	if t.Failed() {
		t.Log("if the change is meant, run go -C tools test ./house -run TestAPI -update, and name it in CHANGELOG.md")
	}
}

// api returns a line for each exported name of a package, and for the exported fields and methods of its types. A type of a package in namedAgain is listed as one of the package that
// names it again.
func api(name string, pkg *types.Package) (lines []string) {
	qualifier := func(p *types.Package) string {
		own, is := strings.CutPrefix(p.Path(), module+"/")
		if p.Path() == module {
			own, is = root, true
		}
		if face := namedAgain[own]; face != "" {
			own = face
		}
		switch {
		case p == pkg, own == name:
			return ""
		case is:
			return own
		}
		return p.Name()
	}
	add := func(format string, args ...any) {
		lines = append(lines, name+": "+fmt.Sprintf(format, args...))
	}
	for _, id := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(id)
		if !o.Exported() {
			continue
		}
		n, is := o.(*types.TypeName)
		switch {
		case !is && o.Type() != nil:
			if c, is := o.(*types.Const); is {
				add("%s = %s", types.ObjectString(o, qualifier), c.Val().ExactString())
				continue
			}
			add("%s", types.ObjectString(o, qualifier))
			continue
		case n.IsAlias() && !isNamedAgain(n.Type()):
			add("type %s = %s", id, types.TypeString(types.Unalias(n.Type()), qualifier))
			continue
		}
		switch u := n.Type().Underlying().(type) {
		case *types.Struct:
			add("type %s struct", types.TypeString(types.Unalias(n.Type()), qualifier))
			for field := range u.Fields() {
				if field.Exported() {
					add("type %s struct, %s %s", id, field.Name(), types.TypeString(field.Type(), qualifier))
				}
			}
		case *types.Interface:
			add("type %s interface", types.TypeString(n.Type(), qualifier))
			for m := range u.Methods() {
				add("type %s interface, %s", id, strings.TrimPrefix(types.ObjectString(m, qualifier), "func "))
			}
		default:
			add("type %s %s", types.TypeString(n.Type(), qualifier), types.TypeString(u, qualifier))
		}
		if named, is := types.Unalias(n.Type()).(*types.Named); is {
			for m := range named.Methods() {
				if m.Exported() {
					add("%s", types.ObjectString(m, qualifier))
				}
			}
		}
	}
	return lines
}

// namedAgain are the internal packages whose types a public package names again, with that package.
var namedAgain = map[string]string{"internal/errs": "table", "internal/options": "table", "internal/commit": "extend"}

// isNamedAgain reports whether a type is declared in a package of namedAgain.
func isNamedAgain(t types.Type) bool {
	n, is := types.Unalias(t).(*types.Named)
	return is && n.Obj().Pkg() != nil && namedAgain[strings.TrimPrefix(n.Obj().Pkg().Path(), module+"/")] != ""
}
