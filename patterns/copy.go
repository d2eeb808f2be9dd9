package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/patterns/internal/recipe"
)

//go:embed page.html
//go:embed compoundkeys pointquery projection rangequery resume scans severalpoints sharedaccess sortedkeys typedfilters
//go:embed indexentities indexentitieselsewhere interpartitionindex managers money movedepartment newindex oldorders quota stacks staffsearch teams uniqueemail
//go:embed balances batcherrors bulk dispatch entitytypes headcount logins once prices ratelimit replacemerge reviews severaltypes smoothburst
//go:embed archivedirectory closedorders formerstaff lostnotifications materializedview phonenumbers searchindex workers
//go:embed changelog claims dataseries logdatainblobs photos spreadlog tablebyday wideentity
var source embed.FS

// modulePath is the path of this module.
const modulePath = "github.com/aztablekit/aztablekit"

// copyRecipe writes a recipe as a program of its own, with its go.mod, into a new folder.
func copyRecipe(ctx context.Context, name, dir string, out io.Writer) error {
	rec, err := catalogue.Find(name)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("copy: the folder %s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy: %w", err)
	}
	files, err := program(rec)
	if err == nil {
		err = writeProgram(ctx, rec, dir, files)
	}
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	fmt.Fprintf(out, "%s is a program of its own now: cd %s && go run .\nKeep the folder %s; main.go shows how it is used.\n", name, dir, rec.Kept)
	return nil
}

// program returns the Go files of the program of a recipe, by their path: the package to keep, and
// main.go.
func program(rec recipe.Recipe) (map[string]string, error) {
	files := keptCode(rec.Kept)
	main := rec.Kept + "/main/main.go"
	text := strings.ReplaceAll(files[main], modulePath+"/patterns/"+rec.Kept, rec.Name+"/"+rec.Kept)
	formatted, err := format.Source([]byte(text)) // the order of imports by their new paths
	files["main.go"] = string(formatted)
	delete(files, main)
	return files, err
}

// writeProgram writes the files of a program, and its go.mod.
func writeProgram(ctx context.Context, rec recipe.Recipe, dir string, files map[string]string) error {
	for path, text := range files {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return writeModule(ctx, rec, dir)
}

// keptCode returns the Go files of the folder of a recipe, by their path, without those that only
// the catalogue and tests need.
func keptCode(folder string) map[string]string {
	files := map[string]string{}
	_ = fs.WalkDir(source, folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, "_test.go") && path != folder+"/recipe.go" {
			b, _ := source.ReadFile(path) // it is embedded
			files[path] = string(b)
		}
		return err
	})
	return files
}

// writeModule writes go.mod. In a clone of this module, the copy uses the clone, with the versions
// of its go.mod; else it uses the version of this program.
func writeModule(ctx context.Context, rec recipe.Recipe, dir string) error {
	var module struct {
		Dir  string
		Main bool
	}
	b, err := goCommand(ctx, "", "list", "-m", "-json", modulePath)
	if err == nil {
		err = json.Unmarshal(b, &module)
	}
	if err == nil && module.Main {
		return writeCloneModule(ctx, rec, dir, module.Dir)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path != modulePath || !strings.HasPrefix(info.Main.Version, "v") {
		return errors.New("run this program in a clone of " + modulePath + ", or by go run " + modulePath + "/patterns@latest")
	}
	for _, args := range [][]string{{"init", rec.Name}, {"edit", "-require=" + modulePath + "@" + info.Main.Version}, {"tidy"}} {
		if _, err := goCommand(ctx, dir, append([]string{"mod"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// writeCloneModule writes the go.mod of a program that uses a clone of this module.
func writeCloneModule(ctx context.Context, rec recipe.Recipe, dir, clone string) error {
	gomod, err := os.ReadFile(filepath.Join(clone, "go.mod"))
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(clone, "go.sum"))
	if err != nil {
		return err
	}
	packages, err := listPackages(ctx, clone, rec)
	if err != nil {
		return err
	}
	text := moduleText(string(gomod), rec, packages)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644); err != nil {
		return err
	}
	_, err = goCommand(ctx, dir, "mod", "edit", "-replace="+modulePath+"="+clone)
	return err
}

// goCommand runs the go command in a folder, and returns what it prints.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var failed strings.Builder
	cmd.Stderr = &failed
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, failed.String())
	}
	return b, nil
}

// listed is a package of a program.
type listed struct {
	module  string // "" for a package of Go
	imports []string
}

// listPackages returns the packages of the programs of recipes, by their import paths.
func listPackages(ctx context.Context, clone string, all ...recipe.Recipe) (map[string]listed, error) {
	args := []string{"list", "-deps", "-f", `{{.ImportPath}},{{with .Module}}{{.Path}}{{end}},{{join .Imports " "}}`}
	for _, rec := range all {
		args = append(args, modulePath+"/patterns/"+rec.Kept+"/main")
	}
	out, err := goCommand(ctx, clone, args...)
	packages := map[string]listed{}
	for line := range strings.Lines(string(out)) {
		if parts := strings.Split(strings.TrimSpace(line), ","); len(parts) == 3 {
			packages[parts[0]] = listed{parts[1], strings.Fields(parts[2])}
		}
	}
	for _, rec := range all {
		packages[modulePath+"/patterns/"+rec.Kept] = listed{modulePath, keptImports(rec.Kept)}
	}
	return packages, err
}

// keptImports returns what the package in the folder of a recipe imports without its recipe.go.
func keptImports(folder string) (all []string) {
	for path, text := range keptCode(folder) {
		if strings.Count(path, "/") > 1 {
			continue // another package
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
		if err != nil {
			continue // the compiler has seen it
		}
		for _, of := range f.Imports {
			all = append(all, strings.Trim(of.Path.Value, `"`))
		}
	}
	return all
}

// moduleText returns the go.mod of the program of a recipe: with the versions of this module's
// go.mod, and only the modules that the packages of the program need.
func moduleText(gomod string, rec recipe.Recipe, packages map[string]listed) string {
	own := modulePath + "/patterns/" + rec.Kept
	direct, needed, visited := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		if visited[path] {
			return
		}
		visited[path] = true
		needed[packages[path].module] = true
		for _, imported := range packages[path].imports {
			direct[packages[imported].module] = direct[packages[imported].module] || strings.HasPrefix(path, own)
			visit(imported)
		}
	}
	visit(own + "/main")
	direct[modulePath] = true
	head := "module " + rec.Name + "\n"
	required := map[bool][]string{true: {"\t" + modulePath + " v0.0.0\n"}} // by whether the program imports them
	for line := range strings.Lines(gomod) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "go "):
			head += "\n" + line
		case len(words) > 1 && needed[words[0]] && direct[words[0]]:
			required[true] = append(required[true], "\t"+words[0]+" "+words[1]+"\n")
		case len(words) > 1 && needed[words[0]]:
			required[false] = append(required[false], "\t"+words[0]+" "+words[1]+" // indirect\n")
		}
	}
	for _, is := range []bool{true, false} {
		slices.Sort(required[is])
		head += "\nrequire (\n" + strings.Join(required[is], "") + ")\n"
	}
	return head
}
