package eventual

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// The limits of a queue ('Put Message', 'Get Messages').
const (
	maxVisibility = 7 * 24 * time.Hour
	maxReceived   = 32 // messages in one response
)

// queueClient sends each request once. With the SDK's retries, a repeated receive would hide
// messages that no worker has received, and a repeated update would lose the receipt.
type queueClient struct {
	client  *azqueue.QueueClient
	timeout time.Duration // of one request
	made    string        // the call that creates the queue
}

// delivery is one receipt of a message. The queue counts the deliveries of each message.
type delivery struct {
	id, receipt, text string
	count             int64 // deliveries of the message until now, including this delivery
	inserted          time.Time
	visible           time.Time // when other workers can receive the message again
}

// call returns the context of one request, and the check of its result.
func (q queueClient) call(ctx context.Context) (_ context.Context, cancel context.CancelFunc, check func(error) error) {
	timeout := q.timeout
	if timeout <= 0 {
		timeout = engine.DefaultAttemptTimeout // required: a worker that stops waits for the response, to return the messages
	}
	var call wire.Call
	ctx, cancel = context.WithTimeout(call.Write(ctx, timeout), timeout)
	return ctx, cancel, func(err error) error { return q.shortError(call.Check(err)) }
}

// shortError returns an error of the SDK without secrets, in one line.
func (q queueClient) shortError(err error) error {
	var re *azcore.ResponseError
	var foreign *wire.NotServiceError
	switch {
	case queueerror.HasCode(err, queueerror.QueueNotFound):
		name, _ := engine.ClientName(q.client)
		return &errs.Missing{Is: errs.ErrQueueNotFound, Name: name, Made: q.made, Err: err}
	case errors.As(err, &re):
		return responseError{re}
	case errors.As(err, &foreign):
		return errs.With(errs.ErrUnreachable, err)
	}
	return wire.Redact(err)
}

// put stores a message that never expires, and hides the message for a while.
func (q queueClient) put(ctx context.Context, text string, hidden time.Duration) (d delivery, err error) {
	ctx, cancel, check := q.call(ctx)
	defer cancel()
	never, seconds := int32(-1), wholeSeconds(hidden)
	resp, err := q.client.EnqueueMessage(ctx, text, &azqueue.EnqueueMessageOptions{TimeToLive: &never, VisibilityTimeout: &seconds})
	if err = check(err); err != nil {
		return d, err
	}
	if len(resp.Messages) != 1 || resp.Messages[0].MessageID == nil || resp.Messages[0].PopReceipt == nil {
		return d, errIncompleteResponse
	}
	return delivery{id: *resp.Messages[0].MessageID, receipt: *resp.Messages[0].PopReceipt, text: text}, nil
}

// receive returns up to n messages and hides them. The visibility counts from before the request is
// sent, as the queue's own clock may.
func (q queueClient) receive(ctx context.Context, n int, visibility time.Duration) (all []delivery, err error) {
	visible := time.Now().Add(visibility)
	ctx, cancel, check := q.call(ctx)
	defer cancel()
	most, seconds := int32(min(n, maxReceived)), wholeSeconds(visibility)
	resp, err := q.client.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: &most, VisibilityTimeout: &seconds})
	if err = check(err); err != nil {
		return nil, err
	}
	for _, m := range resp.Messages {
		if m == nil || m.MessageID == nil || m.PopReceipt == nil {
			continue
		}
		d := delivery{id: *m.MessageID, receipt: *m.PopReceipt, visible: visible}
		if m.MessageText != nil {
			d.text = *m.MessageText
		}
		if m.DequeueCount != nil {
			d.count = *m.DequeueCount
		}
		if m.InsertionTime != nil {
			d.inserted = *m.InsertionTime
		}
		all = append(all, d)
	}
	return all, nil
}

// update hides a message for a while from now and replaces its text. The text is required: an
// update without a text erases the stored text.
func (q queueClient) update(ctx context.Context, d delivery, text string, hidden time.Duration) (receipt string, err error) {
	ctx, cancel, check := q.call(ctx)
	defer cancel()
	seconds := wholeSeconds(hidden)
	resp, err := q.client.UpdateMessage(ctx, d.id, d.receipt, text, &azqueue.UpdateMessageOptions{VisibilityTimeout: &seconds})
	if err = check(err); err != nil {
		return "", err
	}
	if resp.PopReceipt == nil {
		return "", errIncompleteResponse
	}
	return *resp.PopReceipt, nil
}

func (q queueClient) delete(ctx context.Context, d delivery) error {
	ctx, cancel, check := q.call(ctx)
	defer cancel()
	_, err := q.client.DeleteMessage(ctx, d.id, d.receipt, nil)
	return check(err)
}

// ensure creates the queue unless the queue exists, within the bounds of the options.
func (q queueClient) ensure(ctx context.Context, o *table.Common) error {
	ctx, cancel := engine.Bound(ctx, o.WriteTimeout)
	defer cancel()
	return engine.Retry(o.Retry).Repeat(ctx, engine.Log{Logger: o.Logger, Method: "Ensure"}, func() (again bool, err error) {
		err = q.create(ctx)
		return err != nil && isTransient(err), err
	})
}

func (q queueClient) create(ctx context.Context) error {
	ctx, cancel, check := q.call(ctx)
	defer cancel()
	_, err := q.client.Create(ctx, nil)
	if queueerror.HasCode(err, queueerror.QueueAlreadyExists) {
		return nil
	}
	return check(err)
}

// length returns the approximate number of messages, including hidden messages.
func (q queueClient) length(ctx context.Context) (int, error) {
	ctx, cancel, check := q.call(ctx)
	defer cancel()
	resp, err := q.client.GetProperties(ctx, nil)
	if err = check(err); err != nil {
		return 0, err
	}
	if resp.ApproximateMessagesCount == nil {
		return 0, errIncompleteResponse
	}
	return int(*resp.ApproximateMessagesCount), nil
}

