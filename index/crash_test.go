package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// schedules is how many random schedules are run in all.
var schedules = testkit.Count("schedules", 200, "random schedules of all kinds together")

// pairs is how many requests a write may have for two mishaps in a run of it to be tried, each with each: 8 takes 5 minutes.
var pairs = testkit.Count("pairs", 1, "most requests of a write that is tried with two mishaps")

// crashOptions returns the options of a crash test, with fewer runs in short tests. Runs is the divisor of the schedules.
func crashOptions(t testing.TB, o crashtest.Options) *crashtest.Options {
	o.Runs = max(*schedules/len(definitionSets(t))/max(o.Runs, 1), 1)
	if testing.Short() {
		o.Runs, o.PairLimit, o.MaxLateness = 60, -1, 3
	}
	return testkit.Crash(o)
}

// definitionSet is a set of definitions, with the check that must succeed at every instant.
type definitionSet struct {
	definitions []extend.Definition[worker]
	right       func(*storagetest.Service) error
	before      func(context.Context, *crashtest.Process) error // what else is there, or nil
}

// definitionSets returns the definition sets of this package.
func definitionSets(t testing.TB) map[string]definitionSet {
	return map[string]definitionSet{
		"copies": {copyDefinitions(), withForeignRows(checkCopies), nil},
		"shared": {sharedDefinitions(), withForeignRows(checkShared), func(ctx context.Context, p *crashtest.Process) error {
			all, err := tableOf(p, depts)
			if err != nil {
				return err
			}
			_, err = all.Insert(ctx, &department{Name: "S", Budget: 7})
			return err
		}},
		"others": {otherDefinitions(), withForeignRows(checkOthers), nil},
	}
}

// path opens the Table service for a process: openService or openPlainService.
type path func(*crashtest.Process) (engine.Service, error)

// openService returns an account's client.
func openService(p *crashtest.Process) (engine.Service, error) {
	acc, err := account.FromTransport(p, nil)
	if err != nil {
		return nil, err
	}
	return acc.Tables(), nil
}

// openPlainService returns a client of the SDK without the policies of table.ClientOptions.
func openPlainService(p *crashtest.Process) (engine.Service, error) {
	return aztables.NewServiceClientFromConnectionString(p.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: p}})
}

// tableOf returns a process's table without definitions. It returns errors, as t.Fatal is for the goroutine of the test.
func tableOf[T any](p *crashtest.Process, schema table.Schema[T]) (*table.Table[T], error) {
	return tableBy(openService, p, schema)
}

func tableBy[T any](open path, p *crashtest.Process, schema table.Schema[T]) (*table.Table[T], error) {
	service, err := open(p)
	if err != nil {
		return nil, err
	}
	o := quick()
	options.SetNewID(&o.Common, testkit.NewID(p))
	return bare.NewTable(service, "staff", schema, o)
}

// open returns a process's table with the definitions.
func (k definitionSet) open(p *crashtest.Process) (*table.Table[worker], error) {
	return k.openBy(openService, p)
}

func (k definitionSet) openBy(open path, p *crashtest.Process) (*table.Table[worker], error) {
	base, err := tableBy(open, p, schema)
	if err != nil {
		return nil, err
	}
	return baretest.Attach(base, k.definitions...)
}

// setUp inserts two workers.
func (k definitionSet) setUp(ctx context.Context, p *crashtest.Process) error {
	staff, err := k.open(p)
	if err != nil {
		return err
	}
	if err := tabledoor.Ensure(ctx, staff); err != nil {
		return err
	}
	rows, err := tableOf(p, table.Schema[table.Row]{})
	if err != nil {
		return err
	}
	if err := insertForeignRows(ctx, rows); err != nil {
		return err
	}
	if k.before != nil {
		if err := k.before(ctx, p); err != nil {
			return err
		}
	}
	for i, w := range []worker{{"S", 1, "Jones", "a", 30, []string{"x", "y"}}, {"S", 2, "Jones", "b", 30, []string{"y"}}} {
		if _, err := staff.Insert(ctx, &w); err != nil {
			return fmt.Errorf("insert %d: %w", i, err)
		}
	}
	return nil
}

