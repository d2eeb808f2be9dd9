package wire

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// TestUnreached: a request without a response has not reached the service, unless its caller ended it.
func TestUnreached(t *testing.T) {
	t.Parallel()
	background := context.Background()
	cancelled, cancel := context.WithCancel(background)
	cancel()
	late, cancel := context.WithDeadline(background, time.Unix(0, 0))
	defer cancel()
	slow, cancel := context.WithDeadlineCause(background, time.Unix(0, 0), ErrRequestTimeout)
	defer cancel()
	slowOfCancelled, cancel := context.WithDeadlineCause(cancelled, time.Unix(0, 0), ErrRequestTimeout)
	defer cancel()
	for what, c := range map[string]struct {
		ctx  context.Context
		want bool
	}{
		"no end":                      {background, true},
		"the caller's cancel":         {cancelled, false},
		"the caller's deadline":       {late, false},
		"the library's timeout":       {slow, true},
		"the caller's before timeout": {slowOfCancelled, false},
	} {
		if got := Unreached(c.ctx, errors.New("no response")); got != c.want {
			t.Errorf("%s: got %v; want %v", what, got, c.want)
		}
	}
}

// TestUnavailable: a redirect is not the service's answer about a row, whatever its status, and a condition that is not met is.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{
		299: false, 300: true, 301: true, 303: true, 304: false, 399: true, 400: false, 401: true, 403: true, 404: false, 407: true, 408: true,
		409: false, 412: false, 413: false, 429: true, 499: false, 500: true, 501: false, 503: true,
	} {
		err := &azcore.ResponseError{StatusCode: status, ErrorCode: "Code"}
		if got := Unreached(context.Background(), err); got != want {
			t.Errorf("status %d with an error code: got %v; want %v", status, got, want)
		}
		err.ErrorCode = ""
		if got, want := Unreached(context.Background(), err), status != 413; got != want {
			t.Errorf("status %d without an error code: got %v; want %v", status, got, want)
		}
	}
}

// TestNoResponse: a call without a response has none of what a response says.
func TestNoResponse(t *testing.T) {
	t.Parallel()
	var c Call
	first, last, limited := c.SignedRows()
	if c.SignedForPartitions() || limited || first+last != "" || c.Status() != 0 || c.RequestID() != "" || c.RequestSize() != 0 {
		t.Errorf("got partitions %v, rows %q to %q, %v, status %d, request %q of %d bytes; want nothing",
			c.SignedForPartitions(), first, last, limited, c.Status(), c.RequestID(), c.RequestSize())
	}
	if body, err := c.Body(); err != errNoResponse {
		t.Errorf("got body %q and error %v; want %v", body, err, errNoResponse)
	}
}
