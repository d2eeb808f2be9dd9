package eventual_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestQueueDown: where the queue does not take the announcement, the write is refused before anything is written.
func TestQueueDown(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, fault := range map[string]storagetest.Fault{
		"busy": storagetest.Refuse(503, "ServerBusy"), "not there": storagetest.NotSent(), "missing": storagetest.Refuse(404, "QueueNotFound"), "lost": storagetest.LostReply(),
	} {
		synctest.Test(t, func(t *testing.T) {
			o, s := opened(t, quick())
			s.SetFaults(storagetest.OfKind("message-put", fault))
			_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
			if !errors.Is(err, table.ErrOutbox) || errors.Is(err, table.ErrUnknownOutcome) || len(s.Rows("staff")) > 0 {
				t.Error(what, err)
			}
			got, want := s.Count(), map[string]string{"missing": "1 message-put", "busy": "more"}[what]
			if want == "" {
				want = "4 message-put"
			}
			if busy, _ := strconv.Atoi(strings.TrimSuffix(got, " message-put")); what == "busy" && busy > 4 && busy < 40 {
				want = got // for as long as the write may take
			}
			if got != want {
				t.Errorf("%s: got %s, want %s", what, got, want)
			}
			s.SetFaults(nil)
			if _, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"}); err != nil {
				t.Error(what, err)
			}
			check(o.worker(options()).Drain(ctx))
			if len(s.Rows("sent")) != 1 || len(poisonOf(t, o)) > 0 {
				t.Error(what, s.Rows("sent"))
			}
		})
	}
}

// TestHidden: an announcement is hidden for twice the time that its write may take, seen at once when the write is done, and taken back
// when it is refused.
func TestHidden(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	var hidden time.Duration
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == "transaction" {
			m := s.Messages("hints")[0]
			hidden = m.Visible.Sub(s.Now())
			if m.Expires.Year() < 9000 {
				t.Error("it expires:", m.Expires)
			}
		}
		return storagetest.Fault{}
	})
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	if err != nil || hidden < 59*time.Second || hidden > time.Minute {
		t.Error(hidden, err)
	}
	if m := s.Messages("hints")[0]; m.Visible.After(s.Now()) {
		t.Error(m.Visible)
	}
	check(o.worker(options()).Drain(ctx))
	if _, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"}); !errors.Is(err, table.ErrExists) || len(s.Messages("hints")) > 0 {
		t.Error(err, s.Messages("hints"))
	}
	long, err := o.plain.With(longing{o.out}, letters())
	check(err)
	var le *table.LimitError
	if _, err := long.Insert(ctx, &clerk{"S", 2, "Jones"}); !errors.As(err, &le) || le.Max != 7*24*3600 {
		t.Error(err)
	}
}

// longing is an outbox that asks for more than a queue can.
type longing struct{ *eventual.Outbox }

func (l longing) Notify(ctx context.Context, a table.Notification) (table.SentNotification, error) {
	a.Hidden = 8 * 24 * time.Hour
	return l.Outbox.Notify(ctx, a)
}

// TestTrapT18: an update of a message without a text wipes it, which is what the SDK does for a caller who only wants to hide it
// for longer. Ours keep the text, whatever they change.
func TestTrapT18(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	o := openOffice(s.ConnectionString(), s, quick())
	check(o.ensure(ctx))
	q := o.acc.Queue("hints")
	sent, err := q.EnqueueMessage(ctx, "text", nil)
	check(err)
	hidden := int32(1)
	_, err = q.UpdateMessage(ctx, *sent.Messages[0].MessageID, *sent.Messages[0].PopReceipt, "", &azqueue.UpdateMessageOptions{VisibilityTimeout: &hidden})
	check(err)
	if got := s.Messages("hints")[0].Text; got != "" {
		t.Error("the trap is gone:", got)
	}
	_, err = q.ClearMessages(ctx, nil)
	check(err)

	_, err = o.staff.Insert(ctx, &clerk{"S", 1, "Jones"}) // Show
	check(err)
	text := s.Messages("hints")[0].Text
	fails := workerOf(o, eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error { return errors.New("no") }}, options())
	check(fails.Drain(ctx)) // Retry
	var was, is map[string]any
	check(json.Unmarshal([]byte(text), &was))
	check(json.Unmarshal([]byte(s.Messages("hints")[0].Text), &is))
	if was["tried"] = 1.0; !maps.Equal(was, is) { // the attempt is noted
		t.Errorf("got %v, want %v", is, was)
	}
	synctest.Test(t, func(t *testing.T) { // Renew
		o, s := opened(t, quick())
		_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
		check(err)
		text := s.Messages("hints")[0].Text
		h := eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error {
			time.Sleep(2 * time.Minute)
			if got := s.Messages("hints")[0].Text; got != text {
				t.Error(got)
			}
			return nil
		}}
		check(workerOf(o, h, options()).Drain(ctx))
	})
}

