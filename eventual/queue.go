package eventual

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Queue is what is used of a queue: *azqueue.QueueClient is one, whatever options it was made with.
type Queue interface {
	Create(context.Context, *azqueue.CreateOptions) (azqueue.CreateResponse, error)
	GetProperties(context.Context, *azqueue.GetQueuePropertiesOptions) (azqueue.GetQueuePropertiesResponse, error)
	EnqueueMessage(ctx context.Context, content string, o *azqueue.EnqueueMessageOptions) (azqueue.EnqueueMessagesResponse, error)
	DequeueMessages(context.Context, *azqueue.DequeueMessagesOptions) (azqueue.DequeueMessagesResponse, error)
	UpdateMessage(ctx context.Context, messageID, popReceipt, content string, o *azqueue.UpdateMessageOptions) (azqueue.UpdateMessageResponse, error)
	DeleteMessage(ctx context.Context, messageID, popReceipt string, o *azqueue.DeleteMessageOptions) (azqueue.DeleteMessageResponse, error)
}

// The limits of a queue ('Put Message', 'Get Messages').
const (
	maxMessage = 64 << 10
	maxHidden  = 7 * 24 * time.Hour
	maxGet     = 32
)

// box is a queue whose calls are sent once each. The SDK would repeat them: a get then hides messages that nobody has got, and an
// update loses the receipt.
type box struct {
	q   Queue
	try time.Duration
}

// delivery is a message as it was got.
type delivery struct {
	id, receipt, text string
	gets              int64 // how often anybody has got it
	inserted          time.Time
	until             time.Time // it is ours no longer
}

func (b box) call(ctx context.Context) (context.Context, context.CancelFunc) {
	try := b.try
	if try <= 0 {
		try = table.DefaultAttemptTimeout // some must be: what is got has to be given back when the worker stops
	}
	return context.WithTimeout(policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1, TryTimeout: try}), try)
}

// put stores a message that never expires, hidden for a while.
func (b box) put(ctx context.Context, text string, hidden time.Duration) (d delivery, err error) {
	ctx, cancel := b.call(ctx)
	defer cancel()
	forever, seconds := int32(-1), wholeSeconds(hidden)
	resp, err := b.q.EnqueueMessage(ctx, text, &azqueue.EnqueueMessageOptions{TimeToLive: &forever, VisibilityTimeout: &seconds})
	if err != nil {
		return d, brief(err)
	}
	if len(resp.Messages) != 1 || resp.Messages[0].MessageID == nil || resp.Messages[0].PopReceipt == nil {
		return d, errNoMessage
	}
	return delivery{id: *resp.Messages[0].MessageID, receipt: *resp.Messages[0].PopReceipt, text: text}, nil
}

var errNoMessage = errors.New("the queue's answer names no message")

// get takes up to n messages for a while, which counts from before the request is sent.
func (b box) get(ctx context.Context, n int, visibility time.Duration) (all []delivery, err error) {
	until := time.Now().Add(visibility)
	ctx, cancel := b.call(ctx)
	defer cancel()
	most, seconds := int32(min(n, maxGet)), wholeSeconds(visibility)
	resp, err := b.q.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: &most, VisibilityTimeout: &seconds})
	if err != nil {
		return nil, brief(err)
	}
	for _, m := range resp.Messages {
		if m == nil || m.MessageID == nil || m.PopReceipt == nil {
			continue
		}
		d := delivery{id: *m.MessageID, receipt: *m.PopReceipt, until: until}
		if m.MessageText != nil {
			d.text = *m.MessageText
		}
		if m.DequeueCount != nil {
			d.gets = *m.DequeueCount
		}
		if m.InsertionTime != nil {
			d.inserted = *m.InsertionTime
		}
		all = append(all, d)
	}
	return all, nil
}

// update hides a message for a while from now, and gives it a text, which is never left out: an update without one wipes it.
func (b box) update(ctx context.Context, d delivery, text string, hidden time.Duration) (receipt string, err error) {
	ctx, cancel := b.call(ctx)
	defer cancel()
	seconds := wholeSeconds(hidden)
	resp, err := b.q.UpdateMessage(ctx, d.id, d.receipt, text, &azqueue.UpdateMessageOptions{VisibilityTimeout: &seconds})
	if err != nil {
		return "", brief(err)
	}
	if resp.PopReceipt == nil {
		return "", errNoMessage
	}
	return *resp.PopReceipt, nil
}

func (b box) delete(ctx context.Context, d delivery) error {
	ctx, cancel := b.call(ctx)
	defer cancel()
	_, err := b.q.DeleteMessage(ctx, d.id, d.receipt, nil)
	return brief(err)
}

// ensure creates the queue unless it exists.
func (b box) ensure(ctx context.Context) error {
	ctx, cancel := b.call(ctx)
	defer cancel()
	_, err := b.q.Create(ctx, nil)
	if queueerror.HasCode(err, queueerror.QueueAlreadyExists) {
		return nil
	}
	return brief(err)
}

// count is about how many messages there are, the hidden ones included.
func (b box) count(ctx context.Context) (int, error) {
	ctx, cancel := b.call(ctx)
	defer cancel()
	resp, err := b.q.GetProperties(ctx, nil)
	if err != nil {
		return 0, brief(err)
	}
	if resp.ApproximateMessagesCount == nil {
		return 0, errNoMessage
	}
	return int(*resp.ApproximateMessagesCount), nil
}

// answer is an error of the queue's, in a line: the SDK's own text is the whole response.
type answer struct{ *azcore.ResponseError }

func (a answer) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the queue answered %d %s", a.StatusCode, a.ErrorCode))
}
func (a answer) Unwrap() error { return a.ResponseError }

// brief is an error of a call without secrets, and without what nobody wants to read.
func brief(err error) error {
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		return answer{re}
	}
	return wire.Redact(err)
}

// gone tells whether a message is not ours any more: it was deleted, or others have got it.
func gone(err error) bool {
	return queueerror.HasCode(err, queueerror.MessageNotFound, queueerror.PopReceiptMismatch)
}

// wholeSeconds rounds up, for queues know no less.
func wholeSeconds(d time.Duration) int32 {
	return int32((min(max(d, 0), maxHidden) + time.Second - 1) / time.Second)
}
