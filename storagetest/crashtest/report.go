package crashtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Violation is a run in which a check failed.
type Violation struct {
	Err          error
	Faults       []string // the injected faults
	Seed         uint64   // of a schedule
	Reproducible bool     // a second run with the seed had the same violation
	Trace        []string // the requests that reached the account after Setup, with their times
}

// String returns the error, the faults and the trace.
func (v Violation) String() string {
	s := v.Err.Error()
	if v.Seed != 0 {
		s += fmt.Sprintf("\n  seed %d; Options{Seed: %d, Runs: 1} repeats the run", v.Seed, v.Seed)
		if !v.Reproducible {
			s += fmt.Sprintf("\n  seed %d did not reproduce the violation: the workload is not deterministic", v.Seed)
		}
	}
	for _, f := range v.Faults {
		s += "\n  " + f
	}
	return s + "\n    " + strings.Join(v.Trace, "\n    ")
}

// Report is the result of a test.
type Report struct {
	Requests   int // of the processes under test in the run without faults
	Planned    int // the number of runs that the test requires
	Runs       int // the number of runs
	Diverged   int // runs that did not send the request that a fault was for
	Distinct   int // schedules that differ in the order of the requests or in the faults
	Violations []Violation
}

// Require fails the test if runs are missing or have diverged, or if there are violations. Require prints the simplest violation
// for each of up to three errors.
func (r *Report) Require(t testing.TB) {
	t.Helper()
	switch {
	case r.Requests == 0 && len(r.Violations) == 0:
		t.Error("the processes have sent no requests")
	case r.Runs < r.Planned:
		t.Errorf("got %d runs; want %d", r.Runs, r.Planned)
	case r.Diverged > 0:
		t.Errorf("%d of %d runs did not send the request that a fault was for: the workload is not deterministic", r.Diverged, r.Runs)
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

// String returns the numbers of the report in one line.
func (r *Report) String() string {
	s := fmt.Sprintf("%d requests, %d runs", r.Requests, r.Runs)
	if r.Distinct > 0 {
		s += fmt.Sprintf(", %d distinct schedules", r.Distinct)
	}
	return s + fmt.Sprintf(", %d violations", len(r.Violations))
}

// sorted sorts the violations, the simplest first, and returns the report.
func (r *Report) sorted() *Report {
	slices.SortStableFunc(r.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(len(a.Faults), len(b.Faults)), cmp.Compare(a.Seed, b.Seed), cmp.Compare(len(a.Trace), len(b.Trace)), strings.Compare(strings.Join(a.Faults, ""), strings.Join(b.Faults, "")))
	})
	return r
}
