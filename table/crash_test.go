package table_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// processStaff opens the employees for a process, with the default options.
func processStaff(p *crashtest.Process) (*table.Table[employee], error) {
	return openStaff(openService, p, &table.Options{})
}

// blindProcessStaff opens the employees for a process, with BlindWrites.
func blindProcessStaff(p *crashtest.Process) (*table.Table[employee], error) {
	return openStaff(openService, p, blindOptions())
}

// openStaff opens the employees for a process.
func openStaff(open path, p *crashtest.Process, o *table.Options) (*table.Table[employee], error) {
	service, err := open(p)
	if err != nil {
		return nil, err
	}
	o.Retry.Wait = -1
	return bare.NewTable(service, "staff", staffSchema, o)
}

// staffOpener opens the employees for a process.
type staffOpener func(*crashtest.Process) (*table.Table[employee], error)

// faultedWrite is a write that is tested under each fault.
type faultedWrite struct {
	write func(context.Context, *table.Table[employee]) error
	// applied reports whether the write was applied, from the stored rows.
	applied func(map[string]any) bool
	// After the faults in unknown, the outcome is unknown. After those in notFound, an applied delete finds no row.
	unknown, notFound []storagetest.Fault
}

// appliedFaults returns the faults that apply a request and lose its response.
func appliedFaults() []storagetest.Fault {
	return []storagetest.Fault{
		storagetest.LostResponse(), storagetest.ExecuteThenHang(), storagetest.Cut(0), storagetest.Slow(time.Minute), // longer than an attempt
		storagetest.ExecuteThenRefuse(503, "ServerBusy"), storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), storagetest.ExecuteThenRefuse(408, "RequestTimeout"),
	}
}

// ageIs returns a function that reports whether employee 1 has an age.
func ageIs(n int32) func(map[string]any) bool {
	return func(rows map[string]any) bool { return rows["empid_000001"] == n }
}

// faultedWrites returns writes by name.
func faultedWrites() map[string]faultedWrite {
	one := employeeKey("Sales", 1)
	get := func(ctx context.Context, staff *table.Table[employee], f func(*table.Entity[employee]) error) error {
		e, err := staff.Get(ctx, one)
		if err != nil {
			return err
		}
		return f(e)
	}
	gone := func(rows map[string]any) bool { return rows["empid_000001"] == nil }
	return map[string]faultedWrite{
		"Insert": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			_, err := staff.Insert(ctx, &employee{"Sales", 2, "New", 50})
			return err
		}, applied: func(rows map[string]any) bool { return rows["empid_000002"] == int32(50) }},
		"Upsert": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			_, err := staff.Upsert(ctx, &employee{"Sales", 1, "Jones", 50}, table.ReplaceExisting)
			return err
		}, applied: ageIs(50)},
		"Replace": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			return get(ctx, staff, func(e *table.Entity[employee]) error { e.Value.Age = 50; return staff.Replace(ctx, e) })
		}, applied: ageIs(50)},
		"Merge": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			return get(ctx, staff, func(e *table.Entity[employee]) error { return staff.Merge(ctx, e, age.Set(50)) })
		}, applied: ageIs(50)},
		"MergeAny": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			return staff.MergeAny(ctx, one, age.Set(50))
		}, applied: ageIs(50)},
		"Update": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			_, err := staff.Update(ctx, one, func(e *employee) error { e.Age++; return nil })
			return err
		}, applied: ageIs(45)},
		"Delete": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			return get(ctx, staff, func(e *table.Entity[employee]) error { return staff.Delete(ctx, e) })
		}, applied: gone, unknown: appliedFaults(), notFound: []storagetest.Fault{storagetest.Twice()}},
		"DeleteAny": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			return staff.DeleteAny(ctx, one)
		}, applied: gone, unknown: appliedFaults(), notFound: []storagetest.Fault{storagetest.Twice()}},
		"Rekey": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			return get(ctx, staff, func(e *table.Entity[employee]) error { e.Value.ID = 9; return staff.Move(ctx, e) })
		}, applied: func(rows map[string]any) bool { return gone(rows) && rows["empid_000009"] == int32(44) }},
		"Transact": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			return get(ctx, staff, func(e *table.Entity[employee]) error {
				_, err := table.Transact(ctx, staff.DeleteOp(e), staff.InsertOp(&employee{"Sales", 2, "New", 50}), staff.UpsertOp(&employee{"Sales", 3, "New", 50}, table.ReplaceExisting))
				return err
			})
		}, applied: func(rows map[string]any) bool { return gone(rows) && rows["empid_000002"] == int32(50) }},
	}
}

