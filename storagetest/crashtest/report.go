package crashtest

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Violation is a run after which something was not true.
type Violation struct {
	Err     error
	Mishaps []string // what went wrong, in words
	Seed    uint64   // of a schedule
	Repeats bool     // the seed has shown it again
	Trace   []string // what has reached the account since Setup, in order, with the time
}

func (v Violation) String() string {
	s := v.Err.Error()
	if v.Seed != 0 {
		s += fmt.Sprintf("\n  seed %d, which repeats it: Options{Seed: %d, Runs: 1}", v.Seed, v.Seed)
		if !v.Repeats {
			s += fmt.Sprintf("\n  seed %d, which does not repeat it: something in the workload is left to chance", v.Seed)
		}
	}
	for _, m := range v.Mishaps {
		s += "\n  " + m
	}
	return s + indent(v.Trace)
}

// Report is what a test has found.
type Report struct {
	Requests   int // of the processes in the run without faults
	Planned    int // runs that were to be made
	Runs       int // runs that were made
	Strayed    int // runs whose requests were other ones than planned, so that a fault met another request
	Different  int // schedules that differ: in whose request came when, and what became of it
	Violations []Violation
}

// Require fails the test unless all runs were made and there are no violations. It prints the simplest three of different
// errors.
func (r *Report) Require(t testing.TB) {
	t.Helper()
	switch {
	case r.Requests == 0 && len(r.Violations) == 0:
		t.Error("the processes have sent no requests")
	case r.Runs < r.Planned:
		t.Errorf("only %d of %d runs were made", r.Runs, r.Planned)
	case r.Strayed > 0:
		t.Errorf("in %d of %d runs other requests came than planned: something in the workload is left to chance", r.Strayed, r.Runs)
	}
	printed := map[string]bool{}
	for _, v := range r.Violations {
		if len(printed) == 3 {
			break
		}
		if !printed[v.Err.Error()] {
			printed[v.Err.Error()] = true
			t.Errorf("one of %d violations in %d runs: %v", len(r.Violations), r.Runs, v)
		}
	}
}

// String is a summary in a line.
func (r *Report) String() string {
	s := fmt.Sprintf("%d requests, %d runs", r.Requests, r.Runs)
	if r.Different > 0 {
		s += fmt.Sprintf(", %d different schedules", r.Different)
	}
	return s + fmt.Sprintf(", %d violations", len(r.Violations))
}

// sorted puts the simplest violations first.
func (r *Report) sorted() *Report {
	slices.SortStableFunc(r.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(len(a.Mishaps), len(b.Mishaps)), cmp.Compare(a.Seed, b.Seed), cmp.Compare(len(a.Trace), len(b.Trace)), strings.Compare(strings.Join(a.Mishaps, ""), strings.Join(b.Mishaps, "")))
	})
	return r
}

// parallel calls f for 0 to n-1, on all processors.
func parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}
