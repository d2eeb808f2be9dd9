package table_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// ledger is a wide entity, all of which follows from a number: which parts it has, and what is in them.
type ledger struct {
	Shelf, Book string
	N           int32
	A           []int32 `table:",each=450,part=1"`
	B           string  `table:",omitempty,part=4"`
}

var (
	ledgerSchema = table.Schema[ledger]{
		Partition: keys.Partition(keys.Text(), func(l *ledger) *string { return &l.Shelf }),
		Row:       keys.Row(keys.Text(), func(l *ledger) *string { return &l.Book }),
	}
	ledgerKey = keys.At(keys.RawPartition("books"), keys.RawRow("one"))
)

func ledgerOf(n int32) ledger {
	l := ledger{Shelf: "books", Book: "one", N: n, B: strings.Repeat("b", int(n%3))}
	for range n % 4 * 110 {
		l.A = append(l.A, n)
	}
	return l
}

// mixed returns an error if an entity consists of several versions.
func (l ledger) mixed() error {
	if want := ledgerOf(l.N); !reflect.DeepEqual(l, want) {
		return fmt.Errorf("got %d elements of %v and %q of version %d; want %d and %q", len(l.A), slices.Compact(slices.Clone(l.A)), l.B, l.N, len(want.A), want.B)
	}
	return nil
}

// ledgerRow is a ledger by the calls of one program. A torn read panics, because it is no outcome of a call.
type ledgerRow struct{ *table.Table[ledger] }

func (t ledgerRow) call(ctx context.Context, a rowCall) (was int32, err error) {
	was = absentRow
	see := func(l ledger) error { was = l.N; return l.mixed() }
	switch a.method {
	case "get":
		var e *table.Entity[ledger]
		if e, err = t.Get(ctx, ledgerKey); err == nil {
			err = see(e.Value)
		}
	case "insert":
		l := ledgerOf(a.value)
		_, err = t.Insert(ctx, &l)
	case "update":
		_, err = t.Update(ctx, ledgerKey, func(l *ledger) error {
			defer func() { *l = ledgerOf(a.value) }()
			return see(*l)
		})
	case "delete":
		err = t.DeleteAny(ctx, ledgerKey)
	}
	return was, err
}

func openLedgers(p *crashtest.Process) (*table.Table[ledger], error) {
	service, err := openService(p)
	if err != nil {
		return nil, err
	}
	return bare.NewTable(service, "ledgers", ledgerSchema, &table.Options{Common: table.Common{Retry: table.Retry{Wait: -1}}})
}

func ensureLedgers(ctx context.Context, p *crashtest.Process) error {
	t, err := openLedgers(p)
	if err != nil {
		return err
	}
	return tabledoor.Ensure(ctx, t)
}

// TestWideLinearizable: TestExactLinearizable for entities with parts. A read never returns parts of two versions.
func TestWideLinearizable(t *testing.T) {
	t.Parallel()
	testLinearizable(t, func(p *crashtest.Process) (numberRow, error) {
		t, err := openLedgers(p)
		if err != nil {
			return nil, err
		}
		return ledgerRow{t.Exact()}, nil
	}, ensureLedgers, []string{"get", "insert", "update", "delete"}, crashtest.Options{Faults: faultsWithReason, FaultRate: 0.2})
}

// storedLedger returns an error if a stored part has no head that lists it, or a head lists a part that is not there.
func storedLedger(s *storagetest.Service) error {
	listed, there := "", ""
	for _, r := range s.Rows("ledgers") {
		switch {
		case strings.HasPrefix(r.RowKey, "~"):
		case strings.Contains(r.RowKey, "!"):
			there += r.RowKey[len(r.RowKey)-2:] + fmt.Sprint(r.Get("_part"))
		default:
			if d := r.Get("_parts"); d != nil {
				listed += d.(string)
			}
		}
	}
	if listed != there {
		return fmt.Errorf("the head lists the parts %q; stored are %q", listed, there)
	}
	return nil
}

