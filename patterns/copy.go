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
	"runtime/debug"
	"strings"
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
	rec, err := catalogue.find(name)
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("copy: the folder %s is not empty", dir)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("copy: %w", err)
	}
	files := keptCode(rec.kept)
	main := rec.kept + "/main/main.go"
	files["main.go"] = strings.ReplaceAll(files[main], modulePath+"/patterns/"+rec.kept, name+"/"+rec.kept)
	delete(files, main)
	if err := writeProgram(ctx, name, dir, files); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	fmt.Fprintf(out, "%s is a program of its own now: cd %s && go run .\nKeep the folder %s; main.go shows how it is used.\n", name, dir, rec.kept)
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
