package eventual_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// parcels gives an office's writes a second effect.
func parcels(o *office) {
	var err error
	o.staff, err = o.staff.With(nil, eventual.OnChange("parcel", func(*table.Change[clerk]) (letter, bool) { return letter{}, true }))
	check(err)
}

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
				w, err := eventual.NewWorker(o.acc.Queue("hints"), o.acc.Queue("poison"), hs, &opt)
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

// TestStages: a handler that settles its effect with a write that has the same effect again is called for that, too.
func TestStages(t *testing.T) {
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

// TestSettledAndFailed: a handler that has settled its effect and fails then does not make the worker pass over the next one.
func TestSettledAndFailed(t *testing.T) {
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
	w, err := eventual.NewWorker(o.acc.Queue("hints"), o.acc.Queue("poison"), []eventual.Handler{h, eventual.NewHandler("parcel", o.plain, func(context.Context, eventual.Job, letter) error { sent++; return nil })}, &opt)
	check(err)
	check(w.Drain(ctx))
	if sent != 1 || len(s.Messages("poison")) != 1 {
		t.Error(sent, w.Stats())
	}
}

// TestBrokenIntent: an intent that nobody can read is poison after so many attempts.
func TestBrokenIntent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
		check(err)
		for _, r := range s.Rows("staff") {
			if strings.HasPrefix(r.RowKey, "~i|") {
				_, err := o.acc.Tables().NewClient("staff").UpdateEntity(ctx, []byte(fmt.Sprintf(`{"PartitionKey":"S","RowKey":%q,"State":"odd"}`, r.RowKey)), nil)
				check(err)
			}
		}
		w := o.worker(options())
		rounds(w, s, 5*time.Hour)
		if p := poisonOf(t, o); len(p) != 1 || p[0].Class != eventual.ClassAttempts || w.Stats().Received != 10 {
			t.Error(p, w.Stats())
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

// TestLongKeys: a partition whose key is as long as it can be.
func TestLongKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	rows, err := table.New(o.acc.Tables(), "staff", table.Schema[table.Row]{}, nil)
	check(err)
	rows, err = rows.With(o.out, eventual.OnChange("letter", func(c *table.Change[table.Row]) (letter, bool) { return letter{1, "x"}, true }))
	check(err)
	for _, k := range []string{"A" + strings.Repeat("中", 511), strings.Repeat("x", 512), "A" + strings.Repeat("😀", 255)} {
		_, err := rows.Insert(ctx, &table.Row{Key: keys.At(keys.Raw(k), keys.Raw("r"))})
		check(err)
	}
	w := o.worker(options())
	check(w.Drain(ctx))
	if got := w.Stats(); got.Done != 3 || got.Effects != 3 || len(s.Messages("poison")) > 0 {
		t.Error(got)
	}
}

// TestNoSignatures: a handler's error that holds an address with a signature is logged without it.
func TestNoSignatures(t *testing.T) {
	t.Parallel()
	o, _ := opened(t, quick())
	_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
	check(err)
	var calls atomic.Int64
	var log bytes.Buffer
	opt := options()
	opt.Logger = slog.New(slog.NewTextHandler(&log, nil))
	secret := &url.Error{Op: "Get", URL: "https://x.table.core.windows.net/staff?sv=1&sig=SECRET", Err: errors.New("timeout")}
	check(workerOf(o, failing(o, &calls, func(int64) error { return secret }), opt).Drain(context.Background()))
	if strings.Contains(log.String(), "SECRET") || !strings.Contains(log.String(), "timeout") {
		t.Error(log.String())
	}
}

// TestDrainIsHonest: Drain returns nil only when there is nothing to be seen: not where its context is over, and not where the messages
// of one partition are too many to be worked on at once.
func TestDrainIsHonest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	for i := range 40 {
		_, err := o.staff.Insert(ctx, &clerk{"S", i, "Jones"})
		check(err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	w := o.worker(options())
	if err := w.Drain(over); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	check(w.Drain(ctx))
	if len(s.Messages("hints")) > 0 || len(s.Rows("sent")) != 40 {
		t.Error(len(s.Messages("hints")), len(s.Rows("sent")))
	}
}
