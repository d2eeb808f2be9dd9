package eventual

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// ErrQueueNotFound: a queue does not exist. [Worker.Ensure] and [Outbox.Ensure] create queues.
var ErrQueueNotFound = errors.New("eventual: no such queue")

// errIncompleteResponse: the queue executed the request, and its response cannot be used.
var errIncompleteResponse = errors.New("the response of the queue names no message")

// responseError shortens the text of an error response to one line: the SDK's text is the whole response.
type responseError struct{ *azcore.ResponseError }

func (e responseError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the queue responded with %d %s", e.StatusCode, e.ErrorCode))
}
func (e responseError) Unwrap() error { return e.ResponseError }

// shortError returns an error of the SDK without secrets, in one line.
func shortError(err error) error {
	var re *azcore.ResponseError
	var foreign *wire.NotServiceError
	switch {
	case errors.As(err, &re):
		return responseError{re}
	case errors.As(err, &foreign):
		return &engine.Condition{Is: engine.ErrUnreachable, Cause: err}
	}
	return wire.Redact(err)
}

// withQueueNotFound wraps ErrQueueNotFound around the service's error for a missing queue.
func withQueueNotFound(err error) error {
	if queueerror.HasCode(err, queueerror.QueueNotFound) {
		return fmt.Errorf("%w (%w)", ErrQueueNotFound, err)
	}
	return err
}

// isMessageGone reports whether a message was deleted, or received by another worker.
func isMessageGone(err error) bool {
	return queueerror.HasCode(err, queueerror.MessageNotFound, queueerror.PopReceiptMismatch)
}

// isTransient reports whether another attempt may succeed.
func isTransient(err error) bool {
	var re *azcore.ResponseError
	return !errors.As(err, &re) || re.StatusCode == http.StatusRequestTimeout || re.StatusCode == http.StatusTooManyRequests || re.StatusCode >= 500
}
