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

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// staffOf is the table of a process, with the default options but for what is left to chance.
func processStaff(p *crashtest.Process) *table.Table[employee] { return openStaff(p, &table.Options{}) }

// blindStaffOf is the same for writes that do not read first.
func blindProcessStaff(p *crashtest.Process) *table.Table[employee] {
	return openStaff(p, blindOptions())
}

func openStaff(p *crashtest.Process, o *table.Options) *table.Table[employee] {
	acc, err := account.FromConnectionString(p.ConnectionString(), &account.Options{Client: azcore.ClientOptions{Transport: p}})
	check(err)
	o.Retry.Wait = -1
	staff, err := table.New(acc.Tables(), "staff", staffSchema, o)
	check(err)
	return staff
}

// attempt is a write that is tried under every fault.
type faultedWrite struct {
	write func(context.Context, *table.Table[employee]) error
	// applied tells whether the write was done, from what it has left.
	applied func(map[string]any) bool
	// unknown are the faults after which nobody can know, and gone those after which the row is found gone.
	unknown, notFound []storagetest.Fault
}

// did are the faults in which a request is carried out and its response lost.
func appliedFaults() []storagetest.Fault {
	return []storagetest.Fault{
		storagetest.LostReply(), storagetest.HangAfter(), storagetest.Cut(0), storagetest.Slow(time.Minute), // longer than a try
		storagetest.RefuseAfter(503, "ServerBusy"), storagetest.RefuseAfter(500, "OperationTimedOut"), storagetest.RefuseAfter(408, "RequestTimeout"),
	}
}

// aged tells whether employee 1 has an age.
func ageIs(n int32) func(map[string]any) bool {
	return func(rows map[string]any) bool { return rows["empid_000001"] == n }
}

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
			return get(ctx, staff, func(e *table.Entity[employee]) error { e.Value.ID = 9; return staff.Rekey(ctx, e) })
		}, applied: func(rows map[string]any) bool { return gone(rows) && rows["empid_000009"] == int32(44) }},
		"Transact": {write: func(ctx context.Context, staff *table.Table[employee]) error {
			return get(ctx, staff, func(e *table.Entity[employee]) error {
				_, err := table.Transact(ctx, staff.DeleteOp(e), staff.InsertOp(&employee{"Sales", 2, "New", 50}), staff.UpsertOp(&employee{"Sales", 3, "New", 50}, table.ReplaceExisting))
				return err
			})
		}, applied: func(rows map[string]any) bool { return gone(rows) && rows["empid_000002"] == int32(50) }},
	}
}

// brief are the options of a crash test, with fewer runs where time is short.
func crashOptions(o crashtest.Options) *crashtest.Options {
	if testing.Short() {
		o.Runs, o.Pairs, o.Late = 100, -1, 3
	}
	return &o
}

// workload is one program that makes the attempt, and a check of what it was told, unless it has died.
func (a faultedWrite) workload(check func(s *storagetest.Service, returned error) error) func() crashtest.Workload {
	return a.workloadOn(processStaff, check)
}

func (a faultedWrite) workloadOn(open func(*crashtest.Process) *table.Table[employee], check func(s *storagetest.Service, returned error) error) func() crashtest.Workload {
	return func() crashtest.Workload {
		var returned error
		ended := false
		return crashtest.Workload{
			Setup: setupEmployee,
			Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
				returned = a.write(ctx, open(p))
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

// TestEveryFault: each write, with each fault at each of its requests: what its caller is told is what has happened. It is
// told that nobody knows only where the table says so.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	testEveryFault(t, processStaff, func(a faultedWrite) faultedWrite { return a })
}

// TestEveryFaultBlind: the same for the writes that need not read first.
func TestEveryFaultBlind(t *testing.T) {
	t.Parallel()
	testEveryFault(t, blindProcessStaff, func(a faultedWrite) faultedWrite { return a }, "Upsert", "MergeAny", "DeleteAny", "Transact")
}

// everyFault makes attempts on a table, all of them if none is named, and judges them by what is expected of that.
func testEveryFault(t *testing.T, open func(*crashtest.Process) *table.Table[employee], expect func(faultedWrite) faultedWrite, names ...string) {
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
				return append(crashtest.Faults(q), storagetest.CutClean(0), storagetest.CutClean(300), storagetest.CutClean(-3))
			}, Pairs: -1}))
			r.Require(t)
			t.Log(r, outcomes)
			if outcomes["done"] == 0 {
				t.Error("it was never done")
			}
		})
	}
}

