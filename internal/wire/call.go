package wire

import (
	"context"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// Call follows one call through the SDK: its reply, and how far its request got.
type Call struct {
	resp  *http.Response
	probe probe
}

// Read prepares a call that may be repeated: the client's own retry options stay.
func (c *Call) Read(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, probeKey{}, &c.probe)
	return policy.WithCaptureResponse(ctx, &c.resp)
}

// Write prepares a call that changes something. The SDK would repeat it after a lost reply and report what the second try
// finds: 'exists' for a row that the first try has inserted. So its retries are off, on any client. try bounds the one try.
func (c *Call) Write(ctx context.Context, try time.Duration) context.Context {
	return policy.WithRetryOptions(c.Read(ctx), policy.RetryOptions{MaxRetries: -1, TryTimeout: try})
}

// Body returns the reply as the service sent it. The SDK's own copy has lost the decimal point of whole doubles.
func (c *Call) Body() ([]byte, error) {
	if c.resp == nil {
		return nil, errNoReply
	}
	return runtime.Payload(c.resp)
}
