package whole_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/txn"
)

// ticket is an entity with an end.
type ticket struct {
	Show string
	Seat int
	Ends time.Time
	Uses int
}

var (
	show = keys.Partition(keys.Text(), func(t *ticket) *string { return &t.Show })
	seat = keys.Row(keys.Digits[int](4), func(t *ticket) *int { return &t.Seat })
)

// office is a store of a program with tickets and leases. Another program uses the same tables.
type office struct {
	store   *aztablekit.Store
	tickets *table.Table[ticket]
	ends    *expire.Ends[ticket]
	leases  *lease.Leases
	job     func() error // starts the sweep
	other   *office
}

func openOffice(s *storagetest.Service, c table.Common) *office {
	o := &office{store: aztablekit.Open(s, "office", &aztablekit.Options{Daily: -1, Common: c})}
	o.ends = expire.At(func(t *ticket) time.Time { return t.Ends }, nil)
	sweep := o.ends.Job("sweep")
	o.tickets = aztablekit.Table(o.store, "tickets", show, seat, o.ends, sweep)
	o.leases = lease.New(o.store, "leases", nil)
	o.job = func() error { return sweep.Start(context.Background(), o.tickets, "today", struct{}{}, nil) }
	return o
}

func ticketKey(n int) keys.Key { return keys.At(show.Of("Tosca"), seat.Of(n)) }

// use counts a use of a ticket, by the other program.
func (o *office) use(ctx context.Context, n int) error {
	_, err := o.tickets.Update(ctx, ticketKey(n), func(t *ticket) error { t.Uses++; return nil })
	return err
}

// storeMethods are calls beside another program that is in their way, by the methods that they are
// about.
var storeMethods = map[string]func(context.Context, *office) error{
	"Leases.Acquire": func(ctx context.Context, o *office) error {
		_, err := o.leases.Acquire(ctx, "x")
		return err
	},
	"Leases.Acquire of what is held": func(ctx context.Context, o *office) error {
		_, errOther := o.other.leases.Acquire(ctx, "x")
		_, err := o.leases.Acquire(ctx, "x")
		return errors.Join(errOther, err)
	},
	"Leases.Elect, which waits": func(ctx context.Context, o *office) error {
		ended := make(chan error, 1)
		go func() {
			ended <- o.other.leases.Elect(ctx, "x", func(context.Context, *lease.Lease) error { time.Sleep(10 * time.Minute); return nil })
		}()
		time.Sleep(time.Second)
		err := o.leases.Elect(ctx, "x", func(context.Context, *lease.Lease) error { time.Sleep(time.Minute); return nil })
		return errors.Join(err, <-ended)
	},
	"Leases.Try": func(ctx context.Context, o *office) error {
		return o.leases.Try(ctx, "x", func(context.Context, *lease.Lease) error { time.Sleep(time.Minute); return nil })
	},
	"Leases.Raise": func(ctx context.Context, o *office) error { return o.leases.Raise(ctx, "x", 7) },
	"Lease.Renew": func(ctx context.Context, o *office) error {
		held, err := o.leases.Acquire(ctx, "x")
		if err != nil {
			return err
		}
		return held.Renew(ctx)
	},
	"Lease.Release": func(ctx context.Context, o *office) error {
		held, err := o.leases.Acquire(ctx, "x")
		if err != nil {
			return err
		}
		return errors.Join(held.Release(ctx), held.Release(ctx))
	},
	"Lease.In": func(ctx context.Context, o *office) error {
		held, err := o.leases.Acquire(ctx, "x")
		if err != nil {
			return err
		}
		in, err := held.In(ctx, o.tickets, show.Of("Tosca"))
		if err != nil {
			return err
		}
		_, err = table.Transact(ctx, in.Guard(), baretest.MergeAnyOp(o.tickets, ticketKey(1), table.FieldOf(func(t *ticket) *int { return &t.Uses }).Set(9)))
		return err
	},
	"Ends.Extend beside a writer": func(ctx context.Context, o *office) error {
		n := 0
		_, err := o.ends.Extend(ctx, o.tickets, ticketKey(1), func(t *ticket) error {
			if n++; n < 3 {
				return o.other.use(ctx, 1)
			}
			t.Ends = t.Ends.Add(time.Hour)
			return nil
		})
		return err
	},
	"Ends.Take": func(ctx context.Context, o *office) error {
		_, err := o.ends.Take(ctx, o.tickets, ticketKey(1))
		return err
	},
	"Ends.Take of what is over": func(ctx context.Context, o *office) error {
		time.Sleep(2 * time.Hour)
		_, err := o.ends.Take(ctx, o.tickets, ticketKey(1))
		return err
	},
	"Ends.Sweep": func(ctx context.Context, o *office) error {
		time.Sleep(3 * time.Hour)
		_, errOther := o.other.ends.Sweep(ctx, o.other.tickets, nil)
		_, err := o.ends.Sweep(ctx, o.tickets, nil)
		return errors.Join(errOther, err)
	},
	"Ends.Job": func(ctx context.Context, o *office) error {
		time.Sleep(3 * time.Hour)
		return errors.Join(o.job(), o.store.Drain(ctx))
	},
	"txn.Run beside a writer": func(ctx context.Context, o *office) error {
		n := 0
		return txn.Run(ctx, o.store, func(tx *txn.Tx) error {
			t, err := txn.Get(tx, o.tickets, ticketKey(1))
			if err != nil {
				return err
			}
			if n++; n < 3 {
				if err := o.other.use(ctx, 1); err != nil {
					return err
				}
			}
			t.Value.Uses++
			tx.Do(o.tickets.ReplaceOp(t))
			return nil
		})
	},
	"txn.Run that finds nothing": func(ctx context.Context, o *office) error {
		return txn.Run(ctx, o.store, func(tx *txn.Tx) error {
			for _, n := range []int{1, 8, 9} {
				if _, err := txn.Get(tx, o.tickets, ticketKey(n)); err != nil && !errors.Is(err, table.ErrNotFound) {
					return err
				}
			}
			return nil
		})
	},
	"txn.Find": func(ctx context.Context, o *office) error {
		return txn.Run(ctx, o.store, func(tx *txn.Tx) error {
			_, err := txn.Find(tx, o.tickets, func(ctx context.Context) (*table.Entity[ticket], error) { return o.tickets.Get(ctx, ticketKey(1)) })
			return err
		})
	},
	"Store.Fill, Retire and RunDaily": func(ctx context.Context, o *office) error {
		_, errFill := o.store.Fill(ctx, nil)
		return errors.Join(errFill, o.store.RunDaily(ctx), o.store.Ensure(ctx))
	},
}

