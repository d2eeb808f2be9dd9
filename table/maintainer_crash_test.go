package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// processPeople opens the residents for a process, with both maintainers of derived rows.
func processPeople(open path, p *crashtest.Process) (*table.Table[resident], error) {
	people, err := openPeople(open, p, nil)
	if err != nil {
		return nil, err
	}
	return bare.With(people, byLast{}, byEmail{})
}

// TestMaintainedEveryFault: each method keeps derived rows right at every moment and returns the outcome that happened, under
// each fault at each of its requests. The outcome is unknown only for a deleted row.
func TestMaintainedEveryFault(t *testing.T) {
	t.Parallel()
	testMaintainedEveryFault(t, openService)
}

func testMaintainedEveryFault(t *testing.T, open path) {
	one := residentAt(1)
	get := func(ctx context.Context, people *table.Table[resident], f func(*table.Entity[resident]) error) error {
		e, err := people.Get(ctx, one)
		if err != nil {
			return err
		}
		e.Value.Last, e.Value.Email = "Smith", "c"
		return f(e)
	}
	for name, c := range map[string]struct {
		write   func(context.Context, *table.Table[resident]) error
		deletes bool
	}{
		"Insert": {write: func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Insert(ctx, &resident{"S", 3, "Smith", "c"})
			return err
		}},
		"Upsert": {write: func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Upsert(ctx, &resident{"S", 1, "Smith", "c"}, table.MergeExisting)
			return err
		}},
		"Replace": {write: func(ctx context.Context, people *table.Table[resident]) error {
			return get(ctx, people, func(e *table.Entity[resident]) error { return people.Replace(ctx, e) })
		}},
		"ReplaceAny": {write: func(ctx context.Context, people *table.Table[resident]) error {
			return get(ctx, people, func(e *table.Entity[resident]) error { return people.ReplaceAny(ctx, e) })
		}},
		"Merge": {write: func(ctx context.Context, people *table.Table[resident]) error {
			return get(ctx, people, func(e *table.Entity[resident]) error {
				return people.Merge(ctx, e, lastName.Set("Smith"), eMail.Set("c"))
			})
		}},
		"MergeAny": {write: func(ctx context.Context, people *table.Table[resident]) error {
			return people.MergeAny(ctx, one, lastName.Set("Smith"))
		}},
		"Update": {write: func(ctx context.Context, people *table.Table[resident]) error {
			_, err := people.Update(ctx, one, func(v *resident) error { return changeResident(v, "Smith", "c") })
			return err
		}},
		"Rekey": {write: func(ctx context.Context, people *table.Table[resident]) error {
			return get(ctx, people, func(e *table.Entity[resident]) error { e.Value.ID = 5; return people.Move(ctx, e) })
		}},
		"Transact": {write: func(ctx context.Context, people *table.Table[resident]) error {
			_, err := table.Transact(ctx, people.DeleteAnyOp(residentAt(2)), baretest.MergeAnyOp(people, one, lastName.Set("Smith"), eMail.Set("b")))
			return err
		}},
		"Delete": {deletes: true, write: func(ctx context.Context, people *table.Table[resident]) error {
			return get(ctx, people, func(e *table.Entity[resident]) error { return people.Delete(ctx, e) })
		}},
		"DeleteAny": {deletes: true, write: func(ctx context.Context, people *table.Table[resident]) error {
			return people.DeleteAny(ctx, one)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := faultedWrite{applied: func(rows map[string]any) bool {
				if c.deletes {
					return rows["p_000001"] == nil
				}
				return rows["last_Smith"] != nil
			}}
			if c.deletes {
				a.unknown, a.notFound = append(appliedFaults(), storagetest.Cut(-1), storagetest.Cut(300)), []storagetest.Fault{storagetest.Twice()}
			}
			var mu sync.Mutex
			outcomes := map[string]int{}
			build := func() crashtest.Workload {
				var returned error
				ended := false
				return crashtest.Workload{
					Setup: func(ctx context.Context, p *crashtest.Process) error {
						people, err := processPeople(open, p)
						if err != nil {
							return err
						}
						if err := tabledoor.Ensure(ctx, people); err != nil {
							return err
						}
						_, err = door.Bulk(ctx, stream(2, func(i int) table.Op {
							return people.InsertOp(&resident{"S", i + 1, "Jones", string(rune('a' + i))})
						}), nil)
						return err
					},
					Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
						people, err := processPeople(open, p)
						if err != nil {
							return err
						}
						returned = c.write(ctx, people)
						ended = ctx.Err() == nil
						return returned
					}},
					Invariant: checkDerivedRows,
					Check: func(s *storagetest.Service) error {
						if !ended {
							return nil
						}
						rows := map[string]any{}
						for _, r := range s.Rows("people") {
							rows[r.RowKey] = r
						}
						outcome, err := a.checkOutcomeIn(s, rows, returned)
						mu.Lock()
						defer mu.Unlock()
						outcomes[outcome]++
						return err
					},
				}
			}
			r := crashtest.Enumerate(t, build, crashOptions(crashtest.Options{PairLimit: -1}))
			r.Require(t)
			t.Log(r, outcomes)
			if outcomes["done"] == 0 {
				t.Errorf("got outcomes %v; want the write applied at least once", outcomes)
			}
		})
	}
}

