package logtail_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// appended collects what the processes of one run know of their appends.
type appended struct {
	mu    sync.Mutex
	acked map[int]int // how often each amount was acknowledged
}

func (a *appended) ack(amount int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.acked[amount]++
}

// check compares the stored records with the acknowledged ones: each of these is stored once, and no record twice.
func (a *appended) check(s *storagetest.Service) error {
	stored := map[int]int{}
	for _, r := range s.Rows("claims") {
		stored[int(r.Get("Amount").(int64))]++
	}
	for amount, n := range stored {
		if n > 1 {
			return fmt.Errorf("record %d: got it %d times, want once", amount, n)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for amount := range a.acked {
		if stored[amount] != 1 {
			return fmt.Errorf("acknowledged record %d: got it %d times, want once", amount, stored[amount])
		}
	}
	return nil
}

// processLog opens the log for a process.
func processLog(p *crashtest.Process, spread int) (*logtail.Log[claim], error) {
	acc, err := account.FromTransport(p, nil)
	if err != nil {
		return nil, err
	}
	return openClaims(acc.Tables(), spread)
}

// plainProcessLog opens the log for a process whose client has no policies of table.ClientOptions.
func plainProcessLog(p *crashtest.Process, spread int) (*logtail.Log[claim], error) {
	c, err := aztables.NewServiceClientFromConnectionString(p.ConnectionString(), &aztables.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: p}})
	if err != nil {
		return nil, err
	}
	return openClaims(c, spread)
}

func openClaims(service engine.Service, spread int) (*logtail.Log[claim], error) {
	o := &logtail.Options{Spread: spread, Overlap: 40 * time.Second, Poll: 30 * time.Second}
	o.Retry.Wait = -1
	l := logtail.New[claim](&host.Host{Tables: service}, "claims", o)
	return l, l.Err()
}

// logOpener opens the log for a process.
type logOpener func(p *crashtest.Process, spread int) (*logtail.Log[claim], error)

func ensureLog(ctx context.Context, p *crashtest.Process) error {
	l, err := processLog(p, 1)
	if err != nil {
		return err
	}
	return l.Ensure(ctx)
}

// appendClaims appends one claim and then three together, and sends again what has an unknown outcome.
func (a *appended) appendClaims(first, spread int) func(context.Context, *crashtest.Process) error {
	return a.appendClaimsBy(processLog, first, spread)
}

func (a *appended) appendClaimsBy(open logOpener, first, spread int) func(context.Context, *crashtest.Process) error {
	return func(ctx context.Context, p *crashtest.Process) error {
		l, err := open(p, spread)
		if err != nil {
			return err
		}
		r, err := l.Append(ctx, &claim{1, first})
		if r != nil && err != nil {
			err = l.Resend(ctx, r)
		}
		if err != nil {
			return err
		}
		a.ack(first)
		rs, err := l.AppendAll(ctx, &claim{1, first + 1}, &claim{1, first + 2}, &claim{1, first + 3})
		if err != nil {
			err = l.Resend(ctx, rs...)
		}
		if err != nil {
			return err
		}
		for i := range 3 {
			a.ack(first + 1 + i)
		}
		return nil
	}
}

// TestAppendEveryFault: under each fault at each request, an acknowledged record is stored once, and no record twice.
func TestAppendEveryFault(t *testing.T) {
	t.Parallel()
	testAppendEveryFault(t, processLog, crashtest.Options{})
}

// TestAppendEveryFaultPlain: TestAppendEveryFault for a client of the SDK without the policies of table.ClientOptions, without pairs of
// faults.
func TestAppendEveryFaultPlain(t *testing.T) {
	t.Parallel()
	testAppendEveryFault(t, plainProcessLog, crashtest.Options{PairLimit: -1})
}

func testAppendEveryFault(t *testing.T, open logOpener, o crashtest.Options) {
	crashtest.Enumerate(t, func() crashtest.Workload {
		a := &appended{acked: map[int]int{}}
		return crashtest.Workload{Setup: ensureLog, Processes: []func(context.Context, *crashtest.Process) error{a.appendClaimsBy(open, 0, 3)}, Check: a.check}
	}, testkit.Crash(o)).Require(t)
}

// TestAppendSchedules: so it is in random orders of two writers, one of which has begun before the log was spread.
func TestAppendSchedules(t *testing.T) {
	t.Parallel()
	crashtest.Schedules(t, func() crashtest.Workload {
		a := &appended{acked: map[int]int{}}
		return crashtest.Workload{Setup: ensureLog, Processes: []func(context.Context, *crashtest.Process) error{a.appendClaims(0, 1), a.appendClaims(100, 3)}, Check: a.check}
	}, testkit.Crash(crashtest.Options{Runs: *schedules})).Require(t)
}

var schedules = testkit.Count("schedules", 250, "random schedules of each test")

// TestFalseRefusal: a record that the service refuses as existing, although it is not stored, is not reported as stored.
func TestFalseRefusal(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	claims, s := newLog(t, nil)
	s.SetFaults(storagetest.OfKind(requests.Insert, storagetest.Once(storagetest.Refuse(409, "EntityAlreadyExists"))))
	r, err := claims.Append(ctx, &claim{1, 1})
	if !errors.Is(err, table.ErrExists) || r != nil {
		t.Fatalf("Append: got %v, error %v; want no record and ErrExists", r, err)
	}
	testkit.Expect(t, "requests", s.Count().String(), "1 get, 1 insert, 1 query")
	testkit.Expect(t, "records", amounts(t, claims.Tail(ctx, 10)), []int(nil))
}
