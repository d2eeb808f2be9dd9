package eventual_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
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
	h := eventual.Kind("step", steps, func(ctx context.Context, j eventual.Job, _ struct{}) error {
		calls++
		e, err := steps.Get(ctx, at("S", 1))
		check(err)
		e.Value.Last += "x"
		return steps.Settling(j.Intent, j.Index).Replace(ctx, e)
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
		check(o.plain.Settling(j.Intent, j.Index).Touch(ctx, e))
		return eventual.Poison(errors.New("too late"))
	}}
	sent := 0
	opt := options()
	w, err := eventual.NewWorker(o.acc.Queue("hints"), o.acc.Queue("poison"), []eventual.Handler{h, eventual.Kind("parcel", o.plain, func(context.Context, eventual.Job, letter) error { sent++; return nil })}, &opt)
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

// TestHotPartition: a partition with many more messages than may be worked on costs few requests.
func TestHotPartition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		for i := range 200 {
			_, err := o.staff.Insert(context.Background(), &clerk{"S", i, "Jones"})
			check(err)
		}
		h := eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error { time.Sleep(10 * time.Second); return nil }}
		opt := options()
		opt.Idle = 4 * time.Second
		w := workerOf(o, h, opt)
		s.Count()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		check(w.Run(ctx))
		if got := w.Stats(); got.Done != 200 || got.Received > 200*12 || got.Retried > 0 || len(s.Messages("poison")) > 0 {
			t.Error(got)
		}
	})
}

// TestStopKeepsSuccess: what a handler has carried out while the worker stops is settled.
func TestStopKeepsSuccess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		h := eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(ctx context.Context, _ eventual.Job) error {
			<-ctx.Done()
			return nil // it has just made it
		}}
		opt := options()
		opt.Stop, opt.Attempts = time.Second, 1
		w := workerOf(o, h, opt)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		check(w.Run(ctx))
		if got := w.Stats(); got.Done != 1 || len(s.Messages("hints"))+len(s.Messages("poison")) > 0 {
			t.Error(got)
		}
	})
}

// TestForgedNotes: what a message says of how often it was got, and since when nobody knows it, is not trusted, and does no harm.
func TestForgedNotes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		text := s.Messages("hints")[0].Text
		_, err = o.acc.Queue("hints").ClearMessages(context.Background(), nil)
		check(err)
		put(o, strings.TrimSuffix(text, "}")+`,"UNCOUNTED":1000000000000,"uncounted":1000000000000}`)
		put(o, strings.TrimSuffix(text, "}")+`,"uncounted":-1000000000000,"since":"1970-01-01T00:00:00Z"}`)
		var calls atomic.Int64
		w := workerOf(o, failing(o, &calls, func(int64) error { return errors.New("no") }), options())
		rounds(w, s, 3*time.Hour)
		if got := len(poisonOf(t, o)); got != 2 || calls.Load() != 20 {
			t.Error(got, calls.Load())
		}
		// One of a later version that leaves no room for notes is poison after an hour, too.
		put(o, `{"v":9,"pad":"`+strings.Repeat("x", 64<<10-100)+`"}`)
		start := time.Now()
		w = o.worker(options())
		rounds(w, s, 5*time.Hour)
		if took := time.Since(start); took < time.Hour || took > 2*time.Hour || len(poisonOf(t, o)) != 3 {
			t.Error(took, len(poisonOf(t, o)))
		}
	})
}

// TestClocks: a worker whose clock is behind another's does not take what that one has just noted for old.
func TestClocks(t *testing.T) {
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
		if len(s.Messages("hints")) != 1 || len(s.Messages("poison")) > 0 {
			t.Error("it is poison after half a minute")
		}
	})
}

