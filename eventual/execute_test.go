package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestRequests: the requests of a write with an effect, and of a worker.
func TestRequests(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	testkit.Expect(t, "requests of the write", s.Count().String(), "1 message-put, 1 message-update, 1 transaction")
	opt := fastPolling()
	opt.Concurrency = 1 // so that the worker requests no more messages while the handler runs
	drain(t, o.worker(t, opt))
	testkit.Expect(t, "requests of the worker", s.Count().String(), "1 get, 1 insert-or-replace, 1 merge, 1 message-delete, 2 message-get")
}

// TestDuplicates: the effect of a message that arrives a hundred times is executed once.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	text := s.Messages("notifications")[0].Text
	for range 99 {
		o.put(t, "notifications", text)
	}
	opt := fastPolling()
	opt.Concurrency = 1
	w := o.worker(t, opt)
	drain(t, w)
	testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 100, Completed: 100, Effects: 1})
	testkit.Expect(t, "letters", len(s.Rows("sent")), 1)
	o.expectPoison(t)
}

// changeRecord merges a property into each commit record, as a concurrent worker changes a record.
func (o *office) changeRecord(ctx context.Context, s *storagetest.Service, property string, value any) error {
	var errs error
	for _, r := range s.Rows("staff") {
		if strings.HasPrefix(r.RowKey, "~i|") {
			_, err := o.acc.Tables().NewClient("staff").UpdateEntity(ctx, fmt.Appendf(nil, `{"PartitionKey":"S","RowKey":%q,%q:%q}`, r.RowKey, property, fmt.Sprint(value)), nil)
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// TestBrokenCommitRecord: the message of a commit record that cannot be decoded becomes poison after WorkerOptions.Attempts.
func TestBrokenCommitRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		noError(t, o.changeRecord(context.Background(), s, "State", "odd"))
		w := o.worker(t, fastPolling())
		runUntilEmpty(t, w, s, 5*time.Hour)
		o.expectPoison(t, "attempts")
		testkit.Expect(t, "deliveries", w.Stats().Received, 10)
	})
}

// TestConflicts: if the commit record changes during each execution of its effects, the worker starts again, up to
// Retry.ConflictAttempts times with the pauses of Retry.ConflictWait. Then the attempt has failed.
func TestConflicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		retry       table.Retry
		conflicts   int64 // number of executions during which the record changes
		calls       int64
		least, most time.Duration // for two attempts of the message, with 1 s between them at most
		poison      []string
	}{
		"default":      {retry: table.Retry{ConflictWait: -1}, conflicts: 1000, calls: 200, most: time.Second, poison: []string{"attempts"}},
		"option":       {retry: table.Retry{ConflictAttempts: 3, ConflictWait: -1}, conflicts: 1000, calls: 6, most: time.Second, poison: []string{"attempts"}},
		"one attempt":  {retry: table.Retry{ConflictAttempts: 1}, conflicts: 1000, calls: 2, most: time.Second, poison: []string{"attempts"}},
		"few":          {retry: table.Retry{ConflictWait: -1}, conflicts: 99, calls: 100, most: time.Second},
		"with pauses":  {retry: table.Retry{ConflictAttempts: 5, ConflictWait: 10 * time.Second, MaxConflictWait: 40 * time.Second}, conflicts: 1000, calls: 10, least: 110 * time.Second, most: 221 * time.Second, poison: []string{"attempts"}},
		"short pauses": {retry: table.Retry{}, conflicts: 30, calls: 31, least: 12 * time.Second, most: 26 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := newOffice(t, noPauses())
				o.insert(t, clerk{"S", 1, "Jones"})
				opt := fastPolling()
				opt.Retry, opt.Attempts = c.retry, 2
				var calls atomic.Int64
				w := o.worker(t, opt, o.handle(func(ctx context.Context, _ eventual.Job) error {
					if n := calls.Add(1); n <= c.conflicts {
						return o.changeRecord(ctx, s, "Touched", n)
					}
					return nil
				}))
				began := time.Now()
				runUntilEmpty(t, w, s, time.Hour)
				atLeast(t, "time", time.Since(began), c.least)
				atMost(t, "time", time.Since(began), c.most)
				testkit.Expect(t, "handler calls", calls.Load(), c.calls)
				if c.poison == nil {
					testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 1, Completed: 1, Effects: int(c.calls), Renewed: w.Stats().Renewed})
				} else {
					testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 2, Retried: 1, Poisoned: 1, Effects: int(c.calls), Renewed: w.Stats().Renewed})
				}
				o.expectPoison(t, c.poison...)
			})
		})
	}
}

// TestConflictsStopped: a message whose worker stops between two conflicts is deferred, and has no failed attempt.
func TestConflictsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		opt := fastPolling()
		opt.Retry, opt.Attempts, opt.StopTimeout = table.Retry{ConflictWait: time.Hour, MaxConflictWait: time.Hour}, 1, time.Second
		w := o.worker(t, opt, o.handle(func(ctx context.Context, _ eventual.Job) error { return o.changeRecord(ctx, s, "Touched", time.Now()) }))
		stop := start(t, w)
		time.Sleep(time.Minute)
		stop()
		testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 1, Deferred: 1, Effects: 1, Renewed: w.Stats().Renewed})
		runUntilEmpty(t, o.worker(t, fastPolling()), s, time.Minute)
		noError(t, allExecuted(s))
	})
}
