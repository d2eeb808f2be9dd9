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
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestNotifyPending: after the queue was cleared and poison was dropped, all effects that are due are executed, and no others.
func TestNotifyPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		o.hire(ctx, 0, 5, 3)
		check(o.worker(options()).Drain(ctx)) // they are done
		o.hire(ctx, 5, 10, 3)
		never := workerOf(o, eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error { return eventual.Poison(nil) }}, options())
		check(never.Drain(ctx))
		poison, err := eventual.NewPoisonQueue(o.acc.Queue("poison"), nil)
		check(err)
		if n, err := poison.Drop(ctx, nil); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		o.hire(ctx, 10, 20, 3)
		_, err = o.acc.Queue("notifications").ClearMessages(ctx, nil)
		check(err)
		time.Sleep(11 * time.Minute)
		o.hire(ctx, 20, 22, 3) // they have notifications of their own
		fresh := len(s.Messages("notifications"))
		s.Count()
		r, err := o.out.NotifyPending(ctx, o.plain, nil)
		if err != nil || r != (eventual.NotifyResult{Partitions: 3, Sent: 15}) || len(s.Messages("notifications")) != fresh+15 {
			t.Errorf("got %+v, %v; %d messages", r, err, len(s.Messages("notifications")))
		}
		// 3 partitions and the end, a page for each, a notification for each commit record.
		if got, want := s.Count(), "15 message-put, 7 query"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		check(o.worker(options()).Drain(ctx))
		if err := carried(s); err != nil || len(s.Rows("sent")) != 22 {
			t.Errorf("%v; %d letters, want 22", err, len(s.Rows("sent")))
		}
		if r, err := o.out.NotifyPending(ctx, o.plain, &eventual.NotifyOptions{Grace: -1}); r.Sent != 0 || err != nil {
			t.Errorf("got %+v, %v, although nothing is due", r, err)
		}
	})
}

// TestNotifyPendingResumes: it goes on where it stopped, for its bound, for an error, and within a partition.
func TestNotifyPendingResumes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	for i := range 23 {
		_, err := o.staff.Insert(ctx, &clerk{fmt.Sprint("Größe ", i%4), i, "Jones"})
		check(err)
	}
	clear := func() {
		_, err := o.acc.Queue("notifications").ClearMessages(ctx, nil)
		check(err)
	}
	clear()
	opt := eventual.NotifyOptions{Grace: -1, Max: 5}
	calls, sent := 0, 0
	for ; calls == 0 || opt.Resume != ""; calls++ {
		r, err := o.out.NotifyPending(ctx, o.plain, &opt)
		if check(err); r.Sent > 5 || calls > 10 {
			t.Fatalf("%+v", r)
		}
		sent, opt.Resume = sent+r.Sent, r.Resume
	}
	if texts := map[string]bool{}; sent != 23 || calls != 5 {
		t.Errorf("%d sent in %d calls", sent, calls)
	} else {
		for _, m := range s.Messages("notifications") {
			texts[m.Text] = true
		}
		if len(texts) != 23 {
			t.Errorf("%d of 23 are notified", len(texts))
		}
	}
	clear()
	left := 7
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == "message-put" {
			if left--; left < 0 {
				return storagetest.Refuse(403, "AuthorizationFailure")
			}
		}
		return storagetest.Fault{}
	})
	r, err := o.out.NotifyPending(ctx, o.plain, &eventual.NotifyOptions{Grace: -1})
	if err == nil || r.Sent != 7 || r.Resume == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	s.SetFaults(nil)
	if r, err = o.out.NotifyPending(ctx, o.plain, &eventual.NotifyOptions{Grace: -1, Resume: r.Resume}); err != nil || r.Sent != 16 || r.Resume != "" || len(s.Messages("notifications")) != 23 {
		t.Errorf("%+v, %v", r, err)
	}
	clear()
	if r, err := o.out.NotifyPending(ctx, o.plain, &eventual.NotifyOptions{Grace: -1, Partition: dept.Of("Größe 1")}); err != nil || r.Sent != 6 || r.Partitions != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	check(o.worker(options()).Drain(ctx))
	if got := len(s.Rows("sent")); got != 6 {
		t.Errorf("%d letters, want 6", got)
	}
	var ve *table.ValueError
	if _, err := o.out.NotifyPending(ctx, nil, nil); !errors.As(err, &ve) {
		t.Error(err)
	}
	if _, err := o.out.NotifyPending(ctx, o.plain, &eventual.NotifyOptions{Resume: "x"}); !errors.As(err, &ve) || ve.Field != "NotifyOptions.Resume" {
		t.Error(err)
	}
	for _, err := range o.plain.CommitRecords().Pending(ctx, keys.Raw("p"), "' or 1 eq 1", time.Now()) {
		if !errors.As(err, &ve) {
			t.Error(err)
		}
	}
	nowhere, err := eventual.NewOutbox(o.acc.Queue("nowhere"), nil)
	check(err)
	if _, err := nowhere.NotifyPending(ctx, o.plain, &eventual.NotifyOptions{Grace: -1}); !errors.Is(err, eventual.ErrQueueNotFound) {
		t.Error(err)
	}
}

