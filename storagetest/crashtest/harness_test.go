package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// alone is a workload of one process.
func alone(f func(context.Context, *crashtest.Process) error, more func(*crashtest.Workload)) func() crashtest.Workload {
	return func() crashtest.Workload {
		w := crashtest.Workload{Setup: setup, Processes: []func(context.Context, *crashtest.Process) error{f}}
		if more != nil {
			more(&w)
		}
		return w
	}
}

// unfenced is a worker that takes the absence of an intent for its end, having done other things before and after it looked:
// it marks the write as given up, but a writer who is merely slow may still come in between.
func unfenced(before int) func() crashtest.Workload {
	gaveUp := false
	return alone(func(ctx context.Context, p *crashtest.Process) error {
		staff, _ := tables(p)
		_, err := staff.AddEntity(ctx, row("p", "intent", ""), nil)
		return err
	}, func(w *crashtest.Workload) {
		gaveUp = false
		gave := &gaveUp
		w.Drain = func(ctx context.Context, p *crashtest.Process) error {
			staff, _ := tables(p)
			for range before {
				staff.GetEntity(ctx, "p", "other", nil)
			}
			_, err := staff.GetEntity(ctx, "p", "intent", nil)
			if !has(err, "ResourceNotFound") {
				return err
			}
			_, err = staff.AddEntity(ctx, row("p", "intent", `,"Aborted":true`), nil)
			*gave = true
			if has(err, "EntityAlreadyExists") {
				return nil // which it takes for another worker's mark
			}
			return err
		}
		w.Check = func(s *storagetest.Service) error {
			for _, r := range s.Rows("staff") {
				if *gave && r.Get("Aborted") == nil {
					return errors.New("it was given up, and is done")
				}
			}
			return nil
		}
	})
}

// TestLateInDrain: a request may arrive between any two of what comes after it.
func TestLateInDrain(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1, 2, 3, 5, 8} {
		build := func() crashtest.Workload { return unfenced(before)() }
		all := crashtest.Enumerate(t, build, &crashtest.Options{PairLimit: -1})
		some := crashtest.Schedules(t, build, &crashtest.Options{Runs: 2000, FaultRate: 0.5})
		if len(all.Violations) == 0 || len(some.Violations) == 0 {
			t.Errorf("%d requests before: %v; %v", before, all, some)
		}
	}
}

// TestAlwaysSeesLateRequests: also where what comes next takes them away, and where the response is long in coming.
func TestAlwaysSeesLateRequests(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	never := func(s *storagetest.Service) error {
		if len(s.Rows("staff")) > 0 {
			return no
		}
		return nil
	}
	late := alone(func(ctx context.Context, p *crashtest.Process) error {
		staff, _ := tables(p)
		staff.AddEntity(ctx, row("p", "r", ""), nil)
		staff.GetEntity(ctx, "p", "x", nil)
		staff.DeleteEntity(ctx, "p", "r", nil)
		return nil
	}, func(w *crashtest.Workload) {
		w.Invariant = func(s *storagetest.Service) error {
			for _, q := range s.Requests() { // in the run without faults it may be there
				if q.Fault == storagetest.Late(1) {
					return never(s)
				}
			}
			return nil
		}
	})
	only := func(q storagetest.Request) []storagetest.Fault {
		if q.Kind != "insert" {
			return nil
		}
		return []storagetest.Fault{storagetest.Late(1)}
	}
	r := crashtest.Enumerate(t, late, &crashtest.Options{Faults: only, MaxLateness: -1, PairLimit: -1, CrashRate: -1})
	if len(r.Violations) != 1 || !errors.Is(r.Violations[0].Err, no) || !strings.Contains(r.Violations[0].Err.Error(), "insert staff('p','r') arrives") {
		t.Errorf("%v %v", r, r.Violations)
	}
}

// TestLeases: time passes while a request is held, minutes if need be.
func TestLeases(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{time.Second, time.Minute, 5 * time.Minute} {
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
					_, err := staff.UpsertEntity(ctx, row("p", "r", `,"By":"`+name+`"`), nil) // and no look at the lease again
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
						return errors.New("the first wrote when the lease was the second's")
					}
					return nil
				},
			}
		}
		r := crashtest.Schedules(t, build, &crashtest.Options{Runs: 3000, FaultRate: -1})
		if len(r.Violations) == 0 {
			t.Errorf("a lease of %v: %v", lease, r)
		}
		for _, v := range r.Violations[:min(1, len(r.Violations))] {
			if !strings.Contains(v.String(), " pass") || !v.Reproducible {
				t.Errorf("%v", v)
			}
		}
	}
}