var schedules = testkit.Count("schedules", 200, "random schedules of each test")

// crashOptions returns the options of a crash test, with fewer runs in short mode. Runs is the divisor of the schedules.
func crashOptions(o crashtest.Options) *crashtest.Options {
	o.Runs = max(*schedules/max(o.Runs, 1), 1)
	if testing.Short() {
		o.Runs, o.PairLimit, o.MaxLateness = 100, -1, 3
	}
	return testkit.Crash(o)
}

// workload returns a workload of one process that makes the write. check gets the returned error, unless the process has crashed.
func (a faultedWrite) workload(check func(s *storagetest.Service, returned error) error) func() crashtest.Workload {
	return a.workloadOn(processStaff, check)
}

func (a faultedWrite) workloadOn(open staffOpener, check func(s *storagetest.Service, returned error) error) func() crashtest.Workload {
	return func() crashtest.Workload {
		var returned error
		ended := false
		return crashtest.Workload{
			Setup: setupEmployee,
			Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
				staff, err := open(p)
				if err != nil {
					return err
				}
				returned = a.write(ctx, staff)
				ended = ctx.Err() == nil
				return returned
			}},
			Check: func(s *storagetest.Service) error {
				if !ended {
					return nil
				}
				return check(s, returned)
			},
		}
	}
}

// TestEveryFault: each write returns the outcome that happened, under each fault at each of its requests. The outcome is
// unknown only after the faults that faultedWrites lists.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	testEveryFault(t, processStaff, func(a faultedWrite) faultedWrite { return a })
}

// TestEveryFaultBlind: TestEveryFault for writes with BlindWrites.
func TestEveryFaultBlind(t *testing.T) {
	t.Parallel()
	testEveryFault(t, blindProcessStaff, func(a faultedWrite) faultedWrite { return a }, "Upsert", "MergeAny", "DeleteAny", "Transact")
}

// testEveryFault tests the named writes, or all. expect adapts the expectations to the table that open returns.
func testEveryFault(t *testing.T, open staffOpener, expect func(faultedWrite) faultedWrite, names ...string) {
	for name, a := range faultedWrites() {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := expect(a)
			var mu sync.Mutex
			outcomes := map[string]int{}
			build := a.workloadOn(open, func(s *storagetest.Service, returned error) error {
				outcome, err := a.checkOutcome(s, returned)
				mu.Lock()
				defer mu.Unlock()
				outcomes[outcome]++
				return err
			})
			r := crashtest.Enumerate(t, build, crashOptions(crashtest.Options{Faults: func(q storagetest.Request) []storagetest.Fault {
				return append(crashtest.Faults(q), storagetest.Truncate(0), storagetest.Truncate(300), storagetest.Truncate(-3))
			}, PairLimit: -1}))
			r.Require(t)
			t.Log(r, outcomes)
			if outcomes["done"] == 0 {
				t.Errorf("got outcomes %v; want the write applied at least once", outcomes)
			}
		})
	}
}

// TestEveryPair: with two faults the outcome may be unknown more often, but a returned outcome is still right.
func TestEveryPair(t *testing.T) {
	t.Parallel()
	for name, a := range faultedWrites() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := a.workload(func(s *storagetest.Service, returned error) error {
				applied := a.applied(agesByRowKey(s))
				switch {
				case errors.Is(returned, table.ErrUnknownOutcome):
				case returned == nil && !applied:
					return errors.New("the write returned no error, but was not applied")
				case returned != nil && applied && !(a.notFound != nil && errors.Is(returned, table.ErrNotFound)):
					return fmt.Errorf("the write was applied, but returned: %w", returned)
				}
				return nil
			})
			r := crashtest.Enumerate(t, build, crashOptions(crashtest.Options{}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestConcurrentWriters: three programs increment one row under faults. Each confirmed increment is stored exactly once. The
// schedules omit duplicated requests: if a concurrent writer overwrites the first copy, the second one makes the write fail
// although it was applied.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	const each = 3
	build := func() crashtest.Workload {
		var mu sync.Mutex
		done, open := 0, 0
		w := crashtest.Workload{Setup: setupEmployee}
		for range 3 {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				staff, err := processStaff(p)
				if err != nil {
					return err
				}
				for range each {
					mu.Lock()
					open++ // until the outcome is known
					mu.Unlock()
					_, err = staff.Update(ctx, employeeKey("Sales", 1), func(e *employee) error { e.Age++; return nil })
					mu.Lock()
					switch {
					case err == nil:
						done++
						open--
					case !errors.Is(err, table.ErrUnknownOutcome) && ctx.Err() == nil:
						open--
					}
					mu.Unlock()
				}
				return nil
			})
		}
		w.Check = func(s *storagetest.Service) error {
			if n := int(agesByRowKey(s)["empid_000001"].(int32)) - 44; n < done || n > done+open {
				return fmt.Errorf("got %d increments; want at least the %d confirmed ones, and at most %d unknown ones more", n, done, open)
			}
			return nil
		}
		return w
	}
	once := func(q storagetest.Request) []storagetest.Fault {
		return slices.DeleteFunc(crashtest.Faults(q), func(f storagetest.Fault) bool { return f == storagetest.Twice() })
	}
	r := crashtest.Schedules(t, build, crashOptions(crashtest.Options{FaultRate: 0.2, Faults: once}))
	r.Require(t)
	t.Log(r)
}

