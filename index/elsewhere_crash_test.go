package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// openProcess opens the table with definitions elsewhere for a process of a crash test.
func openProcess(p *crashtest.Process, d elsewhere) (*table.Table[worker], bareworker.Outbox, bareworker.Worker, error) {
	acc, err := account.FromConnectionString(p.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: p}})
	if err != nil {
		return nil, nil, nil, err
	}
	o := quick()
	options.SetNewID(&o.Common, testkit.NewID(p))
	o.Retry.ConflictAttempts = 100
	return openElsewhere(acc, o, d.all()...)
}

// setUpElsewhere inserts two workers, whose rows are right.
func setUpElsewhere(d elsewhere) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		staff, _, w, err := openProcess(p, d)
		if err != nil {
			return err
		}
		if err := errors.Join(tabledoor.Ensure(ctx, staff), baretest.Ensure(ctx, staff), w.Ensure(ctx)); err != nil {
			return err
		}
		for _, v := range []worker{{"S", 1, "Jones", "a", 30, []string{"x", "y"}}, {"S", 2, "Jones", "b", 30, []string{"y"}}} {
			if _, err := staff.Insert(ctx, &v); err != nil {
				return err
			}
		}
		return w.Drain(ctx)
	}
}

// drainElsewhere executes all effects that are left, also those of messages that crashed workers have hidden. Writers that the test
// has ended may have left messages that are hidden for twice their time.
func drainElsewhere(d elsewhere) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		_, _, w, err := openProcess(p, d)
		for range 3 {
			if err == nil {
				time.Sleep(2 * time.Minute) // of the bubble's clock
				err = testkit.WithoutFailures(w.Drain(ctx))
			}
		}
		return err
	}
}

// convergeElsewhere is a minute of the service's clock, one run of a worker and one of verify.
func convergeElsewhere(d elsewhere) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		staff, _, w, err := openProcess(p, d)
		if err != nil {
			return err
		}
		time.Sleep(time.Minute) // of the bubble's clock
		if err := testkit.WithoutFailures(w.Drain(ctx)); err != nil {
			return err
		}
		_, err = verify.Repair(ctx, staff, nil)
		return err
	}
}

// checkConverged checks that the rows are right, and that no message is poison.
func checkConverged(s *storagetest.Service) error {
	if poison := s.Messages("poison"); len(poison) > 0 {
		return fmt.Errorf("poison: %v", poison[0])
	}
	return checkElsewhere(s)
}

// sampleElsewhere leaves out faults: 1 takes 10 minutes.
var sampleElsewhere = testkit.Count("elsewheresample", 150, "of so many faults of rows elsewhere, one is tried")

// TestElsewhereEveryFault: each operation, with each fault at each of its requests and of the worker's: the rows are right when no
// message is left.
func TestElsewhereEveryFault(t *testing.T) {
	t.Parallel()
	everyFaultElsewhere(t, drainElsewhere)
}

// TestElsewhereConverges: after each of these faults, the rows are right after a minute and one run of verify.
func TestElsewhereConverges(t *testing.T) {
	t.Parallel()
	everyFaultElsewhere(t, convergeElsewhere)
}

func everyFaultElsewhere(t *testing.T, drain func(elsewhere) func(context.Context, *crashtest.Process) error) {
	for verb, write := range operations() {
		t.Run(strings.ReplaceAll(verb, " ", "_"), func(t *testing.T) {
			t.Parallel()
			build := func() crashtest.Workload {
				d := newElsewhere()
				return crashtest.Workload{
					Setup: setUpElsewhere(d),
					Processes: []func(context.Context, *crashtest.Process) error{
						func(ctx context.Context, p *crashtest.Process) error {
							staff, _, _, err := openProcess(p, d)
							if err != nil {
								return err
							}
							return write(ctx, staff)
						},
						func(ctx context.Context, p *crashtest.Process) error {
							_, _, w, err := openProcess(p, d)
							if err != nil {
								return err
							}
							return w.Drain(ctx)
						},
					},
					Drain: drain(d),
					Check: checkConverged,
				}
			}
			o := crashtest.Options{PairLimit: -1, Sample: *sampleElsewhere}
			if testing.Short() {
				o.MaxLateness, o.Sample = 3, max(o.Sample, 25)
			}
			r := crashtest.Enumerate(t, build, testkit.Crash(o))
			r.Require(t)
			t.Log(r)
		})
	}
}

// schedulesElsewhere is how many random schedules of rows elsewhere are run; 20,000 take half an hour.
var schedulesElsewhere = testkit.Count("elsewhere", 30, "random schedules of writers and workers of rows elsewhere")

// TestElsewhereSchedules: three writers and three workers, five keys with few values, in random schedules with faults. Messages are
// lost, doubled and late, workers stall, and entities are deleted and inserted again while messages are queued.
func TestElsewhereSchedules(t *testing.T) {
	t.Parallel()
	build := func() crashtest.Workload {
		d := newElsewhere()
		w := crashtest.Workload{Setup: setUpElsewhere(d), Drain: drainElsewhere(d), Check: checkConverged}
		for range 3 {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				staff, _, _, err := openProcess(p, d)
				for range 3 {
					if err == nil {
						_ = randomWrite(ctx, staff, p.Rand())
					}
				}
				return err
			}, func(ctx context.Context, p *crashtest.Process) error {
				_, _, w, err := openProcess(p, d)
				for range 4 {
					if err == nil {
						_ = w.Drain(ctx)
						time.Sleep(time.Duration(p.Rand().IntN(40)) * time.Second)
					}
				}
				return err
			})
		}
		return w
	}
	o := crashtest.Options{Runs: *schedulesElsewhere, FaultRate: 0.1}
	if testing.Short() {
		o.Runs = min(o.Runs, 30)
	}
	r := crashtest.Schedules(t, build, testkit.Crash(o))
	r.Require(t)
	t.Log(r)
	if r.Distinct < r.Runs*9/10 {
		t.Errorf("distinct schedules: got %d of %d; want at least %d", r.Distinct, r.Runs, r.Runs*9/10)
	}
}

// randomWrite does one random write.
func randomWrite(ctx context.Context, staff *table.Table[worker], rng *rand.Rand) (err error) {
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	w := worker{"S", 1 + rng.IntN(5), pick("Jones", "Smith"), pick("", "a", "b", "C"), 30 + rng.IntN(2), nil}
	for range rng.IntN(3) {
		if tag := pick("x", "y", "z"); len(w.Tags) == 0 || w.Tags[0] != tag {
			w.Tags = append(w.Tags, tag)
		}
	}
	switch rng.IntN(6) {
	case 0:
		_, err = staff.Insert(ctx, &w)
	case 1:
		_, err = staff.Upsert(ctx, &w, table.ReplaceExisting)
	case 2, 3:
		_, err = staff.Update(ctx, at(w.ID), func(v *worker) error { w.ID = v.ID; *v = w; return nil })
	case 4:
		err = staff.MergeAny(ctx, at(w.ID), last.Set(w.Last), email.Set(w.Email))
	case 5:
		err = staff.DeleteAny(ctx, at(w.ID))
	}
	return err
}
