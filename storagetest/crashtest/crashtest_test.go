package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// TestBugs: Enumerate and Schedules find each bug, and report none in correct code.
func TestBugs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		build func() crashtest.Workload
		buggy bool
		fault string // a fault that causes a violation
	}{
		{"two writes without a commit record", twoWrites, true, "at request 2 of the processes: request lost, and the process crashes"},
		{"two writes with a commit record", withCommitRecord, false, ""},
		{"blind retry of an insert", blindRetry, true, "at request 1 of the processes: response lost"},
		{"retry of an insert with an operation ID", retryWithOperationID, false, ""},
		{"delete without a condition", unconditionalDelete, true, "at request 2 of the processes: late, after 1 others"},
		{"delete with a condition", conditionalDelete, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			build := func() crashtest.Workload {
				w := c.build()
				if c.name[:6] == "delete" { // the Setup of these workloads creates no tables
					inner := w.Setup
					w.Setup = func(ctx context.Context, p *crashtest.Process) error {
						return errors.Join(setup(ctx, p), inner(ctx, p))
					}
				}
				return w
			}
			all := crashtest.Enumerate(t, build, nil)
			runs := max(testkit.Fewer(200), 100)
			some := crashtest.Schedules(t, build, &crashtest.Options{Runs: runs})
			t.Log(all)
			t.Log(some)
			if !c.buggy {
				all.Require(t)
				some.Require(t)
				return
			}
			if len(all.Violations) == 0 || len(some.Violations) == 0 || all.Requests == 0 || all.Runs < 50 || some.Runs != runs {
				t.Fatalf("got %v; %v; want violations", all, some)
			}
			if !slices.ContainsFunc(all.Violations, func(v crashtest.Violation) bool {
				return len(v.Faults) == 1 && strings.HasPrefix(v.Faults[0], c.fault+" (") && len(v.Trace) > 0
			}) {
				t.Errorf("got violations %v; want a violation with the fault %q alone", all.Violations, c.fault)
			}
			// The seed of a violation reproduces the violation.
			v := some.Violations[0]
			again := crashtest.Schedules(t, build, &crashtest.Options{Seed: v.Seed, Runs: 1})
			if len(again.Violations) != 1 || again.Violations[0].String() != v.String() || !v.Reproducible {
				t.Errorf("got %v\nwant %v", again.Violations, v)
			}
		})
	}
}

// readsOnly returns a workload that reads a number of times.
func readsOnly(reads int, check func(*storagetest.Service) error) func() crashtest.Workload {
	return func() crashtest.Workload {
		return crashtest.Workload{
			Setup: setup,
			Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
				staff, _ := tables(p)
				for range reads {
					if _, err := staff.NewListEntitiesPager(nil).NextPage(ctx); err != nil {
						return err
					}
				}
				return nil
			}},
			Check: check,
		}
	}
}

// TestNumberOfRuns: Enumerate makes one run for each fault, and for short workloads one for each pair of faults.
func TestNumberOfRuns(t *testing.T) {
	t.Parallel()
	two := func(storagetest.Request) []storagetest.Fault {
		return []storagetest.Fault{storagetest.NotSent(), storagetest.LostResponse()}
	}
	ok := func(*storagetest.Service) error { return nil }
	for _, c := range []struct{ requests, pairs, runs int }{
		{1, 8, 1 + 4}, {3, -1, 1 + 12},
		// Each of these faults ends the process, so a second fault has no request.
		{3, 3, 1 + 12},
	} {
		r := crashtest.Enumerate(t, readsOnly(c.requests, ok), &crashtest.Options{Faults: two, PairLimit: c.pairs})
		if r.Requests != c.requests || r.Runs != c.runs || r.Required != c.runs || len(r.Violations) != 0 {
			t.Errorf("%d requests: got %v; want %d runs", c.requests, r, c.runs)
		}
	}
	if r := crashtest.Enumerate(t, readsOnly(3, ok), &crashtest.Options{Faults: two, PairLimit: -1, Sample: 4}); r.Runs != 1+3 || len(r.Violations) != 0 {
		t.Errorf("a sample of one fault in four: got %v; want 4 runs", r)
	}
	slow := func(storagetest.Request) []storagetest.Fault {
		return []storagetest.Fault{storagetest.Slow(time.Second)}
	}
	if r := crashtest.Enumerate(t, readsOnly(3, ok), &crashtest.Options{Faults: slow, CrashRate: -1}); r.Runs != 1+3+3 {
		t.Errorf("pairs: got %v; want 7 runs", r)
	}
}

// TestFaultlessRun: a workload that fails without a fault is one violation, and has no further runs.
func TestFaultlessRun(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for name, build := range map[string]func() crashtest.Workload{
		"check": readsOnly(2, func(*storagetest.Service) error { return no }),
		"setup": func() crashtest.Workload {
			w := readsOnly(2, nil)()
			w.Setup = func(context.Context, *crashtest.Process) error { return no }
			return w
		},
		"process": func() crashtest.Workload {
			w := readsOnly(2, func(*storagetest.Service) error { return nil })()
			w.Processes = append(w.Processes, func(context.Context, *crashtest.Process) error { return no })
			return w
		},
		"drain": func() crashtest.Workload {
			w := readsOnly(2, nil)()
			w.Drain = func(context.Context, *crashtest.Process) error { return no }
			return w
		},
		"invariant": func() crashtest.Workload {
			w := readsOnly(2, nil)()
			w.Invariant = func(s *storagetest.Service) error {
				if n := len(s.Requests()); n > 2 {
					return no
				}
				return nil
			}
			return w
		},
	} {
		for _, r := range []*crashtest.Report{crashtest.Enumerate(t, build, nil), crashtest.Schedules(t, build, nil)} {
			if r.Runs > 1 || len(r.Violations) != 1 || !errors.Is(r.Violations[0].Err, no) {
				t.Errorf("%s: got %v, %v; want one violation", name, r, r.Violations)
			}
		}
	}
}

