package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

// The tests of queues show what the SDK's client does on every service. They never wait: an update with a visibility timeout of 0
// makes a hidden message visible.

// queue creates a fresh queue.
func (e *env) queue() *azqueue.QueueClient {
	e.Helper()
	q := e.acc.Queues().NewQueueClient(freshName())
	_, err := q.Create(context.Background(), nil)
	e.must(err)
	return q
}

// enqueue puts messages.
func (e *env) enqueue(q *azqueue.QueueClient, texts ...string) {
	e.Helper()
	for _, text := range texts {
		_, err := q.EnqueueMessage(context.Background(), text, nil)
		e.must(err)
	}
}

// dequeue gets up to n messages.
func (e *env) dequeue(q *azqueue.QueueClient, n int32) []*azqueue.DequeuedMessage {
	e.Helper()
	got, err := q.DequeueMessages(context.Background(), &azqueue.DequeueMessagesOptions{NumberOfMessages: &n})
	e.must(err)
	return got.Messages
}

// peek returns the texts of the visible messages, sorted.
func (e *env) peek(q *azqueue.QueueClient) string {
	e.Helper()
	got, err := q.PeekMessages(context.Background(), &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr[int32](32)})
	e.must(err)
	var texts []string
	for _, m := range got.Messages {
		texts = append(texts, *m.MessageText)
	}
	slices.Sort(texts)
	return joined(texts)
}

// count returns the number of messages, including hidden ones.
func (e *env) count(q *azqueue.QueueClient) int64 {
	e.Helper()
	p, err := q.GetProperties(context.Background(), nil)
	e.must(err)
	return *p.ApproximateMessagesCount
}

// wantCode fails the test unless an error has one of some codes.
func (e *env) wantCode(err error, codes ...queueerror.Code) {
	e.Helper()
	if !queueerror.HasCode(err, codes...) {
		e.Errorf("got error %v; want %v", err, codes)
	}
}

func queueLifecycle(e *env) {
	ctx := context.Background()
	q := e.acc.Queues().NewQueueClient(freshName())
	meta := map[string]*string{"kind": to.Ptr("notifications"), "owner": to.Ptr("index")}
	for range 2 { // the second Create succeeds, too
		_, err := q.Create(ctx, &azqueue.CreateOptions{Metadata: meta})
		e.must(err)
	}
	_, err := q.Create(ctx, nil)
	e.wantCode(err, queueerror.QueueAlreadyExists)
	metadata := func(want string) {
		e.Helper()
		p, err := q.GetProperties(ctx, nil)
		e.must(err)
		var got []string
		for name, value := range p.Metadata {
			got = append(got, strings.ToLower(name)+"="+*value)
		}
		if slices.Sort(got); joined(got) != want {
			e.Errorf("metadata: got %s; want %s", joined(got), want)
		}
	}
	metadata("kind=notifications owner=index")
	_, err = q.SetMetadata(ctx, &azqueue.SetMetadataOptions{Metadata: map[string]*string{"kind": to.Ptr("tasks")}})
	e.must(err)
	metadata("kind=tasks")
	_, err = q.SetMetadata(ctx, nil)
	e.must(err)
	metadata("")
	e.enqueue(q, "a")
	_, err = q.Delete(ctx, nil)
	e.must(err)
	_, err = q.Delete(ctx, nil)
	e.wantCode(err, queueerror.QueueNotFound)
}

func queueList(e *env) {
	ctx := context.Background()
	prefix := freshName()
	var want []string
	for i := range 5 {
		name := fmt.Sprintf("%s-%d", prefix, i)
		_, err := e.acc.Queues().NewQueueClient(name).Create(ctx, &azqueue.CreateOptions{Metadata: map[string]*string{"n": to.Ptr(fmt.Sprint(i))}})
		e.must(err)
		want = append(want, fmt.Sprintf("%s:%d", name, i))
	}
	var got []string
	pages := 0
	for pager := e.acc.Queues().NewListQueuesPager(&azqueue.ListQueuesOptions{Prefix: &prefix, MaxResults: to.Ptr[int32](2), Include: azqueue.ListQueuesInclude{Metadata: true}}); pager.More(); pages++ {
		page, err := pager.NextPage(ctx)
		e.must(err)
		for _, q := range page.Queues {
			got = append(got, *q.Name+":"+*q.Metadata["n"])
		}
	}
	if joined(got) != joined(want) || pages != 3 {
		e.Errorf("got %d pages: %v; want 3 pages: %v", pages, got, want)
	}
}

