package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/options"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/requests"
)

// TestSeveralEffects: a message with two effects becomes poison only when neither effect is still due, and an unknown kind does not
// end the delay that a handler has requested.
func TestSeveralEffects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		letter  func(n int64) error
		parcel  func(n int64) error // nil: unknown kind
		took    time.Duration       // at least
		class   string              // of poison
		letters int64               // calls of the handler; 0: any number
	}{
		"one fails once, one is poison":     {letter: func(n int64) error { return errorIf(n == 1, errors.New("no")) }, parcel: func(int64) error { return eventual.Poison(nil) }, class: "handler", letters: 2},
		"one is deferred, one is poison":    {letter: func(n int64) error { return errorIf(n == 1, eventual.RetryAfter(time.Minute, nil)) }, parcel: func(int64) error { return eventual.Poison(nil) }, class: "handler", letters: 2, took: time.Minute},
		"one fails always, one is deferred": {letter: func(n int64) error { return errorIf(n == 1, eventual.RetryAfter(time.Hour, nil)) }, parcel: func(int64) error { return errors.New("no") }, class: "attempts", letters: 10, took: time.Hour},
		"one is unknown, one is deferred":   {letter: func(n int64) error { return errorIf(n < 30, eventual.RetryAfter(5*time.Minute, nil)) }, class: "unknown", took: 2 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := newOffice(t, noPauses())
				o.addParcels(t)
				o.insert(t, clerk{"S", 1, "Jones"})
				var letters, parcels atomic.Int64
				handlers := []host.Handler{countingHandler(o, &letters, c.letter)}
				if c.parcel != nil {
					handlers = append(handlers, host.Handler{Kind: "parcel", Table: o.base, Handle: func(context.Context, eventual.Job) error { return c.parcel(parcels.Add(1)) }})
				}
				w := o.worker(t, fastPolling(), handlers...)
				began := time.Now()
				runUntilEmpty(t, w, s, 5*time.Hour)
				atLeast(t, "time", time.Since(began), c.took)
				o.expectPoison(t, c.class)
				if c.letters > 0 {
					testkit.Expect(t, "calls of the handler of letters", letters.Load(), c.letters)
				}
			})
		})
	}
}

// TestUnknownKind: an effect of an unknown kind waits for a worker that knows the kind, without counting attempts, and other
// effects are executed. After an hour without such a worker, the message is poison, and can be replayed.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			o, s := newOffice(t, noPauses())
			o.addParcels(t)
			o.insert(t, clerk{"S", 1, "Jones"})
			opt := fastPolling()
			opt.Attempts = 2
			older := o.worker(t, opt)
			runUntilEmpty(t, older, s, 30*time.Minute)
			atLeast(t, "messages deferred", older.Stats().Deferred, 50)
			testkit.Expect(t, "messages done", older.Stats().Completed, 0)
			testkit.Expect(t, "letters", len(s.Rows("sent")), 1)
			parcels := 0
			newer := o.worker(t, opt, o.handler(), bare.NewHandler("parcel", o.base, func(context.Context, eventual.Job, letter) error { parcels++; return nil }))
			if !known {
				began := time.Now()
				runUntilEmpty(t, older, s, time.Hour)
				atLeast(t, "time", time.Since(began), 29*time.Minute)
				atMost(t, "time", time.Since(began), 32*time.Minute)
				testkit.Expect(t, "kind of poison", o.expectPoison(t, "unknown")[0].Kind, "parcel")
				n, err := o.poisonQueue(t).Replay(ctx, func(eventual.PoisonMessage) bool { return true })
				noError(t, err)
				testkit.Expect(t, "messages replayed", n, 1)
			}
			runUntilEmpty(t, newer, s, time.Minute)
			testkit.Expect(t, "messages done", newer.Stats().Completed, 1)
			testkit.Expect(t, "parcels", parcels, 1)
			o.expectPoison(t)
		})
	}
}

// TestClockAhead: a message of a write whose clock is two days ahead waits for the commit record, without counting attempts, and the
// effect is executed. After an hour without a commit record, the message is poison of a class of its own. No row is stored.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			o, s := newOffice(t, noPauses())
			ahead := noPauses()
			began := time.Now()
			options.SetNow(&ahead, func() time.Time { return began.Add(48 * time.Hour) })
			options.SetNewID(&ahead, func() string { return operationIDAt(began)[10:] })
			op := operationIDAt(began.Add(48 * time.Hour))
			o.put(t, "notifications", fmt.Sprintf(`{"v":1,"table":"staff","partition":"S","op":%q}`, op))
			opt := fastPolling()
			opt.Attempts, opt.PerPartition = 2, 1 // the write has two messages: the forged one, and its own
			w := o.worker(t, opt)
			runUntilEmpty(t, w, s, 30*time.Minute)
			atLeast(t, "messages deferred", w.Stats().Deferred, 50)
			testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: w.Stats().Deferred, Deferred: w.Stats().Deferred})
			testkit.Expect(t, "requests to the table", s.Count()[requests.Get], w.Stats().Deferred)
			testkit.Expect(t, "rows", len(s.Rows("staff")), 0)
			if commits {
				officeOn(t, s, s, ahead).insert(t, clerk{"S", 1, "Jones"})
				runUntilEmpty(t, w, s, 2*time.Minute)
				testkit.Expect(t, "states", recordStates(s), "done")
				testkit.Expect(t, "effects", w.Stats().Effects, 1)
				o.expectPoison(t)
				return
			}
			runUntilEmpty(t, w, s, time.Hour)
			atLeast(t, "time", time.Since(began), time.Hour)
			atMost(t, "time", time.Since(began), 62*time.Minute)
			testkit.Expect(t, "operation ID of poison", o.expectPoison(t, "ahead")[0].OperationID, op)
			testkit.Expect(t, "rows", len(s.Rows("staff")), 0)
		})
	}
}

// TestUnknownKindClocks: a worker whose clock is behind does not take the time that another worker has just stored in a message for
// old.
func TestUnknownKindClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(t, noPauses())
		o.put(t, "notifications", `{"v":2}`)
		time.Sleep(2 * time.Hour) // no worker was running
		ahead, behind := fastPolling(), fastPolling()
		options.SetNow(&ahead.Common, func() time.Time { return time.Now().Add(time.Minute) })
		drain(t, o.worker(t, ahead))
		time.Sleep(31 * time.Second)
		drain(t, o.worker(t, behind))
		testkit.Expect(t, "messages left after half a minute", len(s.Messages("notifications")), 1)
		testkit.Expect(t, "poison messages after half a minute", len(s.Messages("poison")), 0)
	})
}