// TestPanics: the panic of a process is a violation with its fault.
func TestPanics(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		w := readsOnly(1, func(*storagetest.Service) error { return nil })()
		inner := w.Processes[0]
		w.Processes[0] = func(ctx context.Context, p *crashtest.Process) error {
			if err := inner(ctx, p); err != nil {
				panic("oh")
			}
			return nil
		}
		return w
	}
	only := func(storagetest.Request) []storagetest.Fault { return []storagetest.Fault{storagetest.NotSent()} }
	r := crashtest.Enumerate(t, build, &crashtest.Options{Faults: only})
	if len(r.Violations) != 3 || !strings.Contains(r.Violations[0].String(), "process 1 panicked: oh") { // without a crash, and with a crash before and after the request
		t.Errorf("got %v, %v; want violations of panics", r, r.Violations)
	}
	r = crashtest.Schedules(t, build, &crashtest.Options{Faults: only, Runs: 50, FaultRate: 0.5, CrashRate: -1})
	if len(r.Violations) == 0 || len(r.Violations) == 50 || len(r.Violations[0].Trace) == 0 {
		t.Errorf("got %v, %v; want violations of panics", r, r.Violations)
	}
}

// TestCrash: after a crash, no request of the process arrives and its context has ended, and other processes continue.
func TestCrash(t *testing.T) {
	t.Parallel()
	var crashes atomic.Int64
	build := func() crashtest.Workload {
		crashed, survived := false, false
		w := crashtest.Workload{Setup: setup}
		w.Processes = []func(context.Context, *crashtest.Process) error{
			func(ctx context.Context, p *crashtest.Process) error {
				staff, _ := tables(p)
				_, err := staff.AddEntity(ctx, row("p", "first", ""), nil)
				if crashed = context.Cause(ctx) == crashtest.ErrCrashed; crashed {
					_, again := staff.AddEntity(context.Background(), row("p", "second", ""), nil)
					if err == nil || !errors.Is(again, crashtest.ErrCrashed) {
						t.Errorf("crashed process: got errors %v, %v; want ErrCrashed", err, again)
					}
				}
				return err
			},
			func(ctx context.Context, p *crashtest.Process) error {
				staff, _ := tables(p)
				_, err := staff.AddEntity(ctx, row("p", "other", ""), nil)
				survived = err == nil
				return err
			},
		}
		w.Check = func(s *storagetest.Service) error {
			if crashed {
				crashes.Add(1)
			}
			if rows := fmt.Sprint(rowKeys(s, "staff")); !strings.HasSuffix(rows, "other]") && survived || strings.Contains(rows, "second") {
				return fmt.Errorf("got rows %s; want no row of a crashed process, and other: %v", rows, survived)
			}
			return nil
		}
		return w
	}
	only := func(q storagetest.Request) []storagetest.Fault {
		if q.RowKey != "first" {
			return nil
		}
		return []storagetest.Fault{storagetest.LostResponse()}
	}
	r := crashtest.Enumerate(t, build, &crashtest.Options{Faults: only, MaxLateness: -1, PairLimit: -1})
	r.Require(t)
	if r.Runs != 1+1+4 || crashes.Load() != 2 {
		t.Errorf("got %v, %d crashes; want 6 runs, 2 crashes", r, crashes.Load())
	}
}

// TestConcurrentRequests: a process may send several requests at once, and a hanging request ends with the timeout.
func TestConcurrentRequests(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		return crashtest.Workload{
			Setup: setup,
			Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
				staff, _ := tables(p)
				errs := make(chan error)
				for i := range 3 {
					go func() {
						_, err := staff.AddEntity(ctx, row("p", fmt.Sprint(i), ""), nil)
						errs <- err
					}()
				}
				return errors.Join(<-errs, <-errs, <-errs)
			}},
			Check: func(s *storagetest.Service) error {
				if n := len(s.Rows("staff")); n > 3 {
					return fmt.Errorf("%d rows", n)
				}
				return nil
			},
		}
	}
	o := &crashtest.Options{PairLimit: -1, Runs: 100, Timeout: time.Minute}
	r := crashtest.Enumerate(t, build, o)
	r.Require(t)
	if r.Requests != 3 {
		t.Errorf("got %v; want 3 requests", r)
	}
	crashtest.Schedules(t, build, o).Require(t)
}

// TestSchedulesDiffer: almost all schedules are distinct.
func TestSchedulesDiffer(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		w := crashtest.Workload{Setup: setup, Check: func(*storagetest.Service) error { return nil }}
		for i := range 3 {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				staff, _ := tables(p)
				for range 4 {
					staff.UpsertEntity(ctx, row("p", fmt.Sprint(i), ""), nil)
					staff.GetEntity(ctx, "p", "0", nil)
				}
				return nil
			})
		}
		return w
	}
	n := testkit.Fewer(1000)
	r := crashtest.Schedules(t, build, &crashtest.Options{Runs: n})
	r.Require(t)
	if r.Runs != n || r.Distinct < n*9/10 {
		t.Errorf("got %v; want %d runs, 9 of 10 distinct", r, n)
	}
}
