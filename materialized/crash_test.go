package materialized_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

var schedules = testkit.Count("schedules", 100, "how many schedules are run in all")

// process is what one program of these tests does.
type process = func(context.Context, *crashtest.Process) error

// on returns a process that takes some steps with a program of its own.
func on(is setting, steps ...func(*program, context.Context) error) process {
	return func(ctx context.Context, p *crashtest.Process) error {
		var o table.Options
		o.Retry.Wait, o.Retry.ConflictWait = -1, -1
		options.SetNewID(&o.Common, testkit.NewID(p))
		fx, err := open(p.ConnectionString(), p, o, is)
		for _, step := range steps {
			if err == nil {
				err = ignoreConflicts(step(fx, ctx))
			}
		}
		return err
	}
}

// ignoreConflicts returns no error for those that concurrent writers cause.
func ignoreConflicts(err error) error {
	for _, is := range []error{table.ErrNotFound, table.ErrChanged, table.ErrExists} {
		if errors.Is(err, is) {
			return nil
		}
	}
	return err
}

func employeeKey(id int) keys.Key { return keys.At(dept.PartitionKey("Sales"), empid.RowKey(id)) }

// pays sets the salary of an employee; without a salary the employee is not in the view.
func pays(id int, n int64) func(*program, context.Context) error {
	return func(p *program, ctx context.Context) error {
		e, err := p.staff.Get(ctx, employeeKey(id))
		if err == nil {
			err = p.staff.Merge(ctx, e, salary.Set(n))
		}
		return err
	}
}

func hires(id int, n int64) func(*program, context.Context) error {
	return func(p *program, ctx context.Context) error {
		_, err := p.staff.Insert(ctx, &employee{Department: "Sales", ID: id, Salary: n})
		return err
	}
}

func dismisses(id int) func(*program, context.Context) error {
	return func(p *program, ctx context.Context) error {
		e, err := p.staff.Get(ctx, employeeKey(id))
		if err == nil {
			err = p.staff.Delete(ctx, e)
		}
		return err
	}
}

func works(p *program, ctx context.Context) error {
	w, err := p.worker()
	if err == nil {
		err = testkit.WithoutFailures(w.Drain(ctx))
	}
	return err
}

func verifies(p *program, ctx context.Context) error {
	_, err := verify.Repair(ctx, p.staff, nil)
	return err
}

// workload returns processes on an account with employees 1 and 2, of which only 1 is in the view.
func workload(is setting, processes ...process) func() crashtest.Workload {
	return func() crashtest.Workload {
		return crashtest.Workload{
			Setup:     on(is, (*program).ensure, hires(1, 10), hires(2, 0), works),
			Processes: processes,
			Drain:     drained(is),
			Invariant: always,
			Check: func(s *storagetest.Service) error {
				if n := len(s.Messages("poison")); n > 0 {
					return fmt.Errorf("got %d poison messages; want none", n)
				}
				return consistent(s)
			},
		}
	}
}

// drained returns a process that works until no message is left, hidden ones included.
func drained(is setting) process {
	return func(ctx context.Context, p *crashtest.Process) error {
		for {
			messages := p.Service().Messages("effects")
			if len(messages) == 0 {
				return nil
			}
			first := slices.MinFunc(messages, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
			time.Sleep(first.Visible.Sub(p.Service().Now()))
			if err := on(is, works)(ctx, p); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("%d messages are left: %w", len(messages), err)
			}
		}
	}
}

// filled returns a workload in which Verify fills the view of two employees, beside other processes.
func filled(is setting, processes ...process) func() crashtest.Workload {
	return func() crashtest.Workload {
		w := workload(is, processes...)()
		w.Setup = on(is, (*program).ensure, func(p *program, ctx context.Context) error {
			_, err := p.base.Insert(ctx, &employee{Department: "Sales", ID: 1, Salary: 10})
			if err == nil {
				_, err = p.base.Insert(ctx, &employee{Department: "Sales", ID: 2, Salary: 10})
			}
			return err
		})
		drain := w.Drain
		w.Drain = func(ctx context.Context, p *crashtest.Process) error {
			return errors.Join(drain(ctx, p), on(is, verifies)(ctx, p))
		}
		return w
	}
}

// TestEveryFault runs writers and workers one after the other, with each fault at each request of each process, late requests
// included, and with each process crashing at each request.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	plain, summed := setting{}, setting{summary: true}
	for name, w := range map[string]func() crashtest.Workload{
		"changed":               workload(plain, on(plain, pays(1, 20)), on(plain, works)),
		"changed and back":      workload(plain, on(plain, pays(1, 20), pays(1, 10)), on(plain, works)),
		"deleted and inserted":  workload(plain, on(plain, dismisses(1), hires(1, 30)), on(plain, works)),
		"leaves and comes back": workload(plain, on(plain, pays(1, 0), works), on(plain, pays(1, 5)), on(plain, works)),
		"summed":                workload(summed, on(summed, pays(1, 20), pays(2, 5)), on(summed, works)),
		"summed and deleted":    workload(summed, on(summed, dismisses(1), works), on(summed, hires(1, 7)), on(summed, works)),
		"verified":              workload(plain, on(plain, pays(1, 20)), on(plain, verifies), on(plain, dismisses(1)), on(plain, verifies)),
		"filled":                filled(summed, on(summed, verifies), on(summed, dismisses(1)), on(summed, pays(2, 3)), on(summed, verifies, works)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, w, testkit.Crash(crashtest.Options{PairLimit: -1, Sample: testkit.Sample(14)}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestSchedules runs writers, workers and Verify at the same time, in random orders.
func TestSchedules(t *testing.T) {
	t.Parallel()
	plain, summed := setting{}, setting{summary: true}
	all := map[string]func() crashtest.Workload{
		"changes":  workload(plain, on(plain, pays(1, 20), pays(1, 10)), on(plain, pays(1, 0), pays(1, 30)), on(plain, works, works), on(plain, works, works)),
		"deletes":  workload(plain, on(plain, dismisses(1), hires(1, 30)), on(plain, pays(1, 0), dismisses(1)), on(plain, works, works), on(plain, works, works)),
		"sums":     workload(summed, on(summed, pays(1, 20), dismisses(2)), on(summed, pays(2, 5), hires(2, 6)), on(summed, hires(3, 1), dismisses(1)), on(summed, works, works), on(summed, works)),
		"verified": workload(summed, on(summed, pays(1, 20), dismisses(1)), on(summed, pays(2, 5), hires(1, 6)), on(summed, verifies, verifies), on(summed, works), on(summed, works)),
		"filled":   filled(summed, on(summed, verifies), on(summed, verifies, works), on(summed, pays(1, 20), dismisses(1)), on(summed, dismisses(2), hires(2, 6)), on(summed, works)),
	}
	for name, w := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Schedules(t, w, testkit.Crash(crashtest.Options{Runs: *schedules / len(all)}))
			r.Require(t)
			t.Log(r)
		})
	}
}
