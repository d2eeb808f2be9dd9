package table_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// everyCall contains calls of all kinds, on a table with maintainers and an outbox.
var everyCall = map[string]func(context.Context, *table.Table[resident]) error{
	"Get": func(ctx context.Context, people *table.Table[resident]) error {
		_, err := people.Get(ctx, residentAt(1))
		return err
	},
	"List": func(ctx context.Context, people *table.Table[resident]) error {
		for _, err := range people.List(ctx, table.Query[resident]{Partition: dept.PartitionKey("S")}) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"GetMany": func(ctx context.Context, people *table.Table[resident]) error {
		for _, err := range people.GetMany(ctx, residentAt(1), residentAt(2)) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Insert": func(ctx context.Context, people *table.Table[resident]) error {
		_, err := people.Insert(ctx, &resident{"S", 9, "New", "n"})
		return err
	},
	"Upsert": func(ctx context.Context, people *table.Table[resident]) error {
		_, err := people.Upsert(ctx, &resident{"S", 1, "New", "n"}, table.ReplaceExisting)
		return err
	},
	"Update": func(ctx context.Context, people *table.Table[resident]) error {
		_, err := people.Update(ctx, residentAt(1), func(v *resident) error { return changeResident(v, "Smith", "s") })
		return err
	},
	"DeleteAny": func(ctx context.Context, people *table.Table[resident]) error {
		return people.DeleteAny(ctx, residentAt(1))
	},
	"Bulk": func(ctx context.Context, people *table.Table[resident]) error {
		_, err := table.Bulk(ctx, stream(20, func(i int) table.Op {
			return people.InsertOp(&resident{[]string{"S", "T"}[i%2], i + 10, "New", fmt.Sprint("m", i)})
		}), nil)
		return err
	},
	"DeleteQuery": func(ctx context.Context, people *table.Table[resident]) error {
		_, err := table.BulkDelete(ctx, people, table.Query[resident]{Partition: dept.PartitionKey("S")}, nil)
		return err
	},
	"Sweep": func(ctx context.Context, people *table.Table[resident]) error {
		_, err := records.Of(people).Resolve(ctx, keys.RawPartition("S"), "01KBHK7N00AAAAAAAAAAAAAAAA")
		return err
	},
}

// TestCallsEndWithContext: no call outlasts its context, under each fault from each of its requests on, including those of the
// outbox. Time is simulated, so a longer wait is seen.
func TestCallsEndWithContext(t *testing.T) {
	t.Parallel()
	faults := testkit.Some([]storagetest.Fault{
		storagetest.Hang(), storagetest.ExecuteThenHang(), storagetest.LostResponse(), storagetest.Cut(0), storagetest.Slow(time.Hour),
		storagetest.Refuse(503, "ServerBusy"), storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), storagetest.NotSent(),
	})
	step := 1
	if testkit.Few() {
		step = 3
	}
	for name, call := range everyCall {
		for _, exact := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/exact=%v", name, exact), func(t *testing.T) {
				t.Parallel()
				runs := 0
				for _, fault := range faults {
					for first, more := 1, true; more && first < 30; first += step {
						synctest.Test(t, func(t *testing.T) {
							people, s := newTown(t, &table.Options{})
							out, err := newTableOutbox(serviceOf(t, s), blindOptions())
							noError(t, err)
							noError(t, tabledoor.Ensure(context.Background(), out.rows))
							people, err = baretest.WithOutbox(people, out, letters{})
							noError(t, err)
							insertAll(t, people, s, resident{"S", 1, "Jones", "a"}, resident{"S", 2, "Cao", "b"})
							if exact {
								people = people.Exact()
							}
							before := len(s.Requests())
							s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Number-before >= first }, fault))
							const patience = 7 * time.Second
							ctx, cancel := context.WithTimeout(context.Background(), patience)
							defer cancel()
							start := time.Now()
							err = call(ctx, people)
							if took := time.Since(start); took > patience {
								t.Errorf("%v from request %d on: got %v after %v; want it after %v at the latest", fault, first, err, took, patience)
							}
							more = len(s.Requests())-before >= first
							runs++
						})
					}
				}
				if runs < len(faults) {
					t.Errorf("got %d runs; want at least %d", runs, len(faults))
				}
				t.Log(runs, "runs")
			})
		}
	}
}