// TestConcurrentProcess: what a process sends at the same time is tried request by request as well.
func TestConcurrentProcess(t *testing.T) {
	t.Parallel()
	tried := map[string]int{}
	build := alone(func(ctx context.Context, p *crashtest.Process) error {
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
	violations := func(w *crashtest.Workload) {
		w.Check = func(s *storagetest.Service) error {
			for _, q := range s.Requests() {
				if q.Fault == storagetest.LostResponse() {
					return errors.New(q.RowKey)
				}
			}
			return nil
		}
	}
	r := crashtest.Enumerate(t, func() crashtest.Workload { w := build(); violations(&w); return w }, &crashtest.Options{Faults: faults, MaxLateness: -1, PairLimit: -1, CrashRate: -1})
	for _, v := range r.Violations {
		tried[v.Err.Error()]++
	}
	if len(tried) != 6 || r.Diverged > 0 || r.Runs != 7 {
		t.Errorf("%v %v", tried, r)
	}
	crashtest.Schedules(t, build, &crashtest.Options{Runs: 200}).Require(t)
}

// TestWhatDoesNotEnd, or ends wrongly, is a violation with its seed, and not the end of the test program.
func TestWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	get := func(ctx context.Context, p *crashtest.Process) error {
		staff, _ := tables(p)
		_, err := staff.NewListEntitiesPager(nil).NextPage(ctx)
		return err
	}
	for what, c := range map[string]struct {
		build      func() crashtest.Workload
		violations bool
	}{
		"a request of no context": {alone(func(_ context.Context, p *crashtest.Process) error { return get(context.Background(), p) }, nil), false},
		"a request that outlives its process": {alone(func(ctx context.Context, p *crashtest.Process) error {
			go get(context.Background(), p)
			return get(ctx, p)
		}, nil), false},
		"a process that waits for ever": {func() crashtest.Workload {
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
		"a check that panics": {alone(get, func(w *crashtest.Workload) {
			w.Check = func(s *storagetest.Service) error {
				if all := s.Requests(); all[len(all)-1].Status == 0 {
					_ = s.Rows("staff")[5]
				}
				return nil
			}
		}), true},
		"checks that send requests": {alone(get, func(w *crashtest.Workload) {
			w.Check = func(s *storagetest.Service) error { return ask(s) }
			w.Invariant = func(s *storagetest.Service) error { return ask(s) }
		}), false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			for _, r := range []*crashtest.Report{
				crashtest.Enumerate(t, c.build, &crashtest.Options{PairLimit: -1}),
				crashtest.Schedules(t, c.build, &crashtest.Options{Runs: 100, FaultRate: 0.5}),
			} {
				if r.Runs == 0 || r.Runs < r.Planned || (len(r.Violations) > 0) != c.violations {
					t.Errorf("%v %v", r, r.Violations)
				}
			}
		})
	}
}

// ask asks the account as a client does.
func ask(s *storagetest.Service) error {
	_, err := clientOf(s).NewClient("staff").NewListEntitiesPager(nil).NextPage(context.Background())
	return err
}

// TestOptionsOfTheAccount do not blind the test.
func TestOptionsOfTheAccount(t *testing.T) {
	t.Parallel()
	r := crashtest.Enumerate(t, twoWrites, &crashtest.Options{Service: storagetest.Options{RequestLogSize: -1}, PairLimit: -1})
	if r.Requests != 2 || len(r.Violations) == 0 || len(r.Violations[0].Trace) == 0 {
		t.Errorf("%v %v", r, r.Violations)
	}
}

// reported is what Require says.
type reported struct {
	testing.TB
	said []string
}

func (r *reported) Helper()                   {}
func (r *reported) Error(args ...any)         { r.said = append(r.said, fmt.Sprint(args...)) }
func (r *reported) Errorf(f string, a ...any) { r.said = append(r.said, fmt.Sprintf(f, a...)) }

// TestRequire: nothing passes that was not looked at, and the simplest violation is printed first.
func TestRequire(t *testing.T) {
	t.Parallel()
	idle := alone(func(context.Context, *crashtest.Process) error { return nil }, nil)
	for what, c := range map[string]struct {
		report *crashtest.Report
		want   string
	}{
		"nothing sent":    {crashtest.Enumerate(t, idle, nil), "have sent no requests"},
		"runs missing":    {&crashtest.Report{Requests: 1, Planned: 2, Runs: 1}, "got 1 runs; want 2"},
		"runs that stray": {&crashtest.Report{Requests: 1, Planned: 1, Runs: 1, Diverged: 1}, "not deterministic"},
		"violations":      {crashtest.Enumerate(t, twoWrites, nil), "  at request "},
	} {
		r := &reported{TB: t}
		c.report.Require(r)
		if len(r.said) == 0 || !strings.Contains(r.said[0], c.want) {
			t.Errorf("%s: %q", what, r.said)
		}
		if what == "violations" && strings.Count(r.said[0], "  at request ") != 1 {
			t.Errorf("the first violation is not of one mishap: %s", r.said[0])
		}
	}
}

// TestChance: of its own makes another run, and the report says so; the process's does not.
func TestChance(t *testing.T) {
	t.Parallel()
	build := alone(func(ctx context.Context, p *crashtest.Process) error {
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
		t.Fatal(r)
	}
	for _, v := range r.Violations {
		if !v.Reproducible {
			t.Errorf("%v", v)
		}
	}
}
