package eventual_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/table"
)

// TestSeveralEffects: what becomes of a message with two effects: it is poison only when nothing else is to be done, and what waits for
// a worker of another release does not end what a handler has put off.
func TestSeveralEffects(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		letter  func(n int64) error
		parcel  func(n int64) error // nil: nobody knows it
		took    time.Duration       // at least
		class   string              // of poison
		letters int64
	}{
		"one fails once, one is poison":    {letter: func(n int64) error { return when(n == 1, errors.New("no")) }, parcel: func(int64) error { return eventual.Poison(nil) }, class: eventual.ClassHandler, letters: 2},
		"one is put off, one is poison":    {letter: func(n int64) error { return when(n == 1, eventual.RetryAfter(time.Minute, nil)) }, parcel: func(int64) error { return eventual.Poison(nil) }, class: eventual.ClassHandler, letters: 2, took: time.Minute},
		"one fails always, one is put off": {letter: func(n int64) error { return when(n == 1, eventual.RetryAfter(time.Hour, nil)) }, parcel: func(int64) error { return errors.New("no") }, class: eventual.ClassAttempts, letters: 10, took: time.Hour},
		"one is unknown, one is put off":   {letter: func(n int64) error { return when(n < 30, eventual.RetryAfter(5*time.Minute, nil)) }, class: eventual.ClassUnknown, took: 2 * time.Hour},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, s := opened(t, quick())
				parcels(o)
				_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
				check(err)
				var calls, others atomic.Int64
				hs := []eventual.Handler{failing(o, &calls, c.letter)}
				if c.parcel != nil {
					hs = append(hs, eventual.Handler{Kind: "parcel", Table: o.plain, Handle: func(context.Context, eventual.Job) error { return c.parcel(others.Add(1)) }})
				}
				opt := options()
				w, err := eventual.NewWorker(o.acc.Queue("notifications"), o.acc.Queue("poison"), hs, &opt)
				check(err)
				start := time.Now()
				rounds(w, s, 5*time.Hour)
				p := poisonOf(t, o)
				if took := time.Since(start); took < c.took || len(p) != 1 || p[0].Class != c.class || c.letters > 0 && calls.Load() != c.letters {
					t.Error(took, p, calls.Load(), w.Stats())
				}
			})
		})
	}
}

// TestUnknownKind: an effect of a kind or version that this worker does not know waits for a worker that does, without being counted,
// while the others are carried out; after an hour it is poison.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	for _, comes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx := context.Background()
			o, s := opened(t, quick())
			staff, err := o.staff.With(nil, eventual.OnChange("parcel", func(*table.Change[clerk]) (letter, bool) { return letter{}, true }))
			check(err)
			_, err = staff.Insert(ctx, &clerk{"S", 1, "Jones"})
			check(err)
			opt := options()
			opt.Attempts = 2
			before := o.worker(opt)
			rounds(before, s, 30*time.Minute)
			if got := before.Stats(); got.Deferred < 50 || got.Done > 0 || len(s.Rows("sent")) != 1 {
				t.Error(got)
			}
			parcels := 0
			if comes {
				after := o.worker(opt, eventual.NewHandler("parcel", o.plain, func(context.Context, eventual.Job, letter) error { parcels++; return nil }))
				rounds(after, s, time.Minute)
				if got := after.Stats(); got.Done != 1 || parcels != 1 {
					t.Error(got, parcels)
				}
				return
			}
			start := time.Now()
			rounds(before, s, time.Hour)
			p := poisonOf(t, o)
			if took := time.Since(start); took < 29*time.Minute || took > 32*time.Minute || len(p) != 1 || p[0].Class != eventual.ClassUnknown || p[0].Kind != "parcel" {
				t.Error(took, p)
			}
			// Replayed, it is worked on again: what was poison is not lost.
			q, err := eventual.NewPoisonQueue(o.acc.Queue("poison"), nil)
			check(err)
			if n, err := q.Replay(ctx, o.acc.Queue("notifications"), func(eventual.PoisonMessage) bool { return true }); n != 1 || err != nil {
				t.Error(n, err)
			}
			rounds(o.worker(opt, eventual.NewHandler("parcel", o.plain, func(context.Context, eventual.Job, letter) error { parcels++; return nil })), s, time.Minute)
			if parcels != 1 || len(poisonOf(t, o)) > 0 {
				t.Error(parcels)
			}
		})
	}
}

// TestUnknownKindClocks: a worker whose clock is behind another's does not take what that one has just noted for old.
func TestUnknownKindClocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		put(o, `{"v":2}`)
		time.Sleep(2 * time.Hour) // it has waited
		ahead, behind := options(), options()
		ahead.Now = func() time.Time { return time.Now().Add(time.Minute) }
		check(o.worker(ahead).Drain(context.Background()))
		time.Sleep(31 * time.Second)
		check(o.worker(behind).Drain(context.Background()))
		if len(s.Messages("notifications")) != 1 || len(s.Messages("poison")) > 0 {
			t.Error("it is poison after half a minute")
		}
	})
}
