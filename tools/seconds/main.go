// Command seconds measures how much processor time each test takes, alone and with its child
// processes, but for the emulator, which all share. It compares the time with the recorded table,
// which a test of tools/house checks.
//
//	go -C tools run ./seconds               # all packages; fails for a test of more than 2 s (10 s where it runs programs), or of more than twice its record
//	go -C tools run ./seconds -write ./txn  # records the tests of a package
//	go -C tools run ./seconds -top 20       # and prints the slowest
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/tools/seconds/record"
)

func main() {
	write := flag.Bool("write", false, "record what is measured")
	top := flag.Int("top", 0, "print so many of the slowest tests")
	lanes := flag.Int("lanes", 2, "so many tests are measured at a time")
	flag.Parse()
	if err := run(flag.Args(), *lanes, *top, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(patterns []string, lanes, top int, write bool) error {
	if err := os.Chdir(".."); err != nil {
		return err
	}
	if len(patterns) == 0 {
		patterns = []string{"./...", "./tools/..."}
	}
	recorded, err := record.Read(record.File)
	if err != nil && !(write && errors.Is(err, os.ErrNotExist)) {
		return err
	}
	folder, err := os.MkdirTemp("", "seconds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	emulator, err := azurite.Open(context.Background())
	if err != nil {
		return err
	}
	defer emulator.Stop()
	if err := os.Setenv(azurite.Env, emulator.ConnectionString); err != nil {
		return err
	}
	packages, err := list(patterns)
	if err != nil {
		return err
	}
	all := record.Table{}
	for n, p := range packages {
		fmt.Fprintf(os.Stderr, "%d of %d: %s\n", n+1, len(packages), p.name)
		measured, err := measure(folder, p, lanes)
		if err != nil {
			return err
		}
		maps.Copy(all, measured)
		for k := range recorded {
			if k.Package == p.name {
				if _, exists := all[k]; !exists && write {
					delete(recorded, k)
				}
			}
		}
	}
	show(all, top)
	if write {
		maps.Copy(recorded, all)
		return recorded.Write(record.File)
	}
	return record.Compare(recorded, all)
}

// show prints the slowest tests and the sum.
func show(all record.Table, top int) {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b record.Test) int { return cmp.Compare(all[b], all[a]) })
	sum := 0.0
	for _, k := range keys {
		sum += all[k]
	}
	for _, k := range keys[:min(top, len(keys))] {
		fmt.Printf("%7.2f s  %s %s\n", all[k], k.Package, k.Name)
	}
	fmt.Printf("%7.1f s  all %d tests\n", sum, len(keys))
}

// source is a package with tests.
type source struct{ name, folder string }

// list returns the packages that the patterns match. A pattern below ./tools is for the module
// there.
func list(patterns []string) (all []source, err error) {
	for _, pattern := range patterns {
		cmd := exec.Command("go", "list", "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}`)
		if below, is := strings.CutPrefix(pattern, "./tools/"); is {
			cmd.Dir, pattern = "tools", "./"+below
		}
		cmd.Args = append(cmd.Args, pattern)
		out, err := cmd.Output()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			if fields := strings.Fields(line); len(fields) == 2 {
				all = append(all, source{strings.TrimPrefix(strings.TrimPrefix(fields[0], record.Module), "/"), fields[1]})
			}
		}
	}
	return all, nil
}

// measure compiles the tests of a package, and runs each alone.
func measure(folder string, p source, lanes int) (record.Table, error) {
	binary := filepath.Join(folder, strings.ReplaceAll(p.name, "/", "_")+".test")
	compile := exec.Command("go", "test", "-vet=off", "-c", "-o", binary, ".")
	compile.Dir, compile.Stderr = p.folder, os.Stderr
	if err := compile.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	defer os.Remove(binary)
	names, err := command(p, binary, "-test.list", "^(Test|Example)").Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	all := record.Table{}
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(lanes)
	for _, name := range strings.Fields(string(names)) {
		if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Example") {
			continue
		}
		g.Go(func() error {
			run := command(p, binary, "-test.run", "^"+name+"$", "-test.timeout", "30m")
			out, err := run.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%s %s: %w\n%s", p.name, name, err, out)
			}
			used := run.ProcessState.UserTime() + run.ProcessState.SystemTime()
			mu.Lock()
			defer mu.Unlock()
			all[record.Test{Package: p.name, Name: name}] = used.Round(10 * time.Millisecond).Seconds()
			return nil
		})
	}
	return all, g.Wait()
}

func command(p source, binary string, args ...string) *exec.Cmd {
	c := exec.Command(binary, args...)
	c.Dir = p.folder
	return c
}
