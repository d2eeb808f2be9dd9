package lease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// The tests of this file are about bugs of other libraries, which each of their names says.

// TestNoFence (dynamodb-lock-client#1 and #62): a holder that was paused past its end writes, since nothing told it. Here storage refuses the write, whatever the
// holder believes.
func TestNoFence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, b := inMemory(t, nil)
		held, g := a.enter(t)
		e, err := a.registers.Get(t.Context(), registerKey())
		testkit.NoError(t, err)
		time.Sleep(18 * time.Second)
		s.Count()
		expectIs(t, "a write after the end, by the holder's clocks", a.put(t.Context(), g, e, 100, 1), lease.ErrLost)
		testkit.Expect(t, "requests of a write after the end", s.Count().String(), "none")
		next, h := b.enter(t)
		testkit.NoError(t, b.add(t.Context(), h, next.Fence()))
		held.Believe()
		s.Count()
		_, err = table.Transact(t.Context(), a.registers.InsertOp(&register{Group: "S", ID: 2}), g.Guard())
		expectIs(t, "a write of a holder whose clocks stand still", err, lease.ErrLost)
		testkit.Expect(t, "requests of a refused write", s.Count().String(), "1 transaction")
		testkit.Expect(t, "rows", len(s.Rows(registerName)), 4) // register 1, the catalogue, a head and a guard
		testkit.NoError(t, b.add(t.Context(), h, next.Fence()))
	})
}

// TestLateWrite: a write that was sent in time, and arrives when another holder has entered, is refused.
func TestLateWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, b := inMemory(t, nil)
		_, g := a.enter(t)
		first := true
		s.SetFaults(func(q storagetest.Request) (is storagetest.Fault) {
			if q.Kind == requests.Transaction && first {
				is, first = storagetest.Late(0), false
			}
			return is
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := table.Transact(ctx, g.Guard(), a.registers.InsertOp(&register{Group: "S", ID: 2}))
		expectIs(t, "a write without a response", err, table.ErrUnknownOutcome)
		time.Sleep(18 * time.Second)
		b.enter(t)
		testkit.Expect(t, "late requests", len(s.Deliver()), 1)
		_, err = b.registers.Get(t.Context(), keyOf(2))
		expectIs(t, "the row of the late write", err, table.ErrNotFound)
	})
}

// TestWaitBeginsAnew (dynamodb-lock-client#94): a follower that has waited for the time to live takes the lease, although its holder has renewed it meanwhile. Here it
// begins to wait again.
func TestWaitBeginsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, a, b := inMemory(t, nil)
		held, _ := a.enter(t)
		var elected atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- b.leases.Elect(ctx, "x", func(context.Context, *lease.Lease) error { elected.Store(true); return nil })
		}()
		for range 20 {
			time.Sleep(13 * time.Second)
			testkit.NoError(t, held.Renew(t.Context()))
			if elected.Load() {
				t.Fatal("got another holder beside one that renews its lease in time")
			}
		}
		cancel()
		expectIs(t, "Elect whose context ends", <-done, context.Canceled)
	})
}

// TestExpiredIsTaken (dynamolock#778): a lease that is over is not taken, since its row is there. Here Acquire takes it, also from a holder of the same name, and
// whatever the clock of the program says.
func TestExpiredIsTaken(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, 2 * day, -2 * day} {
		synctest.Test(t, func(t *testing.T) {
			s, a, _ := inMemory(t, &lease.Options{Owner: "one"})
			b := open(s, ahead, &lease.Options{Owner: "one"})
			testkit.NoError(t, b.store.Ensure(t.Context()))
			a.enter(t)
			for range 16 { // it is over when 16 s are
				_, err := b.leases.Acquire(t.Context(), "x")
				expectHeld(t, "before its end", err)
				time.Sleep(time.Second)
			}
			time.Sleep(time.Second)
			held, _ := b.enter(t)
			testkit.Expect(t, "fence", held.Fence(), 2)
		})
	}
}

// TestLeaderIsTold (kubernetes#23731): a leader that cannot renew its lease is never told. Here the context of its function ends, before another one can have the lease.
func TestLeaderIsTold(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]storagetest.Fault{
		"lost": storagetest.LostRequest(), "hangs": storagetest.Hang(), "busy": storagetest.Refuse(503, "ServerBusy"), "refused": storagetest.Refuse(403, "AuthorizationFailure"),
	} {
		for round := range 8 { // renewals have random times
			t.Run(fmt.Sprint(name, " ", round), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { toldLeader(t, fault) })
			})
		}
	}
}

