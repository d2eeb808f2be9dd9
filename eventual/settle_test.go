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
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestPoisonCopiedFirst: a message is copied before it is deleted: where the poison queue does not take it, it stays.
func TestPoisonCopiedFirst(t *testing.T) {
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
	if len(s.Messages("notifications")) != 1 || w.Stats().Poisoned != 0 || w.Stats().QueueFailures != 1 {
		t.Error(s.Messages("notifications"), w.Stats())
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

// TestLostDelete: a deletion whose response is lost is done: what was settled counts as settled.
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

// TestUpdateKeepsText: an update of a message without a text wipes it, which is what the SDK does for a caller who only wants to hide it
// for longer. Ours keep the text, whatever they change.
func TestUpdateKeepsText(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	o := openOffice(s.ConnectionString(), s, quick())
	check(o.ensure(ctx))
	q := o.acc.Queue("notifications")
	sent, err := q.EnqueueMessage(ctx, "text", nil)
	check(err)
	hidden := int32(1)
	_, err = q.UpdateMessage(ctx, *sent.Messages[0].MessageID, *sent.Messages[0].PopReceipt, "", &azqueue.UpdateMessageOptions{VisibilityTimeout: &hidden})
	check(err)
	if got := s.Messages("notifications")[0].Text; got != "" {
		t.Error("the trap is gone:", got)
	}
	_, err = q.ClearMessages(ctx, nil)
	check(err)

	_, err = o.staff.Insert(ctx, &clerk{"S", 1, "Jones"}) // Show
	check(err)
	text := s.Messages("notifications")[0].Text
	fails := workerOf(o, eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error { return errors.New("no") }}, options())
	check(fails.Drain(ctx)) // Retry
	var was, is map[string]any
	check(json.Unmarshal([]byte(text), &was))
	check(json.Unmarshal([]byte(s.Messages("notifications")[0].Text), &is))
	if was["tried"] = 1.0; !maps.Equal(was, is) { // the attempt is noted
		t.Errorf("got %v, want %v", is, was)
	}
	synctest.Test(t, func(t *testing.T) { // Renew
		o, s := opened(t, quick())
		_, err := o.staff.Insert(ctx, &clerk{"S", 1, "Jones"})
		check(err)
		text := s.Messages("notifications")[0].Text
		h := eventual.Handler{Kind: "letter", Table: o.plain, Handle: func(context.Context, eventual.Job) error {
			time.Sleep(2 * time.Minute)
			if got := s.Messages("notifications")[0].Text; got != text {
				t.Error(got)
			}
			return nil
		}}
		check(workerOf(o, h, options()).Drain(ctx))
	})
}