// operations returns writes of all kinds, which change every index.
func operations() map[string]func(context.Context, *table.Table[worker]) error {
	get := func(ctx context.Context, staff *table.Table[worker], f func(*table.Entity[worker]) error) error {
		e, err := staff.Get(ctx, at(1))
		if err != nil {
			return err
		}
		e.Value.Last, e.Value.Email, e.Value.Age, e.Value.Tags = "Smith", "c", 45, []string{"z", "y"}
		return f(e)
	}
	return map[string]func(context.Context, *table.Table[worker]) error{
		"Insert": func(ctx context.Context, staff *table.Table[worker]) error {
			_, err := staff.Insert(ctx, &worker{"S", 3, "Jones", "c", 45, []string{"y"}})
			return err
		},
		"Upsert": func(ctx context.Context, staff *table.Table[worker]) error {
			_, err := staff.Upsert(ctx, &worker{"S", 1, "Smith", "c", 45, nil}, table.MergeExisting)
			return err
		},
		"Replace": func(ctx context.Context, staff *table.Table[worker]) error {
			return get(ctx, staff, func(e *table.Entity[worker]) error { return staff.Replace(ctx, e) })
		},
		"ReplaceAny": func(ctx context.Context, staff *table.Table[worker]) error {
			return get(ctx, staff, func(e *table.Entity[worker]) error { return staff.ReplaceAny(ctx, e) })
		},
		"Merge": func(ctx context.Context, staff *table.Table[worker]) error {
			return get(ctx, staff, func(e *table.Entity[worker]) error { return staff.Merge(ctx, e, last.Set("Smith"), email.Set("c")) })
		},
		"MergeAny": func(ctx context.Context, staff *table.Table[worker]) error {
			return staff.MergeAny(ctx, at(1), last.Set("Smith"), age.Set(45))
		},
		"Update": func(ctx context.Context, staff *table.Table[worker]) error {
			_, err := staff.Update(ctx, at(1), func(w *worker) error { w.Last, w.Email = "Smith", ""; return nil })
			return err
		},
		"Rekey": func(ctx context.Context, staff *table.Table[worker]) error {
			return get(ctx, staff, func(e *table.Entity[worker]) error { e.Value.ID = 5; return staff.Move(ctx, e) })
		},
		"Transact": func(ctx context.Context, staff *table.Table[worker]) error {
			_, err := table.Transact(ctx, staff.DeleteAnyOp(at(2)), baretest.MergeAnyOp(staff, at(1), last.Set("Smith"), email.Set("b")))
			return err
		},
		"Bulk": func(ctx context.Context, staff *table.Table[worker]) error {
			_, err := table.Bulk(ctx, func(yield func(table.Op, error) bool) {
				_ = yield(staff.UpsertOp(&worker{"S", 1, "Smith", "c", 45, nil}, table.ReplaceExisting), nil) &&
					yield(staff.UpsertOp(&worker{"S", 4, "Smith", "a", 45, nil}, table.ReplaceExisting), nil)
			}, nil)
			return err
		},
		"Delete": func(ctx context.Context, staff *table.Table[worker]) error {
			return get(ctx, staff, func(e *table.Entity[worker]) error { return staff.Delete(ctx, e) })
		},
		"DeleteAny": func(ctx context.Context, staff *table.Table[worker]) error { return staff.DeleteAny(ctx, at(1)) },
		"Replace by a copy": func(ctx context.Context, staff *table.Table[worker]) error {
			e, err := byEmail.Get(ctx, staff, sales, "A")
			var de *table.DefinitionError
			if errors.Is(err, table.ErrNotFound) || errors.As(err, &de) {
				return staff.MergeAny(ctx, at(1), last.Set("Smith")) // of kinds without this index
			} else if err != nil {
				return err
			}
			e.Value.Last, e.Value.Email = "Smith", "c"
			return staff.Replace(ctx, e)
		},
	}
}

// TestEveryKindEveryFault: each operation with each definition set, with each fault at each of its requests: the derived rows are
// right at every instant, and an operation that succeeded was applied.
func TestEveryKindEveryFault(t *testing.T) {
	t.Parallel()
	testEveryKindEveryFault(t, openService, crashtest.Options{PairLimit: *pairs, Sample: testkit.Sample(4)})
}

