package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// oneProcess returns a workload with one process.
func oneProcess(f func(context.Context, *crashtest.Process) error, more func(*crashtest.Workload)) func() crashtest.Workload {
	return func() crashtest.Workload {
		w := crashtest.Workload{Setup: setup, Processes: []func(context.Context, *crashtest.Process) error{f}}
		if more != nil {
			more(&w)
		}
		return w
	}
}

// lateWrite returns a workload whose worker aborts a write that has no commit record, after a number of other requests. The worker
// takes an existing record for an abort record, so a late commit record arrives unnoticed between the read and the insert of the
// worker.
func lateWrite(before int) func() crashtest.Workload {
	aborted := false
	return oneProcess(func(ctx context.Context, p *crashtest.Process) error {
		staff, _ := tables(p)
		_, err := staff.AddEntity(ctx, row("p", "record", ""), nil)
		return err
	}, func(w *crashtest.Workload) {
		aborted = false
		w.Drain = func(ctx context.Context, p *crashtest.Process) error {
			staff, _ := tables(p)
			for range before {
				staff.GetEntity(ctx, "p", "other", nil)
			}
			_, err := staff.GetEntity(ctx, "p", "record", nil)
			if !has(err, "ResourceNotFound") {
				return err
			}
			_, err = staff.AddEntity(ctx, row("p", "record", `,"Aborted":true`), nil)
			aborted = true
			if has(err, "EntityAlreadyExists") {
				return nil // the worker takes the record for an abort record
			}
			return err
		}
		w.Check = func(s *storagetest.Service) error {
			for _, r := range s.Rows("staff") {
				if aborted && r.Get("Aborted") == nil {
					return errors.New("the aborted write is committed")
				}
			}
			return nil
		}
	})
}

// TestLateInDrain: a late request may arrive between any two requests of Drain.
func TestLateInDrain(t *testing.T) {
	t.Parallel()
	for _, before := range testkit.Some([]int{0, 2, 8}) {
		build := func() crashtest.Workload { return lateWrite(before)() }
		all := crashtest.Enumerate(t, build, &crashtest.Options{PairLimit: -1})
		some := crashtest.Schedules(t, build, &crashtest.Options{Runs: 1000, FaultRate: 0.5})
		if len(all.Violations) == 0 || len(some.Violations) == 0 {
			t.Errorf("%d requests before: got %v; %v; want violations", before, all, some)
		}
	}
}

// TestInvariantAfterLateRequest: the invariant is checked after a late request, before the next request deletes the row.
func TestInvariantAfterLateRequest(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	noRows := func(s *storagetest.Service) error {
		if len(s.Rows("staff")) > 0 {
			return no
		}
		return nil
	}
	late := oneProcess(func(ctx context.Context, p *crashtest.Process) error {
		staff, _ := tables(p)
		staff.AddEntity(ctx, row("p", "r", ""), nil)
		staff.GetEntity(ctx, "p", "x", nil)
		staff.DeleteEntity(ctx, "p", "r", nil)
		return nil
	}, func(w *crashtest.Workload) {
		w.Invariant = func(s *storagetest.Service) error {
			for _, q := range s.Requests() { // in the run without faults the row may exist
				if q.Fault == storagetest.Late(1) {
					return noRows(s)
				}
			}
			return nil
		}
	})
	only := func(q storagetest.Request) []storagetest.Fault {
		if q.Kind != requests.Insert {
			return nil
		}
		return []storagetest.Fault{storagetest.Late(1)}
	}
	r := crashtest.Enumerate(t, late, &crashtest.Options{Faults: only, MaxLateness: -1, PairLimit: -1, CrashRate: -1})
	if len(r.Violations) != 1 || !errors.Is(r.Violations[0].Err, no) || !strings.Contains(r.Violations[0].Err.Error(), "insert staff('p','r') arrives") {
		t.Errorf("got %v, %v; want one violation after the late insert", r, r.Violations)
	}
}

