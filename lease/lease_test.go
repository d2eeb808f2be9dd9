package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// register is a number that leaders change.
type register struct {
	Group string
	ID    int
	N     int64
	Token int64 // of the holder that has written last
}

var (
	group = keys.Partition(keys.Text(), func(r *register) *string { return &r.Group })
	id    = keys.Row(keys.Digits[int](4), func(r *register) *int { return &r.ID })
)

// program is a process with a store of its own.
type program struct {
	store     *aztablekit.Store
	leases    *lease.Leases
	registers *table.Table[register]
}

const registerName = "registers"

// open opens the store of a process. ahead is by how much its clock is ahead.
func open(a host.Account, ahead time.Duration, o *lease.Options) *program {
	opt := &aztablekit.Options{Daily: -1}
	if ahead != 0 {
		opt.Now = func() time.Time { return time.Now().Add(ahead) }
	}
	p := &program{store: aztablekit.Open(a, "work", opt)}
	p.leases = lease.New(p.store, "leases", o)
	p.registers = aztablekit.Table(p.store, registerName, group, id)
	return p
}

// inMemory opens programs of one service, with one register, N = 0.
func inMemory(t testing.TB, o *lease.Options) (*storagetest.Service, *program, *program) {
	t.Helper()
	s := storagetest.New(nil)
	a, b := open(s, 0, o), open(s, 0, o)
	testkit.NoError(t, a.store.Ensure(t.Context()))
	testkit.NoError(t, b.store.Ensure(t.Context()))
	_, err := a.registers.Insert(t.Context(), &register{Group: "S", ID: 1})
	testkit.NoError(t, err)
	s.Count()
	return s, a, b
}

func keyOf(n int) keys.Key { return keys.At(group.Of("S"), id.Of(n)) }

func registerKey() keys.Key { return keyOf(1) }

// add adds 1 to the register in a guarded transaction, after a read. 2 requests.
func (p *program) add(ctx context.Context, g *lease.Partition, fence int64) error {
	e, err := p.registers.Get(ctx, registerKey())
	if err != nil {
		return err
	}
	return p.put(ctx, g, e, e.Value.N+1, fence)
}

// put stores a register in a guarded transaction. 1 request.
func (p *program) put(ctx context.Context, g *lease.Partition, e *table.Entity[register], n, fence int64) error {
	e.Value.N, e.Value.Token = n, fence
	_, err := table.Transact(ctx, g.Guard(), p.registers.ReplaceOp(e))
	return err
}

// enter acquires the lease x and enters the partition of the register.
func (p *program) enter(t testing.TB) (*lease.Lease, *lease.Partition) {
	t.Helper()
	held, err := p.leases.Acquire(t.Context(), "x")
	testkit.NoError(t, err)
	g, err := held.In(t.Context(), p.registers, group.Of("S"))
	testkit.NoError(t, err)
	return held, g
}

func expectIs(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) || want == nil && got != nil {
		t.Errorf("%s: got error %v; want %v", what, got, want)
	}
}

// expectHeld expects an error that says that another holder has the lease.
func expectHeld(t testing.TB, what string, got error) {
	t.Helper()
	if !errors.As(got, new(*lease.HeldError)) {
		t.Errorf("%s: got error %v; want a *lease.HeldError", what, got)
	}
}

// TestRequests: how many requests each method sends.
func TestRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s, a, b := inMemory(t, nil)
		expect := func(what, want string) {
			t.Helper()
			if got := s.Count().String(); got != want {
				t.Errorf("%s: got %s; want %s", what, got, want)
			}
		}
		held, err := a.leases.Acquire(ctx, "x")
		testkit.NoError(t, err)
		expect("the first Acquire", "1 get, 1 insert")
		_, err = b.leases.Acquire(ctx, "x")
		expectHeld(t, "Acquire of what another holder has", err)
		expect("Acquire of what another holder has", "1 get")
		testkit.NoError(t, held.Renew(ctx))
		expect("Renew", "1 merge")
		g, err := held.In(ctx, a.registers, group.Of("S"))
		testkit.NoError(t, err)
		expect("In", "1 query, 1 transaction")
		_, err = held.In(ctx, a.registers, group.Of("S"))
		testkit.NoError(t, err)
		expect("In again", "1 query")
		e, err := a.registers.Get(ctx, registerKey())
		testkit.NoError(t, err)
		s.Count()
		testkit.NoError(t, a.put(ctx, g, e, 1, held.Fence()))
		expect("a guarded write", "1 transaction")
		testkit.NoError(t, held.Release(ctx))
		expect("Release", "1 merge")
		testkit.NoError(t, held.Release(ctx))
		expect("Release again", "none")
		held, err = a.leases.Acquire(ctx, "x")
		testkit.NoError(t, err)
		testkit.Expect(t, "fence", held.Fence(), 2)
		expect("Acquire of what the process has released", "1 replace")
		testkit.NoError(t, held.Release(ctx))
		s.Count()
		held, err = b.leases.Acquire(ctx, "x")
		testkit.NoError(t, err)
		testkit.Expect(t, "fence", held.Fence(), 3)
		expect("Acquire of what another process has released", "1 get, 1 replace")
		time.Sleep(18 * time.Second)
		held, err = a.leases.Acquire(ctx, "x")
		testkit.NoError(t, err)
		testkit.Expect(t, "fence", held.Fence(), 4)
		expect("Acquire of what is over, with what another process has changed since", "1 get, 2 replace")
		time.Sleep(18 * time.Second)
		_, err = a.leases.Acquire(ctx, "x")
		testkit.NoError(t, err)
		expect("Acquire of what is over", "1 get, 1 replace")
	})
}

// TestEndedContext: a call whose context has ended leaves the process's own release for the next call.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := inMemory(t, nil)
		held, err := a.leases.Acquire(t.Context(), "x")
		testkit.NoError(t, err)
		testkit.NoError(t, held.Release(t.Context()))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		s.Count()
		_, err = a.leases.Acquire(ended, "x")
		expectIs(t, "Acquire with a context that has ended", err, context.Canceled)
		_, err = a.leases.Acquire(t.Context(), "x")
		testkit.NoError(t, err)
		testkit.Expect(t, "requests", s.Count().String(), "1 replace")
	})
}

// TestFollower: while another holder renews its lease, a follower sends one request for each time to live; and it takes the lease soon after the holder's death.
func TestFollower(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, b := inMemory(t, nil)
		crash, die := context.WithCancel(t.Context())
		held, err := a.leases.Acquire(crash, "x")
		testkit.NoError(t, err)
		testkit.NoError(t, held.Renew(t.Context()))
		time.Sleep(4 * time.Second)
		elected := make(chan time.Time, 1)
		go func() {
			err := b.leases.Elect(t.Context(), "x", func(context.Context, *lease.Lease) error { elected <- time.Now(); return nil })
			testkit.NoError(t, err)
		}()
		synctest.Wait()
		s.Count()
		began := time.Now()
		for time.Since(began) < time.Hour {
			time.Sleep(5 * time.Second)
			testkit.NoError(t, held.Renew(t.Context()))
		}
		got := s.Count().String()
		if want := "239 get, 720 merge"; got != want {
			t.Errorf("got %s; want %s: of the follower one for each 15 s, and none at the end of the hour", got, want)
		}
		die()
		died := time.Now()
		if took := (<-elected).Sub(died); took < 16*time.Second || took > 18*time.Second {
			t.Errorf("got the next leader after %v; want it after 16 to 18 s", took)
		}
		testkit.Expect(t, "requests of a change of leaders", fmt.Sprint(s.Count().Total() <= 5), "true")
	})
}
