package eventual_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

var schedules = flag.Int("schedules", 2000, "how many schedules are run")

// brief is fewer runs under -short.
func brief(o crashtest.Options) *crashtest.Options {
	if o.Runs == 0 {
		o.Runs = *schedules
	}
	if testing.Short() {
		o.Runs = min(o.Runs, 100)
		o.Late, o.Faults = -1, func(storagetest.Request) []storagetest.Fault { // and deaths
			return []storagetest.Fault{storagetest.LostReply(), storagetest.Refuse(503, "ServerBusy")}
		}
	}
	return &o
}

// of is the office as a process has it.
func of(p *crashtest.Process) *office {
	c := quick()
	c.NewID = func() string { return fmt.Sprintf("%016X", p.Rand().Uint64()) }
	return openOffice(p.ConnectionString(), p, c)
}

// single are options for processes, whose schedules repeat.
func single(c table.Common) eventual.WorkerOptions {
	return eventual.WorkerOptions{Common: c, Concurrency: 1, Idle: 16 * time.Second, Attempts: 1000, MaxWait: 4 * time.Second, Visibility: 30 * time.Second}
}

// staffed is an account with two clerks and nothing left to be done.
func staffed(ctx context.Context, p *crashtest.Process) error {
	o := of(p)
	if err := o.ensure(ctx); err != nil {
		return err
	}
	for i, d := range []string{"S", "S", "T"} {
		if _, err := o.staff.Insert(ctx, &clerk{d, i + 1, "Jones"}); err != nil {
			return err
		}
	}
	return drain(ctx, p)
}

// drain works until no message is left, hidden ones included.
func drain(ctx context.Context, p *crashtest.Process) error {
	o := of(p)
	w := o.worker(single(quick()))
	for {
		left := p.Service().Messages("notifications")
		if len(left) == 0 {
			return nil
		}
		first := slices.MinFunc(left, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
		time.Sleep(first.Visible.Sub(p.Service().Now()))
		if err := w.Drain(ctx); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%d messages are left: %w", len(left), err)
		}
	}
}

// verbs are writes that have letters.
var verbs = map[string]func(context.Context, *office) error{
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

// TestEveryFault: a write and its worker, with each fault at each of their requests, late ones, and both dying anywhere: a write
// that was done has its letter in the end, and no other has.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	for name, write := range verbs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := crashtest.Enumerate(t, func() crashtest.Workload {
				return crashtest.Workload{
					Setup: staffed,
					Processes: []func(context.Context, *crashtest.Process) error{
						func(ctx context.Context, p *crashtest.Process) error { return write(ctx, of(p)) },
						working,
					},
					Drain:  drain,
					Always: lettersOnlyForCommitted,
					Check:  carried,
				}
			}, brief(crashtest.Options{Pairs: -1}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// working is a process that works until there is nothing to be seen.
func working(ctx context.Context, p *crashtest.Process) error {
	o := of(p)
	return o.worker(single(quick())).Drain(ctx)
}

// TestSchedules: writers and workers at once, in any order, with any mishap.
func TestSchedules(t *testing.T) {
	t.Parallel()
	r := crashtest.Schedules(t, func() crashtest.Workload {
		writer := func(n int) func(context.Context, *crashtest.Process) error {
			return func(ctx context.Context, p *crashtest.Process) error {
				o := of(p)
				var errs error
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
		}
		return crashtest.Workload{
			Setup:     staffed,
			Processes: []func(context.Context, *crashtest.Process) error{writer(1), writer(2), working, working},
			Drain:     drain,
			Always:    lettersOnlyForCommitted,
			Check:     carried,
		}
	}, brief(crashtest.Options{}))
	r.Require(t)
	t.Log(r)
}
