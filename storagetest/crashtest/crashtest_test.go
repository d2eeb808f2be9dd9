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

	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
)

// TestNaive: each hole is found, and where there is none, none is.
func TestNaive(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		build func() crashtest.Workload
		holes bool
		says  string // a mishap that is among those that show it
	}{
		{"write, then write elsewhere", twoWrites, true, "at request 2 of the processes: request lost, and the process crashes"},
		{"write with an intent", withIntent, false, ""},
		{"insert, retried blindly", blindRetry, true, "at request 1 of the processes: response lost"},
		{"insert, retried with a mark", knownRetry, false, ""},
		{"delete of anything", anyDelete, true, "at request 2 of the processes: late, after 1 others"},
		{"delete of what was seen", conditionalDelete, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fixed := func() crashtest.Workload {
				w := c.build()
				if c.name[:6] == "delete" { // whose Setup has no table yet
					inner := w.Setup
					w.Setup = func(ctx context.Context, p *crashtest.Process) error {
						return errors.Join(setup(ctx, p), inner(ctx, p))
					}
				}
				return w
			}
			all := crashtest.Enumerate(t, fixed, nil)
			some := crashtest.Schedules(t, fixed, &crashtest.Options{Runs: 500})
			t.Log(all)
			t.Log(some)
			if !c.holes {
				all.Require(t)
				some.Require(t)
				return
			}
			if len(all.Violations) == 0 || len(some.Violations) == 0 || all.Requests == 0 || all.Runs < 50 || some.Runs != 500 {
				t.Fatalf("not found: %v, %v", all, some)
			}
			if !slices.ContainsFunc(all.Violations, func(v crashtest.Violation) bool {
				return len(v.Faults) == 1 && strings.HasPrefix(v.Faults[0], c.says+" (") && len(v.Trace) > 0
			}) {
				t.Errorf("no violation says %q: %v", c.says, all.Violations)
			}
			// The seed of a violation shows it again.
			v := some.Violations[0]
			again := crashtest.Schedules(t, fixed, &crashtest.Options{Seed: v.Seed, Runs: 1})
			if len(again.Violations) != 1 || again.Violations[0].String() != v.String() || !v.Reproducible {
				t.Errorf("%v\nbecame %v", v, again.Violations)
			}
		})
	}
}

// nothing is a workload of a number of reads.
func nothing(reads int, check func(*storagetest.Service) error) func() crashtest.Workload {
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

// TestCounts: how many runs there are, alone and in pairs.
func TestCounts(t *testing.T) {
	t.Parallel()
	two := func(storagetest.Request) []storagetest.Fault {
		return []storagetest.Fault{storagetest.NotSent(), storagetest.LostResponse()}
	}
	ok := func(*storagetest.Service) error { return nil }
	for _, c := range []struct{ requests, pairs, runs int }{
		{1, 8, 1 + 4}, {3, -1, 1 + 12},
		// Each mishap ends the process here, so that nothing comes behind it.
		{3, 3, 1 + 12},
	} {
		r := crashtest.Enumerate(t, nothing(c.requests, ok), &crashtest.Options{Faults: two, PairLimit: c.pairs})
		if r.Requests != c.requests || r.Runs != c.runs || r.Planned != c.runs || len(r.Violations) != 0 {
			t.Errorf("%d requests: %v, want %d runs", c.requests, r, c.runs)
		}
	}
	slow := func(storagetest.Request) []storagetest.Fault {
		return []storagetest.Fault{storagetest.Slow(time.Second)}
	}
	if r := crashtest.Enumerate(t, nothing(3, ok), &crashtest.Options{Faults: slow, CrashRate: -1}); r.Runs != 1+3+3 {
		t.Errorf("pairs: %v", r)
	}
}

// TestGolden: a workload that fails by itself is one violation, and nothing else is tried.
func TestGolden(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for what, build := range map[string]func() crashtest.Workload{
		"check": nothing(2, func(*storagetest.Service) error { return no }),
		"setup": func() crashtest.Workload {
			w := nothing(2, nil)()
			w.Setup = func(context.Context, *crashtest.Process) error { return no }
			return w
		},
		"process": func() crashtest.Workload {
			w := nothing(2, func(*storagetest.Service) error { return nil })()
			w.Processes = append(w.Processes, func(context.Context, *crashtest.Process) error { return no })
			return w
		},
		"drain": func() crashtest.Workload {
			w := nothing(2, nil)()
			w.Drain = func(context.Context, *crashtest.Process) error { return no }
			return w
		},
		"always": func() crashtest.Workload {
			w := nothing(2, nil)()
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
				t.Errorf("%s: %v, %v", what, r, r.Violations)
			}
		}
	}
}

// TestPanics: a process that panics is a violation, with what happened to it.
func TestPanics(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		w := nothing(1, func(*storagetest.Service) error { return nil })()
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
	if len(r.Violations) != 3 || !strings.Contains(r.Violations[0].String(), "process 1 panicked: oh") { // and before and after a death
		t.Errorf("%v %v", r, r.Violations)
	}
	r = crashtest.Schedules(t, build, &crashtest.Options{Faults: only, Runs: 50, FaultRate: 0.5, CrashRate: -1})
	if len(r.Violations) == 0 || len(r.Violations) == 50 || len(r.Violations[0].Trace) == 0 {
		t.Errorf("%v %v", r, r.Violations)
	}
}

// TestDeath: of a process that dies nothing arrives any more, and its context is over; others live.
func TestDeath(t *testing.T) {
	t.Parallel()
	var deaths atomic.Int64
	build := func() crashtest.Workload {
		died, lived := false, false
		w := crashtest.Workload{Setup: setup}
		w.Processes = []func(context.Context, *crashtest.Process) error{
			func(ctx context.Context, p *crashtest.Process) error {
				staff, _ := tables(p)
				_, err := staff.AddEntity(ctx, row("p", "first", ""), nil)
				if died = context.Cause(ctx) == crashtest.ErrCrashed; died {
					_, again := staff.AddEntity(context.Background(), row("p", "second", ""), nil)
					if err == nil || !errors.Is(again, crashtest.ErrCrashed) {
						t.Errorf("dead, and was told %v, %v", err, again)
					}
				}
				return err
			},
			func(ctx context.Context, p *crashtest.Process) error {
				staff, _ := tables(p)
				_, err := staff.AddEntity(ctx, row("p", "other", ""), nil)
				lived = err == nil
				return err
			},
		}
		w.Check = func(s *storagetest.Service) error {
			if died {
				deaths.Add(1)
			}
			if rows := fmt.Sprint(rowKeys(s, "staff")); !strings.HasSuffix(rows, "other]") && lived || strings.Contains(rows, "second") {
				return fmt.Errorf("%s, lived: %v", rows, lived)
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
	if r.Runs != 1+1+4 || deaths.Load() != 2 {
		t.Errorf("%v, %d deaths", r, deaths.Load())
	}
}

// TestInParallel: a process that sends several requests at once is run as others are, and what hangs ends with its time.
func TestInParallel(t *testing.T) {
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
		t.Error(r)
	}
	crashtest.Schedules(t, build, o).Require(t)
}

// TestSchedulesDiffer: nearly all, so that many runs find more than few.
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
	r := crashtest.Schedules(t, build, &crashtest.Options{Runs: 1000})
	r.Require(t)
	if r.Runs != 1000 || r.Distinct < 900 {
		t.Error(r)
	}
}
