package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/table"
)

// TestHandlerResult: the result of a handler completes, retries, defers or poisons the message.
func TestHandlerResult(t *testing.T) {
	t.Parallel()
	wrong := errors.New("it fails")
	for what, c := range map[string]struct {
		result   func(n int64) error
		calls    int64
		took     time.Duration // at least
		poison   string        // class
		attempts int
		stats    eventual.Stats
	}{
		"done":          {result: func(int64) error { return nil }, calls: 1, stats: eventual.Stats{Completed: 1, Effects: 1}},
		"fails twice":   {result: func(n int64) error { return errorIf(n < 3, wrong) }, calls: 3, took: 2 * time.Second, stats: eventual.Stats{Completed: 1, Retried: 2, Effects: 1}},
		"always":        {result: func(int64) error { return wrong }, calls: 4, took: 5 * time.Second, poison: "attempts", attempts: 4, stats: eventual.Stats{Retried: 3, Poisoned: 1}},
		"poison":        {result: func(int64) error { return fmt.Errorf("no: %w", eventual.Poison(wrong)) }, calls: 1, poison: "handler", attempts: 1, stats: eventual.Stats{Poisoned: 1}},
		"panics":        {result: func(int64) error { panic("oh") }, calls: 4, took: 5 * time.Second, poison: "attempts", attempts: 4, stats: eventual.Stats{Retried: 3, Poisoned: 1}},
		"later, often":  {result: func(n int64) error { return errorIf(n < 20, eventual.RetryAfter(10*time.Second, wrong)) }, calls: 20, took: 190 * time.Second, stats: eventual.Stats{Completed: 1, Deferred: 19, Effects: 1}},
		"later, failed": {result: func(n int64) error { return errorIf(n%2 == 0, eventual.RetryAfter(time.Second, nil), wrong) }, calls: 7, took: 8 * time.Second, poison: "attempts", attempts: 4, stats: eventual.Stats{Retried: 3, Deferred: 3, Poisoned: 1}},
		"changed twice": {result: func(n int64) error { return errorIf(n < 3, error(table.ErrChanged)) }, calls: 3, took: 2 * time.Second, stats: eventual.Stats{Completed: 1, Retried: 2, Effects: 1}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := newOffice(t, noPauses())
				o.insert(t, clerk{"S", 1, "Jones"})
				var calls atomic.Int64
				opt := fastPolling()
				opt.Attempts = 4
				w := o.worker(t, opt, countingHandler(o, &calls, c.result))
				began := time.Now()
				runUntilEmpty(t, w, s, time.Hour)
				atLeast(t, "time", time.Since(began), c.took)
				atMost(t, "time", time.Since(began), 2*c.took+10*time.Second)
				testkit.Expect(t, "handler calls", calls.Load(), c.calls)
				c.stats.Received = int(c.calls)
				testkit.Expect(t, "stats", w.Stats(), c.stats)
				if c.poison == "" {
					o.expectPoison(t)
					return
				}
				got := o.expectPoison(t, c.poison)[0]
				want := eventual.PoisonMessage{Class: c.poison, Attempts: c.attempts, Kind: "letter", Table: "staff", Partition: "S",
					ID: got.ID, Time: got.Time, OperationID: got.OperationID, Text: got.Text}
				testkit.Expect(t, "poison message", got, want)
				testkit.Expect(t, "length of the operation ID", len(got.OperationID), 26)
			})
		})
	}
}

// TestTimeout: the context of a slow handler ends after HandlerTimeout, and the attempt has failed.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		var causes causeList
		opt := fastPolling()
		opt.HandlerTimeout, opt.Attempts = time.Minute, 2
		w := o.worker(t, opt, slowHandler(o, time.Hour, causes.add))
		began := time.Now()
		runUntilEmpty(t, w, s, time.Hour)
		atMost(t, "time", time.Since(began), 3*time.Minute)
		testkit.Expect(t, "contexts that ended", len(causes.all), 2)
		o.expectPoison(t, "attempts")
	})
}

// TestGoexit: the attempt of a handler that ends its goroutine has failed.
func TestGoexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		var calls atomic.Int64
		opt := fastPolling()
		opt.Attempts = 2
		runUntilEmpty(t, o.worker(t, opt, countingHandler(o, &calls, func(int64) error { runtime.Goexit(); return nil })), s, time.Hour)
		testkit.Expect(t, "handler calls", calls.Load(), 2)
		o.expectPoison(t, "attempts")
	})
}

// TestWrappedPoison: RetryAfter and Poison apply, whatever error they wrap.
func TestWrappedPoison(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		var calls atomic.Int64
		w := o.worker(t, fastPolling(), countingHandler(o, &calls, func(n int64) error {
			return errorIf(n == 1, eventual.RetryAfter(time.Hour, table.ErrChanged), eventual.Poison(table.ErrChanged))
		}))
		began := time.Now()
		runUntilEmpty(t, w, s, 3*time.Hour)
		atLeast(t, "time", time.Since(began), time.Hour)
		testkit.Expect(t, "handler calls", calls.Load(), 2)
		o.expectPoison(t, "handler")
	})
}

// TestEffectInStages: a handler that completes its effect by a write with the same effect is called for the new effect, too.
func TestEffectInStages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := newOffice(t, noPauses())
	steps, err := baretest.WithOutbox(o.base, o.out, bare.OnChange("step", func(c *extend.Change[clerk]) (struct{}, bool) { return struct{}{}, c.New.Last != "xxx" }))
	noError(t, err)
	_, err = steps.Insert(ctx, &clerk{"S", 1, ""})
	noError(t, err)
	calls := 0
	h := bare.NewHandler("step", steps, func(ctx context.Context, j eventual.Job, _ struct{}) error {
		calls++
		e, err := steps.Get(ctx, at("S", 1))
		if err != nil {
			return err
		}
		e.Value.Last += "x"
		record, index := host.RecordOf(j)
		return records.Completing(steps, record, index).Replace(ctx, e)
	})
	drain(t, o.worker(t, fastPolling(), h))
	testkit.Expect(t, "handler calls", calls, 3)
	testkit.Expect(t, "last name", fmt.Sprint(s.Rows("staff")[0].Get("Last")), "xxx")
	testkit.Expect(t, "states of commit records", recordStates(s), "done")
}

// TestCompletedThenFailed: if a handler completes its effect by a write and then fails, the next effect is still executed.
func TestCompletedThenFailed(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.addParcels(t)
	o.insert(t, clerk{"S", 1, "Jones"})
	h := o.handle(func(ctx context.Context, j eventual.Job) error {
		e, err := o.base.Get(ctx, at("S", 1))
		if err == nil {
			record, index := host.RecordOf(j)
			err = baretest.Touch(ctx, records.Completing(o.base, record, index), e)
		}
		if err != nil {
			return err
		}
		return eventual.Poison(errors.New("too late"))
	})
	sent := 0
	w := o.worker(t, fastPolling(), h, bare.NewHandler("parcel", o.base, func(context.Context, eventual.Job, letter) error { sent++; return nil }))
	drain(t, w)
	testkit.Expect(t, "parcels", sent, 1)
	testkit.Expect(t, "poison messages", len(s.Messages("poison")), 1)
}