// TestCleanUp: what the writes of an hour have left in a partition goes a day later, by one message for each partition and hour,
// and what is live or young stays.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		swept := map[string]time.Time{}
		h := o.handler()
		h.Sweep = func(_ context.Context, partition keys.Enc, before time.Time) error {
			swept[partition.String()] = before
			return nil
		}
		opt := options()
		opt.CleanUp = o.acc.Queue("cleanups")
		write := func(n int) {
			for i := range n {
				_, err := o.staff.Upsert(ctx, &clerk{fmt.Sprint("S", i%2), 1, fmt.Sprint(time.Now(), i)}, table.ReplaceExisting)
				check(err)
			}
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour))) // the beginning of an hour
		write(10)
		w, other := workerOf(o, h, opt), workerOf(o, h, opt)
		s.Count()
		check(w.Drain(ctx))
		write(10)
		check(other.Drain(ctx))
		if got := len(s.Messages("cleanups")); got != 2 {
			t.Errorf("%d clean-ups for two partitions in an hour", got)
		}
		time.Sleep(5 * time.Minute)
		_, err := o.staff.Insert(ctx, &clerk{"S0", 2, "Live"}) // nobody carries it out
		check(err)
		stuck := s.Messages("hints")
		_, err = o.acc.Queue("hints").ClearMessages(ctx, nil)
		check(err)
		time.Sleep(20 * time.Hour)
		write(2)
		check(w.Drain(ctx))
		before := intentsOf(s)
		time.Sleep(6*time.Hour + 54*time.Minute)
		check(w.Drain(ctx))
		if got := intentsOf(s); got != before || w.Stats().CleanUps != 0 {
			t.Error("cleaned up too early:", got, before)
		}
		time.Sleep(5 * time.Minute)
		check(w.Drain(ctx))
		if got := w.Stats(); got.CleanUps != 2 || len(swept) != 2 {
			t.Error(got, swept)
		}
		// One that is live, two that are young with the notes of their hour.
		if got := intentsOf(s); got != "done done note note pending" {
			t.Error(got)
		}
		if at := swept["S0"]; s.Now().Sub(at) < 25*time.Hour {
			t.Error(at)
		}
		put(o, stuck[0].Text)
		check(w.Drain(ctx))
		if got := intentsOf(s); strings.Contains(got, "pending") {
			t.Error(got) // old as it is, what was committed is carried out
		}
	})
}

// intentsOf are the states of the intents of staff, and the notes of clean-ups.
func intentsOf(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("staff") {
		switch {
		case strings.HasPrefix(r.RowKey, "~i|"):
			all = append(all, fmt.Sprint(r.Get("State")))
		case strings.HasPrefix(r.RowKey, "~g|"):
			all = append(all, "note")
		}
	}
	return lines(all)
}

// TestCleanUpLost: a clean-up that could not be sent is sent by the next worker; one that the queue has lost is done by that of the
// next hour.
func TestCleanUpLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := opened(t, quick())
		opt := options()
		opt.CleanUp = o.acc.Queue("cleanups")
		write := func() {
			_, err := o.staff.Upsert(ctx, &clerk{"S", 1, fmt.Sprint(time.Now())}, table.ReplaceExisting)
			check(err)
		}
		write()
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == "message-put" && q.Queue == "cleanups" }, storagetest.LostRequest()))
		check(o.worker(opt).Drain(ctx))
		s.SetFaults(nil)
		if len(s.Messages("cleanups")) > 0 {
			t.Fatal("it was not lost")
		}
		time.Sleep(time.Second)
		write()
		check(o.worker(opt).Drain(ctx)) // who comes next in the same hour finds that nobody has sent it
		if len(s.Messages("cleanups")) != 1 {
			t.Error("nobody sends it again")
		}
		_, err := o.acc.Queue("cleanups").ClearMessages(ctx, nil) // and somebody clears the queue
		check(err)
		time.Sleep(time.Hour)
		write()
		check(o.worker(opt).Drain(ctx))
		time.Sleep(28 * time.Hour)
		w := o.worker(opt)
		check(w.Drain(ctx))
		if got := intentsOf(s); got != "" || w.Stats().CleanUps != 1 {
			t.Error(got, w.Stats())
		}
	})
}

