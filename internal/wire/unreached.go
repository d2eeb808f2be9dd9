package wire

import (
	"context"
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Unreached reports whether the error of a request, which ran with ctx, says that the service was not reached, was not able to
// answer, or did not let the caller in. The request says nothing about the row then, and may succeed later as it is. It is false
// where ctx has ended: the caller stopped waiting, and nobody knows what the service would have answered.
func Unreached(ctx context.Context, err error) bool {
	var re *azcore.ResponseError
	var large *BodyError
	switch {
	case err == nil, errors.As(err, &large):
		return false
	case errors.As(err, &re):
		return unavailable(re)
	}
	return !callerStopped(ctx)
}

// away reports whether an answer is one of a service that is down or keeps the caller out, or of something else in its place: the
// service sends an error code with every refusal.
func unavailable(re *azcore.ResponseError) bool {
	switch s := re.StatusCode; {
	case s == http.StatusRequestEntityTooLarge: // of a proxy; it will be as large the next time
		return false
	case s >= 500, s >= 300 && s < 400 && s != http.StatusNotModified, re.ErrorCode == "":
		return true
	case s == http.StatusUnauthorized, s == http.StatusForbidden, s == http.StatusProxyAuthRequired, s == http.StatusRequestTimeout, s == http.StatusTooManyRequests:
		return true
	}
	switch re.ErrorCode {
	case "InvalidAuthenticationInfo", "TableBeingDeleted", "QueueBeingDeleted", "AccountBeingCreated":
		return true
	}
	return false
}

// ErrBound is the cause of a context that a bound of this library has ended, and not its caller.
var ErrRequestTimeout = errors.New("the service did not answer in the time that one request may take")

// stopped reports whether the caller has ended ctx.
func callerStopped(ctx context.Context) bool {
	return ctx.Err() != nil && context.Cause(ctx) != ErrRequestTimeout
}