func messageLifecycle(e *env) {
	ctx := context.Background()
	q := e.queue()
	put, err := q.EnqueueMessage(ctx, "a", nil)
	e.must(err)
	if got := e.peek(q); got != "a" {
		e.Errorf("peek: got %s; want a", got)
	}
	got := e.dequeue(q, 1)
	if len(got) != 1 || *got[0].MessageText != "a" || *got[0].DequeueCount != 1 || *got[0].MessageID != *put.Messages[0].MessageID {
		e.Fatalf("dequeue: got %v; want message a for the first time", got)
	}
	if again := e.dequeue(q, 1); len(again) != 0 || e.peek(q) != "" || e.count(q) != 1 {
		e.Errorf("dequeue of a hidden message: got %v; want nothing", again)
	}
	id := *got[0].MessageID
	u, err := q.UpdateMessage(ctx, id, *got[0].PopReceipt, "b", nil) // visible at once
	e.must(err)
	if got := e.peek(q); got != "b" {
		e.Errorf("peek after an update: got %s; want b", got)
	}
	got = e.dequeue(q, 1)
	if len(got) != 1 || *got[0].DequeueCount != 2 || *got[0].PopReceipt == *u.PopReceipt {
		e.Fatalf("dequeue: got %v; want message b for the second time, with a new receipt", got)
	}
	_, err = q.DeleteMessage(ctx, id, *got[0].PopReceipt, nil)
	e.must(err)
	if e.count(q) != 0 {
		e.Errorf("messages after a deletion: got %d; want none", e.count(q))
	}
	_, err = q.DeleteMessage(ctx, id, *got[0].PopReceipt, nil)
	e.wantCode(err, queueerror.MessageNotFound)
	e.enqueue(q, "a", "b")
	e.dequeue(q, 1)
	_, err = q.ClearMessages(ctx, nil)
	e.must(err)
	if e.count(q) != 0 {
		e.Errorf("messages after ClearMessages: got %d; want none", e.count(q))
	}
}

func hiddenMessages(e *env) {
	ctx := context.Background()
	q := e.queue()
	put, err := q.EnqueueMessage(ctx, "later", &azqueue.EnqueueMessageOptions{VisibilityTimeout: to.Ptr[int32](600)})
	e.must(err)
	m := put.Messages[0]
	if e.peek(q) != "" || len(e.dequeue(q, 32)) != 0 || e.count(q) != 1 {
		e.Error("message that is put with a visibility timeout: got it visible, or none; want it hidden")
	}
	if d := m.TimeNextVisible.Sub(*m.InsertionTime); d != 10*time.Minute {
		e.Errorf("hidden for: got %v; want 10 minutes", d)
	}
	// The sender can make it visible.
	u, err := q.UpdateMessage(ctx, *m.MessageID, *m.PopReceipt, "now", &azqueue.UpdateMessageOptions{VisibilityTimeout: to.Ptr[int32](0)})
	e.must(err)
	if got := e.peek(q); got != "now" {
		e.Errorf("peek after an update: got %q; want now", got)
	}
	// And hide it, for the longest time.
	_, err = q.UpdateMessage(ctx, *m.MessageID, *u.PopReceipt, "", &azqueue.UpdateMessageOptions{VisibilityTimeout: to.Ptr[int32](604799)})
	e.must(err)
	if e.peek(q) != "" || e.count(q) != 1 {
		e.Error("message that is updated with a visibility timeout: got it visible, or none; want it hidden")
	}
}

// receipts: each get and each update invalidates earlier receipts. The live service then answers that the message does not exist;
// the documentation and Azurite, that the receipt does not match.
func receipts(e *env) {
	ctx := context.Background()
	q := e.queue()
	put, err := q.EnqueueMessage(ctx, "a", nil)
	e.must(err)
	id, first := *put.Messages[0].MessageID, *put.Messages[0].PopReceipt
	second := *e.dequeue(q, 1)[0].PopReceipt
	useless := func(receipt string) {
		e.Helper()
		_, err := q.DeleteMessage(ctx, id, receipt, nil)
		e.wantCode(err, queueerror.PopReceiptMismatch, queueerror.MessageNotFound)
		_, err = q.UpdateMessage(ctx, id, receipt, "no", nil)
		e.wantCode(err, queueerror.PopReceiptMismatch, queueerror.MessageNotFound)
	}
	useless(first)
	u, err := q.UpdateMessage(ctx, id, second, "b", nil)
	e.must(err)
	useless(second)
	// The receipt of an update is valid until the next get.
	if got := e.peek(q); got != "b" {
		e.Errorf("peek: got %q; want b", got)
	}
	_, err = q.DeleteMessage(ctx, id, *u.PopReceipt, nil)
	e.must(err)
}