// TestEveryPair: with two mishaps nobody may know more often, but nobody is told what is not so.
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
					return errors.New("told that it is done, and it is not")
				case returned != nil && applied && !(a.notFound != nil && errors.Is(returned, table.ErrNotFound)):
					return fmt.Errorf("told that it was refused, and it is done: %w", returned)
				}
				return nil
			})
			r := crashtest.Enumerate(t, build, crashOptions(crashtest.Options{}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestRivals: three programs that count in one row, with mishaps: each count that was confirmed is there, and none twice. But
// for one mishap: where a request arrives twice by itself, and a concurrent writer overwrites its work before it is looked for, it is taken
// for refused.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	const each = 3
	build := func() crashtest.Workload {
		var mu sync.Mutex
		done, open := 0, 0
		w := crashtest.Workload{Setup: setupEmployee}
		for range 3 {
			w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
				staff := processStaff(p)
				for range each {
					mu.Lock()
					open++ // until it is told
					mu.Unlock()
					_, err := staff.Update(ctx, employeeKey("Sales", 1), func(e *employee) error { e.Age++; return nil })
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
				return fmt.Errorf("counted %d, of which %d were confirmed and %d are open", n, done, open)
			}
			return nil
		}
		return w
	}
	once := func(q storagetest.Request) []storagetest.Fault {
		return slices.DeleteFunc(crashtest.Faults(q), func(f storagetest.Fault) bool { return f == storagetest.Twice() })
	}
	r := crashtest.Schedules(t, build, crashOptions(crashtest.Options{Mishaps: 0.2, Faults: once}))
	r.Require(t)
	t.Log(r)
}

// hired is an account with employee 1.
func setupEmployee(ctx context.Context, p *crashtest.Process) error {
	staff := processStaff(p)
	if err := staff.Ensure(ctx); err != nil {
		return err
	}
	_, err := staff.Insert(ctx, &employee{"Sales", 1, "Jones", 44})
	return err
}

// ages are those of all employees.
func agesByRowKey(s *storagetest.Service) map[string]any {
	rows := map[string]any{}
	for _, r := range s.Rows("staff") {
		rows[r.RowKey] = r.Get("Age")
	}
	return rows
}

// judge compares what the caller was told with what has happened.
func (a faultedWrite) checkOutcome(s *storagetest.Service, returned error) (outcome string, err error) {
	return a.checkOutcomeIn(s, agesByRowKey(s), returned)
}

func (a faultedWrite) checkOutcomeIn(s *storagetest.Service, rows map[string]any, returned error) (outcome string, err error) {
	applied := a.applied(rows)
	var fault storagetest.Fault
	reading := false
	for _, q := range s.Requests() {
		if q.Fault != (storagetest.Fault{}) {
			fault, reading = q.Fault, q.Kind == "get"
		}
	}
	switch {
	case returned == nil && applied:
		return "done", nil
	case returned == nil:
		return "", fmt.Errorf("told that it is done, and it is not: %v", rows)
	case errors.Is(returned, table.ErrUnknownOutcome):
		if slices.Contains(a.unknown, fault) && !reading {
			return "unknown", nil
		}
		return "", fmt.Errorf("told that nobody knows: %w", returned)
	case !applied:
		if reading || strings.HasPrefix(fault.String(), "refused inside") {
			return "refused", nil // it could not read, or the service says that it will not
		}
		return "", fmt.Errorf("gave up: %w", returned)
	case errors.Is(returned, table.ErrNotFound) && slices.Contains(a.notFound, fault):
		return "gone", nil
	}
	return "", fmt.Errorf("told that it was refused, and it is done: %w", returned)
}

// exactly is a table whose outcomes are exact.
func exactProcessStaff(p *crashtest.Process) *table.Table[employee] { return processStaff(p).Exact() }

// TestEveryFaultExact: an exact write, with each fault at each of its requests, and requests that arrive late: what its caller is
// told is what has happened, for good, and it is told always.
func TestEveryFaultExact(t *testing.T) {
	t.Parallel()
	testEveryFault(t, exactProcessStaff, func(a faultedWrite) faultedWrite {
		a.unknown, a.notFound = nil, nil
		return a
	})
}

// TestEveryPairExact: with two mishaps too, it is told always, and rightly.
func TestEveryPairExact(t *testing.T) {
	t.Parallel()
	all := faultedWrites()
	for _, name := range []string{"Insert", "Merge", "DeleteAny", "Transact"} {
		a := all[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := a.workloadOn(exactProcessStaff, func(s *storagetest.Service, returned error) error {
				if applied := a.applied(agesByRowKey(s)); (returned == nil) != applied || errors.Is(returned, table.ErrUnknownOutcome) {
					return fmt.Errorf("applied %v, and told %w", applied, returned)
				}
				return nil
			})
			r := crashtest.Enumerate(t, build, crashOptions(crashtest.Options{}))
			r.Require(t)
			t.Log(r)
		})
	}
}
