package wire

import (
	"bytes"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// Tap lets a call read and write its bodies past the SDK, which decodes each body to a map and encodes it again. It has no effect in
// clients without the Probe policies: their calls send what the SDK encodes, and read what the SDK has read.
type Tap struct {
	// Take gets the body of a successful response and its status. It returns what the SDK gets in its place, nil to leave the body to
	// the SDK. Call.Body returns the body that was taken, and Call.Value what Take has read in it.
	Take func(status int, body []byte) (small []byte, value any)

	// Body returns the body of the request in place of the SDK's, and its type. u is the URL of the request. nil leaves the SDK's.
	Body func(u *url.URL) (body []byte, contentType string)

	// StandIn reports that the SDK got a small body in place of the one that Body returns. The request is then sent with that body, or
	// not at all.
	StandIn bool
}

// taken is a body that the SDK did not get.
type taken struct {
	resp  *http.Response
	body  []byte
	value any
}

// tapped is what became of a call's Tap.
type tapped struct {
	Tap
	taken   atomic.Pointer[taken]
	swapped atomic.Bool
}

// ErrTap means that the body of a request could not take the place of the SDK's.
var ErrTap = errors.New("the library could not put its body into the request, so the write was not sent: a policy in front of those of ClientOptions hides the call from them")

// swap sets the body of the request.
func (t *tapped) swap(r *policy.Request) error {
	if t.Tap.Body == nil {
		return nil
	}
	body, contentType := t.Tap.Body(r.Raw().URL)
	switch {
	case body == nil && t.StandIn:
		return ErrTap
	case body == nil:
		return nil
	}
	if err := r.SetBody(streaming.NopCloser(bytes.NewReader(body)), contentType); err != nil {
		return err
	}
	t.swapped.Store(true)
	return nil
}

// take takes the body of a successful response. A response to another request is left to [Call.Check].
func (t *tapped) take(resp *http.Response) {
	if t.Take == nil || resp.StatusCode < 200 || resp.StatusCode > 299 || resp.Request != nil && resp.Request.Response != nil {
		return
	}
	// The retry policy has read the whole body by now, and has repeated the request if that failed.
	body, err := runtime.Payload(resp)
	if err != nil {
		return // the SDK gets the same error
	}
	small, value := t.Take(resp.StatusCode, body)
	if small == nil {
		return
	}
	t.taken.Store(&taken{resp, body, value})
	if in, ok := resp.Body.(interface{ Set([]byte) }); ok {
		in.Set(small) // azcore's own reader, reused
	} else {
		resp.Body = streaming.NopCloser(bytes.NewReader(small))
	}
}

// TakeObject is a Take for a response of status 200 that is one JSON object: the SDK gets an object without members. A body that is
// cut, or that is not JSON, is left to the SDK, which refuses it.
func TakeObject(status int, body []byte) (small []byte, value any) {
	const space = " \t\r\n"
	if b := bytes.Trim(body, space); status != http.StatusOK || len(b) < 2 || b[0] != '{' || b[len(b)-1] != '}' {
		return nil, nil
	}
	return []byte("{}"), nil
}
