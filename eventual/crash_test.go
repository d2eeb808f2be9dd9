package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

var schedules = testkit.Count("schedules", 200, "number of schedules to run")

// shortened fills the number of runs in.
func shortened(o crashtest.Options) *crashtest.Options {
	if o.Runs == 0 {
		o.Runs = *schedules
	}
	return testkit.Crash(o)
}

// officeOf returns the office of a process, with random IDs that repeat with the schedule.
func officeOf(p *crashtest.Process) (*office, error) {
	c := noPauses()
	options.SetNewID(&c, testkit.NewID(p))
	return openOffice(p.ConnectionString(), p, c)
}

// workerOf returns a worker of a process. The worker executes one message at a time, so that its requests repeat with the schedule.
func workerOf(p *crashtest.Process) (bareworker.Worker, error) {
	o, err := officeOf(p)
	if err != nil {
		return nil, err
	}
	return o.newWorker(eventual.WorkerOptions{
		Common: noPauses(), Concurrency: 1, Idle: 16 * time.Second, Attempts: 1000, MaxWait: 4 * time.Second, Visibility: 30 * time.Second,
	}, o.handler())
}

// setUp prepares an account with three clerks and empty queues.
func setUp(ctx context.Context, p *crashtest.Process) error {
	o, err := officeOf(p)
	if err == nil {
		err = o.ensure(ctx)
	}
	if err != nil {
		return err
	}
	for i, d := range []string{"S", "S", "T"} {
		if _, err := o.staff.Insert(ctx, &clerk{d, i + 1, "Jones"}); err != nil {
			return err
		}
	}
	return drainAll(ctx, p)
}

// drainAll runs a worker until no message is left, including hidden messages.
func drainAll(ctx context.Context, p *crashtest.Process) error {
	w, err := workerOf(p)
	if err != nil {
		return err
	}
	for {
		left := p.Service().Messages("notifications")
		if len(left) == 0 {
			return nil
		}
		first := slices.MinFunc(left, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
		time.Sleep(first.Visible.Sub(p.Service().Now()))
		if err := testkit.WithoutFailures(w.Drain(ctx)); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("got %d messages left, want none: %w", len(left), err)
		}
	}
}

// writes are methods whose writes have letters.
var writes = map[string]func(context.Context, *office) error{
	"Insert": func(ctx context.Context, o *office) error {
		_, err := o.staff.Insert(ctx, &clerk{"S", 4, "Smith"})
		return err
	},
	"Update": func(ctx context.Context, o *office) error {
		_, err := o.staff.Update(ctx, at("S", 1), func(c *clerk) error { c.Last = "Smith"; return nil })
		return err
	},
	"Transact": func(ctx context.Context, o *office) error {
		_, err := table.Transact(ctx, o.staff.InsertOp(&clerk{"S", 4, "Smith"}), o.staff.DeleteAnyOp(at("S", 2)))
		return err
	},
}

// TestEveryFault: with each fault at each request of a writer and a worker, late requests, and crashes of both at any request, each
// committed write has its letter in the end, and no other write has one.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, func() crashtest.Workload {
				return crashtest.Workload{
					Setup: setUp,
					Processes: []func(context.Context, *crashtest.Process) error{
						func(ctx context.Context, p *crashtest.Process) error {
							o, err := officeOf(p)
							if err != nil {
								return err
							}
							return write(ctx, o)
						},
						work,
					},
					Drain:     drainAll,
					Invariant: onlyCommitted,
					Check:     allExecuted,
				}
			}, shortened(crashtest.Options{PairLimit: -1, Sample: testkit.Sample(2)}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// work is a process that runs a worker until no message is visible.
func work(ctx context.Context, p *crashtest.Process) error {
	w, err := workerOf(p)
	if err != nil {
		return err
	}
	return w.Drain(ctx)
}

// TestSchedules: concurrent writers and workers, with requests in random order and with random faults.
func TestSchedules(t *testing.T) {
	t.Parallel()
	r := crashtest.Schedules(t, func() crashtest.Workload {
		writer := func(ctx context.Context, p *crashtest.Process) error {
			o, errs := officeOf(p)
			if errs != nil {
				return errs
			}
			for range 3 {
				k := at("S", 1+p.Rand().IntN(3))
				last := fmt.Sprint("Name", p.Rand().IntN(3))
				_, err := o.staff.Update(ctx, k, func(c *clerk) error { c.Last = last; return nil })
				if errors.Is(err, table.ErrNotFound) {
					err = nil
				}
				errs = errors.Join(errs, err)
			}
			return errs
		}
		return crashtest.Workload{
			Setup:     setUp,
			Processes: []func(context.Context, *crashtest.Process) error{writer, writer, work, work},
			Drain:     drainAll,
			Invariant: onlyCommitted,
			Check:     allExecuted,
		}
	}, shortened(crashtest.Options{}))
	r.Require(t)
	t.Log(r)
}
