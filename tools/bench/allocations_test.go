//go:build !race

package main

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/allocations.txt")

var allocationsFile = filepath.Join("testdata", "allocations.txt")

const allocationsHead = `# Allocations of one call of each operation of the library, as tools/bench measures it. TestAllocations compares them exactly with
# the versions of Go and of the modules that this file names; with others, a tenth more is allowed. After an intended change:
#
#	go -C tools test ./bench -run TestAllocations -update
`

// modules are the modules that take part in the allocations.
var modules = []string{"github.com/Azure/azure-sdk-for-go/sdk/azcore", "github.com/Azure/azure-sdk-for-go/sdk/data/aztables"}

// TestAllocations: the library allocates as often as testdata/allocations.txt says, no more and no less: an improvement is recorded,
// too. With other versions than those of the file, it may allocate a tenth more.
func TestAllocations(t *testing.T) { // not parallel: it counts the allocations of the process
	file, want := readAllocations(t)
	now := versions(t)
	got := map[string]int{}
	for _, g := range ratios() {
		if _, known := got[g.op]; known {
			continue
		}
		p, err := g.setup()
		if err != nil {
			t.Fatalf("%s: got error %v; want none", g.op, err)
		}
		got[g.op] = allocationsOf(t, p.ours)
	}
	if *update {
		writeAllocations(t, now, got)
		return
	}
	exact := maps.Equal(file, now)
	if !exact {
		t.Logf("%s is for %v; this is %v", allocationsFile, file, now)
	}
	for _, op := range slices.Sorted(maps.Keys(got)) {
		n, listed := want[op]
		switch {
		case !listed:
			t.Errorf("%s: got %d allocations, and no line in %s; run with -update", op, got[op], allocationsFile)
		case exact && got[op] != n:
			t.Errorf("%s: got %d allocations, want %d; if the change is intended, run with -update", op, got[op], n)
		case got[op] > n+n/10:
			t.Errorf("%s: got %d allocations, want at most %d", op, got[op], n+n/10)
		}
		delete(want, op)
	}
	for op := range want {
		t.Errorf("%s: got no operation of the name %q; run with -update", allocationsFile, op)
	}
}

// TestVerified: a run of package verify allocates no more often for each entity than its goal says. The number is not exact, since the
// growth of a map is random.
func TestVerified(t *testing.T) { // not parallel, as TestAllocations
	for _, partitions := range []int{1, 20} {
		v, err := newVerified(t.Context(), 2000, partitions)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := v.cost(t.Context()); err != nil || got > verifiedAllocs {
			t.Errorf("%d partitions: got %.1f allocations an entity, error %v; want at most %d", partitions, got, err, verifiedAllocs)
		}
		if _, err := v.peakHeap(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// allocationsOf returns the least number of allocations of a call. Garbage collections empty pools, and goroutines of the runtime
// allocate, so that a single run may count more.
func allocationsOf(t *testing.T, f func() error) int {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := 0.0
	for i := range 2 {
		runtime.GC()
		n := testing.AllocsPerRun(3, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		})
		if i == 0 || n < least {
			least = n
		}
	}
	return int(least)
}

// versions returns the versions of Go and of the modules. Of Go, only the first two numbers count.
func versions(t *testing.T) map[string]string {
	all := map[string]string{"go": strings.Join(strings.SplitN(strings.TrimPrefix(runtime.Version(), "go"), ".", 3)[:2], ".")}
	for _, m := range modules {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", m).Output()
		if err != nil {
			t.Fatal(err)
		}
		all[m] = strings.TrimSpace(string(out))
	}
	return all
}

// readAllocations returns the versions and the allocations of the file.
func readAllocations(t *testing.T) (versions map[string]string, allocations map[string]int) {
	versions, allocations = map[string]string{}, map[string]int{}
	f, err := os.Open(allocationsFile)
	if os.IsNotExist(err) && *update {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") || s.Text() == "" {
			continue
		}
		at := strings.LastIndexByte(s.Text(), ' ')
		if at < 0 {
			t.Fatalf("%s: got line %q, want a name and a number or version", allocationsFile, s.Text())
		}
		name, value := strings.TrimSpace(s.Text()[:at]), s.Text()[at+1:]
		if name == "go" || slices.Contains(modules, name) {
			versions[name] = value
		} else if allocations[name], err = strconv.Atoi(value); err != nil {
			t.Fatalf("%s: line %q: %v", allocationsFile, s.Text(), err)
		}
	}
	return
}

func writeAllocations(t *testing.T, versions map[string]string, allocations map[string]int) {
	var b strings.Builder
	b.WriteString(allocationsHead)
	for _, name := range append([]string{"go"}, modules...) {
		fmt.Fprintf(&b, "%s %s\n", name, versions[name])
	}
	b.WriteString("\n")
	for _, op := range slices.Sorted(maps.Keys(allocations)) {
		fmt.Fprintf(&b, "%-24s %d\n", op, allocations[op])
	}
	if err := os.WriteFile(allocationsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