// wholeSeconds returns a duration in seconds, rounded up.
func wholeSeconds(d time.Duration) int32 {
	return int32((min(max(d, 0), maxVisibility) + time.Second - 1) / time.Second)
}

// checkQueue returns an error for a queue that is nil, or that has a name that the service refuses.
// Errors: *table.ValueError.
func checkQueue(argument string, q *azqueue.QueueClient) error {
	return engine.CheckClient(argument, "queue", q, q == nil)
}

// errIncompleteResponse: the queue executed the request, and its response cannot be used.
var errIncompleteResponse = errors.New("the response of the queue names no message")

// responseError shortens the text of an error response to one line: the SDK's text is the whole
// response.
type responseError struct{ *azcore.ResponseError }

func (e responseError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the queue responded with %d %s", e.StatusCode, e.ErrorCode))
}
func (e responseError) Unwrap() error { return e.ResponseError }

// isMessageGone reports whether a message was deleted, or received by another worker.
func isMessageGone(err error) bool {
	return queueerror.HasCode(err, queueerror.MessageNotFound, queueerror.PopReceiptMismatch)
}

// isTransient reports whether another attempt may succeed.
func isTransient(err error) bool {
	var re *azcore.ResponseError
	return !errors.As(err, &re) || re.StatusCode == http.StatusRequestTimeout || re.StatusCode == http.StatusTooManyRequests || re.StatusCode >= 500
}

// ErrNotRunning: neither Run nor Drain of the worker is running, or its context has ended.
var ErrNotRunning = errors.New("eventual: the worker is not running")

// errNotReadable: the worker cannot receive messages from its queue.
var errNotReadable = errs.Of(errs.ErrUnreachable, "eventual: the queue cannot be read")

// readability is whether a receiver can read its queue.
type readability struct {
	mu    sync.Mutex
	since time.Time // of err
	err   error     // of the last request, nil if the queue responded with messages or none
}

// note notes the error of a request to receive messages, nil for a response. The time of the first
// error in a row stays.
func (r *readability) note(now time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.since = now
	}
	r.err = err
}

// result returns nil if the queue can be read.
func (r *readability) result() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("%w since %s: %w", errNotReadable, r.since.UTC().Format(time.RFC3339), r.err)
}

// outbox is a [commit.Outbox] in a queue: its notifications outlive the writer, and a worker
// receives them. It is safe for concurrent use.
type outbox struct {
	queue queueClient
	opt   engine.Options
}

// newOutbox returns an outbox in a queue. It sends nothing: Ensure of the outbox creates the queue.
// Errors: *table.ValueError for a queue that is nil, or has a name that the service refuses.
func newOutbox(queue *azqueue.QueueClient, c *table.Common) (*outbox, error) {
	if c == nil {
		c = &table.Common{}
	}
	if err := checkQueue("queue", queue); err != nil {
		return nil, fmt.Errorf("eventual: outbox: %w", err)
	}
	opt := engine.WithDefaults(*c)
	return &outbox{queueClient{queue, opt.Retry.AttemptTimeout, "Store.Ensure"}, opt}, nil
}

var _ commit.Outbox = (*outbox)(nil)

// Ensure creates the queue unless it exists. 1 request; idempotent.
func (o *outbox) Ensure(ctx context.Context) error {
	if err := o.queue.ensure(ctx, &o.opt.Common); err != nil {
		return fmt.Errorf("eventual: Ensure: %w", err)
	}
	return nil
}

// Notify stores a notification that names a write, hidden for n.Hidden; by then the write has
// ended. A redundant notification does no harm: a worker finds nothing to do. Errors:
// *table.LimitError for more than the 7 days that a queue can hide a message; table.ErrNotCreated;
// table.ErrUnreachable if another server has responded; *azcore.ResponseError if the queue refused
// the message. 1 request; during an outage of the queue more, until WriteTimeout or the context
// ends.
func (o *outbox) Notify(ctx context.Context, n commit.Notification) (commit.SentNotification, error) {
	if n.Hidden > maxVisibility {
		return nil, &table.LimitError{Field: "Notification.Hidden", Limit: "seconds", Got: int(n.Hidden / time.Second), Max: int(maxVisibility / time.Second)}
	}
	m := message{
		Version: messageVersion, Table: n.Table, Partition: n.Partition, Op: n.OperationID, Participants: n.Participants,
	}
	text := m.text()
	var d delivery
	log := engine.Log{Logger: o.opt.Logger, Table: n.Table, Method: "Notify", Partition: n.Partition}
	ctx, cancel := engine.Bound(ctx, engine.Retry(o.opt.Retry).Timeout(ctx, o.opt.WriteTimeout))
	defer cancel()
	err := engine.Retry(o.opt.Retry).Repeat(ctx, log, func() (again bool, err error) {
		d, err = o.queue.put(ctx, text, n.Hidden)
		return err != nil && isTransient(err), err
	})
	if err != nil {
		return nil, err
	}
	return &sentNotification{o.queue, d}, nil
}

// sentNotification is a message that an outbox has put into its queue.
type sentNotification struct {
	queue   queueClient
	message delivery
}

// Show makes the message visible. 1 request.
func (s *sentNotification) Show(ctx context.Context) error {
	_, err := s.queue.update(ctx, s.message, s.message.text, 0)
	return err
}

// Withdraw deletes the message. 1 request; idempotent.
func (s *sentNotification) Withdraw(ctx context.Context) error {
	if err := s.queue.delete(ctx, s.message); err != nil && !isMessageGone(err) {
		return err
	}
	return nil
}