// TestCleanUpForged: a clean-up goes by the age of things, and only where a handler is registered.
func TestCleanUpForged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
	check(err)
	opt := options()
	opt.CleanUp = o.acc.Queue("cleanups")
	w := o.worker(opt)
	check(w.Drain(ctx))
	_, err = o.acc.Queue("cleanups").ClearMessages(ctx, nil)
	check(err)
	for _, text := range []string{
		`{"v":1,"table":"staff","partition":"S","hour":"2999-01-01T00:00:00Z"}`, `{"v":1,"table":"sent","partition":"S","hour":"2026-01-01T00:00:00Z"}`, `nonsense`,
	} {
		_, err := o.acc.Queue("cleanups").EnqueueMessage(ctx, text, nil)
		check(err)
	}
	before := len(s.Rows("staff"))
	check(w.Drain(ctx))
	if got := w.Stats(); len(s.Rows("staff")) != before || got.CleanUps != 1 || got.Deferred != 1 || got.Poisoned != 1 {
		t.Error(got, s.Rows("staff"))
	}
}

// TestPoisonQueue: what workers have given up can be listed without being touched, dropped, and replayed, one by one.
func TestPoisonQueue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	for i := range 40 {
		_, err := o.staff.Insert(ctx, &clerk{fmt.Sprint("S", i), i, "Jones"})
		check(err)
	}
	put(o, "junk")
	never := workerOf(o, eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error { return eventual.Poison(nil) }}, options())
	check(never.Drain(ctx))
	q, err := eventual.NewPoisonQueue(o.acc.Queue("poison"), nil)
	check(err)
	for range 2 { // twice, for nothing is changed by it
		if got := poisonOf(t, o); len(got) != 41 {
			t.Fatal(len(got))
		}
	}
	for p, err := range q.List(ctx) {
		check(err)
		if p.ID != "" {
			break
		}
	}
	n, err := q.Drop(ctx, func(p eventual.PoisonMessage) bool { return p.Class == eventual.ClassUndecodable })
	if n != 1 || err != nil {
		t.Error(n, err)
	}
	s.SetFaults(storagetest.OfKind("message-put", storagetest.Refuse(503, "ServerBusy")))
	if n, err := q.Replay(ctx, o.acc.Queue("hints"), func(eventual.PoisonMessage) bool { return true }); n != 0 || err == nil {
		t.Error(n, err)
	}
	s.SetFaults(nil)
	n, err = q.Replay(ctx, o.acc.Queue("hints"), func(p eventual.PoisonMessage) bool { return p.Partition != "S7" })
	if n != 39 || err != nil {
		t.Error(n, err)
	}
	check(o.worker(options()).Drain(ctx))
	if left := poisonOf(t, o); len(left) != 1 || left[0].Partition != "S7" || len(s.Rows("sent")) != 39 {
		t.Error(left, len(s.Rows("sent")))
	}
}

// TestPoisonFirst: a message is copied before it is deleted: where the poison queue does not take it, it stays.
func TestPoisonFirst(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := opened(t, quick())
	put(o, "junk")
	var order []string
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == "message-put" || q.Kind == "message-delete" {
			order = append(order, q.Kind)
		}
		if q.Kind == "message-put" && len(order) <= 4 {
			return storagetest.Refuse(503, "ServerBusy")
		}
		return storagetest.Fault{}
	})
	w := o.worker(options())
	check(w.Drain(ctx))
	if len(s.Messages("hints")) != 1 || w.Stats().Poisoned != 0 || w.Stats().QueueFailures != 1 {
		t.Error(s.Messages("hints"), w.Stats())
	}
	s.Advance(time.Hour)
	check(w.Drain(ctx))
	if got := strings.Join(order, " "); got != "message-put message-put message-put message-put message-put message-delete" || len(poisonOf(t, o)) != 1 {
		t.Error(got)
	}
	// One that is as large as a message can be leaves no room for more, and is copied as it is.
	large := strings.Repeat("x", 64<<10)
	put(o, large)
	check(w.Drain(ctx))
	if p := poisonOf(t, o); len(p) != 2 || p[0].Text != large && p[1].Text != large {
		t.Error(len(p))
	}
}