// TestWideEveryFault: under every fault at every request, a write of an entity with parts is applied as a whole or not at all, and
// returns which.
func TestWideEveryFault(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(ctx context.Context, t *table.Table[ledger]) error{
		"insert": func(ctx context.Context, t *table.Table[ledger]) error {
			if err := t.DeleteAny(ctx, ledgerKey); err != nil {
				return err
			}
			l := ledgerOf(7)
			_, err := t.Insert(ctx, &l)
			return err
		},
		"grow and shrink": func(ctx context.Context, t *table.Table[ledger]) error {
			for _, n := range []int32{6, 7, 4, 9} {
				if _, err := t.Update(ctx, ledgerKey, func(l *ledger) error {
					err := l.mixed()
					*l = ledgerOf(n)
					return err
				}); err != nil {
					return err
				}
			}
			return nil
		},
		"upsert": func(ctx context.Context, t *table.Table[ledger]) error {
			l := ledgerOf(7)
			_, err := t.Upsert(ctx, &l, table.ReplaceExisting)
			return err
		},
		"merge": func(ctx context.Context, t *table.Table[ledger]) error {
			e, err := t.GetFields(ctx, ledgerKey)
			if err != nil {
				return err
			}
			return t.Merge(ctx, e, table.ElementOf(func(l *ledger) *[]int32 { return &l.A }, 3).Set(5))
		},
		"delete": func(ctx context.Context, t *table.Table[ledger]) error { return t.DeleteAny(ctx, ledgerKey) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := func() crashtest.Workload {
				var returned error
				return crashtest.Workload{
					Setup: func(ctx context.Context, p *crashtest.Process) error {
						t, err := openLedgers(p)
						if err != nil {
							return err
						}
						l := ledgerOf(5)
						return errors.Join(tabledoor.Ensure(ctx, t), func() error { _, err := t.Insert(ctx, &l); return err }())
					},
					Processes: []func(context.Context, *crashtest.Process) error{func(ctx context.Context, p *crashtest.Process) error {
						t, err := openLedgers(p)
						if err != nil {
							return err
						}
						returned = write(ctx, t.Exact())
						return returned
					}},
					Drain: func(ctx context.Context, p *crashtest.Process) error {
						t, err := openLedgers(p)
						if err != nil {
							return err
						}
						e, err := t.Get(ctx, ledgerKey)
						if errors.Is(err, table.ErrNotFound) {
							return nil
						}
						if err == nil {
							err = e.Value.mixed()
						}
						return err
					},
					Check: storedLedger,
				}
			}
			r := crashtest.Enumerate(t, build, crashOptions(crashtest.Options{PairLimit: -1}))
			r.Require(t)
			t.Log(r)
		})
	}
}

// TestWideTornReads: the service ends pages inside of an entity, and writers change the entity between two pages. A read returns
// parts of one version all the same, by its key and in a list.
func TestWideTornReads(t *testing.T) {
	t.Parallel()
	short := func(q storagetest.Request) []storagetest.Fault {
		if q.Kind != requests.Query {
			return nil
		}
		return []storagetest.Fault{storagetest.ShortPage(1), storagetest.ShortPage(2), storagetest.ShortPage(3)}
	}
	build := func() crashtest.Workload {
		process := func(work func(context.Context, *table.Table[ledger], *rand.Rand) error) func(context.Context, *crashtest.Process) error {
			return func(ctx context.Context, p *crashtest.Process) error {
				t, err := openLedgers(p)
				for i := 0; err == nil && i < 6; i++ {
					err = work(ctx, t, p.Rand())
				}
				return err
			}
		}
		var violation error
		torn := func(err error) error {
			if !errors.Is(err, table.ErrUnreachable) && !errors.Is(err, table.ErrContended) { // time has passed, or too many writers
				violation = errors.Join(violation, err)
			}
			return nil
		}
		return crashtest.Workload{
			Setup: func(ctx context.Context, p *crashtest.Process) error {
				t, err := openLedgers(p)
				if err != nil {
					return err
				}
				l := ledgerOf(5)
				return errors.Join(tabledoor.Ensure(ctx, t), func() error { _, err := t.Insert(ctx, &l); return err }())
			},
			Processes: []func(context.Context, *crashtest.Process) error{
				process(func(ctx context.Context, t *table.Table[ledger], r *rand.Rand) error {
					l := ledgerOf(r.Int32N(12))
					_, err := t.Update(ctx, ledgerKey, func(stored *ledger) error {
						err := torn(stored.mixed())
						*stored = l
						return err
					})
					return err
				}),
				process(func(ctx context.Context, t *table.Table[ledger], _ *rand.Rand) error {
					e, err := t.Get(ctx, ledgerKey)
					if err != nil {
						return torn(err)
					}
					return torn(e.Value.mixed())
				}),
				process(func(ctx context.Context, t *table.Table[ledger], _ *rand.Rand) error {
					n := 0
					for e, err := range t.List(ctx, table.Query[ledger]{Partition: ledgerKey.Partition()}) {
						if err != nil {
							return torn(err)
						}
						n++
						torn(e.Value.mixed())
					}
					if n != 1 {
						torn(fmt.Errorf("the list has %d entities, want 1", n))
					}
					return nil
				}),
			},
			Check: func(*storagetest.Service) error { return violation },
		}
	}
	r := crashtest.Schedules(t, build, crashOptions(crashtest.Options{Runs: 4, Faults: short, FaultRate: 0.8, CrashRate: -1, MaxLateness: -1}))
	r.Require(t)
	t.Log(r)
}
