// Package record is the table of how much processor time each test takes.
package record

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	File   = "tools/seconds/record/seconds.txt" // in the folder of the project
	Module = "github.com/aztablekit/aztablekit"
	most   = 2.0 // seconds of a test
	Named  = 0.1 // seconds from which a test has a line of its own
	Rest   = "-" // the name of all other tests of a package together
)

// Most returns how many seconds a test of a package may take. Those that run whole programs (the
// emulator, crews of processes, the SDK's own tests, each recipe alone, the Go command) may take
// more.
func Most(pkg string) float64 {
	switch pkg {
	case "integration", "patterns", "tools/conformance", "tools/house", "tools/peers", "tools/processes":
		return 5 * most
	}
	return most
}

// Test is a test of a package, by the folder of the package in the project.
type Test struct{ Package, Name string }

// Table is how many seconds each test takes.
type Table map[Test]float64

// Together returns a table in which the tests of a package that take less than Named are one entry.
func (t Table) Together() Table {
	out := Table{}
	for k, seconds := range t {
		if seconds < Named {
			k.Name = Rest
		}
		out[k] += seconds
	}
	return out
}

// Sum is the time of all tests.
func (t Table) Sum() (sum float64) {
	for _, seconds := range t {
		sum += seconds
	}
	return sum
}

// Keys returns the tests by package, the slowest of each first.
func (t Table) Keys() []Test {
	return slices.SortedFunc(maps.Keys(t), func(a, b Test) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(t[b], t[a]), cmp.Compare(a.Name, b.Name))
	})
}

// Read reads a table: in each line a package, a test, and its seconds.
func Read(file string) (Table, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := Table{}
	lines := bufio.NewScanner(strings.NewReader(string(b)))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: got the line %q; want a package, a test and its seconds", file, lines.Text())
		}
		k := Test{strings.TrimPrefix(fields[0], "."), fields[1]}
		if _, exists := all[k]; exists {
			return nil, fmt.Errorf("%s: got two lines of %s %s; want one", file, fields[0], fields[1])
		}
		if all[k], err = strconv.ParseFloat(fields[2], 64); err != nil {
			return nil, fmt.Errorf("%s: %s %s: %w", file, fields[0], fields[1], err)
		}
	}
	return all, lines.Err()
}

// Write writes the table, with the short tests of each package together.
func (t Table) Write(file string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Processor seconds of each test of %.1f s and more, alone in a process, and of the others of its package (%s).\n", Named, Rest)
	b.WriteString("# go -C tools run ./seconds -write ./txn measures those of a package anew.\n")
	together := t.Together()
	for _, k := range together.Keys() {
		fmt.Fprintf(&b, "%s %s %.2f\n", cmp.Or(k.Package, "."), k.Name, together[k])
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// Compare returns an error for each test that takes more than [Most], unless it is recorded so, or
// more than twice its record and half a second. A test without a record counts as one of Named.
func Compare(recorded, measured Table) error {
	var all []error
	for _, k := range measured.Keys() {
		got, old := measured[k], cmp.Or(recorded[k], Named)
		switch {
		case k.Name == Rest:
		case got > Most(k.Package) && old <= Most(k.Package):
			all = append(all, fmt.Errorf("%s %s: got %.2f s; want at most %.0f s", cmp.Or(k.Package, "."), k.Name, got, Most(k.Package)))
		case got > 2*old+0.5:
			all = append(all, fmt.Errorf("%s %s: got %.2f s; want about %.2f s, as recorded", cmp.Or(k.Package, "."), k.Name, got, old))
		}
	}
	return errors.Join(all...)
}