// setupEmployee creates the table and inserts employee 1.
func setupEmployee(ctx context.Context, p *crashtest.Process) error {
	staff, err := processStaff(p)
	if err != nil {
		return err
	}
	if err := tabledoor.Ensure(ctx, staff); err != nil {
		return err
	}
	_, err = staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	return err
}

// agesByRowKey returns the ages of all employees.
func agesByRowKey(s *storagetest.Service) map[string]any {
	rows := map[string]any{}
	for _, r := range s.Rows("staff") {
		rows[r.RowKey] = r.Get("Age")
	}
	return rows
}

// checkOutcome compares the returned error with the stored rows.
func (a faultedWrite) checkOutcome(s *storagetest.Service, returned error) (outcome string, err error) {
	return a.checkOutcomeIn(s, agesByRowKey(s), returned)
}

func (a faultedWrite) checkOutcomeIn(s *storagetest.Service, rows map[string]any, returned error) (outcome string, err error) {
	applied := a.applied(rows)
	var fault storagetest.Fault
	reading := false
	for _, q := range s.Requests() {
		if q.Fault != (storagetest.Fault{}) {
			fault, reading = q.Fault, q.Kind == requests.Get
		}
	}
	switch {
	case returned == nil && applied:
		return "done", nil
	case returned == nil:
		return "", fmt.Errorf("the write returned no error, but was not applied: %v", rows)
	case errors.Is(returned, table.ErrUnknownOutcome):
		if slices.Contains(a.unknown, fault) && !reading {
			return "unknown", nil
		}
		return "", fmt.Errorf("the outcome could be known: %w", returned)
	case !applied:
		if reading || strings.HasPrefix(fault.String(), "refused in transaction") {
			return "refused", nil // a read failed, or the service refused the write
		}
		return "", fmt.Errorf("the write gave up: %w", returned)
	case errors.Is(returned, table.ErrNotFound) && slices.Contains(a.notFound, fault):
		return "gone", nil
	}
	return "", fmt.Errorf("the write was applied, but returned: %w", returned)
}

// exactProcessStaff opens the employees for a process, with exact outcomes.
func exactProcessStaff(p *crashtest.Process) (*table.Table[employee], error) {
	staff, err := processStaff(p)
	if err != nil {
		return nil, err
	}
	return staff.Exact(), nil
}

// TestEveryFaultExact: an exact write always returns its outcome, under each fault at each of its requests, and under requests
// that arrive late.
func TestEveryFaultExact(t *testing.T) {
	t.Parallel()
	testEveryFault(t, exactProcessStaff, func(a faultedWrite) faultedWrite {
		a.unknown, a.notFound = nil, nil
		return a
	})
}

// TestEveryPairExact: an exact write returns its outcome under two faults too.
func TestEveryPairExact(t *testing.T) {
	t.Parallel()
	all := faultedWrites()
	for _, name := range []string{"Insert", "Merge", "DeleteAny", "Transact"} {
		a := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := a.workloadOn(exactProcessStaff, func(s *storagetest.Service, returned error) error {
				if applied := a.applied(agesByRowKey(s)); (returned == nil) != applied || errors.Is(returned, table.ErrUnknownOutcome) {
					return fmt.Errorf("applied: %v, but the write returned: %w", applied, returned)
				}
				return nil
			})
			r := crashtest.Enumerate(t, build, crashOptions(crashtest.Options{}))
			r.Require(t)
			t.Log(r)
		})
	}
}
