package lease_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestElect: what Elect returns, and that it releases the lease in each case but the loss.
func TestElect(t *testing.T) {
	t.Parallel()
	mine := errors.New("mine")
	for _, c := range []struct {
		what     string
		f        func(ctx context.Context, held *lease.Lease) error
		want     error
		released bool
	}{
		{"nothing", func(context.Context, *lease.Lease) error { return nil }, nil, true},
		{"an error", func(context.Context, *lease.Lease) error { return mine }, mine, true},
		{"a minute", func(ctx context.Context, held *lease.Lease) error { time.Sleep(time.Minute); return held.Err() }, nil, true},
		{"a panic", func(context.Context, *lease.Lease) error { panic(mine) }, mine, true},
		{"released in f", func(ctx context.Context, held *lease.Lease) error {
			testkit.NoError(t, held.Release(context.Background()))
			<-ctx.Done()
			return ctx.Err()
		}, lease.ErrLost, true},
		{"lost, and an error", func(ctx context.Context, held *lease.Lease) error {
			_ = held.Release(context.Background())
			<-ctx.Done()
			return mine
		}, mine, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, a, _ := inMemory(t, nil)
			err := func() (err error) {
				defer func() {
					if r := recover(); r != nil {
						err = r.(error)
					}
				}()
				return a.leases.Elect(t.Context(), "x", c.f)
			}()
			expectIs(t, c.what, err, c.want)
			if got := s.Rows("leases")[0].Get("Released"); (got == true) != c.released {
				t.Errorf("%s: got Released %v; want %v", c.what, got, c.released)
			}
		})
	}
}

// TestElectRequests: a leader sends what it takes to acquire and to release, and a renewal for each third of the time to live.
func TestElectRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := inMemory(t, nil)
		testkit.NoError(t, a.leases.Elect(t.Context(), "x", func(context.Context, *lease.Lease) error { time.Sleep(62 * time.Second); return nil }))
		testkit.Expect(t, "requests of a minute", s.Count().String(), "1 get, 1 insert, 13 merge") // 12 renewals, and the release
	})
}

// TestElectEnds: the context of the caller ends the wait, and the work of a leader, whose lease is then released.
func TestElectEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, b := inMemory(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() {
			ended <- a.leases.Elect(ctx, "x", func(ctx context.Context, _ *lease.Lease) error { <-ctx.Done(); return ctx.Err() })
		}()
		synctest.Wait()
		go func() {
			ended <- b.leases.Elect(ctx, "x", func(context.Context, *lease.Lease) error { return errors.New("not called") })
		}()
		time.Sleep(time.Minute)
		cancel()
		for range 2 {
			expectIs(t, "Elect", <-ended, context.Canceled)
		}
		testkit.Expect(t, "released", s.Rows("leases")[0].Get("Released"), any(true))
	})
}

// TestSuspended: a machine that was suspended, while its monotonic clock stood still, notices within a second that its lease is over.
func TestSuspended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := inMemory(t, nil)
		var mu sync.Mutex
		asleep := time.Duration(0)
		now := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Round(0).Add(asleep)
		}
		a := open(s, 0, &lease.Options{Common: options.At(now)})
		testkit.NoError(t, a.store.Ensure(t.Context()))
		took := time.Duration(0)
		err := a.leases.Elect(t.Context(), "x", func(ctx context.Context, _ *lease.Lease) error {
			time.Sleep(2100 * time.Millisecond)
			mu.Lock()
			asleep = time.Hour
			mu.Unlock()
			woke := time.Now()
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			took = time.Since(woke)
			return nil
		})
		expectIs(t, "Elect", err, lease.ErrLost)
		if took > time.Second {
			t.Errorf("got the end of the context %v after the machine has woken; want at most a second", took)
		}
	})
}

// TestWakesAndRenews: a machine that was suspended for a part of a long time to live renews within a second after it has woken.
func TestWakesAndRenews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := inMemory(t, nil)
		var asleep atomic.Int64
		now := func() time.Time { return time.Now().Round(0).Add(time.Duration(asleep.Load())) }
		a := open(s, 0, &lease.Options{TTL: time.Hour, Common: options.At(now)})
		testkit.NoError(t, a.store.Ensure(t.Context()))
		err := a.leases.Elect(t.Context(), "x", func(context.Context, *lease.Lease) error {
			time.Sleep(time.Minute)
			asleep.Store(int64(30 * time.Minute))
			s.Count()
			time.Sleep(1100 * time.Millisecond)
			testkit.Expect(t, "requests after it has woken", s.Count().String(), "1 merge")
			return nil
		})
		testkit.NoError(t, err)
	})
}

