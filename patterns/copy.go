package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

//go:embed *.go copy page.html
//go:embed compoundkeys pointquery projection rangequery resume scans severalpoints sharedaccess sortedkeys typedfilters
//go:embed indexentities indexentitieselsewhere interpartitionindex managers movedepartment newindex staffsearch teams uniqueemail
//go:embed archivedirectory formerstaff lostnotifications materializedview searchindex workers
//go:embed changelog claims dataseries logdatainblobs photos spreadlog tablebyday wideentity
var source embed.FS

// modulePath is the path of this module.
const modulePath = "github.com/aztablekit/aztablekit"

// always are the files that each copy contains besides its recipe. The others are copied if the recipe uses their methods.
var (
	always    = []string{"recipe.go", "recorder.go", "report.go", "run.go", "service.go", "steps.go"}
	sometimes = []struct {
		use   *regexp.Regexp
		files []string
	}{
		{regexp.MustCompile(`\.LimitedAccount\(`), []string{"limit.go"}},
		{regexp.MustCompile(`\.CrashingAccount\(`), []string{"crash.go"}},
	}
)

var recipeVariable = regexp.MustCompile(`(?m)^var (\w+) = recipe\{\n\tname: +"([^"]+)"`)

// sourceOf returns the file of a recipe, its text, and the variable of the recipe in it.
func sourceOf(name string) (file, text, variable string, err error) {
	files, err := fs.Glob(source, "recipe_*.go")
	if err != nil {
		return "", "", "", err
	}
	for _, file := range files {
		b, err := source.ReadFile(file)
		if err != nil {
			return "", "", "", err
		}
		if m := recipeVariable.FindSubmatch(b); m != nil && string(m[2]) == name {
			return file, string(b), string(m[1]), nil
		}
	}
	return "", "", "", fmt.Errorf("the source contains no recipe %q", name)
}

// copyRecipe writes a recipe as a program of its own, with its go.mod, into a new folder.
func copyRecipe(ctx context.Context, name, dir string, out io.Writer) error {
	rec, err := catalogue.find(name)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("copy: the folder %s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy: %w", err)
	}
	if rec.kept != "" {
		return copyKept(ctx, rec, dir, out)
	}
	file, _, _, err := sourceOf(name)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	files, err := copiedFiles(rec)
	if err == nil {
		err = writeProgram(ctx, name, dir, files)
	}
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	fmt.Fprintf(out, "%s is a program of its own now: cd %s && go run .\nThe recipe is %s; the other files print its steps and count its requests.\n", name, dir, file)
	return nil
}

// writeProgram writes the files of a program, and its go.mod.
func writeProgram(ctx context.Context, name, dir string, files map[string]string) error {
	for path, text := range files {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return writeModule(ctx, name, dir)
}

// copyKept writes the package of a recipe as it is, and its main.
func copyKept(ctx context.Context, rec recipe, dir string, out io.Writer) error {
	files := map[string]string{}
	for name, text := range keptCode(rec.kept) {
		files[name] = text
	}
	main := filepath.ToSlash(filepath.Join(rec.kept, "main", "main.go"))
	files["main.go"] = strings.ReplaceAll(files[main], modulePath+"/patterns/"+rec.kept, rec.name+"/"+rec.kept)
	delete(files, main)
	if err := writeProgram(ctx, rec.name, dir, files); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	fmt.Fprintf(out, "%s is a program of its own now: cd %s && go run .\nKeep the folder %s; main.go shows how it is used.\n", rec.name, dir, rec.kept)
	return nil
}

// keptCode returns the Go files of the folder of a recipe, by their path.
func keptCode(folder string) map[string]string {
	files := map[string]string{}
	_ = fs.WalkDir(source, folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, "_test.go") {
			b, _ := source.ReadFile(path) // it is embedded
			files[path] = string(b)
		}
		return err
	})
	return files
}

// copiedFiles returns the Go files of a copy.
func copiedFiles(rec recipe) (map[string]string, error) {
	file, text, variable, err := sourceOf(rec.name)
	if err != nil {
		return nil, err
	}
	main, err := source.ReadFile("copy/main.go.txt")
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		file:      text,
		"main.go": strings.NewReplacer("NAME", rec.name, "TITLE", rec.title, "VARIABLE", variable).Replace(string(main)),
	}
	needed := always
	for _, s := range sometimes {
		if s.use.MatchString(text) {
			needed = append(needed, s.files...)
		}
	}
	if rec.child != nil {
		needed = append(needed, "child.go", "process.go")
	} else {
		needed = append(needed, "copy/child.go.txt")
	}
	for _, name := range needed {
		b, err := source.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[strings.TrimSuffix(filepath.Base(name), ".txt")] = string(b)
	}
	return files, nil
}

// writeModule writes go.mod. In a clone of this module, the copy uses the clone, with the versions of its go.mod; else it uses the
// version of this program.
func writeModule(ctx context.Context, name, dir string) error {
	run := func(in string, args ...string) error {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = in
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if b, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, b)
		}
		return nil
	}
	var module struct {
		Dir  string
		Main bool
	}
	b, err := exec.CommandContext(ctx, "go", "list", "-m", "-json", modulePath).Output()
	if err == nil {
		err = json.Unmarshal(b, &module)
	}
	if err == nil && module.Main {
		for _, file := range []string{"go.mod", "go.sum"} {
			b, err := os.ReadFile(filepath.Join(module.Dir, file))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, file), b, 0o644); err != nil {
				return err
			}
		}
		return run(dir, "mod", "edit", "-module="+name, "-require="+modulePath+"@v0.0.0", "-replace="+modulePath+"="+module.Dir)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Path != modulePath || !strings.HasPrefix(info.Main.Version, "v") {
		return errors.New("run this program in a clone of " + modulePath + ", or by go run " + modulePath + "/patterns@latest")
	}
	if err := run(dir, "mod", "init", name); err != nil {
		return err
	}
	return errors.Join(run(dir, "get", modulePath+"@"+info.Main.Version), run(dir, "mod", "tidy"))
}
