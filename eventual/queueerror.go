package eventual

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
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

// isMessageGone reports whether a message was deleted, or received by another worker.
func isMessageGone(err error) bool {
	return queueerror.HasCode(err, queueerror.MessageNotFound, queueerror.PopReceiptMismatch)
}

// isTransient reports whether another attempt may succeed.
func isTransient(err error) bool {
	var re *azcore.ResponseError
	return !errors.As(err, &re) || re.StatusCode == http.StatusRequestTimeout || re.StatusCode == http.StatusTooManyRequests || re.StatusCode >= 500
}
