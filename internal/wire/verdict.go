package wire

import (
	"errors"
	"net"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Verdict is what is known of a write after its call has returned.
type Outcome int

// A write is done, or the service has refused it, or it was never sent, or nobody knows.
const (
	Done Outcome = iota
	Refused
	NotSent
	Unknown
)

// Verdict judges the error of a write, as [Call.Check] returns it. Whatever is not certain is Unknown: a 500 or a timeout may come
// from a service that has done the work, and a refusal without an error code from something that is not the service.
func (c *Call) Outcome(err error) Outcome {
	var foreign *ForeignError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &foreign):
		return Unknown
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		if re.ErrorCode == "" && re.StatusCode != http.StatusRequestEntityTooLarge {
			return Unknown
		}
		return StatusOutcome(re.StatusCode)
	}
	if c.probe.entered.Load() && !c.probe.sent.Load() {
		return NotSent
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return NotSent
	}
	return Unknown
}

// StatusVerdict judges the status of a failed operation.
func StatusOutcome(status int) Outcome {
	switch {
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests:
		return Unknown
	case status >= 400 && status < 500:
		return Refused
	}
	return Unknown
}
