package wire

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// Call follows one call through the SDK: its response, and how far its request got.
type Call struct {
	// MaxBody is the size at which a request body is refused before it is sent, on clients with the Probe policies; 0 is
	// no limit. The error is a *BodyError.
	MaxBody int64

	ctx   context.Context // of the request
	resp  *http.Response
	probe probe
}

// Read prepares a call that may be repeated: the client's own retry options stay.
func (c *Call) Read(ctx context.Context) context.Context {
	c.ctx, c.probe.max = ctx, c.MaxBody
	ctx = context.WithValue(ctx, probeKey{}, &c.probe)
	return policy.WithCaptureResponse(ctx, &c.resp)
}

// Write prepares a call that changes something. The SDK would repeat it after a lost response and report what the second try
// finds: 'exists' for a row that the first try has inserted. So its retries are off, on any client. try bounds the one try.
func (c *Call) Write(ctx context.Context, try time.Duration) context.Context {
	return policy.WithRetryOptions(c.Read(ctx), policy.RetryOptions{MaxRetries: -1, TryTimeout: try})
}

// Unreached reports whether the call's error says that the service was not reached, or did not let the caller in; see [Unreached].
func (c *Call) Unreached(err error) bool { return Unreached(c.ctx, err) }

// Probed tells whether the client has the Probe policies.
func (c *Call) HasProbe() bool { return c.probe.entered.Load() }

// Status is that of the response, 0 if there is none.
func (c *Call) Status() int {
	if c.resp == nil {
		return 0
	}
	return c.resp.StatusCode
}

// Sent is the length of the request's body, if there is a response.
func (c *Call) RequestSize() int64 {
	if c.resp == nil || c.resp.Request == nil {
		return 0
	}
	return c.resp.Request.ContentLength
}

// Ranged tells whether the request was signed for a range of keys, if there is a response: rows outside it are left out of lists without
// a word.
func (c *Call) SignedForPartitions() bool {
	if c.resp == nil || c.resp.Request == nil {
		return false
	}
	q := c.resp.Request.URL.Query()
	return q.Has("sig") && (q.Get("spk") != "" || q.Get("epk") != "")
}

// Rows are the first and the last RowKey that the request was signed for, "" for no bound; ranged reports whether there is one.
func (c *Call) SignedRows() (first, last string, ranged bool) {
	if c.resp == nil || c.resp.Request == nil {
		return "", "", false
	}
	q := c.resp.Request.URL.Query()
	first, last = q.Get("srk"), q.Get("erk")
	return first, last, q.Has("sig") && (first != "" || last != "")
}

// Part is the response to one part of the request, without its body.
func (c *Call) PartResponse(status int) *http.Response {
	return &http.Response{
		StatusCode: status, Status: strconv.Itoa(status) + " " + http.StatusText(status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: c.resp.Header.Clone(), Body: http.NoBody, Request: c.resp.Request,
	}
}

// Body returns the response as the service sent it. The SDK's own copy has lost the decimal point of whole doubles.
func (c *Call) Body() ([]byte, error) {
	if c.resp == nil {
		return nil, errNoResponse
	}
	if err := c.Check(nil); err != nil {
		return nil, err
	}
	return runtime.Payload(c.resp)
}