// TestLeaders: programs whose clocks differ by days are leaders one after the other, each for some seconds, also when each write of a lease may be lost or come twice.
func TestLeaders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := inMemory(t, nil)
		n := 0
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind == requests.Get || q.Kind == requests.Query {
				return storagetest.Fault{}
			}
			n++
			switch n % 7 {
			case 2:
				return storagetest.LostResponse()
			case 4:
				return storagetest.Twice()
			case 5:
				return storagetest.LateDuplicate(3)
			}
			return storagetest.Fault{}
		})
		var group sync.WaitGroup
		var mu sync.Mutex
		leaders, terms, last := 0, 0, int64(0)
		for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, 48 * time.Hour, -48 * time.Hour} {
			p := open(s, ahead, &lease.Options{TTL: 10 * time.Second, Owner: "one"})
			testkit.NoError(t, p.store.Ensure(t.Context()))
			group.Go(func() {
				for range 5 {
					err := p.leases.Elect(t.Context(), "x", func(ctx context.Context, held *lease.Lease) error {
						mu.Lock()
						leaders++
						terms++
						if leaders > 1 || held.Fence() <= last {
							t.Errorf("got %d leaders, and fence %d after %d; want one leader, whose fence is greater", leaders, held.Fence(), last)
						}
						last = held.Fence()
						mu.Unlock()
						defer func() {
							mu.Lock()
							leaders--
							mu.Unlock()
						}()
						g, err := held.In(ctx, p.registers, registerPartition())
						for range 5 {
							if err == nil {
								err = p.add(ctx, g, held.Fence())
							}
							time.Sleep(3 * time.Second)
						}
						return err
					})
					testkit.NoError(t, err)
					time.Sleep(12 * time.Second) // so that others have a turn
				}
			})
		}
		group.Wait()
		s.SetFaults(nil)
		for _, r := range s.Rows(registerName) {
			if r.RowKey == "0001" && (r.Get("N") != int64(125) || terms != 25) {
				t.Errorf("got %v increments of %d terms; want 125 of 25", r.Get("N"), terms)
			}
		}
	})
}

func registerPartition() keys.PartitionKey { return group.Of("S") }

// named is a definition with rows in the partition of the entities, and with effects.
type named struct{}

func (named) Name() string { return "named" }
func (named) MaxRows() int { return 2 }

func (named) Define(d *extend.Declaration[register]) error {
	err := host.Needs(d, func(table.Handle) (host.Parts, error) {
		return host.Parts{Handlers: []host.Handler{{Kind: "told"}}}, nil
	})
	return errors.Join(err, host.Attach(d, func(t table.Handle) (table.Handle, error) {
		return bare.With(t.(*table.Table[register]), named{})
	}))
}

func (named) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[register]) error {
	for _, old := range c.State() {
		if err := p.Remove(keys.RawRow(old)); err != nil {
			return err
		}
	}
	row, err := c.Row()
	if err != nil || row == nil {
		return err
	}
	p.Effect("told", 1, nil)
	under := keys.At(c.Key.Partition(), keys.RawRow(fmt.Sprint("n_", c.New.N)))
	c.SetState(under.RowKey())
	return p.Insert(row.Copy(under), table.ErrExists)
}

// TestBesideDefinitions: a guard stands beside operations whose definitions store rows, read their entity first, and have a commit record.
func TestBesideDefinitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := storagetest.New(nil)
		store := aztablekit.Open(s, "work", &aztablekit.Options{Daily: -1})
		leases := lease.New(store, "leases", nil)
		registers := aztablekit.Table(store, registerName, group, id, named{})
		testkit.NoError(t, store.Ensure(t.Context()))
		held, err := leases.Acquire(t.Context(), "x")
		testkit.NoError(t, err)
		g, err := held.In(t.Context(), registers, group.Of("S"))
		testkit.NoError(t, err)
		_, err = table.Transact(t.Context(), g.Guard(), registers.InsertOp(&register{Group: "S", ID: 1, N: 5}))
		testkit.NoError(t, err)
		_, err = table.Transact(t.Context(), baretest.MergeAnyOp(registers.Exact(), registerKey(), count.Set(6)), g.Guard())
		testkit.NoError(t, err)
		e, err := registers.Get(t.Context(), registerKey())
		testkit.NoError(t, err)
		e.Value.N++
		_, err = table.Transact(t.Context(), g.Guard(), registers.ReplaceOp(e))
		testkit.NoError(t, err)
		testkit.NoError(t, held.Release(t.Context()))
		next, err := leases.Acquire(t.Context(), "x")
		testkit.NoError(t, err)
		_, err = next.In(t.Context(), registers, group.Of("S"))
		testkit.NoError(t, err)
		held.Believe()
		for what, op := range map[string]table.Op{
			"by key": baretest.MergeAnyOp(registers, registerKey(), count.Set(9)), "exactly": baretest.MergeAnyOp(registers.Exact(), registerKey(), count.Set(9)),
			"an insert": registers.InsertOp(&register{Group: "S", ID: 3}),
		} {
			for _, ops := range [][]table.Op{{g.Guard(), op}, {op, g.Guard()}} {
				_, err = table.Transact(t.Context(), ops...)
				expectIs(t, what, err, lease.ErrLost)
			}
		}
		var rowKeys []string
		for _, r := range s.Rows(registerName) {
			if r.RowKey[:2] != "~i" && r.RowKey[:2] != "~g" {
				rowKeys = append(rowKeys, r.RowKey)
			}
		}
		testkit.Expect(t, "rows", fmt.Sprint(rowKeys), "[0001 n_7 ~h|x|0000000000000000002 ~h|x|head ~c]")
	})
}