// TestEveryKindEveryFaultPlain: TestEveryKindEveryFault for a client of the SDK without the policies of table.ClientOptions, without
// pairs of faults, and with fewer of the faults.
func TestEveryKindEveryFaultPlain(t *testing.T) {
	t.Parallel()
	testEveryKindEveryFault(t, openPlainService, crashtest.Options{PairLimit: -1, Sample: testkit.Sample(5)})
}

func testEveryKindEveryFault(t *testing.T, open path, o crashtest.Options) {
	for name, k := range definitionSets(t) {
		for verb, write := range operations() {
			t.Run(name+"/"+verb, func(t *testing.T) {
				t.Parallel()
				build := func() crashtest.Workload {
					var told error
					ended := false
					return crashtest.Workload{
						Setup: k.setUp,
						Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
							staff, err := k.openBy(open, p)
							if err != nil {
								return err
							}
							told = write(ctx, staff)
							ended = ctx.Err() == nil
							return told
						}},
						Invariant: k.right,
						Check: func(s *storagetest.Service) error {
							// A repeated delete may find that its first attempt has deleted the entity.
							gone := errors.Is(told, table.ErrNotFound) && slices.Contains([]string{"Delete", "DeleteAny", "Transact", "Rekey"}, verb)
							is, want := entities(s), applied(name, verb)
							switch done := is != unchanged; {
							case ended && told == nil && is != want:
								return fmt.Errorf("%s without an error: got the entities %s; want %s", verb, is, want)
							case ended && told != nil && done && !errors.Is(told, table.ErrUnknownOutcome) && !gone && verb != "Bulk":
								return fmt.Errorf("got an error and the entities %s; want no change, or ErrUnknownOutcome: %w", is, told)
							case done && is != want:
								return fmt.Errorf("%s, ended %v, error %v: got the entities %s; want all of it, %s, or nothing, %s", verb, ended, told, is, want, unchanged)
							}
							return nil
						},
					}
				}
				r := crashtest.Enumerate(t, build, crashOptions(t, o))
				r.Require(t)
				t.Log(r)
			})
		}
	}
}

// entities returns the stored workers, as text.
func entities(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("staff") {
		if strings.HasPrefix(r.RowKey, "w_") {
			all = append(all, fmt.Sprintf("%s %v %q %v %v", strings.TrimLeft(r.RowKey, "w_0"), r.Get("Last"), r.Get("Email"), r.Get("Age"), r.Get("Tags")))
		}
	}
	return strings.Join(all, ", ")
}

// The workers of setUp, and those that it is without an operation.
const (
	firstWorker  = `1 Jones "a" 30 ["x","y"]`
	secondWorker = `2 Jones "b" 30 ["y"]`
	unchanged    = firstWorker + ", " + secondWorker
)

// applied returns the workers after one of the operations.
func applied(set, verb string) string {
	if verb == "Replace by a copy" && set != "copies" {
		return `1 Smith "a" 30 ["x","y"], ` + secondWorker
	}
	return map[string]string{
		"Insert":            unchanged + `, 3 Jones "c" 45 ["y"]`,
		"Upsert":            `1 Smith "c" 45 ["x","y"], ` + secondWorker, // no tags: MergeExisting leaves them
		"Replace":           `1 Smith "c" 45 ["z","y"], ` + secondWorker,
		"ReplaceAny":        `1 Smith "c" 45 ["z","y"], ` + secondWorker,
		"Merge":             `1 Smith "c" 30 ["x","y"], ` + secondWorker,
		"MergeAny":          `1 Smith "a" 45 ["x","y"], ` + secondWorker,
		"Update":            `1 Smith "" 30 ["x","y"], ` + secondWorker,
		"Rekey":             secondWorker + `, 5 Smith "c" 45 ["z","y"]`,
		"Transact":          `1 Smith "b" 30 ["x","y"]`,
		"Bulk":              `1 Smith "c" 45 <nil>, ` + secondWorker + `, 4 Smith "a" 45 <nil>`,
		"Delete":            secondWorker,
		"DeleteAny":         secondWorker,
		"Replace by a copy": `1 Smith "c" 30 ["x","y"], ` + secondWorker,
	}[verb]
}