// toldLeader lets a leader lose its lease by a fault of its renewals.
func toldLeader(t *testing.T, fault storagetest.Fault) {
	t.Helper()
	s, a, b := inMemory(t, nil)
	began := make(chan struct{})
	told := make(chan time.Time, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- a.leases.Elect(t.Context(), "x", func(ctx context.Context, held *lease.Lease) error {
			close(began)
			<-ctx.Done()
			told <- time.Now()
			if cause := context.Cause(ctx); !errors.Is(cause, lease.ErrLost) {
				t.Errorf("got cause %v; want ErrLost", cause)
			}
			time.Sleep(time.Second)
			return nil
		})
	}()
	<-began
	time.Sleep(time.Minute)
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == requests.Merge {
			return fault
		}
		return storagetest.Fault{}
	})
	took := make(chan time.Time, 1)
	go func() {
		_ = b.leases.Elect(t.Context(), "x", func(context.Context, *lease.Lease) error { took <- time.Now(); return nil })
		close(took)
	}()
	at, next := <-told, <-took
	if margin := next.Sub(at); margin < 2300*time.Millisecond || margin > 9300*time.Millisecond {
		t.Errorf("got the next leader %v after the end of the context; want 2.3 s to 9.3 s", margin)
	}
	err := <-ended
	<-took
	expectIs(t, "Elect", err, lease.ErrLost)
	if !strings.Contains(err.Error(), "the last renewal failed") {
		t.Errorf("got error %v; want one that says why the last renewal failed", err)
	}
}

// TestReleasedBelief: a holder does not believe in its lease while its release is under way.
func TestReleasedBelief(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, b := inMemory(t, nil)
		held, g := a.enter(t)
		s.SetFaults(storagetest.OfKind(requests.Merge, storagetest.ExecuteThenHang()))
		go func() { _ = held.Release(t.Context()) }()
		time.Sleep(10 * time.Millisecond)
		s.SetFaults(nil)
		next, err := b.leases.Acquire(t.Context(), "x")
		testkit.NoError(t, err)
		testkit.Expect(t, "fence", next.Fence(), 2)
		expectIs(t, "the holder whose release is not answered", held.Err(), lease.ErrLost)
		expectIs(t, "its write", a.add(t.Context(), g, 1), lease.ErrLost)
		expectIs(t, "its renewal", held.Renew(t.Context()), lease.ErrLost)
	})
}

// TestLostRenewal: a renewal without a response does not lengthen the belief, nor does the read after it; a read finds its own row by the nonce, and not by the name of the
// owner.
func TestLostRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, b := inMemory(t, &lease.Options{Owner: "one"})
		held, _ := a.enter(t)
		until := held.Until()
		testkit.Expect(t, "belief", time.Until(until), 13700*time.Millisecond)
		time.Sleep(9 * time.Second)
		n := 0
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind != requests.Merge {
				return storagetest.Fault{}
			}
			n++
			return storagetest.LostResponse()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := held.Renew(ctx); err == nil {
			t.Error("got no error of a renewal without a response")
		}
		s.SetFaults(nil)
		testkit.Expect(t, "the end of the belief", held.Until(), until)
		testkit.NoError(t, held.Renew(t.Context()))
		if got := time.Until(held.Until()); got != 13700*time.Millisecond {
			t.Errorf("got %v until the end after a renewal; want 13.7 s", got)
		}
		time.Sleep(18 * time.Second)
		b.enter(t)
		held.Believe()
		expectIs(t, "a renewal of the first holder of one name", held.Renew(t.Context()), lease.ErrLost)
	})
}

// TestSlowResponse: the belief counts from before the request, so a response that is slow leaves less of it, or none.
func TestSlowResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := inMemory(t, nil)
		began := time.Now()
		s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Slow(3*time.Second)))
		held, err := a.leases.Acquire(t.Context(), "x")
		testkit.NoError(t, err)
		testkit.Expect(t, "belief", held.Until().Sub(began), 13700*time.Millisecond)
		began = time.Now()
		s.SetFaults(storagetest.OfKind(requests.Merge, storagetest.Slow(3*time.Second)))
		testkit.NoError(t, held.Renew(t.Context()))
		testkit.Expect(t, "belief after a renewal", held.Until().Sub(began), 13700*time.Millisecond)
	})
}

// TestClockIsSet: a wall clock that is set forward ends the belief, and one that is set back does not lengthen it.
func TestClockIsSet(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{time.Hour, -time.Hour, 48 * time.Hour, -48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s, _, _ := inMemory(t, nil)
			var set atomic.Int64
			a := open(s, 0, &lease.Options{Common: options.At(func() time.Time { return time.Now().Round(0).Add(time.Duration(set.Load())) })})
			testkit.NoError(t, a.store.Ensure(t.Context()))
			held, _ := a.enter(t)
			set.Store(int64(by))
			if lost := errors.Is(held.Err(), lease.ErrLost); lost != (by > 0) {
				t.Errorf("set by %v: got error %v; want ErrLost if it is set forward", by, held.Err())
			}
			time.Sleep(14 * time.Second)
			expectIs(t, "after its end", held.Err(), lease.ErrLost)
			set.Store(0)
			expectIs(t, "after the clock is right again", held.Err(), lease.ErrLost)
		})
	}
}