// TestNotifyPendingConcurrently: beside writers, which may be refused or die, and workers, it does no harm: each write that was committed has
// its letter, and no other has.
func TestNotifyPendingConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		for i := range 4 {
			_, err := o.staff.Insert(ctx, &clerk{"S", i, "Jones"})
			check(err)
		}
		s.SetFaults(func(q storagetest.Request) storagetest.Fault {
			switch {
			case q.Kind == "transaction" && q.Number%7 == 0:
				return storagetest.LostReply()
			case q.Kind == "message-update" && q.Number%3 == 0:
				return storagetest.LostRequest()
			case q.Number%11 == 0 && strings.HasPrefix(q.Kind, "message"):
				return storagetest.Refuse(503, "ServerBusy")
			}
			return storagetest.Slow(time.Duration(q.Number%5) * 10 * time.Millisecond)
		})
		running, stop := context.WithCancel(ctx)
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() {
				for i := range 100 {
					_, _ = o.staff.Update(ctx, at("S", (n+i)%4), func(c *clerk) error { c.Last = fmt.Sprint(n, i); return nil })
				}
			})
		}
		var workers sync.WaitGroup
		opt := options()
		opt.Idle, opt.Attempts = time.Second, 1000
		for range 2 {
			workers.Go(func() { check(o.worker(opt).Run(running)) })
		}
		sent := 0
		for range 50 {
			r, _ := o.out.NotifyPending(ctx, o.plain, &eventual.NotifyOptions{Grace: -1})
			sent += r.Sent
			time.Sleep(200 * time.Millisecond)
		}
		all.Wait()
		s.SetFaults(nil)
		time.Sleep(20 * time.Minute)
		stop()
		workers.Wait()
		if err := errors.Join(carried(s), lettersOnlyForCommitted(s)); err != nil || sent == 0 {
			t.Errorf("%v; %d notifications", err, sent)
		}
	})
}

// TestNotifyPendingWithGrant: a client that sees a part of the table does not say that the table is done.
func TestNotifyPendingWithGrant(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, c := range map[string]struct {
		grant     table.Grant
		partition string
		refused   bool
	}{
		"the table":               {table.Grant{}, "", false},
		"partitions":              {table.Grant{Partitions: keys.RawBetween("S0", "S1")}, "", true},
		"partitions without rows": {table.Grant{Partitions: keys.RawBetween("A", "B")}, "", true},
		"partitions, for one":     {table.Grant{Partitions: keys.RawBetween("S0", "S1")}, "S0", false},
		"rows":                    {table.Grant{Partitions: keys.Point(keys.Raw("S0")), Rows: keys.RawBetween("a", "b")}, "", true},
		"rows, for one partition": {table.Grant{Partitions: keys.Point(keys.Raw("S0")), Rows: keys.RawBetween("a", "b")}, "S0", true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o, s := opened(t, quick())
			o.hire(ctx, 0, 6, 3)
			client := &account.Options{Client: azcore.ClientOptions{Transport: s}}
			c.grant.Table, c.grant.Expiry, c.grant.AllowHTTP, c.grant.Read = "staff", s.Now().Add(time.Hour), true, true
			u, err := o.acc.TableSAS(c.grant)
			check(err)
			acc, err := account.FromSAS(account.Endpoints{Table: u}, client)
			check(err)
			granted, err := table.New(acc.Tables(), "staff", schema, nil)
			check(err)
			opt := eventual.NotifyOptions{Grace: -1}
			if c.partition != "" {
				opt.Partition = keys.Raw(c.partition)
			}
			r, err := o.out.NotifyPending(ctx, granted, &opt)
			if errors.Is(err, table.ErrRanged) != c.refused || !c.refused && (err != nil || r.Sent == 0) {
				t.Errorf("got %+v, %v; want ErrRanged %v", r, err, c.refused)
			}
		})
	}
}