// TestSchedules: three programs write five keys with few values, in random schedules with faults: the derived rows are right at
// every instant, and no look-up returns an entity without the value.
func TestSchedules(t *testing.T) {
	t.Parallel()
	for name, k := range definitionSets(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var succeeded, failed atomic.Int64 // the operations of all schedules of this set
			build := func() crashtest.Workload {
				w := crashtest.Workload{Setup: k.setUp, Invariant: k.right}
				for range 3 {
					w.Processes = append(w.Processes, func(ctx context.Context, p *crashtest.Process) error {
						staff, err := k.open(p)
						if err != nil {
							return err
						}
						for range 3 {
							err, wrong := randomOperation(ctx, staff, p.Rand())
							if wrong != nil {
								panic(wrong) // a violation
							}
							var de *table.DefinitionError
							switch {
							case err == nil:
								succeeded.Add(1)
							case name != "copies" && errors.As(err, &de): // a look-up by an index that the set lacks
							default:
								failed.Add(1)
							}
						}
						return nil
					})
				}
				return w
			}
			r := crashtest.Schedules(t, build, crashOptions(t, crashtest.Options{FaultRate: 0.15}))
			r.Require(t)
			t.Logf("%v; of the operations %d succeeded, %d did not", r, succeeded.Load(), failed.Load())
			if succeeded.Load() == 0 || succeeded.Load() < failed.Load()/4 {
				t.Errorf("operations: got %d that succeeded and %d that failed; want at least 1 success for 4 failures", succeeded.Load(), failed.Load())
			}
			if r.Distinct < r.Runs*9/10 {
				t.Errorf("distinct schedules: got %d of %d; want at least %d", r.Distinct, r.Runs, r.Runs*9/10)
			}
		})
	}
}

// randomOperation does one random write or look-up. It returns its error, and an error if the result is wrong.
func randomOperation(ctx context.Context, staff *table.Table[worker], rng *rand.Rand) (err, wrong error) {
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	some := func() worker {
		w := worker{"S", 1 + rng.IntN(5), pick("Jones", "Smith"), pick("", "a", "b", "C"), 30 + rng.IntN(2), nil}
		for range rng.IntN(3) {
			w.Tags = append(w.Tags, pick("x", "y", "z"))
		}
		return w
	}
	w := some()
	switch rng.IntN(8) {
	case 0:
		_, err = staff.Insert(ctx, &w)
	case 1:
		_, err = staff.Upsert(ctx, &w, table.ReplaceExisting)
	case 2, 3:
		_, err = staff.Update(ctx, at(w.ID), func(v *worker) error { w.Dept, w.ID = v.Dept, v.ID; *v = w; return nil })
	case 4:
		err = staff.DeleteAny(ctx, at(w.ID))
	case 5:
		other := some()
		_, err = table.Transact(ctx, baretest.MergeAnyOp(staff, at(w.ID), email.Set(w.Email), last.Set(w.Last)), staff.UpsertOp(&other, table.ReplaceExisting))
	case 6:
		mail := pick("a", "b", "c")
		var e *table.Entity[worker]
		if e, err = byEmail.Get(ctx, staff, sales, mail); err != nil {
			return err, nil
		}
		if !strings.EqualFold(e.Value.Email, mail) {
			return nil, fmt.Errorf("look-up of email %s: got %+v; want an entity with this email", mail, e.Value)
		}
		e.Value.Last, e.Value.Email = w.Last, w.Email
		err = staff.Replace(ctx, e)
	case 7:
		for e, lerr := range byLast.List(ctx, staff, sales, w.Last) {
			if lerr != nil {
				return errors.Join(err, lerr), nil
			}
			if e.Value.Last != w.Last {
				return nil, fmt.Errorf("look-up of last name %s: got %+v; want an entity with this last name", w.Last, e.Value)
			}
			if e.Value.ID == w.ID {
				err = staff.Delete(ctx, e)
			}
		}
	}
	return err, nil
}