// TestLeases: time passes while a request is held, up to minutes.
func TestLeases(t *testing.T) {
	t.Parallel()
	for _, lease := range testkit.Some([]time.Duration{time.Second, time.Minute, 5 * time.Minute}) {
		build := func() crashtest.Workload {
			var mu sync.Mutex
			owner, until, both := "", time.Time{}, false
			work := func(name string) func(context.Context, *crashtest.Process) error {
				return func(ctx context.Context, p *crashtest.Process) error {
					staff, _ := tables(p)
					if name == "second" {
						time.Sleep(lease + time.Second)
					}
					mu.Lock()
					taken := owner != "" && time.Now().Before(until)
					if !taken {
						owner, until = name, time.Now().Add(lease)
					}
					mu.Unlock()
					if taken {
						return nil
					}
					_, err := staff.UpsertEntity(ctx, row("p", "r", `,"By":"`+name+`"`), nil) // the bug: the process does not check its lease again
					mu.Lock()
					defer mu.Unlock()
					both = both || err == nil && owner != name
					return err
				}
			}
			return crashtest.Workload{
				Setup:     setup,
				Processes: []func(context.Context, *crashtest.Process) error{work("first"), work("second")},
				Check: func(*storagetest.Service) error {
					if both {
						return errors.New("a process wrote during the lease of the other process")
					}
					return nil
				},
			}
		}
		r := crashtest.Schedules(t, build, &crashtest.Options{Runs: testkit.Fewer(1500), FaultRate: -1})
		if len(r.Violations) == 0 {
			t.Errorf("a lease of %v: got %v; want violations", lease, r)
		}
		for _, v := range r.Violations[:min(1, len(r.Violations))] {
			if !strings.Contains(v.String(), " pass") || !v.Reproducible {
				t.Errorf("got %v; want a reproducible violation with a pause", v)
			}
		}
	}
}

// TestConcurrentProcess: each of several requests that a process sends at once has a run with a fault.
func TestConcurrentProcess(t *testing.T) {
	t.Parallel()
	faulty := map[string]int{}
	build := oneProcess(func(ctx context.Context, p *crashtest.Process) error {
		staff, _ := tables(p)
		errs := make(chan error)
		for i := range 3 {
			go func() {
				_, err := staff.AddEntity(ctx, row("p", fmt.Sprint("row", i), ""), nil)
				errs <- err
			}()
			go func() {
				_, err := staff.GetEntity(ctx, "p", fmt.Sprint("get", i), nil)
				if has(err, "ResourceNotFound") {
					err = nil
				}
				errs <- err
			}()
		}
		var err error
		for range 6 {
			err = errors.Join(err, <-errs)
		}
		return err
	}, nil)
	faults := func(q storagetest.Request) []storagetest.Fault {
		return []storagetest.Fault{storagetest.LostResponse()}
	}
	checkFaults := func(w *crashtest.Workload) {
		w.Check = func(s *storagetest.Service) error {
			for _, q := range s.Requests() {
				if q.Fault == storagetest.LostResponse() {
					return errors.New(q.RowKey)
				}
			}
			return nil
		}
	}
	r := crashtest.Enumerate(t, func() crashtest.Workload { w := build(); checkFaults(&w); return w }, &crashtest.Options{Faults: faults, MaxLateness: -1, PairLimit: -1, CrashRate: -1})
	for _, v := range r.Violations {
		faulty[v.Err.Error()]++
	}
	if len(faulty) != 6 || r.Diverged > 0 || r.Runs != 7 {
		t.Errorf("got faults in %v, %v; want 6 requests, 7 runs", faulty, r)
	}
	crashtest.Schedules(t, build, &crashtest.Options{Runs: 200}).Require(t)
}

