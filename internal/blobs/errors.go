package blobs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
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
// noContainer is the error for a container that does not exist, and made the call that creates it.
func Refusal(call *wire.Call, err, noContainer error, made string) error {
	switch {
	case bloberror.HasCode(err, bloberror.ContainerNotFound):
		return &engine.Missing{Is: noContainer, Name: containerOf(call.URL()), Made: made, Err: err}
	case bloberror.HasCode(err, bloberror.ContainerBeingDeleted), call.Unreached(err):
		return &engine.Condition{Is: engine.ErrUnreachable, Cause: wire.Redact(err)}
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		return responseError{re}
	}
	return wire.Redact(err)
}

// containerOf returns the name of the container in the URL of a request.
func containerOf(url string) string {
	parts, err := blob.ParseURL(url)
	if err != nil {
		return ""
	}
	return parts.ContainerName
}

// IsGone reports whether a blob does not exist.
func IsGone(err error) bool {
	return bloberror.HasCode(err, bloberror.BlobNotFound, bloberror.ResourceNotFound)
}
