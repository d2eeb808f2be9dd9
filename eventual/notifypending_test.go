package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestNotifyPending: after the queue was cleared and poison was dropped, the pending effects are executed, and no others.
func TestNotifyPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := newOffice(t, noPauses())
		o.hire(t, 0, 5, 3)
		drain(t, o.worker(t, fastPolling())) // these are done
		o.hire(t, 5, 10, 3)
		never := o.worker(t, fastPolling(), o.handle(func(context.Context, eventual.Job) error { return eventual.Poison(nil) }))
		drain(t, never)
		poison := o.poisonQueue(t)
		n, err := poison.Drop(ctx, nil)
		noError(t, err)
		testkit.Expect(t, "messages dropped", n, 5)
		o.hire(t, 10, 20, 3)
		o.clear(t, "notifications")
		time.Sleep(11 * time.Minute)
		o.hire(t, 20, 22, 3) // younger than the age
		fresh := len(s.Messages("notifications"))
		s.Count()
		r, err := o.out.NotifyPending(ctx, o.base, 0, nil)
		noError(t, err)
		testkit.Expect(t, "result", r, table.Progress{Rows: 10, Changed: 10, Counts: map[string]int{"partitions": 3}, Through: r.Through})
		testkit.Expect(t, "messages", len(s.Messages("notifications")), fresh+10)
		// 1 query for each of 3 partitions and for the end, 1 for each partition's commit records.
		testkit.Expect(t, "requests", s.Count().String(), "10 message-put, 7 query")
		drain(t, o.worker(t, fastPolling()))
		r, err = o.out.NotifyPending(ctx, o.base, -1, nil)
		noError(t, err)
		testkit.Expect(t, "notifications of the poison that was dropped", r.Changed, 5)
		drain(t, o.worker(t, fastPolling()))
		noError(t, allExecuted(s))
		testkit.Expect(t, "letters", len(s.Rows("sent")), 22)
		r, err = o.out.NotifyPending(ctx, o.base, -1, nil)
		noError(t, err)
		testkit.Expect(t, "notifications if nothing is pending", r.Changed, 0)
	})
}

// TestNotifyPendingResumes: a dry run sends nothing, and a call resumes where the call before ended with an error, also
// within a partition.
func TestNotifyPendingResumes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := newOffice(t, noPauses())
	for i := range 23 {
		o.insert(t, clerk{fmt.Sprint("Größe ", i%4), i, "Jones"})
	}
	o.clear(t, "notifications")
	r, err := o.out.NotifyPending(ctx, o.base, -1, &table.Pass{DryRun: true})
	noError(t, err)
	testkit.Expect(t, "notifications that a dry run counts", r.Changed, 23)
	testkit.Expect(t, "messages after a dry run", len(s.Messages("notifications")), 0)
	left := 7
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == kinds.MessagePut {
			if left--; left < 0 {
				return storagetest.Refuse(403, "AuthorizationFailure")
			}
		}
		return storagetest.Fault{}
	})
	r, err = o.out.NotifyPending(ctx, o.base, -1, nil)
	if err == nil || r.Changed != 7 || r.Token == "" {
		t.Fatalf("got %+v, %v; want 7 notifications, Resume and an error", r, err)
	}
	s.SetFaults(nil)
	r, err = o.out.NotifyPending(ctx, o.base, -1, &table.Pass{Token: r.Token})
	noError(t, err)
	testkit.Expect(t, "notifications after the error", r.Changed, 16)
	testkit.Expect(t, "Token", r.Token, "")
	testkit.Expect(t, "messages", len(s.Messages("notifications")), 23)
	o.clear(t, "notifications")
	r, err = o.out.NotifyPending(ctx, o.base, -1, &table.Pass{Partitions: dept.Of("Größe 1").Point()})
	noError(t, err)
	testkit.Expect(t, "result for one partition", r, table.Progress{Rows: 6, Changed: 6, Counts: map[string]int{"partitions": 1}, Through: r.Through})
	drain(t, o.worker(t, fastPolling()))
	testkit.Expect(t, "letters", len(s.Rows("sent")), 6)
}

