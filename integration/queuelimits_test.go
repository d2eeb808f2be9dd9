package integration

import (
	"context"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
)

func messageLimits(e *env) {
	ctx := context.Background()
	q := e.queue()
	put := func(text string, hidden, timeToLive int32) error {
		o := &azqueue.EnqueueMessageOptions{VisibilityTimeout: &hidden}
		if timeToLive != 0 {
			o.TimeToLive = &timeToLive
		}
		_, err := q.EnqueueMessage(ctx, text, o)
		return err
	}
	e.wantCode(put(strings.Repeat("x", 65537), 0, 0), queueerror.RequestBodyTooLarge)
	e.wantCode(put("a", 604801, 0), queueerror.OutOfRangeQueryParameterValue)
	e.wantCode(put("a", -1, 0), queueerror.OutOfRangeQueryParameterValue)
	e.wantCode(put("a", 30, 30), queueerror.InvalidQueryParameterValue)
	_, err := q.EnqueueMessage(ctx, "a", &azqueue.EnqueueMessageOptions{TimeToLive: to.Ptr[int32](0)})
	e.wantCode(err, queueerror.InvalidQueryParameterValue)
	_, err = q.DequeueMessage(ctx, &azqueue.DequeueMessageOptions{VisibilityTimeout: to.Ptr[int32](0)})
	e.wantCode(err, queueerror.OutOfRangeQueryParameterValue)
	_, err = q.DequeueMessage(ctx, &azqueue.DequeueMessageOptions{VisibilityTimeout: to.Ptr[int32](604801)})
	e.wantCode(err, queueerror.OutOfRangeQueryParameterValue)
	_, err = q.PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr[int32](33)})
	e.wantCode(err, queueerror.OutOfRangeQueryParameterValue)
	if e.count(q) != 0 {
		e.Errorf("messages after refused requests: got %d; want none", e.count(q))
	}
	e.must(put("a", 604799, 0))
	e.must(put("a", 604800, -1))
}

func missingQueues(e *env) {
	ctx := context.Background()
	q := e.acc.Queues().NewQueueClient(freshName())
	_, err1 := q.EnqueueMessage(ctx, "a", nil)
	_, err2 := q.DequeueMessage(ctx, nil)
	_, err3 := q.PeekMessage(ctx, nil)
	_, err4 := q.GetProperties(ctx, nil)
	_, err5 := q.ClearMessages(ctx, nil)
	_, err6 := q.SetMetadata(ctx, nil)
	for _, err := range []error{err1, err2, err3, err4, err5, err6} {
		e.wantCode(err, queueerror.QueueNotFound)
	}
	_, err := e.queue().DeleteMessage(ctx, "e6df06ec-8aae-427f-b72f-61570c14f3a8", "AgAAAAMAAAAAAAAAtB30WQUG1QE=", nil)
	e.wantCode(err, queueerror.MessageNotFound)
}

func queueNames(e *env) {
	ctx := context.Background()
	for name, code := range map[string]queueerror.Code{
		"Upper": queueerror.InvalidResourceName, "a_b": queueerror.InvalidResourceName, "a--b": queueerror.InvalidResourceName, "-ab": queueerror.InvalidResourceName, "ab-": queueerror.InvalidResourceName,
		"ab": queueerror.OutOfRangeInput, strings.Repeat("a", 64): queueerror.OutOfRangeInput,
	} {
		_, err := e.acc.Queues().NewQueueClient(name).Create(ctx, nil)
		e.wantCode(err, code)
	}
	longest := freshName()
	longest += strings.Repeat("q", 63-len(longest))
	_, err := e.acc.Queues().NewQueueClient(longest).Create(ctx, nil)
	e.must(err)
}
