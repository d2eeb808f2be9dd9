package blobs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
)

// responseError shortens the text of an error response to one line: the SDK's text is the whole response.
type responseError struct{ *azcore.ResponseError }

func (e responseError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the service answered %d %s", e.StatusCode, e.ErrorCode))
}
func (e responseError) Unwrap() error { return e.ResponseError }

// Refusal returns the error for a request that the service refused, or that did not reach the service. Nothing was changed.
// noContainer is the error for a container that does not exist.
func Refusal(call *wire.Call, err, noContainer error) error {
	switch {
	case bloberror.HasCode(err, bloberror.ContainerNotFound):
		return &engine.Condition{Is: noContainer, Cause: err}
	case bloberror.HasCode(err, bloberror.ContainerBeingDeleted), call.Unreached(err):
		return &engine.Condition{Is: engine.ErrUnreachable, Cause: wire.Redact(err)}
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		return responseError{re}
	}
	return wire.Redact(err)
}

// IsGone reports whether a blob does not exist.
func IsGone(err error) bool {
	return bloberror.HasCode(err, bloberror.BlobNotFound, bloberror.ResourceNotFound)
}
