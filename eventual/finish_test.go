package eventual_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestPoisonCopiedFirst: a message is copied to the poison queue before it is deleted. If the copy fails, the message stays.
func TestPoisonCopiedFirst(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.put(t, "notifications", "junk")
	var order []string
	s.SetFaults(func(q storagetest.Request) storagetest.Fault {
		if q.Kind == kinds.MessagePut || q.Kind == kinds.MessageDelete {
			order = append(order, string(q.Kind))
		}
		if q.Kind == kinds.MessagePut && len(order) <= 4 {
			return storagetest.Refuse(503, "ServerBusy")
		}
		return storagetest.Fault{}
	})
	w := o.worker(t, fastPolling())
	drain(t, w)
	testkit.Expect(t, "messages left", len(s.Messages("notifications")), 1)
	testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 1, QueueFailures: 1})
	s.Advance(time.Hour)
	drain(t, w)
	testkit.Expect(t, "requests", strings.Join(order, " "), "message-put message-put message-put message-put message-put message-delete")
	o.expectPoison(t, "undecodable")
	// A message of the largest size leaves no room for a poison record, so its text is copied unchanged.
	large := strings.Repeat("x", 64<<10)
	o.put(t, "notifications", large)
	drain(t, w)
	if p := o.expectPoison(t, "", "undecodable"); p[0].Text != large && p[1].Text != large {
		t.Errorf("poison messages: got %d and %d bytes, want one of %d", len(p[0].Text), len(p[1].Text), len(large))
	}
}

// TestLostDelete: if the response to a deletion is lost and the next attempt finds no message, the message counts as done.
func TestLostDelete(t *testing.T) {
	t.Parallel()
	o, s := newOffice(t, noPauses())
	o.insert(t, clerk{"S", 1, "Jones"})
	o.put(t, "notifications", "junk")
	lost := map[string]bool{}
	s.SetFaults(storagetest.When(func(q storagetest.Request) bool {
		first := q.Kind == kinds.MessageDelete && !lost[q.Message]
		lost[q.Message] = lost[q.Message] || first
		return first
	}, storagetest.LostResponse()))
	w := o.worker(t, fastPolling())
	drain(t, w)
	testkit.Expect(t, "stats", w.Stats(), eventual.Stats{Received: 2, Completed: 1, Effects: 1, Poisoned: 1})
}

// TestUpdateKeepsText: an update without a text erases the text of a message, and so the SDK erases it for a caller that only hides
// the message for longer. The updates of this package keep the text.
func TestUpdateKeepsText(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	o, s := newOffice(t, noPauses())
	q := o.acc.Queues().NewQueueClient("notifications")
	sent, err := q.EnqueueMessage(ctx, "text", nil)
	noError(t, err)
	hidden := int32(1)
	_, err = q.UpdateMessage(ctx, *sent.Messages[0].MessageID, *sent.Messages[0].PopReceipt, "", &azqueue.UpdateMessageOptions{VisibilityTimeout: &hidden})
	noError(t, err)
	testkit.Expect(t, "text after an update by the SDK", s.Messages("notifications")[0].Text, "")
	o.clear(t, "notifications")

	o.insert(t, clerk{"S", 1, "Jones"}) // shows the notification
	text := s.Messages("notifications")[0].Text
	fails := o.worker(t, fastPolling(), o.handle(func(context.Context, eventual.Job) error { return errors.New("no") }))
	drain(t, fails) // returns the message
	var before, after map[string]any
	noError(t, json.Unmarshal([]byte(text), &before))
	noError(t, json.Unmarshal([]byte(s.Messages("notifications")[0].Text), &after))
	if before["tried"] = 1.0; !maps.Equal(before, after) { // the failed attempt
		t.Errorf("message after a failed attempt: got %v, want %v", after, before)
	}
	synctest.Test(t, func(t *testing.T) { // renews the message
		o, s := newOffice(t, noPauses())
		o.insert(t, clerk{"S", 1, "Jones"})
		text := s.Messages("notifications")[0].Text
		h := o.handle(func(context.Context, eventual.Job) error {
			time.Sleep(2 * time.Minute)
			testkit.Expect(t, "text after a renewal", s.Messages("notifications")[0].Text, text)
			return nil
		})
		drain(t, o.worker(t, fastPolling(), h))
	})
}