// TestThiefDies: a thief that has the lease and has not entered hinders nobody longer than its time to live, and the next holder enters.
func TestThiefDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, b := inMemory(t, nil)
		_, g := a.enter(t)
		testkit.NoError(t, a.add(t.Context(), g, 1))
		time.Sleep(18 * time.Second)
		thief, err := b.leases.Acquire(t.Context(), "x")
		testkit.NoError(t, err)
		testkit.Expect(t, "fence of the thief", thief.Fence(), 2)
		time.Sleep(18 * time.Second)
		c := open(s, 0, nil)
		testkit.NoError(t, c.store.Ensure(t.Context()))
		next, h := c.enter(t)
		testkit.Expect(t, "fence of the next", next.Fence(), 3)
		testkit.NoError(t, c.add(t.Context(), h, 3))
		thief.Believe()
		_, err = thief.In(t.Context(), b.registers, group.Of("S"))
		expectIs(t, "the thief that enters late", err, lease.ErrLost)
	})
}

// TestLateEntry: a copy of the request with which a holder has entered, which arrives after another one has, enters nothing.
func TestLateEntry(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "entered", "entered, and its guard was deleted"} { // by another holder
		synctest.Test(t, func(t *testing.T) {
			s, a, b := inMemory(t, nil)
			if before != "" {
				held, _ := b.enter(t)
				testkit.NoError(t, held.Release(t.Context()))
			}
			if strings.HasSuffix(before, "deleted") {
				_, err := s.Tables().NewClient(registerName).DeleteEntity(t.Context(), "S", "~h|x|0000000000000000001", nil)
				testkit.NoError(t, err)
			}
			s.SetFaults(storagetest.OfKind(requests.Transaction, storagetest.LateDuplicate(0)))
			held, g := a.enter(t)
			s.SetFaults(nil)
			time.Sleep(18 * time.Second)
			next, h := b.enter(t)
			s.Deliver()
			held.Believe()
			expectIs(t, "a write of the first holder", a.add(t.Context(), g, held.Fence()), lease.ErrLost)
			testkit.NoError(t, b.add(t.Context(), h, next.Fence()))
		})
	}
}

// TestBesideEachOther: renewals and guarded writes of one holder, all at the same time, do not refuse each other.
func TestBesideEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := inMemory(t, nil)
		held, g := a.enter(t)
		done := make(chan error, 60)
		s.Count()
		for i := range 20 {
			go func() { done <- held.Renew(t.Context()) }()
			go func() {
				_, err := table.Transact(t.Context(), g.Guard(), a.registers.InsertOp(&register{Group: "S", ID: 10 + i}))
				done <- err
			}()
			go func() {
				_, err := held.In(t.Context(), a.registers, group.Of("S"))
				done <- err
			}()
		}
		for range 60 {
			testkit.NoError(t, <-done)
		}
		if got := s.Count().String(); got != "20 merge, 20 query, 20 transaction" {
			t.Errorf("got %s; want 20 requests of each kind", got)
		}
	})
}

// TestGuardsAtOnce: a service that refuses one of two merges into a guard at the same time does not refuse the write.
func TestGuardsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a, _ := inMemory(t, nil)
		held, g := a.enter(t)
		n := 0
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			if q.Kind == requests.Transaction {
				if n++; n == 1 {
					return storagetest.RefuseInTransaction(412, "UpdateConditionNotSatisfied")
				}
			}
			return storagetest.Fault{}
		})
		e, err := a.registers.Get(t.Context(), registerKey())
		testkit.NoError(t, err)
		_, err = table.Transact(t.Context(), a.registers.ReplaceOp(e), g.Guard()) // the last operation is refused
		testkit.NoError(t, err)
		testkit.Expect(t, "transactions", n, 2)
		testkit.NoError(t, held.Release(t.Context()))
	})
}

// TestClockGoesBack: a clock of the program that is set back, with its monotonic reading, does not lengthen the belief.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	var back atomic.Int64
	o := &aztablekit.Options{Daily: -1}
	o.Now = func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
	store := aztablekit.Open(storagetest.New(nil), "work", o)
	leases := lease.New(store, "leases", &lease.Options{TTL: 3 * time.Second})
	testkit.NoError(t, store.Ensure(t.Context()))
	held, err := leases.Acquire(t.Context(), "x")
	testkit.NoError(t, err)
	back.Store(int64(time.Hour))
	if until := held.Until(); until.After(time.Now().Add(3 * time.Second)) {
		t.Errorf("got %v; want at most 3 s from now", until)
	}
}