func severalMessages(e *env) {
	q := e.queue()
	const all = 40
	for i := range all {
		e.enqueue(q, fmt.Sprintf("%02d", i))
	}
	var texts []string
	for _, want := range []int{32, 8, 0} {
		got := e.dequeue(q, 32)
		if len(got) != want {
			e.Errorf("got %d messages; want %d", len(got), want)
		}
		for _, m := range got {
			texts = append(texts, *m.MessageText)
			if *m.PopReceipt != *got[0].PopReceipt {
				e.Error("messages of one request: got two receipts; want one")
			}
		}
	}
	slices.Sort(texts)
	if len(slices.Compact(texts)) != all || e.count(q) != all {
		e.Errorf("got %v, of %d messages; want %d texts", texts, e.count(q), all)
	}
}

func messageTimes(e *env) {
	ctx := context.Background()
	q := e.queue()
	for _, c := range []struct {
		ttl  *int32
		want time.Duration
	}{{nil, 7 * 24 * time.Hour}, {to.Ptr[int32](100), 100 * time.Second}, {to.Ptr[int32](1 << 30), 1 << 30 * time.Second}} {
		put, err := q.EnqueueMessage(ctx, "a", &azqueue.EnqueueMessageOptions{TimeToLive: c.ttl})
		e.must(err)
		if got := put.Messages[0].ExpirationTime.Sub(*put.Messages[0].InsertionTime); got != c.want {
			e.Errorf("time to live: got %v; want %v", got, c.want)
		}
	}
	put, err := q.EnqueueMessage(ctx, "a", &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr[int32](-1)})
	e.must(err)
	if got := put.Messages[0].ExpirationTime.UTC(); !got.Equal(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)) {
		e.Errorf("expiration of a message without end: got %v; want the end of the year 9999", got)
	}
}

func messageTexts(e *env) {
	ctx := context.Background()
	q := e.queue()
	for _, text := range []string{"", " ", " a ", "<a href=\"x\">&amp;</a>", "]]>", "é日😀", "a\nb\tc", "a\r\nb\rc", `{"p":"Sales","r":"empid_000223"}`, "\ufffd", strings.Repeat("x", 65536)} {
		put, err := q.EnqueueMessage(ctx, text, nil)
		e.must(err)
		got := e.dequeue(q, 1)
		if len(got) != 1 {
			e.Fatalf("got %d messages; want 1", len(got))
		}
		if s := got[0].MessageText; text != "" && (s == nil || *s != text) || text == "" && s != nil && *s != "" {
			e.Errorf("text: got %.40q; want %.40q", *got[0].MessageText, text)
		}
		_, err = q.DeleteMessage(ctx, *put.Messages[0].MessageID, *got[0].PopReceipt, nil)
		e.must(err)
	}
	// The SDK replaces characters that XML does not allow, before it sends the text.
	e.enqueue(q, "a\x01b")
	if got := e.peek(q); got != "a\ufffdb" {
		e.Errorf("text with a control character: got %q; want it replaced by U+FFFD", got)
	}
}

// concurrentReceivers: several receivers get each message once.
func concurrentReceivers(e *env) {
	q := e.queue()
	const workers, each = 4, 10
	for i := range workers * each {
		e.enqueue(q, fmt.Sprint(i))
	}
	texts, errs := make(chan string, 2*workers*each), make(chan error, workers)
	for range workers {
		go func() {
			for {
				got, err := q.DequeueMessages(context.Background(), &azqueue.DequeueMessagesOptions{NumberOfMessages: to.Ptr[int32](3)})
				for _, m := range got.Messages {
					_, deleted := q.DeleteMessage(context.Background(), *m.MessageID, *m.PopReceipt, nil)
					err = errors.Join(err, deleted)
					texts <- *m.MessageText
				}
				if err != nil || len(got.Messages) == 0 {
					errs <- err
					return
				}
			}
		}()
	}
	for range workers {
		e.must(<-errs)
	}
	close(texts)
	seen := map[string]int{}
	for text := range texts {
		seen[text]++
	}
	if len(seen) != workers*each || e.count(q) != 0 {
		e.Errorf("got %v, and %d messages left; want %d texts, and none", seen, e.count(q), workers*each)
	}
	for text, n := range seen {
		if n != 1 {
			e.Errorf("text %s: got it %d times; want once", text, n)
		}
	}
}