var count = table.FieldOf(func(r *register) *int64 { return &r.N })

// TestElectDrains: a leader whose context has ended keeps its lease until its function returns.
func TestElectDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, a, b := inMemory(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		leaders, ended := 0, make(chan error, 2)
		go func() {
			ended <- a.leases.Elect(ctx, "x", func(ctx context.Context, _ *lease.Lease) error {
				leaders++
				<-ctx.Done()
				time.Sleep(40 * time.Second) // it cleans up
				leaders--
				return ctx.Err()
			})
		}()
		synctest.Wait()
		cancel()
		go func() {
			ended <- b.leases.Elect(t.Context(), "x", func(context.Context, *lease.Lease) error {
				testkit.Expect(t, "leaders before this one", leaders, 0)
				return nil
			})
		}()
		expectIs(t, "the first", <-ended, context.Canceled)
		expectIs(t, "the second", <-ended, nil)
	})
}

// TestElectErrors: an error of the function is not lost with the lease.
func TestElectErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := inMemory(t, nil)
		mine := errors.New("mine")
		began := make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- a.leases.Elect(t.Context(), "x", func(ctx context.Context, _ *lease.Lease) error {
				close(began)
				<-ctx.Done()
				return errors.Join(ctx.Err(), mine)
			})
		}()
		<-began
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind == requests.Merge {
				return storagetest.Refuse(403, "AuthorizationFailure")
			}
			return storagetest.Fault{}
		})
		err := <-ended
		expectIs(t, "Elect", err, lease.ErrLost)
		expectIs(t, "Elect", err, mine)
	})
}

// TestOneHangingRenewal: one renewal that hangs does not cost a leader its lease.
func TestOneHangingRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := inMemory(t, nil)
		err := a.leases.Elect(t.Context(), "x", func(ctx context.Context, _ *lease.Lease) error {
			s.SetFaults(storagetest.OfKind(requests.Merge, storagetest.Once(storagetest.Slow(time.Minute))))
			time.Sleep(time.Minute)
			return context.Cause(ctx)
		})
		testkit.NoError(t, err)
	})
}

// TestNoGoroutineOutlives: Elect returns when its last renewal has, also if the lease is lost.
func TestNoGoroutineOutlives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := inMemory(t, nil)
		var renewing atomic.Int64
		renews := renewer{s, &renewing}
		acc, err := account.FromTransport(renews, nil)
		testkit.NoError(t, err)
		a := open(acc, 0, nil)
		testkit.NoError(t, a.store.Ensure(t.Context()))
		err = a.leases.Elect(t.Context(), "x", func(ctx context.Context, _ *lease.Lease) error { <-ctx.Done(); return nil })
		testkit.Expect(t, "renewals under way", renewing.Load(), 0)
		expectIs(t, "Elect", err, lease.ErrLost)
	})
}

// renewer is a transport whose merges take an hour, whatever their contexts say.
type renewer struct {
	*storagetest.Service
	under *atomic.Int64 // way
}

func (r renewer) Do(q *http.Request) (*http.Response, error) {
	if q.Method == http.MethodPatch {
		r.under.Add(1)
		defer r.under.Add(-1)
		time.Sleep(time.Hour)
	}
	return r.Service.Do(q)
}

// TestLooks: a program looks once more when a lease can be over that its holder has not renewed,
// and not earlier. The dates of responses are whole seconds.
func TestLooks(t *testing.T) {
	t.Parallel()
	for _, into := range []time.Duration{0, 300 * time.Millisecond, 700 * time.Millisecond} { // a second
		synctest.Test(t, func(t *testing.T) {
			s, a, b := inMemory(t, nil)
			time.Sleep(into)
			_, err := a.leases.Acquire(t.Context(), "x")
			testkit.NoError(t, err)
			time.Sleep(7 * time.Second)
			s.Count()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			s.SetFaults(func(storagetest.Request) storagetest.Fault {
				if n++; n > 10 {
					cancel()
				}
				return storagetest.Fault{}
			})
			testkit.NoError(t, b.leases.Elect(ctx, "x", func(context.Context, *lease.Lease) error { return nil }))
			testkit.Expect(t, "requests until it is elected, "+into.String(), s.Count().String(), "2 get, 1 merge, 1 replace")
		})
	}
}
