package eventual_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// failing is a handler of letters that counts its calls and fails as it is told.
func failing(o *office, calls *atomic.Int64, how func(n int64) error) eventual.Handler {
	return eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error { return how(calls.Add(1)) }}
}

func workerOf(o *office, h eventual.Handler, opt eventual.WorkerOptions) *eventual.Worker {
	w, err := eventual.NewWorker(o.acc.Queue("hints"), o.acc.Queue("poison"), []eventual.Handler{h}, &opt)
	check(err)
	return w
}

// rounds lets time pass until a worker has nothing left to do, for so long at most.
func rounds(w *eventual.Worker, s *storagetest.Service, most time.Duration) {
	for end := s.Now().Add(most); s.Now().Before(end); {
		check(w.Drain(context.Background()))
		left := s.Messages("hints")
		if len(left) == 0 {
			return
		}
		first := slices.MinFunc(left, func(a, b storagetest.Message) int { return a.Visible.Compare(b.Visible) })
		time.Sleep(min(first.Visible.Sub(s.Now()), end.Sub(s.Now())))
	}
}

// TestSettledByReturnValue: what a handler returns decides.
func TestSettledByReturnValue(t *testing.T) {
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

func when(is bool, errs ...error) error {
	if is {
		return errs[0]
	}
	if len(errs) > 1 {
		return errs[1]
	}
	return nil
}

func poisonOf(t *testing.T, o *office) (all []eventual.PoisonMessage) {
	t.Helper()
	q, err := eventual.NewPoisonQueue(o.acc.Queue("poison"), nil)
	check(err)
	for p, err := range q.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// put stores a message as somebody else might.
func put(o *office, text string) {
	_, err := o.acc.Queue("hints").EnqueueMessage(context.Background(), text, nil)
	check(err)
}

// TestUntrusted: what others put into the queue. Nothing of it makes a worker do anything but what is due anyway.
func TestUntrusted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fresh := opAt(time.Now())
	message := func(tab, partition, op string) string {
		return fmt.Sprintf(`{"v":1,"table":%q,"partition":%q,"op":%q}`, tab, partition, op)
	}
	for what, c := range map[string]struct {
		text   string
		poison string
		later  bool
	}{
		"not JSON":             {text: "hello", poison: eventual.ClassUndecodable},
		"empty":                {text: " ", poison: eventual.ClassUndecodable},
		"JSON of another kind": {text: `{"order":17}`, poison: eventual.ClassUndecodable},
		"a list":               {text: `[1,2]`, poison: eventual.ClassUndecodable},
		"base64 of nothing":    {text: "aGVsbG8=", poison: eventual.ClassUndecodable},
		"no operation":         {text: `{"v":1,"table":"staff","partition":"S"}`, poison: eventual.ClassUndecodable},
		"of an hour":           {text: `{"v":1,"table":"staff","partition":"S","hour":"2026-01-01T00:00:00Z"}`}, // which asks for what is due
		"bad operation":        {text: message("staff", "S", "' or 1 eq 1"), poison: eventual.ClassUndecodable},
		"escape in a table":    {text: `{"v":1,"table":"staff\u001b[2J","partition":"S","op":"` + fresh + `"}`, poison: eventual.ClassUndecodable},
		"no table's name":      {text: message("a-b", "S", fresh), poison: eventual.ClassUndecodable},
		"a short table's name": {text: message("ab", "S", fresh), poison: eventual.ClassUndecodable},
		"a long table's name":  {text: message(strings.Repeat("a", 64), "S", fresh), poison: eventual.ClassUndecodable},
		"short operation":      {text: message("staff", "S", fresh[1:]), poison: eventual.ClassUndecodable},
		"escape in operation":  {text: `{"v":1,"table":"payroll","partition":"S","op":"\u001b[2J` + fresh[4:] + `"}`, poison: eventual.ClassUndecodable},
		"operation elsewhere":  {text: message("payroll", "S", "x"), poison: eventual.ClassUndecodable},
		"no hour":              {text: `{"v":1,"table":"staff","partition":"S","hour":"\u001b[2J"}`, poison: eventual.ClassUndecodable},
		"empty partition":      {text: message("staff", "", fresh), poison: eventual.ClassUndecodable},
		"bad partition":        {text: `{"v":1,"table":"staff","partition":"a/b","op":"` + fresh + `"}`, poison: eventual.ClassUndecodable},
		"foreign table":        {text: message("payroll", "S", fresh), later: true},
		"later version":        {text: `{"v":2,"tables":["staff"],"what":"ever"}`, later: true},
		"old operation":        {text: message("staff", "S", opAt(time.Now().Add(-25*time.Hour))), poison: eventual.ClassExpired},
		"of a time to come":    {text: message("staff", "S", opAt(time.Now().Add(48*time.Hour))), poison: eventual.ClassUndecodable},
		"never committed":      {text: message("staff", "S", fresh)},
		"other case":           {text: message("STAFF", "S", fresh)},
		"forged counts":        {text: `{"v":1,"table":"staff","partition":"S","op":"` + fresh + `","uncounted":-5,"since":"2999-01-01T00:00:00Z"}`},
		"oversized":            {text: message("staff", "S", fresh) + strings.Repeat(" ", 60_000)},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o, s := opened(t, quick())
			put(o, c.text)
			before := len(s.Rows("staff"))
			w := o.worker(options())
			check(w.Drain(ctx))
			stats := w.Stats()
			switch left := s.Messages("hints"); {
			case c.later:
				if len(left) != 1 || stats.Deferred != 1 || left[0].Visible.Before(s.Now().Add(20*time.Second)) {
					t.Error(left, stats)
				}
			case len(left) != 0:
				t.Error(left)
			}
			buried := poisonOf(t, o)
			if c.poison != "" && (len(buried) != 1 || buried[0].Class != c.poison || strings.TrimSpace(buried[0].Text) != strings.TrimSpace(c.text)) || c.poison == "" && len(buried) > 0 {
				t.Errorf("%+v", buried)
			}
			if c.poison == eventual.ClassUndecodable && what != "of a time to come" && buried[0].Table+buried[0].Partition+buried[0].OperationID != "" {
				t.Errorf("it is read all the same: %+v", buried[0])
			}
			if n := len(s.Rows("staff")) - before; n > 1 || n == 1 && (c.poison != "" || c.later) {
				t.Errorf("%d rows are written", n) // at most a marker
			}
			if len(s.Rows("sent")) > 0 {
				t.Error("an effect is carried out that nobody has committed")
			}
		})
	}
}

