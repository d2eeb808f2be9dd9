package wire

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Outcome is what is known of a write after its call has returned.
type Outcome int

const (
	Done    Outcome = iota // the service applied the write
	Refused                // the service refused the write
	NotSent                // the request did not reach the network
	Unknown                // the write may have been applied or not
)

// Outcome returns the outcome of a write from the error that [Call.Check] returned. Whatever is not certain is Unknown: the service
// may have applied a write that it answers with 500 or a timeout, and a refusal without an error code may come from a proxy.
func (c *Call) Outcome(err error) Outcome {
	if err == nil {
		return Done
	}
	var foreign *NotServiceError
	if errors.As(err, &foreign) {
		return Unknown
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		if re.ErrorCode == "" && re.StatusCode != http.StatusRequestEntityTooLarge {
			return Unknown
		}
		return StatusOutcome(re.StatusCode)
	}
	if c.probe.entered.Load() && !c.probe.sent.Load() || c.probe.request != nil && !c.Put() {
		return NotSent
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return NotSent
	}
	return Unknown
}

// StatusOutcome returns the outcome of an operation that failed with an HTTP status.
func StatusOutcome(status int) Outcome {
	switch {
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests:
		return Unknown
	case status >= 400 && status < 500, status == http.StatusNotImplemented:
		return Refused
	}
	return Unknown
}

// Unreached reports whether err, the error of a request that ran with ctx, means that the service was not reached, was unavailable,
// or denied access. Such an error says nothing about the row, and the same request may succeed later. Unreached is false if the
// caller ended ctx, since the service might have answered.
func Unreached(ctx context.Context, err error) bool {
	var re *azcore.ResponseError
	var large *BodyError
	switch {
	case err == nil, errors.As(err, &large), errors.Is(err, ErrCosmosDB):
		return false
	case errors.As(err, &re):
		return unavailable(re)
	}
	return !callerStopped(ctx)
}

// unavailable reports whether a response is from a service that is down or denies access, or from a proxy: the service sends an
// error code with every refusal.
func unavailable(re *azcore.ResponseError) bool {
	switch s := re.StatusCode; {
	case s == http.StatusRequestEntityTooLarge: // a proxy's limit, which the same request will exceed again
		return false
	case s == http.StatusNotImplemented: // the service does not have the operation; without an error code, a proxy does not
		return re.ErrorCode == ""
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

// ErrRequestTimeout is the cause of a context that ended because a request exceeded the library's timeout, and not because the
// caller ended the context.
var ErrRequestTimeout = errors.New("the service did not answer in the time that one request may take")

// callerStopped reports whether the caller ended ctx.
func callerStopped(ctx context.Context) bool {
	return ctx.Err() != nil && context.Cause(ctx) != ErrRequestTimeout
}

// Unreached is the function [Unreached] for the error of this call.
func (c *Call) Unreached(err error) bool { return Unreached(c.ctx, err) }