// refusals are what the service does at one request of a call.
var refusals = []storagetest.Fault{
	storagetest.Refuse(412, "UpdateConditionNotSatisfied"),
	storagetest.LostResponse(),
	storagetest.Refuse(403, "AuthorizationFailure"),
}

// TestStoreSpans: no span fails of a call that returns nil although another program, or the
// service, has refused something meanwhile, and one fails of a call that returns an error.
func TestStoreSpans(t *testing.T) {
	t.Parallel()
	expectEachMethod(t, []any{&lease.Leases{}, &lease.Lease{}, &expire.Ends[ticket]{}}, storeMethods)
	for name, call := range storeMethods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectEachRefusal(expectStoreSpans(t, call, nil), func(faults storagetest.FaultFunc) { expectStoreSpans(t, call, faults) })
		})
	}
}

// expectEachRefusal calls expect for faults at each of the first 8 requests of a call, or for some of them.
func expectEachRefusal(requests int, expect func(storagetest.FaultFunc)) {
	every := min(testkit.Sample(2), 7) // no multiple of the number of refusals
	for n := range min(requests, 8) {
		for i, f := range refusals {
			if (n*len(refusals)+i)%every == 0 {
				expect(storagetest.AtRequest(n+1, f))
			}
		}
	}
}

// expectStoreSpans makes a call on a filled office; see expectSpans.
func expectStoreSpans(t *testing.T, call func(context.Context, *office) error, faults storagetest.FaultFunc) int {
	t.Helper()
	return expectSpans(t, faults, func(ctx context.Context, s *storagetest.Service, traced table.Common) (func() error, error) {
		o := openOffice(s, traced)
		o.other = openOffice(s, table.Common{})
		err := errors.Join(o.store.Ensure(ctx), o.other.store.Ensure(ctx))
		for i := range 3 {
			_, errInsert := o.other.tickets.Insert(ctx, &ticket{Show: "Tosca", Seat: i, Ends: time.Now().Add(time.Hour)})
			err = errors.Join(err, errInsert)
		}
		return func() error { return call(ctx, o) }, err
	})
}

// expectSpans makes the call that open has prepared, on a service with faults, and returns how many requests it has sent. Some span fails
// if and only if the call fails.
func expectSpans(t *testing.T, faults storagetest.FaultFunc, open func(context.Context, *storagetest.Service, table.Common) (func() error, error)) (n int) {
	t.Helper()
	var recorded spans
	var err error
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(nil)
		call, errOpen := open(t.Context(), s, table.Common{Tracing: recorded.provider()})
		if errOpen != nil {
			t.Fatal(errOpen)
		}
		recorded.all, recorded.failed = nil, nil
		s.Count()
		s.SetFaults(faults)
		err = call()
		n = s.Count().Total()
	})
	if len(recorded.failed) > 0 && err == nil || len(recorded.failed) == 0 && len(recorded.all) > 0 && err != nil {
		t.Errorf("with %v: got failed spans %q of %q and error %v; want both or none", faults, recorded.failed, recorded.all, err)
	}
	return n
}