// TestRefusals: what cannot be is told when it is made, with the field's name.
func TestRefusals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, _ := opened(t, quick())
	hints, poison := o.acc.Queue("hints"), o.acc.Queue("poison")
	var none *azqueue.QueueClient
	ok := []eventual.Handler{o.handler()}
	for what, c := range map[string]struct {
		queue, poison eventual.Queue
		handlers      []eventual.Handler
		o             eventual.WorkerOptions
		field         string
	}{
		"no queue":        {nil, poison, ok, eventual.WorkerOptions{}, "queue"},
		"a nil queue":     {none, poison, ok, eventual.WorkerOptions{}, "queue"},
		"no poison queue": {hints, nil, ok, eventual.WorkerOptions{}, "poison"},
		"no kind":         {hints, poison, []eventual.Handler{{Table: o.plain, Handle: ok[0].Handle}}, eventual.WorkerOptions{}, "handlers[0]"},
		"no table":        {hints, poison, []eventual.Handler{{Kind: "x", Handle: ok[0].Handle}}, eventual.WorkerOptions{}, "handlers[0]"},
		"no function":     {hints, poison, []eventual.Handler{{Kind: "x", Table: o.plain}}, eventual.WorkerOptions{}, "handlers[0]"},
		"a kind twice":    {hints, poison, []eventual.Handler{ok[0], ok[0]}, eventual.WorkerOptions{}, "handlers[1]"},
		"Concurrency":     {hints, poison, ok, eventual.WorkerOptions{Concurrency: -1}, "WorkerOptions.Concurrency"},
		"Visibility":      {hints, poison, ok, eventual.WorkerOptions{Visibility: time.Millisecond}, "WorkerOptions.Visibility"},
		"MaxWait":         {hints, poison, ok, eventual.WorkerOptions{MaxWait: -1}, "WorkerOptions.MaxWait"},
	} {
		_, err := eventual.NewWorker(c.queue, c.poison, c.handlers, &c.o)
		var ve *table.ValueError
		if !errors.As(err, &ve) || ve.Field != c.field || strings.Contains(err.Error(), "property") { // it is an argument or an option
			t.Errorf("%s: %v", what, err)
		}
	}
	var le *table.LimitError
	if _, err := eventual.NewWorker(hints, poison, ok, &eventual.WorkerOptions{Visibility: 8 * 24 * time.Hour}); !errors.As(err, &le) || le.Field != "WorkerOptions.Visibility" {
		t.Error(err)
	}
	var ve *table.ValueError
	if _, err := eventual.NewOutbox(none, nil); !errors.As(err, &ve) {
		t.Error(err)
	}
	if _, err := eventual.NewPoisonQueue(nil, nil); !errors.As(err, &ve) {
		t.Error(err)
	}
	lost, err := eventual.NewWorker(o.acc.Queue("nowhere"), poison, ok, nil)
	check(err)
	if err := lost.Run(ctx); !errors.Is(err, eventual.ErrQueueNotFound) {
		t.Error(err)
	}
	if _, err := lost.Backlog(ctx); !errors.Is(err, eventual.ErrQueueNotFound) {
		t.Error(err)
	}
	check(lost.Ensure(ctx))
	check(lost.Ensure(ctx)) // idempotent
	if n, err := lost.Backlog(ctx); n != 0 || err != nil {
		t.Error(n, err)
	}
	check(lost.Drain(ctx))
}

// TestEffectsLimit: effects that are too many for an intent are refused before the queue hears of them.
func TestEffectsLimit(t *testing.T) {
	t.Parallel()
	o, s := opened(t, quick())
	staff, err := o.plain.With(o.out, eventual.OnChange("letter", func(*table.Change[clerk]) (string, bool) { return strings.Repeat("x", 300_000), true }))
	check(err)
	var le *table.LimitError
	if _, err := staff.Insert(context.Background(), &clerk{"S", 1, "Jones"}); !errors.As(err, &le) || s.Count() != "none" {
		t.Error(err)
	}
	staff, err = o.plain.With(o.out, eventual.OnChange("letter", func(*table.Change[clerk]) (func(), bool) { return func() {}, true }))
	check(err)
	if _, err := staff.Insert(context.Background(), &clerk{"S", 1, "Jones"}); err == nil || s.Count() != "none" {
		t.Error(err)
	}
}
