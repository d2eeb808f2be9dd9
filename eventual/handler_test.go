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

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/table"
)

// TestHandlerResult: what a handler returns decides.
func TestHandlerResult(t *testing.T) {
	t.Parallel()
	wrong := errors.New("it fails")
	for what, c := range map[string]struct {
		how      func(n int64) error
		calls    int64
		took     time.Duration // at least
		poison   string        // class
		attempts int
		stats    eventual.Stats
	}{
		"done":          {how: func(int64) error { return nil }, calls: 1, stats: eventual.Stats{Done: 1, Effects: 1}},
		"fails twice":   {how: func(n int64) error { return when(n < 3, wrong) }, calls: 3, took: 2 * time.Second, stats: eventual.Stats{Done: 1, Retried: 2, Effects: 1}},
		"always":        {how: func(int64) error { return wrong }, calls: 4, took: 5 * time.Second, poison: eventual.ClassAttempts, attempts: 4, stats: eventual.Stats{Retried: 3, Poisoned: 1}},
		"poison":        {how: func(int64) error { return fmt.Errorf("no: %w", eventual.Poison(wrong)) }, calls: 1, poison: eventual.ClassHandler, attempts: 1, stats: eventual.Stats{Poisoned: 1}},
		"panics":        {how: func(int64) error { panic("oh") }, calls: 4, took: 5 * time.Second, poison: eventual.ClassAttempts, attempts: 4, stats: eventual.Stats{Retried: 3, Poisoned: 1}},
		"later, often":  {how: func(n int64) error { return when(n < 20, eventual.RetryAfter(10*time.Second, wrong)) }, calls: 20, took: 190 * time.Second, stats: eventual.Stats{Done: 1, Deferred: 19, Effects: 1}},
		"later, failed": {how: func(n int64) error { return when(n%2 == 0, eventual.RetryAfter(time.Second, nil), wrong) }, calls: 7, took: 8 * time.Second, poison: eventual.ClassAttempts, attempts: 4, stats: eventual.Stats{Retried: 3, Deferred: 3, Poisoned: 1}},
		"changed twice": {how: func(n int64) error { return when(n < 3, error(table.ErrChanged)) }, calls: 3, took: 2 * time.Second, stats: eventual.Stats{Done: 1, Retried: 2, Effects: 1}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := opened(t, quick())
				_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
				check(err)
				var calls atomic.Int64
				opt := options()
				opt.Attempts = 4
				w := workerOf(o, failing(o, &calls, c.how), opt)
				start := time.Now()
				rounds(w, s, time.Hour)
				if took := time.Since(start); calls.Load() != c.calls || took < c.took || took > 2*c.took+10*time.Second {
					t.Errorf("%d calls, %v", calls.Load(), took)
				}
				got := w.Stats()
				got.Received = 0
				if got != c.stats {
					t.Errorf("%+v, not %+v", got, c.stats)
				}
				buried := poisonOf(t, o)
				if c.poison == "" != (len(buried) == 0) {
					t.Fatal(buried)
				}
				if c.poison != "" {
					p := buried[0]
					if p.Class != c.poison || p.Attempts != c.attempts || p.Kind != "letter" || p.Table != "staff" || p.Partition != "S" || len(p.OperationID) != 26 {
						t.Errorf("%+v", p)
					}
				}
			})
		})
	}
}

// TestTimeout: a handler that takes too long is ended, and counted.
func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		var why causes
		opt := options()
		opt.HandlerTimeout, opt.Attempts = time.Minute, 2
		w := workerOf(o, slow(o, time.Hour, why.add), opt)
		start := time.Now()
		rounds(w, s, time.Hour)
		if took := time.Since(start); len(why.all) != 2 || took > 3*time.Minute || len(poisonOf(t, o)) != 1 {
			t.Error(took, why.all)
		}
	})
}

// TestGoexit: a handler that ends its goroutine has failed.
func TestGoexit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		var calls atomic.Int64
		opt := options()
		opt.Attempts = 2
		rounds(workerOf(o, failing(o, &calls, func(int64) error { runtime.Goexit(); return nil }), opt), s, time.Hour)
		if calls.Load() != 2 || len(poisonOf(t, o)) != 1 {
			t.Error(calls.Load())
		}
	})
}

// TestWrappedPoison: what a handler says of its effect counts, whatever error it wraps.
func TestWrappedPoison(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		var calls atomic.Int64
		w := workerOf(o, failing(o, &calls, func(n int64) error {
			return when(n == 1, eventual.RetryAfter(time.Hour, table.ErrChanged), eventual.Poison(table.ErrChanged))
		}), options())
		start := time.Now()
		rounds(w, s, 3*time.Hour)
		if took := time.Since(start); calls.Load() != 2 || took < time.Hour || len(poisonOf(t, o)) != 1 {
			t.Error(calls.Load(), took)
		}
	})
}

// TestEffectInStages: a handler that settles its effect with a write that has the same effect again is called for that, too.
func TestEffectInStages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	steps, err := o.plain.With(o.out, eventual.OnChange("step", func(c *table.Change[clerk]) (struct{}, bool) { return struct{}{}, c.New.Last != "xxx" }))
	check(err)
	_, err = steps.Insert(ctx, &clerk{"S", 1, ""})
	check(err)
	calls := 0
	h := eventual.NewHandler("step", steps, func(ctx context.Context, j eventual.Job, _ struct{}) error {
		calls++
		e, err := steps.Get(ctx, at("S", 1))
		check(err)
		e.Value.Last += "x"
		return steps.Completing(j.CommitRecord, j.Index).Replace(ctx, e)
	})
	check(workerOf(o, h, options()).Drain(ctx))
	if calls != 3 || s.Rows("staff")[0].Get("Last") != "xxx" || intentsOf(s) != "done" {
		t.Error(calls, s.Rows("staff"))
	}
}

// TestCompletedThenFailed: a handler that has settled its effect and fails then does not make the worker pass over the next one.
func TestCompletedThenFailed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	parcels(o)
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	check(err)
	h := eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(ctx context.Context, j eventual.Job) error {
		e, err := o.plain.Get(ctx, at("S", 1))
		check(err)
		check(o.plain.Completing(j.CommitRecord, j.Index).Touch(ctx, e))
		return eventual.Poison(errors.New("too late"))
	}}
	sent := 0
	opt := options()
	w, err := eventual.NewWorker(o.acc.Queue("notifications"), o.acc.Queue("poison"), []eventual.Handler{h, eventual.NewHandler("parcel", o.plain, func(context.Context, eventual.Job, letter) error { sent++; return nil })}, &opt)
	check(err)
	check(w.Drain(ctx))
	if sent != 1 || len(s.Messages("poison")) != 1 {
		t.Error(sent, w.Stats())
	}
}
