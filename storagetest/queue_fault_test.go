package storagetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/kinds"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
)

// hints creates a queue called hints and returns the SDK's client of the queue, without retries.
func hints(t *testing.T, s *storagetest.Service, connection string) *azqueue.QueueClient {
	t.Helper()
	acc, err := account.FromConnectionString(connection, &account.Options{Client: azcore.ClientOptions{Transport: s, Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	q := acc.Queues().NewQueueClient("hints")
	if _, err := q.Create(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return q
}

// contents returns the texts of the messages in the queue, with hidden messages in parentheses.
func contents(s *storagetest.Service) string {
	var all []string
	for _, m := range s.Messages("hints") {
		if m.Visible.After(s.Now()) {
			m.Text = "(" + m.Text + ")"
		}
		all = append(all, m.Text)
	}
	return strings.Join(all, " ")
}

// TestQueueFaults: each fault determines the contents of the queue after a put and after a get, at once and in the end, and what
// the client receives.
func TestQueueFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault       storagetest.Fault
		put, putEnd string // with "a" in the queue
		get, getEnd string // with "a b" in the queue
		wantErr     func(error) bool
	}{
		{storagetest.Fault{}, "a b", "a b", "(a) b", "(a) b", fine},
		{storagetest.NotSent(), "a", "a", "a b", "a b", failed},
		{storagetest.LostRequest(), "a", "a", "a b", "a b", reset},
		{storagetest.LostResponse(), "a b", "a b", "(a) b", "(a) b", reset},
		{storagetest.Twice(), "a b b", "a b b", "(a) (b)", "(a) (b)", fine},
		{storagetest.LateDuplicate(0), "a b", "a b b", "(a) b", "(a) (b)", fine},
		{storagetest.Late(0), "a", "a b", "a b", "(a) b", reset},
		{storagetest.Refuse(503, "ServerBusy"), "a", "a", "a b", "a b", coded("ServerBusy")},
		{storagetest.RefuseInTransaction(503, "ServerBusy"), "a", "a", "a b", "a b", coded("ServerBusy")},
		{storagetest.ExecuteThenRefuse(500, "OperationTimedOut"), "a b", "a b", "(a) b", "(a) b", coded("OperationTimedOut")},
		{storagetest.Cut(60), "a b", "a b", "(a) b", "(a) b", failed},
		{storagetest.Hang(), "a", "a", "a b", "a b", over},
		{storagetest.ExecuteThenHang(), "a b", "a b", "(a) b", "(a) b", over},
		{storagetest.Slow(time.Second), "a b", "a b", "(a) b", "(a) b", fine},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, kind := range []requests.Kind{kinds.MessagePut, kinds.MessageGet} {
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
					s := storagetest.New(nil)
					q := hints(t, s, s.ConnectionString())
					_, err1 := q.EnqueueMessage(ctx, "a", nil)
					before, after, do := c.put, c.putEnd, func() error { _, err := q.EnqueueMessage(ctx, "b", nil); return err }
					if kind == kinds.MessageGet {
						err1 = errors.Join(err1, do())
						before, after, do = c.get, c.getEnd, func() error { _, err := q.DequeueMessage(ctx, nil); return err }
					}
					s.SetFaults(storagetest.OfKind(kind, c.fault))
					if err := do(); err1 != nil || !c.wantErr(err) {
						t.Errorf("%v, %s: got errors %v, %v", c.fault, kind, err1, err)
					}
					s.SetFaults(nil)
					if got := contents(s); got != before {
						t.Errorf("%v, %s: got contents %q; want %q", c.fault, kind, got, before)
					}
					s.Deliver()
					if got := contents(s); got != after {
						t.Errorf("%v, %s, in the end: got contents %q; want %q", c.fault, kind, got, after)
					}
					cancel()
				}
			})
		})
	}
}

// TestShortPageOfMessages: ShortPage limits the number of messages in a response.
func TestShortPageOfMessages(t *testing.T) {
	t.Parallel()
	r := newQueueClient(t, storagetest.Options{})
	r.put("a", "")
	r.put("b", "")
	for n, want := range map[int]string{0: "", 1: "a", 2: "a b"} {
		r.SetFaults(storagetest.OfKind(kinds.MessagePeek, storagetest.ShortPage(n)))
		if got := texts(r.send("GET", "/hints/messages?peekonly=true&numofmessages=32", "")); got != want {
			t.Errorf("ShortPage(%d): got %s; want %s", n, got, want)
		}
	}
}

// TestQueueRequests: Requests describes each kind of request to the Queue service.
func TestQueueRequests(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	id := sendQueueRequests(t, s.Queues())
	var lines []string
	for _, r := range s.Requests() {
		lines = append(lines, strings.ReplaceAll(r.String(), id, "ID"))
	}
	want := []string{"1 queue-create hints: 201", "2 message-put hints: 201", "3 message-peek hints: 200", "4 message-get hints: 200", "5 message-update hints/ID: 204", "6 message-delete hints/ID: 204",
		"7 message-clear hints: 204", "8 queue-get hints: 200", "9 queue-set hints: 204", "10 queue-delete hints: 204", "11 queue-list: 200"}
	if fmt.Sprint(lines) != fmt.Sprint(want) {
		t.Errorf("got %q\nwant %q", lines, want)
	}
}

// TestQueuePort: the services of a connection string have separate ports.
func TestQueuePort(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	connection := listen(t, s)
	acc, err := account.FromConnectionString(connection, &account.Options{Client: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	q := acc.Queues().NewQueueClient("hints")
	_, err1 := q.Create(ctx, nil)
	_, err2 := acc.Tables().CreateTable(ctx, "hints", nil)
	_, err3 := q.EnqueueMessage(ctx, "é <&> \r\n", nil)
	got, err4 := q.DequeueMessage(ctx, nil)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	if text := *got.Messages[0].MessageText; text != "é <&> \r\n" || s.Messages("hints")[0].Text != text || len(s.TableNames()) != 1 {
		t.Errorf("got %q, messages %v, tables %v; want the text that was sent, and one table", text, s.Messages("hints"), s.TableNames())
	}
	s.SetFaults(storagetest.OfKind(kinds.MessagePut, storagetest.LostResponse()))
	if _, err := q.EnqueueMessage(ctx, "b", nil); err == nil || len(s.Messages("hints")) != 2 {
		t.Errorf("lost response: got %v, messages %v; want an error and two messages", err, s.Messages("hints"))
	}
	if _, err := acc.Queues().NewQueueClient("none").GetProperties(ctx, nil); code(err) != "QueueNotFound" {
		t.Errorf("missing queue: got %v; want QueueNotFound", err)
	}
	// In this process, the same addresses work without a port.
	if _, err := hints(t, s, connection).PeekMessage(ctx, nil); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, err := q.PeekMessage(ctx, nil); err == nil {
		t.Error("got a response after Close; want an error")
	}
}