// TestDeadlocksAndPanics: a deadlock or a panic is a violation and does not end the test program.
func TestDeadlocksAndPanics(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, p *crashtest.Process) error {
		staff, _ := tables(p)
		_, err := staff.NewListEntitiesPager(nil).NextPage(ctx)
		return err
	}
	for name, c := range map[string]struct {
		build      func() crashtest.Workload
		violations bool
	}{
		"request without the context of its process": {oneProcess(func(_ context.Context, p *crashtest.Process) error { return get(context.Background(), p) }, nil), false},
		"request that outlives its process": {oneProcess(func(ctx context.Context, p *crashtest.Process) error {
			go get(context.Background(), p)
			return get(ctx, p)
		}, nil), false},
		"request that is repeated when its process has ended": {oneProcess(func(ctx context.Context, p *crashtest.Process) error {
			go func() {
				for range 3 {
					get(context.Background(), p)
					time.Sleep(time.Second)
				}
			}()
			return get(ctx, p)
		}, nil), false},
		"process that never ends": {func() crashtest.Workload {
			c := make(chan bool)
			w := crashtest.Workload{Setup: setup}
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				if err := get(ctx, p); err != nil {
					return err
				}
				go func() { c <- true }()
				return nil
			}, func(ctx context.Context, p *crashtest.Process) error { <-c; return get(ctx, p) })
			return w
		}, true},
		"Check that panics": {oneProcess(get, func(w *crashtest.Workload) {
			w.Check = func(s *storagetest.Service) error {
				if all := s.Requests(); all[len(all)-1].Status == 0 {
					_ = s.Rows("staff")[5]
				}
				return nil
			}
		}), true},
		"Check and Invariant that send requests": {oneProcess(get, func(w *crashtest.Workload) {
			w.Check = func(s *storagetest.Service) error { return query(s) }
			w.Invariant = func(s *storagetest.Service) error { return query(s) }
		}), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []*crashtest.Report{
				crashtest.Enumerate(t, c.build, &crashtest.Options{PairLimit: -1}),
				crashtest.Schedules(t, c.build, &crashtest.Options{Runs: 100, FaultRate: 0.5}),
			} {
				if r.Runs == 0 || r.Runs < r.Required || (len(r.Violations) > 0) != c.violations {
					t.Errorf("got %v, %v; want violations: %v", r, r.Violations, c.violations)
				}
			}
		})
	}
}

// query sends a query to the account.
func query(s *storagetest.Service) error {
	_, err := newClient(s).NewClient("staff").NewListEntitiesPager(nil).NextPage(context.Background())
	return err
}

// TestAccountOptions: the options of the account do not affect the report.
func TestAccountOptions(t *testing.T) {
	t.Parallel()
	r := crashtest.Enumerate(t, twoWrites, &crashtest.Options{Service: storagetest.Options{RequestLogSize: -1}, PairLimit: -1})
	if r.Requests != 2 || len(r.Violations) == 0 || len(r.Violations[0].Trace) == 0 {
		t.Errorf("got %v, %v; want 2 requests and violations with a trace", r, r.Violations)
	}
}

// recorder records the errors of Require.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Error(args ...any)         { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.errors = append(r.errors, fmt.Sprintf(f, a...)) }

// TestRequire: Require fails without requests or runs, and prints the simplest violation first.
func TestRequire(t *testing.T) {
	t.Parallel()
	idle := oneProcess(func(context.Context, *crashtest.Process) error { return nil }, nil)
	for name, c := range map[string]struct {
		report *crashtest.Report
		want   string
	}{
		"no requests":   {crashtest.Enumerate(t, idle, nil), "have sent no requests"},
		"missing runs":  {&crashtest.Report{Requests: 1, Required: 2, Runs: 1}, "got 1 runs; want 2"},
		"diverged runs": {&crashtest.Report{Requests: 1, Required: 1, Runs: 1, Diverged: 1}, "not deterministic"},
		"violations":    {crashtest.Enumerate(t, twoWrites, nil), "  at request "},
	} {
		r := &recorder{TB: t}
		c.report.Require(r)
		if len(r.errors) == 0 || !strings.Contains(r.errors[0], c.want) {
			t.Errorf("%s: got %q; want %q", name, r.errors, c.want)
		}
		if name == "violations" && strings.Count(r.errors[0], "  at request ") != 1 {
			t.Errorf("got %s; want a violation with one fault first", r.errors[0])
		}
	}
}

// TestRand: a workload that takes random numbers from its process is reproducible.
func TestRand(t *testing.T) {
	t.Parallel()
	build := oneProcess(func(ctx context.Context, p *crashtest.Process) error {
		staff, _ := tables(p)
		for range 1 + p.Rand().IntN(9) {
			staff.UpsertEntity(ctx, row("p", fmt.Sprint(p.Rand().IntN(9)), ""), nil)
		}
		return nil
	}, func(w *crashtest.Workload) {
		w.Check = func(s *storagetest.Service) error {
			if n := len(s.Rows("staff")); n > 5 {
				return fmt.Errorf("%d rows", n)
			}
			return nil
		}
	})
	r := crashtest.Schedules(t, build, &crashtest.Options{Runs: 200})
	if len(r.Violations) == 0 {
		t.Fatalf("got %v; want violations", r)
	}
	for _, v := range r.Violations {
		if !v.Reproducible {
			t.Errorf("got %v; want a reproducible violation", v)
		}
	}
}