// TestTablesDown: while the tables cannot be reached no message is poison, for that is no fault of theirs; then all are carried out.
func TestTablesDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		for i := range 5 {
			_, err := o.staff.Insert(context.Background(), &clerk{"S", i, "Jones"})
			check(err)
		}
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Table == "staff" }, storagetest.Refuse(503, "ServerBusy")))
		w := o.worker(options())
		rounds(w, s, 2*time.Hour)
		if got := w.Stats(); got.Poisoned > 0 || got.Later < 20 || got.Received > 1000 {
			t.Error(got)
		}
		s.SetFaults(nil)
		rounds(w, s, time.Hour)
		if len(s.Rows("sent")) != 5 {
			t.Error(s.Rows("sent"))
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

// TestSweepPanics: a handler's sweep that panics is a failed clean-up.
func TestSweepPanics(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.acc.Queue("cleanups").EnqueueMessage(ctx, `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`, nil)
	check(err)
	h := o.handler()
	h.Sweep = func(context.Context, keys.Enc, time.Time) error { panic("oh") }
	opt := options()
	opt.CleanUp = o.acc.Queue("cleanups")
	w := workerOf(o, h, opt)
	check(w.Drain(ctx))
	if w.Stats().Retried != 1 || len(s.Messages("cleanups")) != 1 {
		t.Error(w.Stats())
	}
}

// TestLostDelete: a deletion whose reply is lost is done: what was settled counts as settled.
func TestLostDelete(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	check(err)
	put(o, "junk")
	lost := map[string]bool{}
	s.SetFaults(storagetest.When(func(q storagetest.Request) bool {
		first := q.Kind == "message-delete" && !lost[q.Message]
		lost[q.Message] = lost[q.Message] || first
		return first
	}, storagetest.LostReply()))
	w := o.worker(options())
	check(w.Drain(ctx))
	if got := w.Stats(); got.Done != 1 || got.Poisoned != 1 || got.Lost > 0 {
		t.Error(got)
	}
}

// TestUnstoppable: a worker without a bound for its tries can be stopped all the same.
func TestUnstoppable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := quick()
		c.Retry.TryTimeout = -1
		o, s := opened(t, c)
		s.SetFaults(storagetest.OfKind("message-get", storagetest.Hang()))
		opt := options()
		opt.Common = c
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		check(o.worker(opt).Run(ctx))
		if took := time.Since(start); took > time.Minute {
			t.Error(took)
		}
	})
}

// TestPoisonBesideWorkers: a replay beside a worker that gives up at once ends, and one that takes long says that it has not seen all.
func TestPoisonBesideWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		for i := range 70 {
			put(o, fmt.Sprint("junk", i))
		}
		running, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		w := o.worker(options())
		go func() { defer close(ended); check(w.Run(running)) }()
		time.Sleep(10 * time.Second)
		q, err := eventual.NewPoisonQueue(o.acc.Queue("poison"), nil)
		check(err)
		n, err := q.Replay(ctx, o.acc.Queue("hints"), nil)
		if err != nil || n != 70 {
			t.Error(n, err)
		}
		time.Sleep(10 * time.Second)
		stop()
		<-ended
		if len(s.Messages("poison")) != 70 {
			t.Error(len(s.Messages("poison")))
		}
		seen, incomplete := 0, false
		for _, err := range q.List(ctx) {
			if incomplete = incomplete || errors.Is(err, eventual.ErrIncomplete); err == nil {
				seen++
			}
			time.Sleep(10 * time.Second)
		}
		if !incomplete || seen > 70 {
			t.Error(seen, incomplete)
		}
		if _, err := q.Replay(ctx, nil, nil); err == nil {
			t.Error("into nothing")
		}
		s.SetFaults(storagetest.OfKind("message-update", storagetest.Hang()))
		start := time.Now()
		for _, err := range q.List(ctx) {
			_ = err
		}
		if took := time.Since(start); took > time.Minute {
			t.Error("it does not end for", took)
		}
	})
}

// TestSameQueues: queues that must be two are refused where they are one, and so are two tables of one name.
func TestSameQueues(t *testing.T) {
	t.Parallel()
	o, _ := opened(t, quick())
	other, _ := opened(t, quick())
	q, p := o.acc.Queue("hints"), o.acc.Queue("poison")
	var ve *table.ValueError
	second := other.handler()
	second.Kind = "second"
	for what, c := range map[string]struct {
		poison, cleanUp *azqueue.QueueClient
		handlers        []eventual.Handler
	}{
		"poison": {q, o.acc.Queue("c"), []eventual.Handler{o.handler()}}, "clean-up": {p, q, []eventual.Handler{o.handler()}}, "both": {p, p, []eventual.Handler{o.handler()}},
		"tables": {p, o.acc.Queue("c"), []eventual.Handler{o.handler(), second}},
	} {
		if _, err := eventual.NewWorker(q, c.poison, c.handlers, &eventual.WorkerOptions{CleanUp: c.cleanUp}); !errors.As(err, &ve) {
			t.Error(what, err)
		}
	}
}

// TestDrainLooksAgain: what a handler puts into the queue while Drain looks there in vain is worked on, too.
func TestDrainLooksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, s := opened(t, quick())
		_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
		check(err)
		h := eventual.Kind("letter", o.plain, func(ctx context.Context, j eventual.Job, l letter) error {
			time.Sleep(time.Second) // the queue is empty, and its answer is on its way
			if l.ID == 1 {
				_, err := o.staff.Insert(ctx, &clerk{"S", 2, "Cao"})
				check(err)
			}
			return o.send(ctx, j, l)
		})
		s.SetFaults(storagetest.OfKind("message-get", storagetest.Slow(3*time.Second)))
		check(workerOf(o, h, options()).Drain(context.Background()))
		if len(s.Rows("sent")) != 2 || len(s.Messages("hints")) > 0 {
			t.Error(s.Rows("sent"))
		}
	})
}
