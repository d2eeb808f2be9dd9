package index_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/verify"
)

// TestBackfillSchedules: verify.Repair fills new definitions, with faults and crashes, while two
// programs write by handles with these definitions: in the end all rows are right.
func TestBackfillSchedules(t *testing.T) {
	t.Parallel()
	// Nothing that can be taken: two entities may have the value before anybody minds.
	for name, k := range map[string]definitionSet{
		"copies": {definitions: []extend.Definition[worker]{byLast, byAge, byTag}, right: checkCopiesOf("last", "age", "~x|tag")},
		"shared": {definitions: []extend.Definition[worker]{teams, ages}, right: checkShared},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fill := func(ctx context.Context, p *crashtest.Process) error {
				staff, err := k.open(p)
				if err != nil {
					return err
				}
				r, err := verify.Repair(ctx, staff, nil, asDefinitions(k.definitions)...)
				if err == nil && r.Faults > 0 {
					return errors.New("it could not repair everything")
				}
				return err
			}
			build := func() crashtest.Workload {
				w := crashtest.Workload{
					Setup: func(ctx context.Context, p *crashtest.Process) error {
						base, err := tableOf(p, schema)
						if err != nil {
							return err
						}
						if err := tabledoor.Ensure(ctx, base); err != nil {
							return err
						}
						for _, v := range []worker{{"S", 1, "Jones", "a", 30, []string{"x", "y"}}, {"S", 2, "Jones", "b", 30, nil}, {"S", 3, "Smith", "", 31, nil}} {
							if _, err := base.Insert(ctx, &v); err != nil {
								return err
							}
						}
						return nil
					},
					Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
						_ = fill(ctx, p)
						return nil
					}},
					Drain: fill,
					Check: k.right,
				}
				for range 2 {
					w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
						staff, err := k.open(p)
						if err != nil {
							return err
						}
						for range 2 {
							if _, err := randomOperation(ctx, staff, p.Rand()); err != nil {
								panic(err)
							}
						}
						return nil
					})
				}
				return w
			}
			r := crashtest.Schedules(t, build, crashOptions(t, crashtest.Options{FaultRate: 0.1, Runs: 5}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestReportSchedules: while programs write, verify.Check reports no fault if there is none.
func TestReportSchedules(t *testing.T) {
	t.Parallel()
	for name, k := range definitionSets(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := func() crashtest.Workload {
				w := crashtest.Workload{Setup: k.setUp, Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
					var faults []verify.Fault
					staff, err := k.open(p)
					if err != nil {
						return err
					}
					_, err = verify.Check(ctx, staff, &verify.Options{Fault: func(f verify.Fault) { faults = append(faults, f) }}, asDefinitions(k.definitions)...)
					if len(faults) > 0 {
						panic(fmt.Sprint("found ", faults)) // a violation
					}
					return err
				}}}
				for range 2 {
					w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
						staff, err := k.open(p)
						if err != nil {
							return err
						}
						for range 3 {
							if _, err := randomOperation(ctx, staff, p.Rand()); err != nil {
								panic(err)
							}
						}
						return nil
					})
				}
				return w
			}
			r := crashtest.Schedules(t, build, crashOptions(t, crashtest.Options{FaultRate: -1, Runs: 5}))
			r.Require(t)
			t.Log(r)
		})
	}
}
