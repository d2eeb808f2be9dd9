package eventual_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// TestPoisonQueue: List changes nothing, and Drop and Replay apply to the messages that match.
func TestPoisonQueue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := newOffice(t, noPauses())
	o.hire(t, 0, 40, 40)
	o.put(t, "notifications", "junk")
	never := o.worker(t, fastPolling(), o.handle(func(context.Context, eventual.Job) error { return eventual.Poison(nil) }))
	drain(t, never)
	q := o.poisonQueue(t)
	for range 2 {
		testkit.Expect(t, "messages listed", len(o.poison(t)), 41)
	}
	for p, err := range q.List(ctx) {
		noError(t, err)
		if p.ID != "" {
			break
		}
	}
	n, err := q.Drop(ctx, func(p eventual.PoisonMessage) bool { return p.Class == "undecodable" })
	noError(t, err)
	testkit.Expect(t, "messages dropped", n, 1)
	s.SetFaults(storagetest.OfKind(kinds.MessagePut, storagetest.Refuse(503, "ServerBusy")))
	if n, err := q.Replay(ctx, func(eventual.PoisonMessage) bool { return true }); n != 0 || err == nil {
		t.Errorf("replay into a busy queue: got %d, %v; want 0 and an error", n, err)
	}
	s.SetFaults(nil)
	n, err = q.Replay(ctx, func(p eventual.PoisonMessage) bool { return p.Partition != "S7" })
	noError(t, err)
	testkit.Expect(t, "messages replayed", n, 39)
	drain(t, o.worker(t, fastPolling()))
	testkit.Expect(t, "partition of the message left", o.expectPoison(t, "handler")[0].Partition, "S7")
	testkit.Expect(t, "letters", len(s.Rows("sent")), 39)
}

// TestReplayOnce: of several poison messages with the same text, one is replayed. A replay ends even if a concurrent worker moves
// the messages to the poison queue again.
func TestReplayOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := newOffice(t, noPauses())
		for range 3 {
			o.put(t, "notifications", "junk")
		}
		o.put(t, "notifications", "more junk")
		drain(t, o.worker(t, fastPolling()))
		q := o.poisonQueue(t)
		n, err := q.Replay(ctx, nil)
		noError(t, err)
		testkit.Expect(t, "messages replayed", n, 2)
		testkit.Expect(t, "messages", len(s.Messages("notifications")), 2)
		testkit.Expect(t, "poison messages left", len(s.Messages("poison")), 2)
		drain(t, o.worker(t, fastPolling()))
		stop := start(t, o.worker(t, fastPolling()))
		s.SetFaults(storagetest.When(func(q storagetest.Request) bool { return q.Kind == kinds.MessagePut && q.Queue == "notifications" }, storagetest.Slow(time.Second)))
		began := time.Now()
		short, end := context.WithTimeout(ctx, time.Minute)
		defer end()
		n, err = q.Replay(short, nil)
		noError(t, err)
		testkit.Expect(t, "messages replayed beside a worker", n, 2)
		atMost(t, "time", time.Since(began), 10*time.Second)
		time.Sleep(time.Minute)
		stop()
		testkit.Expect(t, "poison messages", len(s.Messages("poison")), 4)
		testkit.Expect(t, "messages left", len(s.Messages("notifications")), 0)
	})
}

// TestPoisonQueueConcurrently: a replay beside a worker ends, and a list that takes longer than 5 minutes fails with table.ErrIncomplete.
func TestPoisonQueueConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		o, s := newOffice(t, noPauses())
		for i := range 70 {
			o.put(t, "notifications", fmt.Sprint("junk", i))
		}
		stop := start(t, o.worker(t, fastPolling()))
		time.Sleep(10 * time.Second)
		q := o.poisonQueue(t)
		n, err := q.Replay(ctx, nil)
		noError(t, err)
		testkit.Expect(t, "messages replayed", n, 70)
		time.Sleep(10 * time.Second)
		stop()
		testkit.Expect(t, "poison messages", len(s.Messages("poison")), 70)
		seen, incomplete := 0, false
		for _, err := range q.List(ctx) {
			incomplete = incomplete || errors.Is(err, table.ErrIncomplete)
			if err == nil {
				seen++
			}
			time.Sleep(10 * time.Second)
		}
		testkit.Expect(t, "ErrIncomplete", incomplete, true)
		atMost(t, "messages listed", seen, 70)
		s.SetFaults(storagetest.OfKind(kinds.MessageUpdate, storagetest.Hang()))
		began := time.Now()
		for _, err := range q.List(ctx) {
			_ = err // the messages cannot be made visible again
		}
		atMost(t, "time of a list without responses", time.Since(began), time.Minute)
	})
}

// TestPoisonQueueIncomplete: a list is incomplete also if a message is delivered again together with a new one.
func TestPoisonQueueIncomplete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, _ := newOffice(t, noPauses())
		o.put(t, "poison", "first")
		var errs []error
		for _, err := range o.poisonQueue(t).List(context.Background()) {
			errs = append(errs, err)
			if len(errs) == 1 {
				time.Sleep(6 * time.Minute)
				o.put(t, "poison", "second")
			}
		}
		if len(errs) != 3 || errs[0] != nil || errs[1] != nil || !errors.Is(errs[2], table.ErrIncomplete) {
			t.Errorf("got the errors %v; want none, none and ErrIncomplete", errs)
		}
	})
}