// TestNotifyPendingArguments: wrong arguments and a missing queue are refused by name.
func TestNotifyPendingArguments(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, _ := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	var ve *table.ValueError
	if _, err := o.out.NotifyPending(ctx, nil, 0, nil); !errors.As(err, &ve) || ve.Field != "source" {
		t.Errorf("without a table: got %v, want a *ValueError for source", err)
	}
	if _, err := o.out.NotifyPending(ctx, o.base, 0, &table.Pass{Token: "x"}); !errors.As(err, &ve) || ve.Field != "Pass.Token" {
		t.Errorf("got %v, want a *ValueError for Pass.Token", err)
	}
	for _, err := range records.Of(o.base).Pending(ctx, keys.RawPartition("p"), "' or 1 eq 1", time.Now()) {
		if !errors.As(err, &ve) {
			t.Errorf("a forged operation ID: got %v, want a *ValueError", err)
		}
	}
	nowhere, err := bareworker.NewOutbox(o.acc.Queues().NewQueueClient("nowhere"), nil)
	noError(t, err)
	if _, err := nowhere.NotifyPending(ctx, o.base, -1, nil); !errors.Is(err, table.ErrNotCreated) {
		t.Errorf("got %v, want ErrNotCreated", err)
	}
}

// TestNotifyPendingConcurrently: with concurrent writers, some of which fail, and with concurrent workers, NotifyPending does no
// harm: each committed write has its letter, and no other write has one.
func TestNotifyPendingConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := newOffice(t, noPauses())
		o.hireInto(t, "S", 4)
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			switch {
			case q.Kind == requests.Transaction && q.Number%7 == 0:
				return storagetest.LostResponse()
			case q.Kind == kinds.MessageUpdate && q.Number%3 == 0:
				return storagetest.LostRequest()
			case q.Number%11 == 0 && strings.HasPrefix(string(q.Kind), "message"):
				return storagetest.Refuse(503, "ServerBusy")
			}
			return storagetest.Slow(time.Duration(q.Number%5) * 10 * time.Millisecond)
		})
		var writers sync.WaitGroup
		for n := range 3 {
			writers.Go(func() {
				for i := range 100 {
					_, _ = o.staff.Update(ctx, at("S", (n+i)%4), func(c *clerk) error { c.Last = fmt.Sprint(n, i); return nil })
				}
			})
		}
		opt := fastPolling()
		opt.Idle, opt.Attempts = time.Second, 1000
		stopFirst, stopSecond := start(t, o.worker(t, opt)), start(t, o.worker(t, opt))
		sent := 0
		for range 50 {
			r, _ := o.out.NotifyPending(ctx, o.base, -1, nil)
			sent += r.Changed
			time.Sleep(200 * time.Millisecond)
		}
		writers.Wait()
		s.SetFaults(nil)
		time.Sleep(20 * time.Minute)
		stopFirst()
		stopSecond()
		noError(t, errors.Join(allExecuted(s), onlyCommitted(s)))
		atLeast(t, "notifications", sent, 1)
	})
}

// TestNotifyPendingWithGrant: a call with a client that sees only a part of the table fails, unless the partition is complete.
func TestNotifyPendingWithGrant(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, c := range map[string]struct {
		grant     account.Grant
		partition string
		refused   bool
	}{
		"the table":               {account.Grant{}, "", false},
		"partitions":              {account.Grant{Partitions: keys.RawPartitions("S0", "S1")}, "", true},
		"partitions without rows": {account.Grant{Partitions: keys.RawPartitions("A", "B")}, "", true},
		"partitions, for one":     {account.Grant{Partitions: keys.RawPartitions("S0", "S1")}, "S0", false},
		"rows":                    {account.Grant{Partitions: keys.RawPartition("S0").Point(), Rows: keys.RawRows("a", "b")}, "", true},
		"rows, for one partition": {account.Grant{Partitions: keys.RawPartition("S0").Point(), Rows: keys.RawRows("a", "b")}, "S0", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, s := newOffice(t, noPauses())
			o.hire(t, 0, 6, 3)
			client := &account.Options{Client: azcore.ClientOptions{Transport: s}}
			c.grant.Table, c.grant.Expiry, c.grant.AllowHTTP, c.grant.Read = "staff", s.Now().Add(time.Hour), true, true
			u, err := o.acc.TableSAS(c.grant)
			noError(t, err)
			acc, err := account.FromSAS(account.Endpoints{Table: u}, client)
			noError(t, err)
			granted, err := bare.NewTable(acc.Tables(), "staff", schema, nil)
			noError(t, err)
			var of table.Pass
			if c.partition != "" {
				of.Partitions = keys.RawPartition(c.partition).Point()
			}
			r, err := o.out.NotifyPending(ctx, granted, -1, &of)
			if errors.Is(err, table.ErrRanged) != c.refused || !c.refused && (err != nil || r.Changed == 0) {
				t.Errorf("got %+v, %v; want ErrRanged: %v", r, err, c.refused)
			}
		})
	}
}