// opAt is the operation ID of a write that was begun at a time.
func opAt(t time.Time) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	b := make([]byte, 10)
	ms := t.UnixMilli()
	for i := 9; i >= 0; i-- {
		b[i] = digits[ms&31]
		ms >>= 5
	}
	return string(b) + "ABCDEFGHJKMNPQRS"
}

// TestEncodings: messages as other clients write them, plain or in base64, with characters of all sorts.
func TestEncodings(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, d := range []string{"S", "Größe & <more> 'quoted' \"twice\"", "日本語 😀", "a%b"} {
		o, s := opened(t, quick())
		raw, err := table.New(o.acc.Tables(), "staff", table.Schema[table.Row]{}, nil)
		check(err)
		raw, err = raw.With(o.out, eventual.OnChange("letter", func(c *table.Change[table.Row]) (letter, bool) { return letter{1, "Jones"}, true }))
		check(err)
		// As others may have written it, under a key that this library would not make.
		_, err = o.acc.Tables().NewClient("staff").AddEntity(ctx, []byte(fmt.Sprintf(`{"PartitionKey":%q,"RowKey":"r"}`, d)), nil)
		check(err)
		e, err := raw.Get(ctx, rawKey(d))
		check(err)
		check(raw.Replace(ctx, e))
		m := s.Messages("hints")[0]
		for _, c := range m.Text {
			if c >= 0x7F || c < ' ' {
				t.Errorf("%q in a message", c)
			}
		}
		put(o, base64.StdEncoding.EncodeToString([]byte(m.Text)))
		put(o, "\n "+m.Text+"\n")
		opt := options()
		opt.Concurrency = 1
		w := o.worker(opt)
		check(w.Drain(ctx))
		if got := w.Stats(); got.Done != 3 || got.Effects != 1 || len(s.Rows("sent")) != 1 {
			t.Error(d, got)
		}
	}
}

// TestDuplicates: a message that comes a hundred times is carried out once, and asks for little.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	check(err)
	text := s.Messages("hints")[0].Text
	for range 99 {
		put(o, text)
	}
	opt := options()
	opt.Concurrency = 1
	w := o.worker(opt)
	check(w.Drain(ctx))
	if got := w.Stats(); got.Done != 100 || got.Effects != 1 || len(s.Rows("sent")) != 1 || len(poisonOf(t, o)) > 0 {
		t.Error(got)
	}
}

// TestReleases: an effect of a kind or version that this worker does not know waits for a worker that does, without being counted,
// while the others are carried out; after an hour it is poison.
func TestReleases(t *testing.T) {
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
			if n, err := q.Replay(ctx, o.acc.Queue("hints"), func(eventual.PoisonMessage) bool { return true }); n != 1 || err != nil {
				t.Error(n, err)
			}
			rounds(o.worker(opt, eventual.NewHandler("parcel", o.plain, func(context.Context, eventual.Job, letter) error { parcels++; return nil })), s, time.Minute)
			if parcels != 1 || len(poisonOf(t, o)) > 0 {
				t.Error(parcels)
			}
		})
	}
}

// TestNoSecrets: neither the poison queue nor a message holds the text of an error; the log does.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	o, s := opened(t, quick())
	_, err := o.staff.Insert(context.Background(), &clerk{"S", 1, "Jones"})
	check(err)
	var calls atomic.Int64
	var log bytes.Buffer
	opt := options()
	opt.Attempts, opt.Logger = 1, slog.New(slog.NewTextHandler(&log, nil))
	check(workerOf(o, failing(o, &calls, func(int64) error { return errors.New("the password is x") }), opt).Drain(context.Background()))
	if got := s.Messages("poison"); len(got) != 1 || strings.Contains(got[0].Text, "password") {
		t.Error(got)
	}
	for _, want := range []string{"level=ERROR", "poison", "password", "table=staff", "class=attempts", "kind=letter"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in %s", want, log.String())
		}
	}
}