// TestBulkEveryFault: bulk work applies all operations before ResumeAt, under each fault at each of its requests. It ends
// without an error unless two requests fail.
func TestBulkEveryFault(t *testing.T) {
	t.Parallel()
	testBulkEveryFault(t, openService)
}

func testBulkEveryFault(t *testing.T, by path) {
	for _, kind := range []string{"plain", "exact", "maintained"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			build := func() crashtest.Workload {
				var result engine.BulkResult
				var returned error
				ended := false
				open := func(p *crashtest.Process) (*table.Table[resident], error) {
					if kind == "maintained" {
						return processPeople(by, p)
					}
					people, err := openPeople(by, p, nil)
					if err == nil && kind == "exact" {
						people = people.Exact()
					}
					return people, err
				}
				return crashtest.Workload{
					Setup: func(ctx context.Context, p *crashtest.Process) error {
						people, err := open(p)
						if err != nil {
							return err
						}
						if err := tabledoor.Ensure(ctx, people); err != nil {
							return err
						}
						_, err = people.Insert(ctx, &resident{"S", 0, "Old", ""})
						return err
					},
					Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
						people, err := open(p)
						if err != nil {
							return err
						}
						// Two partitions. The first and the third operation write the same row.
						ops := []table.Op{
							people.UpsertOp(&resident{"S", 1, "A", "a"}, table.ReplaceExisting), people.DeleteAnyOp(residentAt(0)),
							people.UpsertOp(&resident{"S", 1, "B", "b"}, table.ReplaceExisting), people.UpsertOp(&resident{"T", 1, "C", "c"}, table.ReplaceExisting),
							people.DeleteAnyOp(residentAt(7)), people.DeleteAnyOp(residentAt(8)), people.DeleteAnyOp(residentAt(9)),
						}
						result, returned = door.Bulk(ctx, stream(len(ops), func(i int) table.Op { return ops[i] }), nil)
						ended = ctx.Err() == nil
						return returned
					}},
					Check: func(s *storagetest.Service) error {
						if !ended {
							return nil
						}
						rows := map[string]any{}
						for _, r := range s.Rows("people") {
							rows[r.PartitionKey+r.RowKey] = r.Get("Last")
						}
						b, a, c, gone := rows["Sp_000001"] == "B", rows["Sp_000001"] == "A", rows["Tp_000001"] == "C", rows["Sp_000000"] == nil
						for i, done := range []bool{a || b, gone, b, c, true, true, true} {
							if i < result.ResumeAt && !done {
								return fmt.Errorf("got %+v, but operation %d is not applied: %v", result, i, rows)
							}
						}
						inside := false
						for _, q := range s.Requests() {
							inside = inside || strings.HasPrefix(q.Fault.String(), "refused in transaction") || q.Fault != (storagetest.Fault{}) && (q.Kind == requests.Get || q.Kind == requests.Query)
						}
						if returned != nil && !inside && (kind == "exact" || !errors.Is(returned, table.ErrUnknownOutcome)) {
							return fmt.Errorf("got %+v, %w; want no error", result, returned)
						}
						return nil
					},
				}
			}
			r := crashtest.Enumerate(t, build, crashOptions(crashtest.Options{PairLimit: -1}))
			r.Require(t)
			t.Log(r)
		})
	}
}
