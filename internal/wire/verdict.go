package wire

import (
	"errors"
	"net"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Verdict is what is known of a write after its call has returned.
type Verdict int

// A write is done, or the service has refused it, or it was never sent, or nobody knows.
const (
	Done Verdict = iota
	Refused
	NotSent
	Unknown
)

// Verdict judges the error of a write. Whatever is not certain is Unknown: a 500 or a timeout may come from a service that
// has done the work.
func (c *Call) Verdict(err error) Verdict {
	if err == nil {
		return Done
	}
	var re *azcore.ResponseError
	if errors.As(err, &re) {
		switch s := re.StatusCode; {
		case s == http.StatusRequestTimeout || s == http.StatusTooManyRequests:
			return Unknown
		case s >= 400 && s < 500:
			return Refused
		}
		return Unknown
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
